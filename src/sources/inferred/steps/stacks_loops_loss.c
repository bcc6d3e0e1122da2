#include "src/sources/inferred/steps/stacks_loops_loss.h"

#include <string.h>

#include "src/sources/inferred/steps/stacks_loops_private.h"
#include "src/sources/python/counters/py_bar.h"

static bool is_one_of(const char *function, const char (*functions)[PY_FUNCTION_SIZE], size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(functions[i], function) == 0)
			return true;
	return false;
}

bool stacks_loops_loss(struct stacks_loops *loops, const struct py_process *process, const struct py_sample *sample,
	const char (*functions)[PY_FUNCTION_SIZE], size_t function_count, double *out)
{
	for (size_t i = 0; i < sample->count; i++) {
		const struct py_site *site = &sample->sites[i];
		bool has_steps = (loops->is_running && site->code == loops->steps->loop.code) ||
			is_one_of(site->known->code.function, functions, function_count);
		if (has_steps && py_loop_loss(loops->reader, sample, i, out))
			return true;
	}
	for (const struct seen *seen = loops->seen; seen < loops->seen + loops->seen_count; seen++)
		if (seen->read_ns == loops->read_ns && py_loop_state_loss(loops->reader, &seen->loop, out))
			return true;
	for (const struct seen *seen = loops->seen; seen < loops->seen + loops->seen_count; seen++)
		if (seen->read_ns == loops->read_ns && seen->loop.kind == PY_LOOP_PROGRESS &&
			py_bar_loss(process, seen->loop.object, out))
			return true;
	return false;
}
