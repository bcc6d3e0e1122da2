#include "src/sources/inferred/steps/stacks_loops.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/clock.h"
#include "src/base/divisor.h"
#include "src/sources/inferred/steps/stacks_loops_across.h"
#include "src/sources/inferred/steps/stacks_loops_alone.h"
#include "src/sources/inferred/steps/stacks_loops_bound.h"
#include "src/sources/inferred/steps/stacks_loops_changes.h"
#include "src/sources/inferred/steps/stacks_loops_choose.h"
#include "src/sources/inferred/steps/stacks_loops_epoch.h"
#include "src/sources/inferred/steps/stacks_loops_part.h"
#include "src/sources/inferred/steps/stacks_loops_why.h"
#include "src/sources/inferred/steps/stacks_training.h"
#include "src/sources/inferred/sums/stacks_tree.h"

#define READ_AGAIN_NS (20 * NS_PER_MS) /* the next pass of the step loop is awaited */
#define READ_SOON_NS (200 * NS_PER_MS)
#define READ_SELDOM_NS (1 * NS_PER_S)
/* Readings so close to each other show how short a loop is. */
#define CLOSE_NS (60 * NS_PER_MS)
#define FIRST_SERIAL (UINT64_C(1) << 62)

struct stacks_loops *stacks_loops_new(const struct py_process *process, const char *wanted, bool is_from_start)
{
	struct reason why;
	struct stacks_loops *loops = calloc(1, sizeof *loops);
	if (loops && py_loops_open(process, &loops->reader, &why) == STATUS_OK) {
		loops->wanted = wanted;
		loops->is_from_start = is_from_start;
		return loops;
	}
	free(loops);
	return NULL;
}

void stacks_loops_choose(struct stacks_loops *loops, const char *wanted)
{
	loops->wanted = wanted;
	loops->steps = NULL;
	loops->is_running = loops->is_stopping = false;
	loops->epoch = (struct stacks_epoch){ 0, 0, 0 };
	loops->across = (struct stacks_across){ 0 };
	loops->changes = (struct stacks_changes){ 0 };
	loops->base = loops->origin = loops->yielded = loops->length = 0;
	loops->close_until_ns = loops->epoch_until_ns = 0;
}

void stacks_loops_free(struct stacks_loops *loops)
{
	if (loops)
		py_loops_close(loops->reader);
	free(loops);
}

/* -- what was seen -- */

static bool is_same(const struct py_loop *a, const struct py_loop *b)
{
	return a->code == b->code && a->kind == b->kind && a->line == b->line && a->depth == b->depth &&
		a->is_in_generator == b->is_in_generator && strcmp(a->name, b->name) == 0 &&
		(a->kind != PY_LOOP_INT || a->object == b->object);
}

static struct seen *find_seen(struct stacks_loops *loops, const struct py_loop *loop)
{
	for (struct seen *seen = loops->seen; seen < loops->seen + loops->seen_count; seen++)
		if (is_same(&seen->loop, loop))
			return seen;
	return NULL;
}

/* When there is no room, the one that was read longest ago makes place; never the step loop. */
static struct seen *seen_of(struct stacks_loops *loops, const struct py_loop *loop, struct stacks_lines *lines,
	struct stacks_owner *owner, int64_t now_ns)
{
	struct seen *oldest = NULL, *seen = find_seen(loops, loop);
	if (seen)
		return seen;
	for (seen = loops->seen; seen < loops->seen + loops->seen_count; seen++)
		if (seen != loops->steps && (!oldest || seen->read_ns < oldest->read_ns))
			oldest = seen;
	seen = loops->seen_count < STACKS_SEEN_MAX ? &loops->seen[loops->seen_count++] : oldest;
	const char *function = loop->site->known->code.function, *file = loop->site->known->code.file;
	if (loop->is_in_generator && !py_loops_source(loops->reader, loop, &function, &file))
		function = file = "";
	*seen = (struct seen){ .loop = *loop, .since_ns = now_ns, .read_ns = now_ns, .is_behind = loop->counts_begun };
	if (loop->kind == PY_LOOP_CHANGES)
		stacks_loops_changes_inherit(loops, seen);
	snprintf(seen->function, sizeof seen->function, "%s", function);
	snprintf(seen->file, sizeof seen->file, "%s", file);
	const char *text = loop->line > 0 ? stacks_lines_text(lines, owner, file, loop->line) : NULL;
	snprintf(
		seen->text, sizeof seen->text, "%.*s", (int)(text ? stacks_loop_header_length(text) : 0), text ? text : "");
	seen->is_target = stacks_loop_is_variable(loop) && !loop->is_sum && loop->line > 0 && loop->line == loop->loop_line;
	stacks_loop_note_epoch(seen, loop->loop_line, lines, owner);
	seen->epochs = stacks_loop_is_epoch_int(loop) ? py_loops_epochs(loops->reader, loop->object) : 0;
	return seen;
}

