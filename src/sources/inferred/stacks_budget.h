/* stacks_budget.h: how often the stack thread may sample and poll, so that all that it does costs no more than a share
 * of a CPU: samples, polls of loaders and loops, its wake-ups, and the child that reads for it. Only the search for
 * Python has a budget of its own (stacks_stuck.h). For one thread. */
#ifndef PMTOP_SOURCES_INFERRED_STACKS_BUDGET_H
#define PMTOP_SOURCES_INFERRED_STACKS_BUDGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct stacks_budget {
	uint64_t samples;      /* noted or skipped */
	double sample_cost_ns; /* CPU time of a sample; moving average */
	double other_ratio;    /* CPU time of all else, share of a CPU; moving average */
	/* when and at which CPU time the share was measured last; since then, by samples and by the search */
	int64_t measured_ns, measured_cost_ns, sampled_ns, searched_ns;
};

/* cost_ns: CPU time of the thread and of its child so far. */
void stacks_budget_init(struct stacks_budget *budget, int64_t now_ns, int64_t cost_ns);
/* Whether to measure what the next sample costs, and note it; otherwise skip it: it is taken to cost the mean. */
bool stacks_budget_measures_sample(const struct stacks_budget *budget);
void stacks_budget_note_sample(struct stacks_budget *budget, int64_t cost_ns);
void stacks_budget_skip_sample(struct stacks_budget *budget);
void stacks_budget_note_search(struct stacks_budget *budget, int64_t cost_ns);
/* Whether it is time to measure; call at each wake-up. */
bool stacks_budget_is_due(const struct stacks_budget *budget, int64_t now_ns);
void stacks_budget_measure(struct stacks_budget *budget, int64_t now_ns, int64_t cost_ns);
/* The time between two samples of one group, of which there are so many: 1/hz, or longer if that would cost too much.
 * DataLoader workers are sampled less often. is_often: a person views the stacks, or something is sought. */
double stacks_budget_period_ns(
	const struct stacks_budget *budget, double hz, bool is_often, size_t groups, size_t worker_groups, bool is_workers);
/* By how much to multiply the time between two polls: 1 to 2. */
double stacks_budget_poll_factor(const struct stacks_budget *budget, bool is_often);

#endif
