#include "src/model/collectives/waited_for.h"

#include <math.h>
#include <stdio.h>

#include "src/base/clock.h"
#include "src/model/collectives/own_delay.h"
#include "src/model/collectives/waited_steps.h"
#include "src/model/model.h"
#include "src/model/run/run.h"
#include "src/model/run/steps/tracks.h"
#include "src/model/statistics/statistics.h"

/* HOPS_MAX: a rank that waits for one that waits for one … */
enum { BASELINE_STEPS = 16, HOPS_MAX = 4 };
/* A rank is itself the reason for its delay if this much of it is its own. */
static const double own_min_ratio = 0.5;

/* For each rank: how long it was waited for, and the longest wait. */
struct waits {
	struct wait {
		double seconds;
		const struct collective_group *group;
		const struct collective_slot *slot;
		int64_t from_ns, to_ns;
	} ranks[COLLECTIVE_RANKS_MAX];
};

static size_t last_of(const struct collectives *all, const struct collective_slot *slot)
{
	size_t last = 0;
	for (size_t i = 1; i < all->rank_count; i++)
		last = slot->entries[i].entered_ns > slot->entries[last].entered_ns ? i : last;
	return last;
}

/* A rank that enters further collectives before this one is released does not wait until then. */
static int64_t waits_since(const struct collective_group *group, const struct collective_slot *slot, size_t rank)
{
	int64_t since_ns = slot->entries[rank].entered_ns;
	for (uint64_t i = slot->sequence + 1; i < slot->sequence + COLLECTIVE_SLOTS; i++) {
		const struct collective_slot *next = collective_slot_of(group, i);
		int64_t entered_ns = next ? next->entries[rank].entered_ns : 0;
		if (!entered_ns || entered_ns >= slot->released_ns)
			break;
		since_ns = entered_ns;
	}
	return since_ns;
}

static void add_wait(struct wait *wait, const struct wait *other)
{
	double seconds = wait->seconds + other->seconds;
	if (other->seconds > seconds_between(wait->from_ns, wait->to_ns))
		*wait = *other;
	wait->seconds = seconds;
}

/* Of one group, newest first: no time is counted twice. */
static void add_group(const struct collectives *all, const struct collective_group *group, size_t rank, int64_t from_ns,
	int64_t to_ns, struct waits *waits)
{
	int64_t until_ns = to_ns;
	for (int64_t i = group->members[rank].enqueued; i > 0; i--) {
		const struct collective_slot *slot = collective_slot_of(group, (uint64_t)i);
		if (!slot || (slot->released_ns && slot->released_ns <= from_ns))
			break;
		if (!slot->released_ns || !slot->entries[rank].entered_ns)
			continue;
		size_t last = last_of(all, slot);
		int64_t since_ns = waits_since(group, slot, rank), begin_ns = since_ns > from_ns ? since_ns : from_ns,
				end_ns = slot->released_ns < until_ns ? slot->released_ns : until_ns;
		if (begin_ns >= end_ns)
			continue;
		until_ns = begin_ns;
		if (last != rank)
			add_wait(&waits->ranks[last],
				&(struct wait){ seconds_between(begin_ns, end_ns), group, slot, begin_ns, end_ns });
	}
}

/* NULL: it waited for none. *sum_s: for all. */
static const struct wait *longest_wait(
	const struct collectives *all, size_t rank, int64_t from_ns, int64_t to_ns, struct waits *waits, double *sum_s)
{
	const struct wait *longest = &waits->ranks[0];
	*waits = (struct waits){ .ranks = { { .seconds = 0 } } };
	*sum_s = 0;
	for (size_t i = 0; i < all->group_count; i++)
		if (all->groups[i].slots && all->groups[i].members[rank].is_member)
			add_group(all, &all->groups[i], rank, from_ns, to_ns, waits);
	for (size_t i = 0; i < all->rank_count; i++) {
		*sum_s += waits->ranks[i].seconds;
		longest = waits->ranks[i].seconds > longest->seconds ? &waits->ranks[i] : longest;
	}
	return longest->seconds > 0 ? longest : NULL;
}

static size_t find_rank(const struct collectives *all, int32_t pid)
{
	size_t at = 0;
	while (at < all->rank_count && all->ranks[at].pid != pid)
		at++;
	return at;
}

static bool has_collectives(const struct collectives *all, size_t rank)
{
	for (size_t i = 0; all && rank < all->rank_count && i < all->group_count; i++)
		if (all->groups[i].slots && all->groups[i].members[rank].is_member)
			return true;
	return false;
}

