#include "src/trace/output/profile_view.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "src/trace/store/profile_flops.h"
#include "src/trace/store/profile_table.h"

struct order {
	const struct profile_names *names;
	enum profile_sort sort;
};

static int by_name(const struct profile_names *names, uint32_t a, uint32_t b)
{
	struct profile_slice x = profile_names_text(names, a), y = profile_names_text(names, b);
	int sign = memcmp(x.text, y.text, x.length < y.length ? x.length : y.length);
	return sign ? sign : (x.length > y.length) - (x.length < y.length);
}

static int64_t figure(const struct profile_op *op, enum profile_sort sort)
{
	switch (sort) {
	case SORT_SELF_GPU: return op->gpu_self_ns;
	case SORT_TOTAL_GPU: return op->gpu_total_ns;
	case SORT_TOTAL_CPU: return op->total_ns;
	case SORT_COUNT: return (int64_t)op->count;
	default: return op->self_ns;
	}
}

static int compare_ops(const void *a, const void *b, void *context)
{
	const struct profile_op *x = *(const struct profile_op *const *)a, *y = *(const struct profile_op *const *)b;
	const struct order *order = context;
	int64_t first = figure(x, order->sort), second = figure(y, order->sort);
	if (order->sort != SORT_NAME && first != second)
		return first < second ? 1 : -1;
	if (order->sort != SORT_NAME && x->self_ns != y->self_ns)
		return x->self_ns < y->self_ns ? 1 : -1;
	return by_name(order->names, profile_name_of(x->name), profile_name_of(y->name));
}

const struct profile_op **profile_view_ops(
	const struct profile_analysis *analysis, const struct profile_view *view, unsigned kinds, uint32_t *count)
{
	const struct profile_op **rows = malloc((analysis->ops.count + 1) * sizeof *rows);
	struct order order = { &analysis->profile.names, view->sort };
	*count = 0;
	if (!rows)
		return NULL;
	if (!order.sort)
		order.sort = analysis->idle.gpu_count ? SORT_SELF_GPU : SORT_SELF_CPU;
	for (uint32_t i = 0; i < analysis->ops.count; i++)
		if (kinds >> profile_kind_of(analysis->ops.rows[i].name) & 1 && analysis->ops.rows[i].count)
			rows[(*count)++] = &analysis->ops.rows[i];
	qsort_r(rows, *count, sizeof *rows, compare_ops, &order);
	return rows;
}

static int compare_kernels(const void *a, const void *b, void *context)
{
	const struct profile_kernel *x = *(const struct profile_kernel *const *)a,
								*y = *(const struct profile_kernel *const *)b;
	const struct order *order = context;
	bool by_count = order->sort == SORT_COUNT;
	int64_t first = by_count ? (int64_t)x->count : x->total_ns, second = by_count ? (int64_t)y->count : y->total_ns;
	if (order->sort != SORT_NAME && first != second)
		return first < second ? 1 : -1;
	return by_name(order->names, x->name, y->name);
}

const struct profile_kernel **profile_view_kernels(
	const struct profile_analysis *analysis, const struct profile_view *view, uint32_t *count)
{
	const struct profile *profile = &analysis->profile;
	const struct profile_kernel **rows = malloc((profile->kernel_count + 1) * sizeof *rows);
	struct order order = { &profile->names, view->sort };
	*count = 0;
	if (!rows)
		return NULL;
	for (uint32_t i = 0; i < profile->kernel_count; i++)
		rows[(*count)++] = &profile->kernels[i];
	qsort_r(rows, *count, sizeof *rows, compare_kernels, &order);
	return rows;
}

const char *profile_gpu_label(int32_t index, char out[24])
{
	snprintf(out, 24, index == PROFILE_GPU_MEAN ? "GPUs" : index < 0 ? "GPU" : "GPU %d", index);
	return out;
}

const char *profile_gpu_name(
	const struct profile *profile, const struct profile_gpu *gpu, char out[PROFILE_GPU_NAME_SIZE])
{
	const struct profile_track *track = &profile->tracks[gpu->track];
	uint32_t name = track->pid_name ? track->pid_name : track->process;
	char label[24], process[PROFILE_GPU_NAME_SIZE - 28];
	profile_gpu_label(gpu->index, label);
	snprintf(process, sizeof process, "process %" PRId64, track->pid);
	if (name)
		profile_names_show(&profile->names, name, process, sizeof process);
	snprintf(out, PROFILE_GPU_NAME_SIZE, gpu->is_twin ? "%s of %s" : "%s", label, process);
	return out;
}

const char *profile_no_cause(const struct profile *profile)
{
	return profile->has_skewed_clock ? "the clocks differ" : "no host events";
}

/* Removes every `part` from a text. */
static void drop(char *text, const char *part)
{
	size_t length = strlen(part);
	for (char *at = text; (at = strstr(at, part));)
		memmove(at, at + length, strlen(at + length) + 1);
}

/* The first bracket that opens the arguments of a function; one behind a space, comma or "<" is a cast. */
static char *find_arguments(char *text)
{
	for (char *at = strchr(text, '('); at; at = strchr(at + 1, '('))
		if (at > text && !strchr(" ,<(", at[-1]))
			return at;
	return NULL;
}

const char *profile_kernel_label(const struct profile_names *names, uint32_t name, char *out, size_t size)
{
	static const char *const common[] = { "void ",
		"at::native::", "(anonymous namespace)::", "engines_precompiled::", "at_cuda_detail::", "std::" };
	profile_names_show(names, name, out, size);
	for (size_t i = 0; i < sizeof common / sizeof *common; i++)
		drop(out, common[i]);
	char *arguments = find_arguments(out);
	if (arguments && !memmem(out, (size_t)(arguments - out), "Mem", 3))
		*arguments = '\0';
	return out;
}

double profile_op_flops(const struct profile_analysis *analysis, const struct profile_op *op)
{
	const struct profile_table *flops = analysis->profile.flops;
	uint32_t name = profile_name_of(op->name);
	double sum = 0;
	if (profile_kind_of(op->name) != PROFILE_OP ||
		(analysis->ops.group != GROUP_NAME && analysis->ops.group != GROUP_SHAPE))
		return NAN;
	if (analysis->ops.group == GROUP_SHAPE) {
		const struct profile_entry *entry = profile_table_find(flops, profile_flops_key(name, op->by));
		return entry ? entry->number : NAN;
	}
	for (size_t i = 0; i < flops->capacity; i++)
		if (flops->entries[i].is_used && flops->entries[i].key >> 32 == name)
			sum += flops->entries[i].number;
	return sum > 0 ? sum : NAN;
}

int64_t profile_ops_missing_ns(const struct profile_analysis *analysis)
{
	const struct profile *profile = &analysis->profile;
	int64_t ns = 0;
	for (uint32_t i = 0; i < profile->kernel_count; i++)
		ns += profile->kernels[i].total_ns;
	for (uint32_t i = 0; i < profile->copy_count; i++)
		ns += profile->copies[i].total_ns;
	for (uint32_t i = 0; i < analysis->ops.count; i++)
		if (profile_kind_of(analysis->ops.rows[i].name) <= PROFILE_ANNOTATION)
			ns -= analysis->ops.rows[i].gpu_self_ns;
	return ns > 0 ? ns : 0;
}
