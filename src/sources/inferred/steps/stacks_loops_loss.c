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

static bool was_not_reset(const struct py_loss *before, const struct py_loss *read)
{
	uint64_t added = read->count - before->count;
	return !read->is_reset || added == 1 ||
		(before->has_index && read->has_index && (uint64_t)read->index - (uint64_t)before->index == added &&
			read->resets == before->resets_before);
}

/* The mean of what was added to a sum since it was last read. */
static bool take_sum(struct stacks_loops *loops, uint64_t serial, const struct py_loss *read, double *out)
{
	struct py_loss before = loops->sum;
	bool is_same = loops->sum_serial == serial && before.slot == read->slot;
	if (is_same && before.count == read->count)
		return false;
	loops->sum = *read;
	loops->sum_serial = serial;
	if (!is_same || read->count < before.count || !was_not_reset(&before, read) || !(read->value > before.value))
		return false;
	*out = (read->value - before.value) / (double)(read->count - before.count);
	return true;
}

bool stacks_loops_loss(struct stacks_loops *loops, const struct py_process *process, const struct py_sample *sample,
	const struct py_counted *pass, const char (*functions)[PY_FUNCTION_SIZE], size_t function_count, double *out)
{
	bool is_known = pass && pass->trains;
	const struct py_loop *steps = loops->is_running ? &loops->steps->loop : NULL;
	uint64_t serial = steps ? loops->serial : pass ? pass->serial : 0, iterator = pass && !steps ? pass->iterator : 0;
	struct py_loss loss;
	for (size_t i = 0; i < sample->count; i++) {
		const struct py_site *site = &sample->sites[i];
		bool is_code = steps && site->code == steps->code;
		bool is_likely = iterator && site->code == pass->code && py_loops_names_backward(loops->reader, site->code);
		const struct py_steps_at at = { is_code || is_likely ||
				is_one_of(site->known->code.function, functions, function_count),
			is_code ? steps->loop_line : 0, iterator };
		if ((!at.is_function && !(is_known && iterator && py_loops_gather_loss(loops->reader, site->code))) ||
			!py_loop_loss(loops->reader, sample, i, &at, &loss))
			continue;
		*out = loss.value;
		return !loss.is_sum || take_sum(loops, serial, &loss, out);
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
