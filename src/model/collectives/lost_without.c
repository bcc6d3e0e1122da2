#include "src/model/collectives/lost_without.h"

#include <math.h>
#include <string.h>

#include "src/base/clock.h"
#include "src/model/collectives/collectives.h"
#include "src/model/collectives/own_delay.h"
#include "src/model/model.h"
#include "src/model/run/steps/tracks.h"

enum { WINDOW_MIN = 20 };
static const double speedup_min_ratio = 1.05, candidate_factor = 2;

/* Consecutive retained collectives that all members entered. */
struct window {
	const struct collectives *all;
	const struct collective_group *group;
	double stall_s;
	size_t member_count, count;
	size_t members[LOST_RANKS_MAX];
	const struct collective_slot *slots[COLLECTIVE_SLOTS];
	int64_t last_ns[COLLECTIVE_SLOTS];
	size_t last[COLLECTIVE_SLOTS];
	bool is_stall[COLLECTIVE_SLOTS];
};

static bool see(struct window *window, const struct collective_slot *slot)
{
	int64_t first_ns = INT64_MAX, last_ns = 0;
	size_t last = 0;
	for (size_t i = 0; i < window->member_count; i++) {
		int64_t entered_ns = slot->entries[window->members[i]].entered_ns;
		if (!entered_ns || joined_at(&window->all->ranks[window->members[i]], entered_ns))
			return false;
		first_ns = entered_ns < first_ns ? entered_ns : first_ns;
		if (entered_ns > last_ns) {
			last_ns = entered_ns;
			last = window->members[i];
		}
	}
	window->is_stall[window->count] = seconds_between(first_ns, last_ns) >= window->stall_s;
	window->last_ns[window->count] = last_ns;
	window->last[window->count] = last;
	window->slots[window->count++] = slot;
	return true;
}

static void open_window(const struct collectives *all, const struct collective_group *group, struct window *window)
{
	int64_t newest = 0;
	window->all = all;
	window->group = group;
	window->stall_s = lost_stall_s(group->lost);
	window->member_count = window->count = 0;
	for (size_t i = 0; i < all->rank_count; i++) {
		if (!collective_is_member(all, group, i))
			continue;
		window->members[window->member_count++] = i;
		newest = group->members[i].enqueued > newest ? group->members[i].enqueued : newest;
	}
	uint64_t from = newest > COLLECTIVE_SLOTS ? (uint64_t)newest - COLLECTIVE_SLOTS + 1 : 1;
	for (uint64_t i = from; newest > 0 && window->member_count > 1 && i <= (uint64_t)newest; i++) {
		const struct collective_slot *slot = collective_slot_of(group, i);
		bool is_whole = slot && see(window, slot);
		if (!is_whole && window->count >= WINDOW_MIN)
			return;
		if (!is_whole)
			window->count = 0;
	}
}

static double elapsed_of(const struct window *window)
{
	double sum_s = 0;
	for (size_t k = 1; k < window->count; k++)
		if (!window->is_stall[k])
			sum_s += seconds_between(window->last_ns[k - 1], window->last_ns[k]);
	return sum_s;
}

static size_t second_to_last(const struct window *window, size_t k)
{
	size_t found = window->last[k];
	for (size_t i = 0; i < window->member_count; i++) {
		size_t at = window->members[i];
		if (at != window->last[k] &&
			(found == window->last[k] ||
				window->slots[k]->entries[at].entered_ns > window->slots[k]->entries[found].entered_ns))
			found = at;
	}
	return found;
}

/* For how long the second to last waits for the last one's own work. */
static double alone_s(const struct window *window, size_t k, size_t second)
{
	const struct collective_slot *slot = window->slots[k];
	double late_s = seconds_between(slot->entries[second].entered_ns, window->last_ns[k]);
	return late_s > 0 ? own_delay_s(window->all, window->group, slot, second, window->last[k], late_s) : 0;
}

/* Whose delays to leave out: those of the rank for whose own work the second to last waits the longest. LOST_RANKS_MAX:
 * none for long enough, or not for much longer than another one: delays of healthy ranks alternate. */
static size_t find_candidate(const struct window *window)
{
	double sums_s[LOST_RANKS_MAX] = { 0 }, next_s = 0;
	size_t found = window->members[0];
	for (size_t k = 1; k < window->count; k++)
		if (!window->is_stall[k])
			sums_s[window->last[k]] += alone_s(window, k, second_to_last(window, k));
	for (size_t i = 0; i < window->member_count; i++)
		if (sums_s[window->members[i]] > sums_s[found])
			found = window->members[i];
	for (size_t i = 0; i < window->member_count; i++)
		if (window->members[i] != found)
			next_s = fmax(next_s, sums_s[window->members[i]]);
	bool is_long = sums_s[found] >= (speedup_min_ratio - 1) * elapsed_of(window);
	return is_long && sums_s[found] >= candidate_factor * next_s ? found : LOST_RANKS_MAX;
}