/* `is_anew`: a loop around it has gone on since. A new iterator may have the address of the old one. Returns whether it
 * has gone on. */
static bool note_position(struct seen *seen, const struct py_loop *loop, bool is_anew, int64_t now_ns)
{
	const struct py_loop *before = &seen->loop;
	bool is_close = seen->reads > 0 && now_ns - seen->read_ns <= CLOSE_NS;
	if (!loop->has_position || !before->has_position)
		return false;
	seen->goes_back |= before->guards.divisor != loop->guards.divisor && loop->kind == PY_LOOP_INT;
	if (stacks_loop_is_variable(loop)) {
		bool is_back = loop->position < before->position;
		seen->goes_back |= is_back && !is_anew;
		seen->restarts += is_back && is_anew;
		uint64_t by = is_back ? 0 : loop->position - before->position;
		seen->advanced += by;
		seen->forward += by > 0 && !is_anew;
		seen->anew += is_anew;
		seen->stride = common_divisor(seen->stride, by);
		return false;
	}
	is_anew |= before->frame != loop->frame || before->object != loop->object || loop->position < before->position;
	seen->restarts += is_anew;
	seen->close_reads += is_close;
	seen->close_restarts += is_close && is_anew;
	seen->advanced += is_anew ? loop->position : loop->position - before->position;
	seen->stride = common_divisor(seen->stride, is_anew ? 0 : loop->position - before->position);
	return is_anew || loop->position > before->position;
}

/* -- the count -- */

uint64_t stacks_loop_position(const struct seen *seen)
{
	uint64_t position = seen->loop.position + (stacks_loop_is_variable(&seen->loop) && !seen->is_behind);
	return position > seen->first_step ? position - seen->first_step : 0;
}

static struct py_counted counted_of(const struct stacks_loops *loops, bool is_over)
{
	const struct seen *steps = loops->steps;
	return (struct py_counted){ .serial = loops->serial,
		.sampler = loops->caller ^ (loops->items << 1),
		.caller = loops->caller,
		.base = loops->base,
		.before = loops->before,
		.yielded = loops->yielded,
		.read_ns = loops->yielded_ns,
		.is_over = is_over,
		.length = loops->length,
		.trains = true,
		.epoch = loops->epoch.number,
		.epochs = loops->epoch.count,
		.epoch_key = loops->epoch.key,
		.is_first = loops->is_first,
		.is_alone = loops->is_alone,
		.function = steps->function,
		.file = steps->file,
		.line = steps->loop.line };
}

static void take_position(struct stacks_loops *loops, int64_t now_ns)
{
	const struct py_loop *loop = &loops->steps->loop;
	uint64_t length = stacks_loop_is_variable(loop) || !loop->length ? loops->end : loop->length;
	loops->yielded = loops->origin + stacks_loop_position(loops->steps);
	loops->yielded_ns = now_ns;
	if (loops->across.is_on)
		length = stacks_loops_across_length(loops);
	else if (loops->origin != 0)
		length = 0;
	loops->length = length >= loops->yielded ? length : 0;
}

/* train(batches, True) and train(batches, False) are called at different instructions. */
static uint64_t caller_of(const struct py_sample *sample, size_t frame)
{
	uint64_t hash = 0;
	for (size_t i = frame + 1; i < sample->count; i++)
		hash = (hash * UINT64_C(31) + sample->sites[i].code) * UINT64_C(31) + sample->sites[i].ip;
	return hash | 1;
}

/* An attribute counts the steps, within another loop: it may go on counting through all epochs. */
static bool may_go_on(const struct stacks_loops *loops)
{
	const struct py_loop *loop = &loops->steps->loop;
	return stacks_loop_is_variable(loop) && loop->object && !loops->is_alone;
}

