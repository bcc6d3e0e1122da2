/* openmetrics_histogram.h: the histograms of steps and phases, the same in pmtop exporter and in --to=openmetrics. */
#ifndef PMTOP_EXPORT_METRICS_OPENMETRICS_HISTOGRAM_H
#define PMTOP_EXPORT_METRICS_OPENMETRICS_HISTOGRAM_H

#include "src/export/metrics/openmetrics.h"
#include "src/model/run/figures/run_histogram.h"

enum { OPENMETRICS_EXEMPLAR_SIZE = 160 };

extern const struct run_bounds openmetrics_step_bounds, openmetrics_phase_bounds;

/* Buckets, sum and count, with the labels that are set. `exemplars`: one for each bound and one for the last bucket;
 * NULL: none. */
void openmetrics_histogram(struct openmetrics *text, const struct run_bounds *bounds,
	const struct run_histogram *histogram, char exemplars[][OPENMETRICS_EXEMPLAR_SIZE]);

#endif
