#include "src/model/ranks/rank_waits.h"

#include "src/model/collectives/collectives_judge.h"
#include "src/model/model.h"
#include "src/model/ranks/ranks.h"

static bool is_behind(const struct collective_judgement *judgement, size_t rank)
{
	for (size_t i = 0; i < judgement->behind_count; i++)
		if (judgement->behind[i] == rank)
			return true;
	return false;
}

static void take_group(const struct collectives *all, const struct collective_judgement *judgement, struct rank *rank)
{
	const struct collective_group *group = &all->groups[judgement->group];
	for (size_t i = 0; i < all->rank_count && rank->state == RANK_STUCK; i++)
		if (all->ranks[i].pid == rank->pid && collective_is_member(all, group, i) &&
			!(is_behind(judgement, i) && judgement->is_due))
			rank->state = is_behind(judgement, i) ? RANK_RUNNING : RANK_WAITING;
}

void rank_waits_take(const struct model *model, struct ranks *out)
{
	for (size_t i = 0; model->collectives && i < model->collectives->group_count; i++) {
		struct collective_judgement judgement;
		collectives_judge_group(model, i, &judgement);
		for (size_t k = 0; judgement.finding == COLLECTIVE_BEHIND && k < out->count; k++)
			take_group(model->collectives, &judgement, &out->list[k]);
	}
}