static void count_from(struct stacks_loops *loops, const struct stacks_epoch *epoch, uint64_t origin, int64_t now_ns)
{
	loops->origin = origin;
	loops->base = loops->serial && epoch->key == loops->epoch.key ? loops->yielded : 0;
	loops->epoch = *epoch;
	loops->serial = loops->serial ? loops->serial + 1 : FIRST_SERIAL;
	loops->begun_ns = now_ns;
	take_position(loops, now_ns);
}

/* A pass of the step loop begins, in the same epoch as the last one or in the next. */
static void begin_pass(struct stacks_loops *loops, const struct py_sample *sample, int64_t now_ns)
{
	struct stacks_epoch epoch = stacks_loops_epoch_of_steps(loops);
	bool is_other = stacks_loops_across_poll(loops), is_across = loops->across.is_on;
	loops->is_alone = stacks_loops_find_alone(loops, sample);
	loops->is_first = !loops->serial && loops->is_from_start && loops->steps->restarts == 0 && !may_go_on(loops);
	loops->caller = caller_of(sample, loops->steps->loop.frame_index);
	loops->items = stacks_loop_is_variable(&loops->steps->loop) ? 0 : loops->steps->loop.length;
	loops->is_running = true;
	loops->before = !loops->serial && is_across ? loops->across.begin : 0;
	count_from(loops, is_across ? &loops->across.epoch : &epoch,
		is_across || is_other ? UINT64_C(0) - loops->across.begin : stacks_loops_origin(loops, &epoch), now_ns);
}

/* Another epoch has begun meanwhile: ends the pass with the steps before it. */
static void begin_across(struct stacks_loops *loops, int64_t now_ns)
{
	const struct stacks_across *across = &loops->across;
	struct stacks_epoch epoch = { .key = 2 };
	loops->yielded = loops->origin + across->begin;
	loops->emitted = counted_of(loops, true);
	loops->is_first = false;
	count_from(loops, across->is_on ? &across->epoch : &epoch, UINT64_C(0) - across->begin, now_ns);
}

/* Returns whether the pass goes on. Its iterator's memory may hold that of another loop by now. */
static bool follow(struct stacks_loops *loops, int64_t now_ns)
{
	struct seen *steps = loops->steps;
	uint64_t before = steps->loop.position;
	enum py_loop_reading reading = py_loop_poll(loops->reader, &steps->loop);
	if (reading == PY_LOOP_ENDED && stacks_loops_across_left(loops))
		take_position(loops, now_ns);
	if (reading != PY_LOOP_GOOD)
		return reading == PY_LOOP_UNSURE;
	if (steps->goes_back || stacks_loop_position(steps) < loops->yielded - loops->origin) {
		steps->restarts += stacks_loop_is_variable(&steps->loop);
		return false;
	}
	steps->advanced += steps->loop.position > before ? steps->loop.position - before : 0;
	if (steps->loop.kind == PY_LOOP_CHANGES && steps->loop.position > before)
		steps->goes_back = !stacks_loops_changes_go_on(loops, now_ns);
	take_position(loops, now_ns);
	return true;
}

static bool has_frame(const struct py_sample *sample, uint64_t frame)
{
	for (size_t i = 0; i < sample->count; i++)
		if (sample->sites[i].frame == frame)
			return true;
	return false;
}

bool stacks_loops_live(
	struct stacks_loops *loops, const struct py_sample *sample, int64_t now_ns, struct py_counted *out)
{
	if (!loops->is_running || !has_frame(sample, loops->steps->loop.frame) || !follow(loops, now_ns))
		return false;
	*out = counted_of(loops, false);
	return true;
}

void stacks_loops_set_aside(struct stacks_loops *loops) { loops->yielded = loops->base; }

/* What was counted so far is no run's: the steps are unknown again. */
static void withdraw(struct stacks_loops *loops)
{
	loops->steps = NULL;
	loops->is_running = loops->is_stopping = false;
	loops->yielded = loops->base = 0;
	loops->is_withdrawn = true;
}

