#include "src/sources/inferred/job/stacks_siblings.h"

#include <stdio.h>

static bool is_of_one_job(const struct stacks_sibling *a, const struct stacks_sibling *b)
{
	return a->is_rank && b->is_rank && a->parent == b->parent;
}

static bool started_before(const struct stacks_sibling *a, const struct stacks_sibling *b)
{
	return a->start_ticks != b->start_ticks ? a->start_ticks < b->start_ticks : a->pid < b->pid;
}

/* Whether each number of the job is there once. */
static bool has_numbers(const struct stacks_sibling *list, size_t count, const struct stacks_sibling *own, size_t size)
{
	for (size_t i = 0; i < count; i++) {
		if (!is_of_one_job(own, &list[i]))
			continue;
		if (list[i].number < 0 || (size_t)list[i].number >= size)
			return false;
		for (size_t k = 0; k < i; k++)
			if (is_of_one_job(own, &list[k]) && list[k].number == list[i].number)
				return false;
	}
	return true;
}

bool stacks_siblings_job(const struct stacks_sibling *list, size_t count, size_t index, struct stacks_job *out)
{
	const struct stacks_sibling *own = &list[index];
	unsigned size = 0, earlier = 0;
	for (size_t i = 0; i < count; i++) {
		size += is_of_one_job(own, &list[i]);
		earlier += is_of_one_job(own, &list[i]) && started_before(&list[i], own);
	}
	if (size < 2)
		return false;
	static const char yes[] = "yes", no[] = "no";
	bool is_certain = has_numbers(list, count, own, size);
	stacks_job_spawned(own->parent, is_certain ? (unsigned)own->number : earlier, size, out);
	out->certain = is_certain ? yes : no;
	snprintf(out->local_rank, sizeof out->local_rank, "%s", out->rank);
	return true;
}
