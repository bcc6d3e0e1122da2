/* causes_seen.h: what the samplers saw while a slow batch ran; 0 or NULL if they took no reading inside the window. */
#ifndef PMTOP_EXPLAIN_CAUSES_CAUSES_SEEN_H
#define PMTOP_EXPLAIN_CAUSES_CAUSES_SEEN_H

#include <stdint.h>

#include "src/explain/causes/causes.h"
#include "src/model/batch_window/batch_window.h"
#include "src/model/run/steps/explanation.h"
#include "src/samples/metric.h"

/* Certain growth of a counter inside the window, in excess of its baseline; 0 if there was none. */
double seen_excess(const struct case_file *file, enum metric metric, int32_t instance);
/* Upper bound of a counter's growth in the window. It only names the reason of a wait that the record shows; it never
 * claims seconds itself. */
double seen_about(const struct case_file *file, enum metric metric);
/* The largest such event; `pid` 0: of any process. NULL = none. */
const struct window_event *seen_event(const struct case_file *file, enum window_event_kind kind, int32_t pid);
/* Seconds of that event; 0 if there is none. */
double seen_seconds(const struct case_file *file, enum window_event_kind kind);
/* came: it started inside the window; alive_s: its certain lifetime inside the window. */
struct child {
	const struct window_event *event;
	bool is_compiler, came, went;
	double alive_s, cpu_s;
};
struct child find_child(const struct case_file *file);
void claim_workers(struct case_file *file, struct pool *pool);
void claim_child(struct case_file *file, struct pool *pool, double *from_s, const struct child *child,
	enum cause_kind kind, double max_s);

#endif
