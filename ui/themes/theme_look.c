#include "ui/themes/theme_look.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

struct word {
	const char *text;
	int value;
};

static const struct word color_words[] = { { "black", 0 }, { "red", 1 }, { "green", 2 }, { "yellow", 3 }, { "blue", 4 },
	{ "magenta", 5 }, { "cyan", 6 }, { "white", 7 }, { "bright-black", 8 }, { "bright-red", 9 }, { "bright-green", 10 },
	{ "bright-yellow", 11 }, { "bright-blue", 12 }, { "bright-magenta", 13 }, { "bright-cyan", 14 },
	{ "bright-white", 15 }, { NULL, 0 } };

static const struct word mark_words[] = { { "bold", MARK_BOLD }, { "dim", MARK_DIM }, { "underline", MARK_UNDERLINE },
	{ "reverse", MARK_REVERSE }, { NULL, 0 } };

enum sign { SIGN_NONE, SIGN_ON, SIGN_MONO };
static const struct word sign_words[] = { { "none", SIGN_NONE }, { "on", SIGN_ON }, { "/", SIGN_MONO }, { NULL, 0 } };

static bool find_word(const struct word *words, const char *text, int *value)
{
	for (; words->text; words++)
		if (strcmp(words->text, text) == 0) {
			*value = words->value;
			return true;
		}
	return false;
}

/* RRGGBB or #RRGGBB */
static bool read_rgb(const char *text, int *rgb)
{
	text += *text == '#';
	unsigned value = 0;
	if (strlen(text) != 6 || strspn(text, "0123456789abcdefABCDEF") != 6 || sscanf(text, "%6x", &value) != 1)
		return false;
	*rgb = (int)value;
	return true;
}

/* The nearest of xterm's 16 colours. */
static int16_t plain_of(int32_t rich)
{
	int64_t min = INT64_MAX;
	int16_t nearest = COLOR_NONE;
	for (int16_t color = 0; rich != COLOR_NONE && color < 16; color++) {
		int64_t sum = 0;
		for (int shift = 0; shift <= 16; shift += 8) {
			int64_t apart = (rich >> shift & 0xff) - (int64_t)(theme_rgb(color) >> shift & 0xff);
			sum += apart * apart;
		}
		nearest = sum < min ? color : nearest;
		min = sum < min ? sum : min;
	}
	return nearest;
}

struct look {
	struct theme_role role;
	bool is_ground, is_mono, has_plain, has_plain_ground;
};

static bool take_word(struct look *look, const char *word)
{
	int value;
	if (find_word(mark_words, word, &value)) {
		*(look->is_mono ? &look->role.mono : &look->role.marks) |= (uint8_t)value;
		return true;
	}
	if (find_word(sign_words, word, &value)) {
		look->is_ground = value == SIGN_ON;
		if (value == SIGN_MONO) {
			look->is_mono = true;
			look->role.mono = 0;
		} else if (value == SIGN_NONE) {
			look->has_plain = look->has_plain_ground = true;
		}
		return true;
	}
	bool is_plain = find_word(color_words, word, &value);
	if (look->is_mono || (!is_plain && !read_rgb(word, &value)))
		return false;
	if (is_plain)
		*(look->is_ground ? &look->role.plain_ground : &look->role.plain) = (int16_t)value;
	else
		*(look->is_ground ? &look->role.rich_ground : &look->role.rich) = value;
	*(look->is_ground ? &look->has_plain_ground : &look->has_plain) |= is_plain;
	look->is_ground = false;
	return true;
}

bool theme_look_read(const char *text, struct theme_role *out)
{
	struct look look = { .role = { COLOR_NONE, COLOR_NONE, COLOR_NONE, COLOR_NONE, 0, out->mono } };
	char words[128], *rest;
	if (strlen(text) >= sizeof words)
		return false;
	strcpy(words, text);
	for (char *word = strtok_r(words, " ,", &rest); word; word = strtok_r(NULL, " ,", &rest))
		if (!take_word(&look, word))
			return false;
	if (!look.has_plain)
		look.role.plain = plain_of(look.role.rich);
	if (!look.has_plain_ground && !look.has_plain)
		look.role.plain_ground = plain_of(look.role.rich_ground);
	*out = look.role;
	return true;
}
