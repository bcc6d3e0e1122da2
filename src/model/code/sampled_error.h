/* sampled_error.h: the errors of shares by stack samples that come in clusters: several in one step, then none in the
 * next ones. Private to src/model/code.
 *
 * Samples of one second are alike, so they say less than as many independent ones. Steps are therefore taken together
 * in blocks of at least a second, and the variance of a share is that of a ratio of sums over blocks (W. G. Cochran,
 * "Sampling Techniques", 1977, chapter 6), larger by Student's t for few blocks. The effective number of samples is the
 * one with which independent samples had that variance. */
#ifndef PMTOP_MODEL_CODE_SAMPLED_ERROR_H
#define PMTOP_MODEL_CODE_SAMPLED_ERROR_H

#include "src/model/code/code_samples.h"

/* Zeroed at first. */
struct sampled_blocks {
	struct phase_sums sums, open; /* of all blocks; of the one that is not full yet */
	double open_s;
	size_t count; /* with samples */
	double weight_s2, phase_s2[CODE_PHASE_COUNT], product_s2[CODE_PHASE_COUNT];
};

/* Adds the samples of a step, or of a part of one. */
void sampled_blocks_add(struct sampled_blocks *blocks, const struct phase_sums *step, double step_s);
/* Call after the last step. */
void sampled_blocks_end(struct sampled_blocks *blocks);
/* 0 without samples. At most the effective number by weights alone. */
double sampled_blocks_effective(const struct sampled_blocks *blocks, enum code_phase phase);

#endif
