#include "src/model/collectives/exchange_pace.h"

#include <math.h>
#include <string.h>

#include "src/model/collectives/collectives.h"
#include "src/model/model.h"

enum { SAMPLES_MIN = 12 };
static const double difference_min_ratio = 0.3, errors = 3;

/* `dist.irecv(x, 0).wait()` is a line of the user's own: wait is a function of C++, which stack samples do not have. */
static bool is_exchange(const struct code *code, const struct code_node *node)
{
	return node->phase == CODE_PHASE_COMMUNICATION ||
		(code->codes[node->code].is_own && node->text && strstr(node->text, ".wait("));
}

/* NAN: the rank does not move, or it is unknown. */
static double exchange_ratio(const struct code *code, const struct collective_rank *rank, double *variance)
{
	int group = code_group_of(code, rank->pid);
	double sum_s = 0, seen_s = group >= 0 ? code->groups[group].seen.recent_s : 0,
		   samples = group >= 0 ? code->groups[group].recent_samples : 0;
	if (samples < SAMPLES_MIN || !(seen_s > 0))
		return NAN;
	for (size_t i = 0; i < code->node_count; i++)
		if (code->nodes[i].is_used && (int)code->nodes[i].group == group && is_exchange(code, &code->nodes[i]))
			sum_s += code->nodes[i].self.recent_s;
	double ratio = sum_s / seen_s;
	*variance = ratio * (1 - ratio) / samples;
	return ratio > 0 && ratio < 1 ? ratio : (double)NAN;
}

void exchange_pace_find(const struct model *model, struct exchange_pace *out)
{
	const struct collectives *all = model->collectives;
	double least = INFINITY, next = INFINITY, least_variance = 0, next_variance = 0;
	int found = -1;
	*out = (struct exchange_pace){ -1, NAN, NAN };
	for (size_t i = 0; all && i < all->rank_count; i++) {
		double variance = 0,
			   ratio = all->ranks[i].is_gone ? INFINITY : exchange_ratio(&model->code, &all->ranks[i], &variance);
		if (isnan(ratio))
			return;
		if (ratio < least) {
			next = least;
			next_variance = least_variance;
			least = ratio;
			least_variance = variance;
			found = (int)i;
		} else if (ratio < next) {
			next = ratio;
			next_variance = variance;
		}
	}
	if (isfinite(next) && next - least >= fmax(difference_min_ratio, errors * sqrt(least_variance + next_variance)))
		*out = (struct exchange_pace){ found, least, next };
}