size_t stacks_loops_poll(struct stacks_loops *loops, int64_t now_ns, const struct py_counted **out)
{
	*out = &loops->emitted;
	if (!loops->is_running)
		return 0;
	bool has_ended = !follow(loops, now_ns);
	if (has_ended && stacks_loops_changes_are_too_short(loops)) {
		withdraw(loops);
		return 0;
	}
	if (!has_ended && !loops->is_stopping && stacks_loops_across_poll(loops)) {
		begin_across(loops, now_ns);
		return 1;
	}
	loops->is_running = !has_ended && !loops->is_stopping;
	if (!loops->is_running)
		loops->pass_ns += (now_ns - loops->begun_ns - loops->pass_ns) / (loops->pass_ns ? 4 : 1);
	loops->is_stopping = false;
	loops->emitted = counted_of(loops, !loops->is_running);
	loops->emitted.is_exhausted = has_ended && loops->length > 0 &&
		py_loops_lacks_break(loops->reader, &loops->steps->loop) && stacks_loops_is_in_epochs(loops);
	if (has_ended && loops->is_alone)
		stacks_loops_forget_past(loops);
	return 1;
}

bool stacks_loops_is_running(const struct stacks_loops *loops) { return loops && loops->is_running; }

bool stacks_loops_reads_closely(const struct stacks_loops *loops, int64_t now_ns)
{
	return loops && !loops->steps && now_ns < loops->close_until_ns;
}

void stacks_loops_await_epoch(struct stacks_loops *loops, int64_t until_ns) { loops->epoch_until_ns = until_ns; }

void stacks_loops_stop(struct stacks_loops *loops) { loops->is_stopping = loops->is_running; }

/* Of the loop directly inside the steps' in which backward runs and the optimizer does not. */
static unsigned micro_batches(const struct stacks_loops *loops)
{
	const struct seen *steps = loops->steps;
	for (const struct seen *seen = loops->seen; seen < loops->seen + loops->seen_count; seen++)
		if (stacks_loop_is_within(seen, steps) && !stacks_loop_is_variable(&seen->loop) && seen->loop.length > 1 &&
			seen->loop.length <= STACKS_SHORT_MAX && seen->restarts >= 3 && seen->trained > 0 &&
			2 * seen->trained > steps->trained - steps->optimized && seen->optimized == 0)
			return (unsigned)seen->loop.length;
	return 0;
}

bool stacks_loops_chosen(const struct stacks_loops *loops, struct stacks_counted_loop *out)
{
	const struct seen *steps = loops->steps;
	if (!steps)
		return false;
	bool is_by_changes = steps->loop.kind == PY_LOOP_CHANGES;
	*out = (struct stacks_counted_loop){ .text = steps->text,
		.name = steps->loop.name,
		.file = steps->file,
		.line = steps->loop.line,
		.micro_batches = micro_batches(loops),
		.has_training = steps->trained > 0,
		.is_at_least = is_by_changes,
		.is_certain = steps->trained > 0 && !stacks_loop_is_variable(&steps->loop) && !is_by_changes };
	return true;
}

/* -- readings -- */

/* The last reading may be some iterations ago. */
static void note_turns(const struct stacks_loops *loops, struct seen *seen)
{
	struct py_loop loop = seen->loop;
	bool is_read = !loop.has_position || py_loop_poll(loops->reader, &loop) == PY_LOOP_GOOD;
	if (!is_read || loop.position != seen->turn_at) {
		seen->turns_before = loops->turns;
		seen->updates_before = loops->updates;
	}
	seen->turn_at = loop.position;
	unsigned turns = loops->turns - seen->turns_before, updates = loops->updates - seen->updates_before;
	seen->turns_max = turns > seen->turns_max ? turns : seen->turns_max;
	seen->updates_max = updates > seen->updates_max ? updates : seen->updates_max;
}

static bool is_at(const struct seen *seen, uint64_t code, const int *lines, size_t depth)
{
	const struct py_loop *loop = &seen->loop;
	return loop->code == code && loop->depth == depth && (stacks_loop_is_variable(loop) || loop->line == lines[depth]);
}

/* The loops around one instruction of a frame, the innermost first. *is_hidden: one inside was not read. */
static void note_around(struct stacks_loops *loops, const struct py_site *site, bool is_optimizer, bool *is_hidden)
{
	int lines[STACKS_DEPTH_MAX];
	for (size_t depth = py_loops_around(loops->reader, site, lines, STACKS_DEPTH_MAX); depth-- > 0;) {
		bool is_read = false;
		for (struct seen *seen = loops->seen; seen < loops->seen + loops->seen_count; seen++) {
			if (!is_at(seen, site->code, lines, depth))
				continue;
			is_read = true;
			stacks_loop_note_work(seen, site->ip, true);
			seen->trained++;
			seen->optimized += is_optimizer;
			seen->hidden += *is_hidden;
			note_turns(loops, seen);
		}
		*is_hidden |= !is_read;
	}
}

