#include "src/model/collectives/exchange_pace.h"

#include <math.h>
#include <string.h>

#include "src/model/collectives/collectives.h"
#include "src/model/collectives/exchange_hang.h"
#include "src/model/model.h"

enum { SAMPLES_MIN = 12 };
static const double difference_min_ratio = 0.3, errors = 3, unknown_max_ratio = 0.05;

/* What a stack sample shows. */
enum waits { WAITS_NOT, WAITS_EXCHANGE, WAITS_COLLECTIVE, WAITS_UNKNOWN, WAITS_COUNT };

static enum waits waits_of(const struct code *code, const struct code_node *node, bool has_collectives)
{
	bool is_exchange = !has_collectives;
	if (node->phase == CODE_PHASE_COMMUNICATION) {
		const char *function = code_communication(code, node);
		is_exchange |= function && exchange_is_function(function);
		return is_exchange ? WAITS_EXCHANGE : function ? WAITS_COLLECTIVE : WAITS_UNKNOWN;
	}
	if (!code_is_own_wait(code, node))
		return WAITS_NOT;
	is_exchange |= strstr(node->text, "irecv(") || strstr(node->text, "isend(");
	return is_exchange ? WAITS_EXCHANGE : WAITS_UNKNOWN;
}

static void sum_waits(const struct code *code, bool has_collectives, double sums_s[CODE_GROUPS_MAX][WAITS_COUNT])
{
	for (size_t i = 0; i < code->node_count; i++)
		if (code->nodes[i].is_used && code->nodes[i].self.recent_s > 0)
			sums_s[code->nodes[i].group][waits_of(code, &code->nodes[i], has_collectives)] +=
				code->nodes[i].self.recent_s;
}

/* NAN: the rank does not move, or it is unknown. */
static double exchange_ratio(const struct code *code, double sums_s[CODE_GROUPS_MAX][WAITS_COUNT],
	const struct collective_rank *rank, double *variance)
{
	int group = code_group_of(code, rank->pid);
	double seen_s = group >= 0 ? code->groups[group].seen.recent_s : 0,
		   left_s = group >= 0 ? seen_s - sums_s[group][WAITS_COLLECTIVE] : 0,
		   samples = seen_s > 0 ? code->groups[group].recent_samples * left_s / seen_s : 0;
	if (!(samples >= SAMPLES_MIN) || sums_s[group][WAITS_UNKNOWN] > unknown_max_ratio * left_s)
		return NAN;
	double ratio = sums_s[group][WAITS_EXCHANGE] / left_s;
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

void exchange_pace_find(const struct model *model, bool has_collectives, struct exchange_pace *out)
{
	const struct collectives *all = model->collectives;
	double least = INFINITY, next = INFINITY, least_variance = 0, next_variance = 0;
	double sums_s[CODE_GROUPS_MAX][WAITS_COUNT] = { 0 };
	int found = -1;
	*out = (struct exchange_pace){ -1, NAN, NAN };
	if (!all || lacks_ranks(all))
		return;
	sum_waits(&model->code, has_collectives, sums_s);
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
