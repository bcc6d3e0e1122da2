/* step_phases.h: the phases of steps that publish none, from the stack samples that fall into them.
 *
 * A phase's share is the weight of its samples ÷ that of all samples in the steps. Its standard error is half the width
 * of Wilson's score interval at one standard deviation, √(n p (1 − p) + ¼) ÷ (n + 1) (E. B. Wilson, "Probable
 * inference, the law of succession, and statistical inference", 1927), which is not 0 if all of a few samples are of
 * one phase. n is the effective number of samples: (Σ weights)² ÷ Σ weights² (L. Kish, "Survey Sampling", 1965), and
 * fewer over several steps if samples come in clusters (sampled_error.h).
 * Boundaries of inferred steps are only as exact as the polling interval. */
#ifndef PMTOP_MODEL_CODE_STEP_PHASES_H
#define PMTOP_MODEL_CODE_STEP_PHASES_H

#include <stdbool.h>
#include <stddef.h>

#include "src/model/code/code.h"

/* Fewer samples of a step say nothing about its phases. */
enum { STEP_SAMPLES_MIN = 3 };

struct sampled_phases {
	bool is_sampled;  /* the run is inferred, and the stacks of its process are sampled */
	bool is_retained; /* the samples of this time are still retained */
	unsigned samples;
	size_t steps;  /* those that the samples fall into */
	double step_s; /* their mean; NAN = none */
	struct {
		unsigned samples;
		double share_ratio, error_ratio; /* NAN without samples */
	} phases[CODE_PHASE_COUNT];
};

struct batch;
struct model;
struct phase_sums;
struct run;

/* Of the steps of the run's main mode in the last minute, or of the last RUN_RECENT if these reach back further;
 * without the warm-up, if there are others. is_sampled false: the run publishes its steps, or its stacks are not
 * sampled. */
void model_recent_phases(const struct model *model, const struct run *run, struct sampled_phases *out);
/* The standard error of a share of n samples; NAN without samples. */
double sampled_error_ratio(double share_ratio, double samples);

/* -- within src/model -- */

/* Of one completed step, and of the steps before it in its mode, as in model_recent_phases, but without flagged
 * ones. */
void model_step_phases(const struct model *model, const struct run *run, const struct batch *batch,
	struct sampled_phases *out, struct sampled_phases *baseline);

#endif
