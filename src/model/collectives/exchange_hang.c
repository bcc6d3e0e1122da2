#include "src/model/collectives/exchange_hang.h"

#include <math.h>
#include <string.h>

#include "src/base/clock.h"
#include "src/model/code/code_phases.h"
#include "src/model/code/code_samples.h"
#include "src/model/model.h"

enum { SAMPLES_MIN = 3 };
static const double window_s = 5, all_ratio = 0.9, gap_ratio = 1.5;

bool exchange_is_function(const char *function)
{
	static const char *const names[] = { "send", "recv", "isend", "irecv", "batch_isend_irecv", "send_object_list",
		"recv_object_list", "_wait_batch_p2p" };
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strcmp(code_plain_function(function), names[i]) == 0)
			return true;
	return false;
}

/* By their numbers. */
static void insert(const struct collectives *all, uint8_t *ranks, size_t *count, size_t rank)
{
	size_t at = (*count)++;
	for (; at > 0 && all->ranks[ranks[at - 1]].number > all->ranks[rank].number; at--)
		ranks[at] = ranks[at - 1];
	ranks[at] = (uint8_t)rank;
}

/* False: it moves, or it is unknown. */
static bool take_rank(const struct model *model, size_t rank, struct exchange_hang *out)
{
	int32_t pid = model->collectives->ranks[rank].pid;
	int64_t from_ns = model->now_ns - (int64_t)(window_s * (double)NS_PER_S);
	struct phase_sums sums = { .samples = 0 };
	model_sum_phases(model, pid, from_ns, model->now_ns, &sums);
	if (sums.samples < SAMPLES_MIN || model_is_working(model, pid, from_ns, model->now_ns))
		return false;
	if (sums.counts[CODE_PHASE_COMMUNICATION] + sums.own_waits >= all_ratio * sums.samples)
		insert(model->collectives, out->waiting, &out->waiting_count, rank);
	else
		insert(model->collectives, out->late, &out->late_count, rank);
	return true;
}

void exchange_hang_find(const struct model *model, struct exchange_hang *out)
{
	const struct collectives *all = model->collectives;
	*out = (struct exchange_hang){ .late_count = 0 };
	for (size_t i = 0; all && i < all->rank_count; i++)
		if (!all->ranks[i].is_gone && !take_rank(model, i, out)) {
			*out = (struct exchange_hang){ .late_count = 0 };
			return;
		}
	if (out->waiting_count == 0)
		out->late_count = 0;
}

double exchange_hang_stands_s(const struct model *model, const struct exchange_hang *hang)
{
	double stands_s = NAN;
	for (size_t i = 0; i < hang->waiting_count; i++) {
		const struct collective_rank *rank = &model->collectives->ranks[hang->waiting[i]];
		if (rank->movement.moved_ns)
			stands_s = fmin(stands_s, seconds_between(rank->movement.moved_ns, model->now_ns));
	}
	return stands_s;
}

enum exchange_movement exchange_hang_movement(const struct model *model, const struct exchange_hang *hang)
{
	enum exchange_movement found = EXCHANGE_UNKNOWN;
	for (size_t i = 0; i < hang->waiting_count; i++) {
		const struct collective_rank *rank = &model->collectives->ranks[hang->waiting[i]];
		double patience_s = fmax(window_s, gap_ratio * rank->movement.longest_s);
		if (!rank->movement.moved_ns)
			continue;
		if (seconds_between(rank->movement.moved_ns, model->now_ns) < patience_s)
			return EXCHANGE_MOVES;
		found = EXCHANGE_STANDS;
	}
	return found;
}

void exchange_note_switches(struct collective_rank *rank, uint64_t switches, int64_t now_ns)
{
	if (switches == 0 || (rank->movement.moved_ns && switches == rank->movement.switches))
		return;
	double gap_s = rank->movement.moved_ns ? seconds_between(rank->movement.moved_ns, now_ns) : 0;
	rank->movement.longest_s = fmax(rank->movement.longest_s, gap_s);
	rank->movement.switches = switches;
	rank->movement.moved_ns = now_ns;
}
