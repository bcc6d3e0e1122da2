#include "src/commands/summarize_trace.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/compare/summary/summary.h"
#include "src/trace/analysis/profile_analysis.h"
#include "src/trace/store/profile_names.h"

static const char step_prefix[] = "ProfilerStep";

/* All operations of the trace, before the longest are chosen. */
struct found {
	struct summary_operation *rows;
	size_t count;
};

static void add_found(struct found *found, const struct profile_analysis *trace, uint32_t name, const char *parent,
	double total_s, uint64_t count)
{
	struct summary_operation *row = &found->rows[found->count++];
	*row = (struct summary_operation){ .depth = parent[0] ? 1 : 0,
		.count = count,
		.total_s = total_s,
		.mean_s = NAN,
		.p50_s = NAN,
		.p95_s = NAN,
		.share_ratio = NAN };
	profile_names_show(&trace->profile.names, name, row->name, sizeof row->name);
	snprintf(row->parent, sizeof row->parent, "%s", parent);
}

static void add_operators(struct found *found, const struct profile_analysis *trace)
{
	for (uint32_t i = 0; i < trace->ops.count; i++) {
		const struct profile_op *op = &trace->ops.rows[i];
		enum profile_kind kind = profile_kind_of(op->name);
		uint32_t name = profile_name_of(op->name);
		int64_t own_ns = trace->idle.gpu_count ? op->gpu_self_ns : op->self_ns;
		if (op->count && kind <= PROFILE_ANNOTATION && !profile_names_begin(&trace->profile.names, name, step_prefix))
			add_found(
				found, trace, name, "", (double)(kind == PROFILE_ANNOTATION ? op->total_ns : own_ns) * 1e-9, op->count);
	}
	for (uint32_t i = 0; i < trace->profile.kernel_count; i++) {
		const struct profile_kernel *kernel = &trace->profile.kernels[i];
		add_found(found, trace, kernel->name, "kernel", (double)kernel->total_ns * 1e-9, kernel->count);
	}
}

static int by_name(const void *a, const void *b)
{
	const struct summary_operation *x = a, *y = b;
	int order = strcmp(x->parent, y->parent);
	return order ? order : strcmp(x->name, y->name);
}

static int by_total(const void *a, const void *b)
{
	double x = ((const struct summary_operation *)a)->total_s, y = ((const struct summary_operation *)b)->total_s;
	return x < y || x > y ? (x < y) - (x > y) : by_name(a, b);
}

/* Names are cut: those that begin alike count together. */
static void join(struct found *found)
{
	size_t out = 0;
	qsort(found->rows, found->count, sizeof *found->rows, by_name);
	for (size_t i = 0; i < found->count; i++) {
		struct summary_operation *row = &found->rows[i];
		if (out && by_name(&found->rows[out - 1], row) == 0) {
			found->rows[out - 1].total_s += row->total_s;
			found->rows[out - 1].count += row->count;
		} else {
			found->rows[out++] = *row;
		}
	}
	found->count = out;
	qsort(found->rows, out, sizeof *found->rows, by_total);
}

static void take_steps(const struct profile_idle *idle, struct summary *out)
{
	double total_s = 0;
	for (uint32_t i = 0; i < idle->step_count; i++)
		total_s += (double)idle->steps[i].duration_ns * 1e-9;
	out->mean_s = total_s / idle->step_count;
	out->steps_per_s = 1 / out->mean_s;
	struct summary_operation *step = &out->operations[out->operation_count++];
	*step = (struct summary_operation){ .name = "step",
		.count = idle->step_count,
		.mean_s = out->mean_s,
		.p50_s = NAN,
		.p95_s = NAN,
		.total_s = total_s,
		.share_ratio = NAN };
}

static void take_gpus(const struct profile_analysis *trace, struct summary *out)
{
	double busy_s = 0, window_s = 0, peak = NAN;
	for (uint32_t i = 0; i < trace->idle.gpu_count; i++) {
		busy_s += (double)trace->idle.gpus[i].busy_ns * 1e-9;
		window_s += (double)trace->idle.gpus[i].window_ns * 1e-9;
	}
	for (uint32_t i = 0; i < trace->memories.count; i++)
		if (trace->memories.devices[i].device_type == 1)
			peak = fmax(peak, (double)trace->memories.devices[i].peak_bytes);
	out->gpu_busy_ratio = window_s > 0 ? busy_s / window_s : NAN;
	out->gpu_peak_bytes = peak;
}

void summary_of_trace(const struct profile_analysis *trace, struct summary *out)
{
	const struct profile *profile = &trace->profile;
	struct found found = { .rows = calloc((size_t)trace->ops.count + profile->kernel_count + 1, sizeof *found.rows) };
	uint32_t steps = trace->idle.step_count;
	summary_init(out);
	out->origin = ORIGIN_TRACE;
	snprintf(out->label, sizeof out->label, "%.255s", trace->path);
	snprintf(out->command, sizeof out->command, "%.127s", summary_name(out));
	if (profile->end_ns > profile->start_ns)
		out->train_s = (double)(profile->end_ns - profile->start_ns) * 1e-9;
	snprintf(out->meta[0].key, sizeof out->meta[0].key, "operators by");
	snprintf(
		out->meta[0].value, sizeof out->meta[0].value, "own time on the %s", trace->idle.gpu_count ? "GPU" : "host");
	out->meta_count = 1;
	if (steps)
		take_steps(&trace->idle, out);
	take_gpus(trace, out);
	if (found.rows) {
		add_operators(&found, trace);
		join(&found);
	}
	for (size_t i = 0; i < found.count && out->operation_count < SUMMARY_OPERATIONS_MAX; i++) {
		struct summary_operation *to = &out->operations[out->operation_count++];
		*to = found.rows[i];
		to->count = steps ? steps : 1;
		to->mean_s = to->total_s / (double)to->count;
	}
	free(found.rows);
}

enum status summarize_trace(const char *path, struct summary *out, struct reason *why_not)
{
	struct profile_analysis *trace = calloc(1, sizeof *trace);
	if (!trace)
		return reason_set(why_not, STATUS_NO_MEMORY, NULL, "out of memory");
	enum status status = profile_analyse(trace, path, GROUP_NAME, NULL, why_not);
	if (status == STATUS_OK) {
		summary_of_trace(trace, out);
		profile_analysis_release(trace);
	}
	free(trace);
	return status;
}
