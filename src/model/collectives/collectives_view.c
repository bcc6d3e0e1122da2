#include "src/model/collectives/collectives_view.h"

#include "src/model/model.h"

/* What a rank has entered. Of one that ended, the last reading may be older than its last collectives: it had entered
 * those that others completed. */
int64_t collectives_view_entered(const struct collectives_view *view, size_t rank)
{
	int64_t enqueued = view->group->members[rank].enqueued;
	return view->all->ranks[rank].is_gone && enqueued < view->max_completed ? view->max_completed : enqueued;
}

static int64_t completed_of(const struct collectives_view *view, size_t rank)
{
	int64_t completed = view->group->members[rank].completed;
	return view->all->ranks[rank].is_gone && completed < view->max_completed ? view->max_completed : completed;
}

bool collectives_view(const struct model *model, size_t index, struct collectives_view *out)
{
	const struct collectives *all = model->collectives;
	*out = (struct collectives_view){ .model = model,
		.all = all,
		.min_enqueued = INT64_MAX,
		.max_enqueued = -1,
		.min_completed = INT64_MAX,
		.max_completed = -1 };
	bool lives = false;
	if (!all || index >= all->group_count || !all->groups[index].is_used)
		return false;
	out->group = &all->groups[index];
	for (size_t i = 0; i < all->rank_count; i++) {
		if (!collective_is_member(all, out->group, i))
			continue;
		int64_t completed = out->group->members[i].completed;
		out->members[out->count++] = (uint8_t)i;
		out->max_completed = completed > out->max_completed ? completed : out->max_completed;
		lives |= !all->ranks[i].is_gone;
	}
	for (size_t i = 0; i < out->count; i++) {
		int64_t enqueued = collectives_view_entered(out, out->members[i]),
				completed = completed_of(out, out->members[i]);
		out->min_enqueued = enqueued < out->min_enqueued ? enqueued : out->min_enqueued;
		out->max_enqueued = enqueued > out->max_enqueued ? enqueued : out->max_enqueued;
		out->min_completed = completed < out->min_completed ? completed : out->min_completed;
	}
	return lives && out->count > 1;
}

bool collectives_view_times(
	const struct collectives_view *view, uint64_t sequence, int64_t *first_ns, int64_t *last_ns, size_t *last)
{
	const struct collective_slot *slot = collective_slot_of(view->group, sequence);
	*first_ns = INT64_MAX;
	*last_ns = 0;
	for (size_t i = 0; slot && i < view->count; i++) {
		int64_t entered_ns = slot->entries[view->members[i]].entered_ns;
		if (!entered_ns)
			return false;
		*first_ns = entered_ns < *first_ns ? entered_ns : *first_ns;
		if (entered_ns > *last_ns) {
			*last_ns = entered_ns;
			*last = view->members[i];
		}
	}
	return slot;
}
