/* explain.h: why one batch was slow: its excess over the baseline step, divided among causes, largest first. The
 * unexplained rest is "unknown". */
#ifndef PMTOP_EXPLAIN_EXPLAIN_H
#define PMTOP_EXPLAIN_EXPLAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/model/model.h"
#include "src/model/run/steps/explanation.h"

enum { CAUSE_BRIEF_SIZE = 96 };

/* -- within src/explain -- */

struct baseline;
struct batch;
struct batch_window;
struct explanation;
struct run;

/* `batch_window` is NULL if no sampler covered the window. Readers use flagged_explanation() or explain_any() instead.
 */
void explain_batch(const struct run *run, const struct batch *batch, const struct baseline *baseline,
	const struct batch_window *batch_window, struct explanation *out);

#endif
