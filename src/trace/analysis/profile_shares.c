#include "src/trace/analysis/profile_shares.h"

#include <stdlib.h>

#include "src/trace/store/profile_table.h"

static struct profile_share *share_of(struct profile *profile, struct profile_shares *shares, uint32_t name)
{
	if (!shares->index && !(shares->index = profile_table_new()))
		return NULL;
	struct profile_entry *entry = profile_table_at(shares->index, name);
	if (!entry)
		return NULL;
	if (!entry->bits) {
		if (!profile_grow(profile, &shares->rows, &shares->capacity, shares->count, sizeof *shares->rows))
			return NULL;
		shares->rows[shares->count] = (struct profile_share){ .name = name };
		entry->bits = ++shares->count;
	}
	return &shares->rows[entry->bits - 1];
}

void profile_shares_add(struct profile *profile, struct profile_shares *shares, uint32_t name, uint64_t count,
	int64_t host_ns, int64_t gpu_ns)
{
	struct profile_share *share = share_of(profile, shares, name);
	if (!share)
		return;
	share->count += count;
	share->host_ns += host_ns;
	share->gpu_ns += gpu_ns;
}

static int by_time(const void *a, const void *b)
{
	const struct profile_share *x = a, *y = b;
	if (x->gpu_ns != y->gpu_ns)
		return x->gpu_ns < y->gpu_ns ? 1 : -1;
	if (x->host_ns != y->host_ns)
		return x->host_ns < y->host_ns ? 1 : -1;
	return (x->name > y->name) - (x->name < y->name);
}

void profile_shares_sort(struct profile_shares *shares)
{
	if (shares->count)
		qsort(shares->rows, shares->count, sizeof *shares->rows, by_time);
	profile_table_free(shares->index);
	shares->index = NULL;
}

void profile_shares_release(struct profile_shares *shares)
{
	free(shares->rows);
	profile_table_free(shares->index);
	*shares = (struct profile_shares){ 0 };
}
