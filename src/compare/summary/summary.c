#include "src/compare/summary/summary.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/model/statistics/statistics.h"

static const double outer = 0.05;

void summary_init(struct summary *summary)
{
	*summary = (struct summary){ .stride = 1,
		.cpus = NAN,
		.batch_size = NAN,
		.samples = NAN,
		.median_s = NAN,
		.mad_s = NAN,
		.mean_s = NAN,
		.p95_s = NAN,
		.least_s = NAN,
		.most_s = NAN,
		.middle_s = NAN,
		.samples_per_s = NAN,
		.steps_per_s = NAN,
		.loss = NAN,
		.peak_bytes = NAN,
		.growth_bytes = NAN,
		.gpu_peak_bytes = NAN,
		.train_s = NAN,
		.flops_per_sample = NAN,
		.flops_per_s = NAN,
		.requests = NAN,
		.request_failed_ratio = NAN,
		.request_p50_s = NAN,
		.request_p95_s = NAN,
		.request_p99_s = NAN,
		.gpu_busy_ratio = NAN,
		.gpu_used_bytes = NAN,
		.joules = NAN,
		.joules_per_sample = NAN,
		.joules_per_batch = NAN };
}

void summary_release(struct summary *summary)
{
	free(summary->steps);
	for (unsigned i = 0; i < summary->phase_count; i++)
		free(summary->phases[i].seconds);
	summary->steps = NULL;
	summary->phase_count = 0;
	summary->step_count = 0;
}

size_t summary_middle(const struct summary *summary, size_t *middle)
{
	size_t count = 0, n = summary->step_count;
	double *sorted = malloc((n ? n : 1) * sizeof *sorted);
	if (!sorted)
		return 0;
	memcpy(sorted, summary->steps, n * sizeof *sorted);
	sort_ascending(sorted, n);
	double low = quantile_of_sorted(sorted, n, outer), high = quantile_of_sorted(sorted, n, 1 - outer);
	for (size_t i = 0; i < n; i++)
		if (summary->steps[i] >= low && summary->steps[i] <= high)
			middle[count++] = i;
	/* Of two different steps none is in the middle. */
	while (n < 3 && count < n) {
		middle[count] = count;
		count++;
	}
	free(sorted);
	return count;
}

static double mean_over(const double *values, const size_t *indices, size_t count)
{
	double sum = 0;
	for (size_t i = 0; i < count; i++)
		sum += values[indices[i]];
	return count ? sum / (double)count : NAN;
}

bool summary_finish(struct summary *summary)
{
	size_t n = summary->step_count;
	if (n == 0)
		return true;
	double *values = malloc(n * sizeof *values);
	size_t *middle = malloc(n * sizeof *middle), count = middle ? summary_middle(summary, middle) : 0;
	bool is_done = values && count;
	if (is_done) {
		memcpy(values, summary->steps, n * sizeof *values);
		summary->median_s = median_of(values, n);
		summary->p95_s = quantile_of(values, n, 0.95);
		summary->mad_s = mad_of(values, n, summary->median_s);
		summary->mean_s = summary->total_s / (double)summary->seen;
		summary->middle_s = mean_over(summary->steps, middle, count);
		summary->steps_per_s = (double)summary->seen / summary->total_s;
		summary->samples_per_s = summary->samples / summary->total_s;
		summary->flops_per_s = summary->flops_per_sample * summary->samples_per_s;
		for (unsigned i = 0; i < summary->phase_count; i++) {
			summary->phases[i].mean_s = mean_over(summary->phases[i].seconds, middle, count);
			summary->phases[i].share_ratio = summary->phases[i].total_s / summary->total_s;
		}
	}
	free(middle);
	free(values);
	return is_done;
}

bool summary_has_steps(const struct summary *summary) { return summary->step_count > 0; }

const char *summary_meta(const struct summary *summary, const char *key)
{
	for (size_t i = 0; i < summary->meta_count; i++)
		if (strcmp(summary->meta[i].key, key) == 0)
			return summary->meta[i].value;
	return NULL;
}

const struct summary_phase *summary_phase(const struct summary *summary, const char *name)
{
	for (unsigned i = 0; i < summary->phase_count; i++)
		if (strcmp(summary->phases[i].name, name) == 0)
			return &summary->phases[i];
	return NULL;
}

bool summary_has_content(const struct summary *summary) { return summary->operation_count || summary->requests > 0; }

const struct summary_operation *summary_operation(const struct summary *summary, const char *name, const char *parent)
{
	const struct summary_operation *max = NULL;
	for (size_t i = 0; i < summary->operation_count; i++) {
		const struct summary_operation *operation = &summary->operations[i];
		if (strcmp(operation->name, name) != 0 || (parent && strcmp(operation->parent, parent) != 0))
			continue;
		if (!max || operation->total_s > max->total_s)
			max = operation;
	}
	return max;
}

double summary_gauge(const struct summary *summary, const char *name)
{
	for (size_t i = 0; i < summary->gauge_count; i++)
		if (strcmp(summary->gauges[i].name, name) == 0)
			return summary->gauges[i].last;
	return NAN;
}

const char *summary_name(const struct summary *summary)
{
	const char *slash = strrchr(summary->label, '/');
	return slash && slash[1] ? slash + 1 : summary->label;
}
