/* counters_parts.h: parts of the Counters view. */
#ifndef PMTOP_UI_VIEWS_COUNTERS_COUNTERS_PARTS_H
#define PMTOP_UI_VIEWS_COUNTERS_COUNTERS_PARTS_H

#include "src/base/text.h"
#include "src/model/machine/perf.h"
#include "ui/widgets/view.h"

/* "instructions", or the name in the config. */
const char *counter_words(const struct perf_event_now *event);
/* An event's count in its unit: "0.690 s" of CPU time, "12.3 GB", "4.56G". */
const char *counter_amount(char out[NUMBER_SIZE], enum perf_role role, double amount);
/* Its rate: "3.42 CPUs", "12.3 GB/s", "4.56G/s". */
const char *counter_rate(char out[NUMBER_SIZE], enum perf_role role, double per_s);
/* Batches per second of the shown run; NAN. */
double counter_batches(const struct scene *scene);
/* Why a figure is missing whose name contains `about`; NULL if no source reported a reason. */
const struct missing *counter_missing(const struct model *model, const char *about);

#endif
