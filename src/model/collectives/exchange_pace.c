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

/* Of each group of the code. */
static void sum_exchanges(const struct code *code, double sums_s[CODE_GROUPS_MAX])
{
	for (size_t i = 0; i < code->node_count; i++)
		if (code->nodes[i].is_used && code->nodes[i].self.recent_s > 0 && is_exchange(code, &code->nodes[i]))
			sums_s[code->nodes[i].group] += code->nodes[i].self.recent_s;
}

/* NAN: the rank does not move, or it is unknown. */
static double exchange_ratio(
	const struct code *code, const double sums_s[CODE_GROUPS_MAX], const struct collective_rank *rank, double *variance)
{
	int group = code_group_of(code, rank->pid);
	double seen_s = group >= 0 ? code->groups[group].seen.recent_s : 0,
		   samples = group >= 0 ? code->groups[group].recent_samples : 0;
	if (samples < SAMPLES_MIN || !(seen_s > 0))
		return NAN;
	double ratio = sums_s[group] / seen_s;
	*variance = ratio * (1 - ratio) / samples;
	return ratio > 0 && ratio < 1 ? ratio : (double)NAN;
}

/* Whether ranks of other machines, or that pmtop may not read, are missing. */
static bool lacks_ranks(const struct collectives *all)
{
	size_t living = 0, world = 0;
	for (size_t i = 0; i < all->rank_count; i++) {
		living += !all->ranks[i].is_gone;
		world = all->ranks[i].world_size > world ? all->ranks[i].world_size : world;
	}
	return living < world;
}

void exchange_pace_find(const struct model *model, struct exchange_pace *out)
{
	const struct collectives *all = model->collectives;
	double least = INFINITY, next = INFINITY, least_variance = 0, next_variance = 0;
	double sums_s[CODE_GROUPS_MAX] = { 0 };
	int found = -1;
	*out = (struct exchange_pace){ -1, NAN, NAN };
	if (!all || lacks_ranks(all))
		return;
	sum_exchanges(&model->code, sums_s);
	for (size_t i = 0; i < all->rank_count; i++) {
		double variance = 0,
			   ratio =
				   all->ranks[i].is_gone ? INFINITY : exchange_ratio(&model->code, sums_s, &all->ranks[i], &variance);
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
