#include "src/model/collectives/own_delay.h"

#include <math.h>

#include "src/base/clock.h"

/* Of the rank, at or before this sequence number: 0 = none from `oldest` on. */
static uint64_t entered_before(
	const struct collective_group *group, size_t rank, uint64_t sequence, uint64_t oldest, int64_t *entered_ns)
{
	for (; sequence >= oldest && sequence > 0; sequence--) {
		const struct collective_slot *slot = collective_slot_of(group, sequence);
		if (slot && slot->entries[rank].entered_ns) {
			*entered_ns = slot->entries[rank].entered_ns;
			return sequence;
		}
	}
	return 0;
}

/* The last collective of the group that the rank entered before this time; 0 = none. */
static uint64_t last_before(const struct collective_group *group, size_t rank, uint64_t oldest, int64_t at_ns)
{
	uint64_t low = oldest, high = (uint64_t)group->members[rank].enqueued, found = 0;
	while (low <= high) {
		int64_t entered_ns;
		uint64_t middle = low + (high - low) / 2, at = entered_before(group, rank, middle, low, &entered_ns);
		if (at && entered_ns >= at_ns) {
			high = at - 1;
			continue;
		}
		found = at ? at : found;
		low = middle + 1;
	}
	return found;
}

/* How long the rank waited in this group's collectives from from_ns to to_ns. */
static double waited_in(const struct collective_group *group, size_t rank, int64_t from_ns, int64_t to_ns)
{
	uint64_t newest = group->members[rank].enqueued > 0 ? (uint64_t)group->members[rank].enqueued : 0,
			 oldest = newest > COLLECTIVE_SLOTS ? newest - COLLECTIVE_SLOTS + 1 : 1;
	int64_t until_ns = to_ns;
	double sum_s = 0;
	for (uint64_t i = newest ? last_before(group, rank, oldest, to_ns) : 0; i >= oldest && i > 0; i--) {
		const struct collective_slot *slot = collective_slot_of(group, i);
		if (!slot || !slot->entries[rank].entered_ns || !slot->released_ns || slot->released_ns > to_ns)
			continue;
		int64_t begin_ns = slot->entries[rank].entered_ns > from_ns ? slot->entries[rank].entered_ns : from_ns,
				end_ns = slot->released_ns < until_ns ? slot->released_ns : until_ns;
		if (slot->released_ns <= from_ns)
			break;
		if (begin_ns < end_ns) {
			sum_s += seconds_between(begin_ns, end_ns);
			until_ns = begin_ns;
		}
	}
	return sum_s;
}

double own_delay_waited_s(const struct collectives *all, size_t rank, int64_t from_ns, int64_t to_ns)
{
	double sum_s = 0;
	for (size_t i = 0; i < all->group_count; i++)
		if (all->groups[i].slots && all->groups[i].members[rank].is_member)
			sum_s += waited_in(&all->groups[i], rank, from_ns, to_ns);
	return sum_s;
}

int64_t own_delay_since(const struct collective_group *group, uint64_t sequence, int64_t at_ns)
{
	uint64_t oldest = sequence > COLLECTIVE_SLOTS ? sequence - COLLECTIVE_SLOTS + 1 : 1;
	for (uint64_t i = sequence - 1; i >= oldest; i--) {
		const struct collective_slot *slot = collective_slot_of(group, i);
		if (slot && slot->released_ns && slot->released_ns <= at_ns)
			return slot->released_ns;
	}
	return 0;
}

double own_delay_s(const struct collectives *all, const struct collective_group *group,
	const struct collective_slot *slot, size_t first, size_t rank, double late_s)
{
	int64_t first_ns = slot->entries[first].entered_ns, late_ns = slot->entries[rank].entered_ns,
			since_ns = own_delay_since(group, slot->sequence, first_ns);
	if (!since_ns)
		return late_s;
	double longer_s =
		own_delay_waited_s(all, rank, since_ns, late_ns) - own_delay_waited_s(all, first, since_ns, first_ns);
	return fmin(late_s, fmax(seconds_between(first_ns, late_ns) - fmax(longer_s, 0), 0));
}
