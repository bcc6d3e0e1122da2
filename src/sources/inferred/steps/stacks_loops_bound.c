#include "src/sources/inferred/steps/stacks_loops_bound.h"

#include "src/sources/inferred/steps/stacks_loops_choose.h"

void stacks_loop_note_work(struct seen *seen, uint64_t ip, bool trains)
{
	if (seen->loop.kind != PY_LOOP_INT || (seen->work.is_trained && !trains))
		return;
	if (trains && !seen->work.is_trained)
		seen->work.votes = 0;
	seen->work.is_trained = trains;
	if (seen->work.votes == 0)
		seen->work.ip = ip;
	if (seen->work.ip == ip)
		seen->work.votes++;
	else
		seen->work.votes--;
}

static uint64_t find_end(struct stacks_loops *loops, struct seen *seen)
{
	struct py_loop_bound bound;
	if (!py_loop_bound(loops->reader, &seen->loop, seen->work.ip, &bound))
		return 0;
	if (!seen->is_placed)
		seen->is_behind = bound.is_behind;
	seen->is_placed = true;
	return bound.has_end && bound.end > seen->first_step ? bound.end - seen->first_step : 0;
}

/* Of `for step in count(1)`: what the item of its first iteration was. False: unknown, for the loop went on meanwhile.
 */
static bool read_first_item(
	struct stacks_loops *loops, const struct seen *steps, const struct seen *target, uint64_t *out)
{
	struct py_loop before = steps->loop, after = steps->loop, item = target->loop;
	if (py_loop_poll(loops->reader, &before) != PY_LOOP_GOOD || py_loop_poll(loops->reader, &item) != PY_LOOP_GOOD ||
		py_loop_poll(loops->reader, &after) != PY_LOOP_GOOD || before.position != after.position ||
		before.position == 0 || item.position + 1 < before.position)
		return false;
	*out = item.position + 1 - before.position;
	return true;
}

/* "for step in count(): if step >= max_steps: break". Between two items the one that is read may be the last one's, so
 * two readings must agree. */
static uint64_t find_end_by_target(struct stacks_loops *loops, const struct seen *steps)
{
	struct py_loop_bound bound;
	uint64_t first, again;
	for (const struct seen *seen = loops->seen; seen < loops->seen + loops->seen_count; seen++) {
		bool is_target = seen->is_target && seen->loop.kind == PY_LOOP_INT && stacks_loop_is_of(seen, steps) &&
			seen->loop.line == steps->loop.line && seen->read_ns == steps->read_ns;
		if (is_target && py_loop_bound(loops->reader, &seen->loop, seen->work.ip, &bound) && bound.has_end &&
			read_first_item(loops, steps, seen, &first) && read_first_item(loops, steps, seen, &again) &&
			first == again && bound.end > first)
			return bound.end - first;
	}
	return 0;
}

void stacks_loops_find_end(struct stacks_loops *loops)
{
	struct seen *steps = loops->steps;
	if (steps->loop.kind == PY_LOOP_INT)
		loops->end = find_end(loops, steps);
	else if (steps->loop.kind == PY_LOOP_ITERTOOLS && !steps->loop.length && !loops->end)
		loops->end = find_end_by_target(loops, steps);
}
