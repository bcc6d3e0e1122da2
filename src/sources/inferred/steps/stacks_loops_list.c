#include "src/sources/inferred/steps/stacks_loops_list.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "src/base/clock.h"
#include "src/sources/inferred/steps/stacks_loops_choose.h"
#include "src/sources/inferred/steps/stacks_loops_epoch.h"
#include "src/sources/inferred/steps/stacks_loops_private.h"

#define LATELY_NS (60 * NS_PER_S)

void stacks_loop_write_text(const char *text, const char *name, char *out, size_t size)
{
	text = *text ? text : *name ? name : "loop";
	size_t length = strlen(text);
	snprintf(out, size, "%.*s", (int)(length - (text[length - 1] == ':')), text);
}

static bool can_be_counted(const struct stacks_loops *loops, const struct seen *seen)
{
	return seen->loop.line > 0 && loops->read_ns - seen->read_ns < LATELY_NS && stacks_loop_quality(seen) >= 0 &&
		stacks_loop_is_one(loops, seen);
}

static bool is_before(const struct stacks_found_loop *a, const struct stacks_found_loop *b)
{
	if (a->level != b->level)
		return a->level < b->level;
	return a->depth != b->depth ? a->depth < b->depth : a->row.line < b->row.line;
}

static struct stacks_found_loop *find(struct stacks_found *found, const struct seen *seen)
{
	for (size_t i = 0; i < found->count; i++)
		if ((int)found->loops[i].row.line == seen->loop.line && strcmp(found->loops[i].file, seen->file) == 0)
			return &found->loops[i];
	return NULL;
}

static void fill(const struct stacks_loops *loops, const struct seen *seen, struct stacks_found_loop *out)
{
	const struct py_loop *loop = &seen->loop;
	stacks_loop_write_text(seen->text, loop->name, out->text, sizeof out->text);
	snprintf(out->file, sizeof out->file, "%s", seen->file);
	out->level = seen->level;
	out->depth = loop->depth;
	out->quality = stacks_loop_quality(seen);
	bool is_known = seen->reads > 1 && !stacks_loop_is_too_short(seen);
	bool has_length = !stacks_loop_is_variable(loop) && loop->length >= stacks_loop_position(seen);
	out->row = (struct loop_row){ .line = (uint32_t)loop->line,
		.per_s = is_known ? stacks_loop_per_second(seen) : (double)NAN,
		.position = stacks_loop_position(seen),
		.length = has_length ? loop->length : 0,
		.is_counted = seen == loops->steps };
}

/* When there is no room, the innermost makes place. */
static void add(struct stacks_found *found, const struct stacks_found_loop *loop)
{
	size_t at = found->count;
	while (at > 0 && is_before(loop, &found->loops[at - 1]))
		at--;
	if (at == STACKS_FOUND_MAX)
		return;
	found->count += found->count < STACKS_FOUND_MAX;
	memmove(&found->loops[at + 1], &found->loops[at], (found->count - at - 1) * sizeof found->loops[0]);
	found->loops[at] = *loop;
}

void stacks_loops_list(const struct stacks_loops *loops, int32_t pid, struct stacks_found *out)
{
	if (pid == out->pid && loops->read_ns == out->read_ns)
		return;
	out->pid = pid;
	out->read_ns = loops->read_ns;
	out->is_chosen = loops->wanted != NULL;
	out->is_emitted = false;
	out->count = 0;
	for (const struct seen *seen = loops->seen; seen < loops->seen + loops->seen_count; seen++) {
		struct stacks_found_loop loop, *other = find(out, seen);
		if (!can_be_counted(loops, seen))
			continue;
		fill(loops, seen, &loop);
		if (!other)
			add(out, &loop);
		else if (loop.row.is_counted || (!other->row.is_counted && loop.quality < other->quality))
			*other = loop;
	}
}

void stacks_found_emit(struct stacks_found *found, int64_t now_ns, struct sample_set *out)
{
	if (!found->pid || found->is_emitted)
		return;
	struct loop_row *rows = sample_set_allocate(out, sizeof *rows * (found->count + 1));
	struct record *record = rows ? sample_set_add(out, RECORD_LOOPS, 0, now_ns) : NULL;
	if (!record)
		return;
	for (size_t i = 0; i < found->count; i++) {
		const struct stacks_found_loop *loop = &found->loops[i];
		rows[i] = loop->row;
		rows[i].text = sample_set_text(out, loop->text, strlen(loop->text));
		rows[i].file = sample_set_text(out, loop->file, strlen(loop->file));
	}
	record->loops.pid = found->pid;
	record->loops.is_chosen = found->is_chosen;
	record->loops.rows = rows;
	record->loops.count = found->count;
	found->is_emitted = true;
}

void stacks_loop_describe(const struct stacks_counted_loop *loop, bool is_chosen, struct stacks_what *out)
{
	stacks_loop_write_text(loop->text, loop->name, out->text, sizeof out->text);
	snprintf(out->file, sizeof out->file, "%s", loop->file);
	out->line = loop->line;
	out->is_certain = loop->is_certain;
	out->is_at_least = loop->is_at_least;
	out->is_chosen = is_chosen;
	out->micro_batches = loop->micro_batches;
}
