#include "src/export/metrics/openmetrics_histogram.h"

#include <math.h>

const struct run_bounds openmetrics_step_bounds = { 12, { 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60 } };
const struct run_bounds openmetrics_phase_bounds = { 4, { 0.01, 0.05, 0.25, 1 } };

void openmetrics_histogram(struct openmetrics *text, const struct run_bounds *bounds,
	const struct run_histogram *histogram, char exemplars[][OPENMETRICS_EXEMPLAR_SIZE])
{
	for (size_t i = 0; i <= bounds->count; i++)
		openmetrics_bucket(text, i < bounds->count ? bounds->s[i] : INFINITY,
			i < bounds->count ? histogram->cumulative[i] : histogram->count, exemplars ? exemplars[i] : "");
	openmetrics_sample(text, "_sum", NULL, histogram->total_s);
	openmetrics_sample(text, "_count", NULL, (double)histogram->count);
}
