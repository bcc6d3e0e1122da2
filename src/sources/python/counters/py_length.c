#include "src/sources/python/counters/py_length.h"

#include "src/sources/python/code/py_size.h"
#include "src/sources/python/counters/py_locals.h"
#include "src/sources/python/py_objects.h"
#include "src/sources/python/remote.h"

static bool get_int(const struct py_process *process, uint64_t object, const char *name, uint64_t *out)
{
	uint64_t value;
	return py_attribute_get(process, object, name, &value) && py_int_read(process, value, out);
}

/* RandomSampler's __len__ has two ways through it: its classes' are read by py_size_of if they have their own. */
static bool sampler_size(const struct py_process *process, uint64_t sampler, uint64_t *out)
{
	uint64_t source;
	return py_size_of(process, sampler, out) ||
		(py_is_derived(process, sampler, "RandomSampler") &&
			(get_int(process, sampler, "_num_samples", out) ||
				(py_attribute_get(process, sampler, "data_source", &source) && py_size_of(process, source, out))));
}

/* -- sizes that running samplers store -- */

enum { RANGE_FIELDS = 16 };

/* The size that iter(range(size)) started with. Up to 3.11 it holds index, start, step and length; since then start,
 * step and length of the rest. */
static bool range_size(const struct py_process *process, uint64_t range_iterator, uint64_t *size)
{
	uint64_t words[4];
	bool is_counted = process->location.layout.minor <= 11;
	if (!py_is(process, range_iterator, PY_RANGE_ITERATOR) ||
		!remote_read(process->pid, range_iterator + RANGE_FIELDS, words, is_counted ? sizeof words : 3 * sizeof *words))
		return false;
	uint64_t start = is_counted ? words[1] : words[0], step = is_counted ? words[2] : words[1],
			 length = is_counted ? words[3] : words[2];
	if (step != 1 || (is_counted && start != 0) || start > INT64_MAX || length > INT64_MAX)
		return false;
	*size = is_counted ? length : start + length;
	return true;
}

/* RandomSampler.__iter__ starts with n = len(self.data_source). One that is derived from it may delegate to it. */
static bool random_left(
	const struct py_process *process, uint64_t generator, uint64_t sampler, bool may_delegate, uint64_t *out)
{
	struct py_activation frame;
	uint64_t self, number, held[PY_LOCALS_MAX];
	if (!py_generator_frame(process, generator, &frame) || !py_local_first(process, &frame, &self) || self != sampler)
		return false;
	if (py_local_get(process, &frame, "n", &number) && py_int_read(process, number, out))
		return true;
	size_t count = may_delegate ? py_locals_read(process, &frame, held) : 0;
	for (size_t i = 0; i < count; i++)
		if (held[i] != generator && py_is(process, held[i], PY_GENERATOR) &&
			random_left(process, held[i], sampler, false, out))
			return true;
	return false;
}

/* The result of the dataset's own __len__, if torch's running samplers store it. `iterator`: of the sampler itself. */
static bool stored_size(const struct py_process *process, uint64_t iterator, uint64_t sampler, uint64_t *out)
{
	uint64_t unused;
	bool replaces;
	if (py_is_exactly(process, sampler, "torch.utils.data.sampler", "SequentialSampler"))
		return range_size(process, iterator, out);
	if (!py_is_derived(process, sampler, "RandomSampler") || get_int(process, sampler, "_num_samples", &unused))
		return false;
	return py_attribute_get(process, sampler, "replacement", &unused) && py_bool_read(process, unused, &replaces) &&
		!replaces && random_left(process, iterator, sampler, true, out);
}

/* BatchSampler.__iter__ has sampler_iter = iter(self.sampler). */
static bool stored_size_of_batches(const struct py_process *process, uint64_t iterator, uint64_t sampler, uint64_t *out)
{
	struct py_activation frame;
	uint64_t batches, inner;
	return py_attribute_get(process, iterator, "_sampler_iter", &batches) && py_is(process, batches, PY_GENERATOR) &&
		py_generator_frame(process, batches, &frame) && py_local_get(process, &frame, "sampler_iter", &inner) &&
		stored_size(process, inner, sampler, out);
}

/* Of a DataLoader over an iterable dataset, if that has a length. */
static bool iterable_size(const struct py_process *process, uint64_t iterator, uint64_t *out)
{
	enum { ITERABLE = 1 }; /* torch.utils.data.dataloader._DatasetKind */
	uint64_t kind, dataset;
	return get_int(process, iterator, "_dataset_kind", &kind) && kind == ITERABLE &&
		py_attribute_get(process, iterator, "_dataset", &dataset) && py_size_of(process, dataset, out);
}

uint64_t py_length_read(const struct py_process *process, uint64_t iterator, uint32_t *batch_size)
{
	uint64_t sampler, inner, drop, size, samples;
	bool drops;
	*batch_size = 0;
	if (!py_attribute_get(process, iterator, "_index_sampler", &sampler))
		return 0;
	if (!py_is_exactly(process, sampler, "torch.utils.data.sampler", "BatchSampler"))
		return sampler_size(process, sampler, &samples) ||
				(py_attribute_get(process, iterator, "_sampler_iter", &inner) &&
					stored_size(process, inner, sampler, &samples))
			? samples
			: 0;
	if (!get_int(process, sampler, "batch_size", &size) || size == 0 || size > UINT32_MAX)
		return 0;
	*batch_size = (uint32_t)size;
	if (!py_attribute_get(process, sampler, "drop_last", &drop) || !py_bool_read(process, drop, &drops) ||
		!py_attribute_get(process, sampler, "sampler", &inner) ||
		(!sampler_size(process, inner, &samples) && !stored_size_of_batches(process, iterator, inner, &samples) &&
			!iterable_size(process, iterator, &samples)))
		return 0;
	return drops ? samples / size : samples / size + (samples % size > 0);
}
