#include "src/sources/inferred/stacks_budget.h"

#include <math.h>

#include "src/base/clock.h"

/* With much less, a step of a tenth of a second has no sample for minutes, and phases and causes stay unknown. */
#define REST_RATIO 0.0017
#define OFTEN_RATIO 0.007
/* Polls come first, but samples retain this share of the budget. */
#define SAMPLES_MIN_RATIO 0.5
#define POLLS_RATIO 0.3
#define POLL_FACTOR_MAX 2
#define WORKERS_WEIGHT 0.25
#define MEASURE_NS (1 * NS_PER_S)

/* The clock of CPU time costs a tenth of a sample. */
enum { SAMPLES_AVERAGED = 16, MEASURED_EACH = 4 };

void stacks_budget_init(struct stacks_budget *budget, int64_t now_ns, int64_t cost_ns)
{
	*budget = (struct stacks_budget){ .measured_ns = now_ns, .measured_cost_ns = cost_ns };
}

bool stacks_budget_measures_sample(const struct stacks_budget *budget)
{
	return budget->samples < SAMPLES_AVERAGED || budget->samples % MEASURED_EACH == 0;
}

void stacks_budget_skip_sample(struct stacks_budget *budget)
{
	budget->samples++;
	budget->sampled_ns += (int64_t)budget->sample_cost_ns;
}

void stacks_budget_note_sample(struct stacks_budget *budget, int64_t cost_ns)
{
	double stands_for = budget->samples++ < SAMPLES_AVERAGED ? 1 : MEASURED_EACH;
	budget->sample_cost_ns += ((double)cost_ns - budget->sample_cost_ns) * stands_for / SAMPLES_AVERAGED;
	budget->sampled_ns += cost_ns;
}

void stacks_budget_note_search(struct stacks_budget *budget, int64_t cost_ns) { budget->searched_ns += cost_ns; }

bool stacks_budget_is_due(const struct stacks_budget *budget, int64_t now_ns)
{
	return now_ns - budget->measured_ns >= MEASURE_NS;
}

void stacks_budget_measure(struct stacks_budget *budget, int64_t now_ns, int64_t cost_ns)
{
	int64_t passed_ns = now_ns - budget->measured_ns;
	if (!stacks_budget_is_due(budget, now_ns))
		return;
	int64_t other_ns = cost_ns - budget->measured_cost_ns - budget->sampled_ns - budget->searched_ns;
	budget->other_ratio += (fmax((double)other_ns, 0) / (double)passed_ns - budget->other_ratio) / 4;
	budget->measured_ns = now_ns;
	budget->measured_cost_ns = cost_ns;
	budget->sampled_ns = budget->searched_ns = 0;
}

static double allowed(bool is_often) { return is_often ? OFTEN_RATIO : REST_RATIO; }

double stacks_budget_period_ns(
	const struct stacks_budget *budget, double hz, bool is_often, size_t groups, size_t worker_groups, bool is_workers)
{
	double for_samples = fmax(allowed(is_often) - budget->other_ratio, SAMPLES_MIN_RATIO * allowed(is_often));
	double weights = (double)(groups - worker_groups) + WORKERS_WEIGHT * (double)worker_groups;
	double min_ns = budget->sample_cost_ns * weights / for_samples, wanted_ns = (double)NS_PER_S / hz;
	return fmax(wanted_ns, min_ns) / (is_workers ? WORKERS_WEIGHT : 1);
}

double stacks_budget_poll_factor(const struct stacks_budget *budget, bool is_often)
{
	return fmin(fmax(budget->other_ratio / (POLLS_RATIO * allowed(is_often)), 1), POLL_FACTOR_MAX);
}
