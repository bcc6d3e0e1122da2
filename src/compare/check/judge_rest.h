/* judge_rest.h: what is judged against the baseline beside the steps: the operations of a run without steps or outside
 * of them, and the requests of a service. Of the other figures that became worse, a warning is given. */
#ifndef PMTOP_COMPARE_CHECK_JUDGE_REST_H
#define PMTOP_COMPARE_CHECK_JUDGE_REST_H

struct budget_list;
struct judgement;

void judge_operations(struct judgement *judgement);
void judge_requests(struct judgement *judgement);
/* Leaves out what a budget judges. */
void judge_warn_of_rest(struct judgement *judgement, const struct budget_list *budgets);

#endif
