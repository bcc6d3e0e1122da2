#include "src/model/ranks/rank_waits.h"

#include "src/model/collectives/collectives_judge.h"
#include "src/model/collectives/exchange_hang.h"
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

/* Without collectives: ranks that hang in send or receive. */
static void take_exchange(const struct model *model, struct ranks *out)
{
	struct exchange_hang hang;
	exchange_hang_find(model, &hang);
	for (size_t i = 0; hang.late_count > 0 && i < hang.waiting_count; i++)
		for (size_t k = 0; k < out->count; k++)
			if (out->list[k].state == RANK_STUCK && out->list[k].pid == model->collectives->ranks[hang.waiting[i]].pid)
				out->list[k].state = RANK_WAITING;
}

void rank_waits_take(const struct model *model, struct ranks *out)
{
	for (size_t i = 0; model->collectives && i < model->collectives->group_count; i++) {
		struct collective_judgement judgement;
		collectives_judge_group(model, i, &judgement);
		for (size_t k = 0; judgement.finding == COLLECTIVE_BEHIND && k < out->count; k++)
			take_group(model->collectives, &judgement, &out->list[k]);
	}
	take_exchange(model, out);
}