/* Since when the collectives of all groups of the rank are retained. */
static int64_t retained_since(const struct collectives *all, size_t rank)
{
	int64_t since_ns = 0;
	for (size_t i = 0; i < all->group_count; i++) {
		const struct collective_group *group = &all->groups[i];
		int64_t newest = group->slots && group->members[rank].is_member ? group->members[rank].enqueued : 0,
				oldest_ns = 0;
		for (int64_t k = newest; k > 0 && k > newest - COLLECTIVE_SLOTS; k--) {
			const struct collective_slot *slot = collective_slot_of(group, (uint64_t)k);
			oldest_ns = slot && slot->released_ns ? slot->released_ns : oldest_ns;
		}
		since_ns = oldest_ns > since_ns ? oldest_ns : since_ns;
	}
	return since_ns;
}

static double usual_wait(const struct collectives *all, size_t rank, const struct run *run, const struct batch *batch)
{
	double waits_s[BASELINE_STEPS];
	size_t count = 0;
	int64_t since_ns = retained_since(all, rank);
	struct waits waits;
	for (unsigned i = 0; i < run->track_count; i++) {
		const struct track *track = &run->tracks[i];
		const struct batch *here = track->ring ? track_batch(track, batch->ordinal) : NULL;
		if (!here || here->begin_ns != batch->begin_ns)
			continue;
		for (uint64_t back = 1; back <= BASELINE_STEPS && back <= batch->ordinal; back++) {
			const struct batch *before = track_batch(track, batch->ordinal - back);
			if (!before || before->begin_ns < since_ns)
				break;
			if (isfinite(before->step_s))
				longest_wait(all, rank, before->begin_ns,
					before->begin_ns + (int64_t)(before->step_s * (double)NS_PER_S), &waits, &waits_s[count++]);
		}
	}
	return median_of(waits_s, count);
}

static const struct run *run_of(const struct model *model, int32_t pid)
{
	for (unsigned i = 0; i < model->run_count; i++)
		if (model->runs[i].is_used && model->runs[i].pid == pid)
			return &model->runs[i];
	return NULL;
}

/* Whether the rank is late because it waited for others itself, in another group. */
static bool is_late_for_others(const struct collectives *all, const struct wait *wait, size_t late)
{
	size_t first = late;
	for (size_t i = 0; i < all->rank_count; i++)
		if (wait->slot->entries[i].entered_ns &&
			wait->slot->entries[i].entered_ns < wait->slot->entries[first].entered_ns)
			first = i;
	double late_s = seconds_between(wait->slot->entries[first].entered_ns, wait->slot->entries[late].entered_ns);
	return own_delay_s(all, wait->group, wait->slot, first, late, late_s) < own_min_ratio * late_s;
}

/* From a rank that waited to the one that is itself late. Returns its index. */
static size_t follow(const struct collectives *all, struct waits *waits, struct wait *wait)
{
	size_t late = last_of(all, wait->slot);
	double sum_s;
	for (int hop = 0; hop < HOPS_MAX && is_late_for_others(all, wait, late); hop++) {
		const struct wait *next = longest_wait(all, late, wait->from_ns, wait->to_ns, waits, &sum_s);
		if (!next)
			break;
		*wait = *next;
		late = (size_t)(next - waits->ranks);
	}
	return late;
}

int64_t model_collectives_read_ns(const struct model *model, int32_t pid)
{
	size_t rank = model->collectives ? find_rank(model->collectives, pid) : 0;
	return model->collectives && rank < model->collectives->rank_count ? model->collectives->ranks[rank].read_ns : 0;
}

void model_waited_for(const struct model *model, const struct run *run, const struct batch *batch, int64_t from_ns,
	int64_t to_ns, struct waited_for *out)
{
	const struct collectives *all = model->collectives;
	size_t rank = all ? find_rank(all, run->pid) : 0;
	struct waits waits;
	double sum_s;
	*out = (struct waited_for){
		.seconds = 0, .usual_s = NAN, .number = -1, .read_ns = model_collectives_read_ns(model, run->pid)
	};
	const struct wait *longest =
		all && rank < all->rank_count ? longest_wait(all, rank, from_ns, to_ns, &waits, &sum_s) : NULL;
	if (!has_collectives(all, rank))
		waited_steps_find(model, run, batch, out);
	if (!longest)
		return;
	struct wait wait = *longest;
	double longest_s = longest->seconds;
	const struct collective_op *op = collective_op_of(all, wait.slot->entries[rank].op);
	size_t late = follow(all, &waits, &wait);
	const struct run *other = run_of(model, all->ranks[late].pid);
	out->seconds = longest_s;
	out->usual_s = usual_wait(all, rank, run, batch);
	out->number = all->ranks[late].number;
	out->pid = all->ranks[late].pid;
	out->from_ns = wait.from_ns;
	out->to_ns = wait.to_ns;
	snprintf(out->op, sizeof out->op, "%s", op ? op->name : "");
	if (other)
		model_sampled_line(model, other, wait.from_ns, wait.to_ns, &out->line);
}
