#include "src/sources/inferred/steps/stacks_loops_across.h"

#include "src/sources/inferred/steps/stacks_loops_epoch.h"

enum { SINGLE_MIN = 8 };

static bool goes_on(const struct stacks_loops *loops)
{
	return loops->steps && stacks_loop_is_variable(&loops->steps->loop) && loops->steps->restarts == 0 &&
		!loops->is_alone;
}

/* It began before the epochs did: an attribute, or a variable that is assigned above their loop. */
static bool is_carried(const struct stacks_loops *loops)
{
	const struct seen *steps = loops->steps, *epochs = loops->across.epochs;
	return (steps->loop.kind == PY_LOOP_INT || steps->loop.kind == PY_LOOP_STATE) &&
		(steps->loop.object ||
			(steps->first_line && steps->loop.code == epochs->loop.code && steps->first_line < epochs->loop.line));
}

void stacks_loops_across_find(struct stacks_loops *loops)
{
	struct stacks_across *across = &loops->across;
	const struct seen *found = goes_on(loops) ? stacks_loops_find_across(loops) : NULL;
	if (found != across->epochs || (found && found->since_ns != across->since_ns))
		*across = (struct stacks_across){ .epochs = found, .since_ns = found ? found->since_ns : 0 };
}

/* What the variable of the steps is, from 0 on: the steps that have ended, or with is_behind the one in progress. */
static uint64_t done_of(const struct seen *steps)
{
	return steps->loop.position > steps->first_step ? steps->loop.position - steps->first_step : 0;
}

/* `number`: of the epoch in which a step was done at least, and one at most. */
static void bound_length(struct stacks_across *across, uint64_t number, uint64_t least_done, uint64_t most_done)
{
	uint64_t least = (least_done + number - 1) / number, most = number > 1 ? most_done / (number - 1) : 0;
	across->least = least > across->least ? least : across->least;
	across->most = most && (!across->most || most < across->most) ? most : across->most;
}

uint64_t stacks_loops_across_length(const struct stacks_loops *loops)
{
	const struct stacks_across *across = &loops->across;
	return across->is_on && across->most > 0 && across->least == across->most ? across->most : 0;
}

/* The steps before the epoch that has begun since the reading before. Steps that are read one by one show it: the one
 * in progress is the first, or none has begun yet. Else it is one of the few that passed between the readings. */
static uint64_t find_begin(const struct stacks_across *across, uint64_t position, uint64_t done)
{
	bool has_length = across->most > 0 && across->least == across->most;
	uint64_t before = has_length ? (across->epoch.number - 1) * across->most : 0;
	if (has_length && before >= across->done && before <= done)
		return before;
	return across->single >= SINGLE_MIN && position == across->position + 1 ? across->position : done;
}

/* Steps may have gone on since their poll, and before the epochs were read. */
static void read_steps(struct stacks_loops *loops, uint64_t *position, uint64_t *done)
{
	struct seen steps = *loops->steps;
	if (py_loop_poll(loops->reader, &steps.loop) != PY_LOOP_GOOD)
		return;
	*position = stacks_loop_position(&steps);
	*done = done_of(&steps);
}

/* The first reading: of an epoch that is not the first one, what counts the steps shows only those of all epochs. */
static void begin_reading(struct stacks_loops *loops, uint64_t number, uint64_t position)
{
	struct stacks_across *across = &loops->across;
	across->is_read = true;
	across->is_on = number == 1 || (number > 1 && is_carried(loops));
	across->begin = number > 1 && position > 0 ? position - 1 : 0;
}

bool stacks_loops_across_poll(struct stacks_loops *loops)
{
	struct stacks_across *across = &loops->across;
	struct stacks_epoch epoch;
	uint64_t value, position = stacks_loop_position(loops->steps), done = done_of(loops->steps), done_before = done;
	if (!across->epochs || across->epochs->since_ns != across->since_ns ||
		!stacks_loops_read_across(loops, across->epochs, &value, &epoch))
		return false;
	bool is_next = across->is_read && value != across->value;
	if (is_next)
		read_steps(loops, &position, &done);
	across->single = position <= across->position + 1 ? across->single + 1 : 0;
	across->epoch = epoch;
	if (epoch.number > 0)
		bound_length(across, epoch.number, done_before, done);
	is_next &= across->is_on || epoch.number > 0;
	if (!across->is_read)
		begin_reading(loops, epoch.number, position);
	if (is_next)
		across->begin = epoch.number > 0 ? find_begin(across, position, done) : done;
	across->is_on = epoch.number > 0 && (is_next || across->is_on);
	across->value = value;
	across->position = position;
	across->done = done;
	return is_next;
}

bool stacks_loops_across_left(struct stacks_loops *loops)
{
	struct seen left = *loops->steps;
	if (!py_loop_read_left(loops->reader, &left.loop) || stacks_loops_across_poll(loops) ||
		left.loop.position <= loops->steps->loop.position)
		return false;
	loops->steps->loop.position = left.loop.position;
	return true;
}
