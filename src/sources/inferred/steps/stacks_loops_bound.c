#include "src/sources/inferred/steps/stacks_loops_bound.h"

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

void stacks_loops_find_end(struct stacks_loops *loops)
{
	struct seen *steps = loops->steps;
	loops->end = steps->loop.kind == PY_LOOP_INT ? find_end(loops, steps) : 0;
}