/* Counts the sample for the loops around backward or the optimizer. */
static void note_training(struct stacks_loops *loops, const struct py_sample *sample, int64_t now_ns)
{
	bool is_optimizer = false, is_hidden = false;
	int trained = stacks_training_frame(sample, &is_optimizer);
	bool is_update = trained >= 0 && !stacks_training_is_derivative(sample, trained);
	loops->turns += is_update && !loops->was_training;
	loops->was_training = is_update;
	loops->updates += is_update && is_optimizer && !loops->was_optimizer;
	loops->was_optimizer = is_update && is_optimizer;
	loops->has_torch = loops->has_torch || stacks_training_has_torch(sample);
	for (size_t i = trained < 0 ? sample->count : (size_t)trained + 1; i < sample->count; i++)
		note_around(loops, &sample->sites[i], is_optimizer, &is_hidden);
	if (trained >= 0 && loops->trained++ == 0)
		loops->trained_ns = now_ns;
	loops->optimized += trained >= 0 && is_optimizer;
}

/* A reading that the loop went on during may lack the length, which another one had. */
static void take_reading(struct seen *seen, const struct py_loop *loop, bool is_anew)
{
	uint64_t length = is_anew ? 0 : seen->loop.length;
	/* The counts of one iteration are of several, if they are from before its position was known. */
	if (!seen->loop.has_position && loop->has_position)
		seen->turns_max = seen->updates_max = 0;
	bool is_same_pass = seen->reads > 0 && seen->loop.frame == loop->frame && seen->loop.object == loop->object;
	seen->loop = *loop;
	if (is_same_pass && !loop->length && length >= loop->position)
		seen->loop.length = length;
}

/* Whether a loop around that of the int has gone on since the int was last read: it may begin anew. */
static bool has_moved_around(const struct stacks_loops *loops, const struct seen *variable)
{
	for (const struct seen *seen = loops->seen; seen < loops->seen + loops->seen_count; seen++)
		if (seen->loop.code == variable->loop.code && seen->loop.depth < variable->loop.depth &&
			seen->moved_ns > variable->read_ns)
			return true;
	return false;
}

/* The sampled frame nearest to the outermost one of which a loop has gone on since the reading before; 0 = none: what
 * it called then has returned. */
static size_t moved_caller(struct stacks_loops *loops, size_t count, bool *is_epoch)
{
	size_t found = 0;
	*is_epoch = false;
	for (size_t i = 0; i < count; i++) {
		const struct py_loop *loop = &loops->found[i];
		const struct seen *seen = find_seen(loops, loop);
		bool is_counted = !stacks_loop_is_variable(loop) || (loop->is_sum && loop->is_by_same);
		if (seen && is_counted && !loop->is_in_generator && loop->has_position && seen->loop.has_position &&
			loop->frame == seen->loop.frame && loop->position > seen->loop.position &&
			!stacks_loop_is_of_standard_library(seen) && loop->frame_index > found) {
			found = loop->frame_index;
			*is_epoch = seen->is_epoch;
		}
	}
	return found;
}

/* Not of a generator, which goes on when it is asked again. */
static bool is_of_new_call(struct stacks_loops *loops, const struct py_loop *loop, size_t caller)
{
	return loop->frame_index < caller && !loop->is_in_generator && !py_loops_is_generator(loops->reader, loop->code);
}

