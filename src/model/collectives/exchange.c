#include "src/model/collectives/exchange.h"

#include <math.h>

#include "src/base/clock.h"
#include "src/model/code/code_samples.h"
#include "src/model/collectives/collectives.h"
#include "src/model/collectives/own_delay.h"
#include "src/model/model.h"

/* With fewer stack samples nothing is said of what a rank did. */
enum { SAMPLES_MIN = 8 };
static const double delay_min_s = 1e-3, busy_min_ratio = 0.6;

static void add_span(const struct model *model, size_t rank, int64_t from_ns, int64_t to_ns, struct exchange *out)
{
	struct phase_sums sums = { .samples = 0 };
	model_sum_phases(model, model->collectives->ranks[rank].pid, from_ns, to_ns, &sums);
	out->samples += sums.samples;
	out->sampled_s += sums.weight_s;
	out->communication_s += sums.phase_s[CODE_PHASE_COMMUNICATION];
	out->elapsed_s += seconds_between(from_ns, to_ns);
	out->waited_s += own_delay_waited_s(model->collectives, rank, from_ns, to_ns);
}

void exchange_add(const struct model *model, const struct collective_group *group, const struct collective_slot *slot,
	size_t first, size_t late, double delay_s, struct exchange_pair *pair)
{
	int64_t first_ns = slot->entries[first].entered_ns,
			since_ns = delay_s >= delay_min_s ? own_delay_since(group, slot->sequence, first_ns) : 0;
	if (!since_ns)
		return;
	pair->delays_s += delay_s;
	add_span(model, late, since_ns, slot->entries[late].entered_ns, &pair->late);
	add_span(model, first, since_ns, first_ns, &pair->first);
}

/* In communication, but in no collective. */
static double exchange_s(const struct exchange *of)
{
	return fmax(of->elapsed_s * of->communication_s / of->sampled_s - of->waited_s, 0);
}

double exchange_busy_ratio(const struct exchange_pair *pair)
{
	if (pair->late.samples < SAMPLES_MIN || pair->first.samples < SAMPLES_MIN || !(pair->delays_s > 0) ||
		!(pair->late.sampled_s > 0) || !(pair->first.sampled_s > 0))
		return 1;
	double ratio = 1 - fmin(fmax((exchange_s(&pair->late) - exchange_s(&pair->first)) / pair->delays_s, 0), 1);
	return ratio < busy_min_ratio ? 0 : ratio;
}