/* A rank that waited in a collective begins what follows as much earlier as that collective is released earlier. A
 * collective's release is the latest entry; that of the late rank, being the median, is never the latest. Returns how
 * much earlier the last one is released, after the first. */
static double replay_without(const struct window *window, size_t rank)
{
	double earlier_s[LOST_RANKS_MAX] = { 0 }, shift_s = 0, first_s = 0;
	for (size_t k = 0; k < window->count; k++) {
		double released_s = -INFINITY, before_s = shift_s;
		for (size_t i = 0; i < window->member_count; i++) {
			size_t at = window->members[i];
			double entered_s =
				-seconds_between(window->slots[k]->entries[at].entered_ns, window->last_ns[k]) - earlier_s[at];
			released_s = at == rank ? released_s : fmax(released_s, entered_s);
		}
		shift_s = window->is_stall[k] ? before_s : -released_s;
		first_s = k == 0 ? shift_s : first_s;
		for (size_t i = 0; i < window->member_count && k + 1 < window->count; i++)
			if (window->is_stall[k] ||
				window->slots[k + 1]->entries[window->members[i]].entered_ns >= window->last_ns[k])
				earlier_s[window->members[i]] = shift_s;
	}
	return shift_s - first_s;
}

static size_t collectives_between(const struct window *window, int64_t from_ns, int64_t to_ns)
{
	size_t count = 0;
	for (size_t k = 0; k < window->count; k++)
		count += window->last_ns[k] > from_ns && window->last_ns[k] <= to_ns;
	return count;
}

/* How many collectives a step has, by the retained steps of the first rank that has any: they may cover only a part of
 * the window. */
static double collectives_per_step(const struct model *model, const struct window *window)
{
	for (unsigned i = 0; i < model->run_count; i++) {
		const struct run *run = &model->runs[i];
		const struct track *track = run->is_used ? run_main(run) : NULL;
		bool is_rank = false;
		int64_t first_ns = 0, last_ns = 0;
		size_t steps = 0;
		for (size_t k = 0; k < window->member_count; k++)
			is_rank |= window->all->ranks[window->members[k]].pid == run->pid;
		for (uint64_t at = track && is_rank ? track->end : 0; at > track->first; at--) {
			const struct batch *batch = track_batch(track, at - 1);
			if (!batch || batch->begin_ns < window->last_ns[0])
				break;
			if (batch->begin_ns > window->last_ns[window->count - 1])
				continue;
			first_ns = batch->begin_ns;
			last_ns = last_ns ? last_ns : first_ns;
			steps++;
		}
		if (steps > 1)
			return (double)collectives_between(window, first_ns, last_ns) / (double)(steps - 1);
	}
	return NAN;
}

static double step_of(const struct model *model, const struct window *window, double rest_s)
{
	size_t ordinary = 0;
	for (size_t k = 1; k < window->count; k++)
		ordinary += !window->is_stall[k];
	double step_s = rest_s / (double)ordinary * collectives_per_step(model, window);
	return step_s > 0 ? step_s : (double)NAN;
}

void lost_without_measure(const struct model *model, struct lost_time *out)
{
	const struct collectives *all = model->collectives;
	for (size_t i = 0; i < all->group_count; i++) {
		struct window window;
		const struct collective_group *group = &all->groups[i];
		if (!group->is_used || !group->slots || !group->lost)
			continue;
		open_window(all, group, &window);
		if (window.count < WINDOW_MIN)
			continue;
		size_t rank = find_candidate(&window);
		if (rank == LOST_RANKS_MAX || exchange_busy_ratio(&group->lost->exchanges[rank]) == 0)
			continue;
		double elapsed_s = elapsed_of(&window), rest_s = elapsed_s - replay_without(&window, rank),
			   speedup_ratio = rest_s > 0 ? elapsed_s / rest_s : (double)NAN;
		if (!(speedup_ratio >= speedup_min_ratio) || speedup_ratio <= out->speedup_ratio)
			continue;
		out->without = (int)rank;
		out->speedup_ratio = speedup_ratio;
		out->step_s = step_of(model, &window, rest_s);
	}
}
