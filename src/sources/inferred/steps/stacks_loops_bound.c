#include "src/sources/inferred/steps/stacks_loops_bound.h"

#include "src/sources/inferred/steps/stacks_loops_choose.h"

enum { VOTES_MIN = 3, PACE_READS_MAX = 60 };

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
	uint64_t last = bound.has_end ? bound.end : bound.outer_end;
	loops->whole = last > seen->first_step ? last - seen->first_step : 0;
	loops->is_whole = bound.outer_end > 0;
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

/* "while timesteps < total: timesteps += rollout(); iteration += 1": with each step, what ends the loop advances by the
 * same, if it was 0 at first. */
uint64_t stacks_loops_note_pace(
	struct stacks_loops *loops, const struct seen *seen, uint64_t position, uint64_t value, uint64_t end)
{
	if (position < 2 || value == 0)
		return 0;
	uint64_t done = value % position == 0 ? position : position - 1, by = value / done;
	if (value % done != 0)
		return 0;
	if (loops->pace.seen != seen || loops->pace.by != by)
		loops->pace.votes = 0;
	loops->pace.votes += loops->pace.votes == 0 || loops->pace.position != position;
	loops->pace.seen = seen;
	loops->pace.by = by;
	loops->pace.position = position;
	return loops->pace.votes >= VOTES_MIN ? (end + by - 1) / by : 0;
}

bool stacks_loops_awaits_pace(const struct stacks_loops *loops)
{
	return loops->pace.seen && loops->pace.reads < PACE_READS_MAX;
}

/* Read while the work of a step is done, when nothing else advances. */
static uint64_t find_end_by_pace(struct stacks_loops *loops, const struct seen *steps)
{
	struct py_loop_bound bound;
	for (const struct seen *seen = loops->seen; seen < loops->seen + loops->seen_count; seen++) {
		bool is_other = seen != steps && seen->loop.kind == PY_LOOP_INT && seen->loop.is_compared && !seen->goes_back &&
			stacks_loop_is_of(seen, steps) && seen->read_ns == steps->read_ns;
		if (!is_other || seen->ip != steps->work.ip || !steps->work.is_trained ||
			!py_loop_bound(loops->reader, &seen->loop, seen->work.ip, &bound) || !bound.has_end)
			continue;
		loops->pace.reads++;
		return stacks_loops_note_pace(loops, seen, stacks_loop_position(steps), seen->loop.position, bound.end);
	}
	return 0;
}

static uint64_t end_of_int(struct stacks_loops *loops, struct seen *steps)
{
	uint64_t end = find_end(loops, steps);
	if (!end)
		end = find_end_by_pace(loops, steps);
	return end || !loops->pace.seen ? end : loops->end;
}

uint64_t stacks_loops_whole(const struct stacks_loops *loops, uint64_t *done)
{
	const struct seen *steps = loops->steps;
	bool is_it = loops->is_running && steps->loop.kind == PY_LOOP_INT && steps->restarts == 0 &&
		(loops->across.is_on || loops->is_whole);
	*done = is_it ? stacks_loop_position(steps) : 0;
	return is_it && loops->whole >= *done ? loops->whole : 0;
}

void stacks_loops_find_end(struct stacks_loops *loops)
{
	struct seen *steps = loops->steps;
	if (steps->loop.kind == PY_LOOP_INT)
		loops->end = end_of_int(loops, steps);
	else if (steps->loop.kind == PY_LOOP_ITERTOOLS && !steps->loop.length && !loops->end)
		loops->end = find_end_by_target(loops, steps);
}
