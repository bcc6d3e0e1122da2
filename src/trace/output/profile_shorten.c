#include "src/trace/output/profile_shorten.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/text.h"

static size_t common_start(const char *a, const char *b)
{
	size_t i = 0;
	while (a[i] && a[i] == b[i])
		i++;
	return i;
}

static bool is_inside_character(const char *text, size_t at) { return ((unsigned char)text[at] & 0xc0) == 0x80; }

enum { PIECES_MAX = 3, BEFORE = 2 /* characters of the common part, to read a difference in */ };

/* Where a text differs from others that look like it, ascending. */
struct differences {
	size_t at[PIECES_MAX];
	size_t count;
};

/* False: one that is there shows it, too, or there are too many. */
static bool note(struct differences *differences, size_t at)
{
	enum { NEAR = 10 };
	size_t i = 0;
	while (i < differences->count && differences->at[i] <= at)
		i++;
	if (i && at < differences->at[i - 1] + NEAR)
		return false;
	if (i < differences->count && differences->at[i] < at + NEAR) {
		differences->at[i] = at;
		return true;
	}
	if (differences->count == PIECES_MAX)
		return false;
	memmove(&differences->at[i + 1], &differences->at[i], (differences->count - i) * sizeof differences->at[0]);
	differences->at[i] = at;
	differences->count++;
	return true;
}

/* The last piece takes as much of the text's end as fits. */
static size_t start_of_piece(const char *text, size_t at, size_t room, bool is_last)
{
	size_t start = at > BEFORE ? at - BEFORE : 0;
	while (start && is_inside_character(text, start))
		start--;
	size_t left = text_cells(text + start);
	while (is_last && start && left < room)
		left += !is_inside_character(text, --start);
	return start;
}

/* The start of the text, and a piece for each difference. */
static void shorten_at(char *out, size_t size, const char *text, size_t cells, const struct differences *differences)
{
	size_t head = cells / (differences->count + 1), at = text_prefix(text, head);
	size_t left = cells - head, used = (size_t)snprintf(out, size, "%.*s", (int)at, text);
	for (size_t i = 0; i < differences->count && left > 1; i++) {
		bool is_last = i + 1 == differences->count;
		size_t room = left / (differences->count - i),
			   start = start_of_piece(text, differences->at[i], room - 1, is_last);
		left -= room;
		if (start > at)
			room--;
		else
			start = at;
		bool is_cut = is_last && text_cells(text + start) > room;
		size_t length = text_prefix(text + start, is_cut ? room - 1 : room);
		if (used < size)
			used += (size_t)snprintf(out + used, size - used, "%s%.*s%s", start > at ? "…" : "", (int)length,
				text + start, is_cut ? "…" : "");
		at = start + length;
	}
}

/* Notes where text `i` differs from those that look like it now. */
static bool note_all(
	const char *const *texts, char *const *out, size_t count, size_t i, struct differences *differences)
{
	bool has_new = false;
	for (size_t k = 0; k < count; k++)
		if (k != i && strcmp(out[i], out[k]) == 0 && strcmp(texts[i], texts[k]) != 0)
			has_new |= note(differences, common_start(texts[i], texts[k]));
	return has_new;
}

void profile_shorten(const char *const *texts, size_t count, size_t cells, char *const *out, size_t size)
{
	enum { CELLS_MIN = 12, ROWS_MAX = 256, PASSES = 3 };
	struct differences differences[ROWS_MAX] = { { .count = 0 } };
	bool has_new[ROWS_MAX];
	for (size_t i = 0; i < count; i++)
		text_shorten(out[i], size, texts[i], cells);
	count = count < ROWS_MAX && cells >= CELLS_MIN ? count : 0;
	/* A text that is shortened in another place may then look like one that it did not look like before. */
	for (int pass = 0; pass < PASSES; pass++) {
		for (size_t i = 0; i < count; i++)
			has_new[i] = text_cells(texts[i]) > cells && note_all(texts, out, count, i, &differences[i]);
		for (size_t i = 0; i < count; i++)
			if (has_new[i])
				shorten_at(out[i], size, texts[i], cells, &differences[i]);
	}
}

bool profile_short_names_make(struct profile_short_names *names, size_t count)
{
	*names = (struct profile_short_names){
		.whole = calloc(count, sizeof *names->whole), .shown = calloc(count, sizeof *names->shown), .count = count
	};
	if (names->whole && names->shown)
		return true;
	profile_short_names_free(names);
	return false;
}

void profile_short_names_cut(struct profile_short_names *names, size_t cells)
{
	enum { AT_ONCE = 200 };
	const char *from[AT_ONCE];
	char *to[AT_ONCE];
	for (size_t first = 0; first < names->count; first += AT_ONCE) {
		size_t count = names->count - first < AT_ONCE ? names->count - first : AT_ONCE;
		for (size_t i = 0; i < count; i++) {
			from[i] = names->whole[first + i];
			to[i] = names->shown[first + i];
		}
		profile_shorten(from, count, cells, to, sizeof names->shown[0]);
	}
}

void profile_short_names_free(struct profile_short_names *names)
{
	free(names->whole);
	free(names->shown);
	*names = (struct profile_short_names){ 0 };
}
