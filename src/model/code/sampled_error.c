#include "src/model/code/sampled_error.h"

#include <math.h>

#define BLOCK_S 1

static void add_sums(struct phase_sums *to, const struct phase_sums *sums)
{
	to->samples += sums->samples;
	to->weight_s += sums->weight_s;
	to->weight_s2 += sums->weight_s2;
	for (size_t i = 0; i < CODE_PHASE_COUNT; i++) {
		to->counts[i] += sums->counts[i];
		to->phase_s[i] += sums->phase_s[i];
	}
}

void sampled_blocks_end(struct sampled_blocks *blocks)
{
	const struct phase_sums *open = &blocks->open;
	blocks->count += open->samples > 0;
	blocks->weight_s2 += open->weight_s * open->weight_s;
	for (size_t i = 0; i < CODE_PHASE_COUNT; i++) {
		blocks->phase_s2[i] += open->phase_s[i] * open->phase_s[i];
		blocks->product_s2[i] += open->phase_s[i] * open->weight_s;
	}
	add_sums(&blocks->sums, open);
	blocks->open = (struct phase_sums){ 0 };
	blocks->open_s = 0;
}

void sampled_blocks_add(struct sampled_blocks *blocks, const struct phase_sums *step, double step_s)
{
	add_sums(&blocks->open, step);
	blocks->open_s += step_s;
	if (blocks->open_s >= BLOCK_S)
		sampled_blocks_end(blocks);
}

/* Student's t at 97.5 % ÷ that of the normal distribution, by Cornish and Fisher's expansion. */
static double student_factor(double freedom) { return 1 + 1.210 / freedom + 1.440 / (freedom * freedom); }

static double share_of(const struct sampled_blocks *blocks, size_t phase)
{
	return fmin(blocks->sums.phase_s[phase] / blocks->sums.weight_s, 1);
}

/* Of the share of a phase, by blocks. */
static double variance_of(const struct sampled_blocks *blocks, size_t phase)
{
	double share = share_of(blocks, phase), weight_s = blocks->sums.weight_s,
		   squares_s2 =
			   blocks->phase_s2[phase] - 2 * share * blocks->product_s2[phase] + share * share * blocks->weight_s2,
		   freedom = fmax(weight_s * weight_s / blocks->weight_s2 - 1, 1), count = (double)blocks->count;
	return fmax(squares_s2, 0) / (weight_s * weight_s) * count / (count - 1) * pow(student_factor(freedom), 2);
}

double sampled_blocks_effective(const struct sampled_blocks *blocks, enum code_phase phase)
{
	const struct phase_sums *sums = &blocks->sums;
	double by_weights = sums->weight_s2 > 0 ? sums->weight_s * sums->weight_s / sums->weight_s2 : 0, all = 0,
		   independent = 0, own_ratio = 1;
	if (blocks->count < 2 || by_weights <= 0)
		return by_weights;
	for (size_t i = 0; i < CODE_PHASE_COUNT; i++) {
		double share = share_of(blocks, i), variance = variance_of(blocks, i),
			   spread = share * (1 - share) / by_weights;
		all += variance;
		independent += spread;
		if (i == phase && spread > 0)
			own_ratio = fmax(variance / spread, 1);
	}
	return by_weights / fmax(own_ratio, independent > 0 ? all / independent : 1);
}