static void note_all(struct stacks_loops *loops, const struct py_sample *sample, struct stacks_lines *lines,
	struct stacks_owner *owner, int64_t now_ns)
{
	int around[STACKS_DEPTH_MAX];
	const struct py_loop *moved = NULL; /* the outermost loop of the frame that has gone on */
	size_t count = py_loops_read(loops->reader, sample, loops->found, PY_LOOPS_MAX);
	count += count < PY_LOOPS_MAX && stacks_loops_changes_read(loops, sample, &loops->found[count], now_ns);
	bool is_epoch;
	size_t caller = moved_caller(loops, count, &is_epoch);
	for (size_t i = 0; i < count; i++) {
		const struct py_loop *loop = &loops->found[i];
		struct seen *seen = seen_of(loops, loop, lines, owner, now_ns);
		/* An attribute goes on. Other ints may count the iterations of a search within a step, say, unless training is
		 * seen or the caller has epochs. */
		bool may_be_new = !stacks_loop_is_variable(loop) || (!loop->object && (loops->has_torch || is_epoch));
		bool is_new = may_be_new && is_of_new_call(loops, loop, caller);
		bool is_within = is_new ||
			(stacks_loop_is_variable(loop) ? has_moved_around(loops, seen)
										   : moved && moved->code == loop->code && moved->depth < loop->depth);
		bool is_anew = is_within || loop->position < seen->loop.position;
		bool has_moved = note_position(seen, loop, is_within, now_ns);
		seen->moved_ns = has_moved ? now_ns : seen->moved_ns;
		moved = has_moved && !is_within ? loop : moved;
		take_reading(seen, loop, is_anew);
		seen->level = sample->count - loop->frame_index;
		seen->ip = loop->site->ip;
		seen->around = py_loops_around(loops->reader, loop->site, around, STACKS_DEPTH_MAX);
		if (!loop->is_in_generator)
			stacks_loop_note_work(seen, loop->site->ip, false);
		seen->reads++;
		seen->read_ns = now_ns;
	}
	loops->uncounted_level = stacks_loops_find_uncounted(loops, sample);
	loops->reads++;
}

/* One around the step loop, or inside it, counts the same work in other steps, and one that follows it other work: what
 * was counted so far is no part of it. */
static void take_steps(struct stacks_loops *loops, struct seen *steps)
{
	const struct seen *before = loops->steps;
	loops->end = loops->whole = 0;
	loops->is_whole = false;
	loops->pace.seen = NULL;
	loops->pace.votes = loops->pace.reads = 0;
	loops->across = (struct stacks_across){ 0 };
	if (before && !stacks_loop_is_of(steps, before)) {
		loops->is_other |=
			loops->is_alone || stacks_loop_is_inside(before, steps) || stacks_loop_is_inside(steps, before);
		loops->yielded = 0;
		loops->pass_ns = 0;
	} else if (before && before != steps) {
		loops->origin = loops->yielded - stacks_loop_position(steps);
	}
	loops->steps = steps;
}

bool stacks_loops_is_withdrawn(struct stacks_loops *loops)
{
	bool is_withdrawn = loops->is_withdrawn;
	loops->is_withdrawn = false;
	return is_withdrawn;
}

bool stacks_loops_is_other(struct stacks_loops *loops)
{
	bool is_other = loops->is_other;
	loops->is_other = false;
	return is_other;
}

void stacks_loops_note(struct stacks_loops *loops, const struct py_sample *sample, struct stacks_lines *lines,
	struct stacks_owner *owner, bool has_steps, int64_t now_ns)
{
	bool is_sought = !has_steps && !loops->is_running;
	if (is_sought)
		note_training(loops, sample, now_ns);
	bool is_soon = is_sought && (loops->steps || stacks_loops_reads_closely(loops, now_ns));
	bool lacks_length = loops->is_running && loops->length == 0 &&
		(loops->steps->loop.guards.has_inner_length || stacks_loops_awaits_pace(loops));
	bool is_often = is_sought || lacks_length || now_ns < loops->epoch_until_ns;
	if (now_ns - loops->read_ns < (is_soon ? READ_AGAIN_NS : is_often ? READ_SOON_NS : READ_SELDOM_NS))
		return;
	loops->since_ns = loops->since_ns ? loops->since_ns : now_ns;
	loops->read_ns = now_ns;
	note_all(loops, sample, lines, owner, now_ns);
	if (!has_steps && !loops->steps) {
		stacks_loops_note_why(loops, sample);
		stacks_loops_changes_try(loops, sample, now_ns);
	}
	if (has_steps || !stacks_loops_may_choose(loops, now_ns))
		return;
	struct seen *best = stacks_loops_find_steps(loops);
	bool may_take = loops->wanted || !loops->steps || !loops->is_alone || (best && stacks_loops_may_follow(best));
	if (best && best != loops->steps && !loops->is_running && may_take)
		take_steps(loops, best);
	if (!loops->steps || loops->steps->read_ns != now_ns || !loops->steps->loop.has_position)
		return;
	stacks_loops_find_end(loops);
	stacks_loops_across_find(loops);
	if (!loops->is_running)
		begin_pass(loops, sample, now_ns);
}
