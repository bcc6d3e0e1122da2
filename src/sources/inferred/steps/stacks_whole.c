#include "src/sources/inferred/steps/stacks_whole.h"

#include "src/base/clock.h"
#include "src/sources/inferred/steps/stacks_loops_bound.h"
#include "src/sources/inferred/steps/stacks_loops_choose.h"
#include "src/sources/inferred/steps/stacks_loops_private.h"

/* So many advances show how many batches each takes; with accumulation several do. */
enum { ADVANCES_MIN = 3, AGREED_MIN = 2, BATCHES_OF_ONE_MAX = 64 };
/* Polls may miss the last batches of a pass: one in so many. */
enum { MISSED_RATIO = 10 };
#define READ_NS (1 * NS_PER_S)

static void note_pass(struct stacks_whole *whole, const struct py_counted *pass)
{
	uint64_t before = whole->serial == pass->serial ? whole->yielded : pass->base;
	if (whole->serial && pass->yielded > before)
		whole->passed += pass->yielded - before;
	whole->serial = pass->serial;
	whole->yielded = pass->yielded;
}

/* What the int is when the run ends. 0 = unknown. *is_outer: a loop around its own then ends. */
static uint64_t end_of(struct stacks_loops *loops, const struct seen *seen, bool *is_outer)
{
	struct py_loop_bound bound;
	if (!seen->work.ip || !py_loop_bound(loops->reader, &seen->loop, seen->work.ip, &bound))
		return 0;
	*is_outer = bound.outer_end > 0;
	return bound.has_end ? bound.end : bound.outer_end;
}

/* One that begins anew with each pass is that of an epoch. */
static bool is_good(const struct seen *seen)
{
	return seen->loop.kind == PY_LOOP_INT && !seen->is_target && seen->restarts == 0 && stacks_loop_quality(seen) >= 0;
}

static const struct seen *find_best(struct stacks_loops *loops)
{
	const struct seen *best = NULL;
	bool is_outer;
	for (const struct seen *seen = loops->seen; seen < loops->seen + loops->seen_count; seen++)
		if (seen->read_ns == loops->read_ns && is_good(seen) && end_of(loops, seen, &is_outer) > 0 &&
			(!best || stacks_loop_quality(seen) < stacks_loop_quality(best)))
			best = seen;
	return best;
}

static void forget(struct stacks_whole *whole)
{
	whole->seen = NULL;
	whole->is_new |= whole->planned > 0;
	whole->planned = 0;
}

static void choose(struct stacks_whole *whole, struct stacks_loops *loops)
{
	const struct seen *best = find_best(loops);
	struct py_loop loop;
	if (!best)
		return;
	loop = best->loop;
	if (py_loop_poll(loops->reader, &loop) != PY_LOOP_GOOD)
		return;
	whole->seen = best;
	whole->since_ns = best->since_ns;
	whole->agreed = 0;
	whole->passed_before = whole->passed;
	whole->first = loop.position;
}

/* Batches of each step that the int has counted. 0: they do not go together. */
static uint64_t batches_of_one(const struct stacks_whole *whole, uint64_t advanced)
{
	uint64_t passed = whole->passed - whole->passed_before, each = (passed + advanced / 2) / advanced;
	uint64_t expected = each * advanced, apart = passed > expected ? passed - expected : expected - passed;
	return each <= BATCHES_OF_ONE_MAX && apart <= each + expected / MISSED_RATIO ? each : 0;
}

static void judge(struct stacks_whole *whole, struct stacks_loops *loops, uint64_t value)
{
	const struct seen *seen = whole->seen;
	uint64_t advanced = value - whole->first;
	bool is_outer = false;
	if (advanced < ADVANCES_MIN)
		return;
	uint64_t each = batches_of_one(whole, advanced), end = end_of(loops, seen, &is_outer);
	if (each == 0) {
		forget(whole);
		return;
	}
	whole->agreed++;
	uint64_t done = value > seen->first_step ? value - seen->first_step : 0;
	bool is_carried = is_outer || done * each > whole->yielded + each;
	bool is_known = whole->agreed >= AGREED_MIN && is_carried && end >= value;
	whole->is_new |= is_known || whole->planned > 0;
	whole->each = each;
	whole->done = done * each;
	whole->planned = is_known ? (end - seen->first_step) * each : 0;
}

void stacks_whole_poll(
	struct stacks_whole *whole, struct stacks_loops *loops, const struct py_counted *pass, int64_t now_ns)
{
	note_pass(whole, pass);
	if (now_ns - whole->read_ns < READ_NS)
		return;
	whole->read_ns = now_ns;
	if (whole->seen && (whole->seen->since_ns != whole->since_ns || !is_good(whole->seen)))
		forget(whole);
	if (!whole->seen) {
		choose(whole, loops);
		return;
	}
	struct py_loop loop = whole->seen->loop;
	enum py_loop_reading reading = py_loop_poll(loops->reader, &loop);
	if (reading == PY_LOOP_GOOD && loop.position >= whole->first)
		judge(whole, loops, loop.position);
	else if (reading != PY_LOOP_UNSURE)
		forget(whole);
}

void stacks_whole_take(struct stacks_whole *whole, const struct stacks_loops *loops)
{
	uint64_t done, planned = stacks_loops_whole(loops, &done);
	whole->is_new = planned > 0 || whole->planned > 0;
	whole->done = done;
	whole->planned = planned;
	whole->each = 1;
}
