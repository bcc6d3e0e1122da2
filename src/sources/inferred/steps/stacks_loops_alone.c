#include "src/sources/inferred/steps/stacks_loops_alone.h"

#include <string.h>

#include "src/sources/inferred/steps/stacks_steps_mode.h"

/* asyncio's loop over what is ready repeats nothing. */
static bool is_of_asyncio(const struct py_site *site) { return strstr(site->known->code.file, "/asyncio/") != NULL; }

/* What is around a notebook's cell, or a line that was typed. */
static bool is_of_console(const struct py_site *site)
{
	return strstr(site->known->code.file, "/IPython/") || strstr(site->known->code.file, "/ipykernel/");
}

bool stacks_loops_find_alone(const struct stacks_loops *loops, const struct py_sample *sample)
{
	int lines[STACKS_DEPTH_MAX];
	const struct py_loop *loop = &loops->steps->loop;
	if (sample->is_cut || loop->depth > 0 || loop->is_in_generator)
		return false;
	for (size_t i = loop->frame_index + 1; i < sample->count && !is_of_console(&sample->sites[i]); i++)
		if (py_loops_around(loops->reader, &sample->sites[i], lines, STACKS_DEPTH_MAX) > 0 &&
			!is_of_asyncio(&sample->sites[i]))
			return false;
	return true;
}

void stacks_loops_forget_past(struct stacks_loops *loops)
{
	struct seen steps = *loops->steps;
	steps.reads = steps.trained = steps.optimized = steps.hidden = 0;
	steps.advanced = 0;
	loops->seen[0] = steps;
	loops->seen_count = 1;
	loops->steps = &loops->seen[0];
	loops->pace.seen = NULL;
	loops->across = (struct stacks_across){ 0 };
	loops->reads = loops->trained = loops->optimized = loops->turns = loops->updates = 0;
	loops->was_training = loops->was_optimizer = false;
	loops->since_ns = loops->trained_ns = loops->close_until_ns = 0;
}

bool stacks_loops_may_follow(const struct seen *next)
{
	return next->trained > 0 ||
		!(stacks_steps_names_validation(next->text) || stacks_steps_names_validation(next->function));
}
