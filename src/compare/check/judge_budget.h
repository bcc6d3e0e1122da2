/* judge_budget.h: whether a run keeps within a budget. */
#ifndef PMTOP_COMPARE_CHECK_JUDGE_BUDGET_H
#define PMTOP_COMPARE_CHECK_JUDGE_BUDGET_H

struct budget;
struct judgement;

void judge_budget(struct judgement *judgement, const struct budget *budget);

#endif
