/* openmetrics.h: writes OpenMetrics 1.0, family by family: to_openmetrics.c for runs and processes,
 * openmetrics_hardware.c for the hardware, src/export/scrape for `pmtop exporter`. Internal to src/export.
 *
 *   openmetrics_begin(text, "gpu_power_watts", "gauge", "watts", "What it draws.");
 *   buffer_clear(&text->labels), openmetrics_label(text, "gpu", "0");
 *   openmetrics_sample(text, "", NULL, 412.5); */
#ifndef PMTOP_EXPORT_METRICS_OPENMETRICS_H
#define PMTOP_EXPORT_METRICS_OPENMETRICS_H

#include <stdbool.h>
#include <stdint.h>

#include "src/base/buffer.h"
#include "src/export/exporter.h"

/* Begins a family. Its header is written with its first sample, so a family without samples is omitted. Unit "": none.
 */
struct openmetrics_family {
	const char *name, *type, *unit, *help;
	bool is_written;
};

struct openmetrics {
	struct buffer *out;
	/* Prometheus's text format 0.0.4 instead: without units, the type info, exemplars and the last line */
	bool is_plain;
	const struct export_scene *scene;
	struct openmetrics_family family;
	struct buffer labels;
};

void openmetrics_begin(
	struct openmetrics *text, const char *name, const char *type, const char *unit, const char *help);
/* Omitted if the value is empty. */
void openmetrics_label(struct openmetrics *text, const char *name, const char *value);
void openmetrics_label_number(struct openmetrics *text, const char *name, int64_t value);
/* Omitted if the value is unknown. `quantile` may be NULL. */
void openmetrics_sample(struct openmetrics *text, const char *suffix, const char *quantile, double value);
/* A cumulative bucket of a histogram up to `bound` (INFINITY: the last). `exemplar` is "{labels} value time", or empty.
 */
void openmetrics_bucket(struct openmetrics *text, double bound, uint64_t count, const char *exemplar);

#endif
