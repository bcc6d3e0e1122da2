/* explain.h: why one batch was slow. Its excess over the usual step, split over the phases, largest first. What nothing explains is "unknown". */
#ifndef PMTOP_RULES_EXPLAIN_H
#define PMTOP_RULES_EXPLAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/model/run.h"

enum { EXPLAIN_CAUSES_MAX = 6, EXPLAIN_ROWS_MAX = RUN_PHASES_MAX * 2, EXPLAIN_CONTEXT_MAX = 12 };

struct explain_row {             /* a phase, depth first; parents before their children */
	uint32_t name, parent;
	unsigned depth;
	double this_s, usual_s, excess_s;     /* NAN where it was not in this batch, or is not usual */
};

enum explain_unit { EXPLAIN_SECONDS, EXPLAIN_COUNT, EXPLAIN_BYTES };

struct explain_context {         /* what else happened in the window: evidence, against the usual */
	const char *what;            /* "CPU time of the training thread", "major faults", … */
	const char *key;             /* "cpu_s", "major_faults", …: as in JSON */
	enum explain_unit unit;
	double this_value, usual_value;       /* NAN = not known */
};

struct cause {
	char what[80];               /* begins with the phase: "data", "data › decode"; or "unknown" */
	uint32_t phase;              /* outermost phase; NAME_NONE for unknown */
	double share_ratio;          /* of the excess */
	double excess_s;
};

struct explanation {
	double step_s, usual_s, excess_s, ratio;
	double samples, usual_samples;        /* NAN = not known */
	bool is_bigger;              /* it had noticeably more samples than usual */
	size_t usual_batches;        /* what "usual" is made of; 0 = nothing to compare with, no causes */
	size_t row_count, context_count, cause_count;
	struct explain_row rows[EXPLAIN_ROWS_MAX];
	struct explain_context context[EXPLAIN_CONTEXT_MAX];
	struct cause causes[EXPLAIN_CAUSES_MAX];
};

void explain_batch(const struct run *run, const struct batch *batch, const struct usual *usual, struct explanation *out);

#endif
