#include "src/trace/analysis/profile_waits.h"

#include <stdlib.h>

#include "src/trace/analysis/profile_device.h"
#include "src/trace/store/profile_kinds.h"

struct edge {
	int64_t at_ns;
	int32_t kind, change;
};

static enum profile_idle_kind kind_of(uint32_t trait)
{
	return trait & TRAIT_COMMUNICATION ? IDLE_COMMUNICATION
		: trait & TRAIT_DATA           ? IDLE_DATA
		: trait & TRAIT_COPY           ? IDLE_COPIES
									   : IDLE_SYNC;
}

static int by_time(const void *a, const void *b)
{
	int64_t x = ((const struct edge *)a)->at_ns, y = ((const struct edge *)b)->at_ns;
	return (x > y) - (x < y);
}

static int strongest(const int64_t *active)
{
	static const int order[] = { IDLE_COMMUNICATION, IDLE_DATA, IDLE_COPIES, IDLE_SYNC };
	for (size_t i = 0; i < sizeof order / sizeof *order; i++)
		if (active[order[i]])
			return order[i];
	return -1;
}

static bool add(struct profile *profile, struct profile_waits *out, int64_t from, int64_t to, int kind)
{
	if (kind < 0 || from >= to)
		return true;
	if (out->count && out->rows[out->count - 1].end_ns == from && out->rows[out->count - 1].trait == (uint32_t)kind) {
		out->rows[out->count - 1].end_ns = to;
		return true;
	}
	if (!profile_grow(profile, &out->rows, &out->capacity, out->count, sizeof *out->rows))
		return false;
	out->rows[out->count++] = (struct profile_wait){ from, to, (uint32_t)kind };
	return true;
}

bool profile_waits_flatten(struct profile *profile, struct profile_waits *waits)
{
	struct profile_waits out = { 0 };
	struct edge *edges = malloc((2 * (size_t)waits->count + 1) * sizeof *edges);
	int64_t active[IDLE_KIND_COUNT] = { 0 };
	size_t count = 0;
	if (!edges)
		return false;
	for (uint32_t i = 0; i < waits->count; i++) {
		int kind = (int)kind_of(waits->rows[i].trait);
		edges[count++] = (struct edge){ waits->rows[i].start_ns, kind, 1 };
		edges[count++] = (struct edge){ waits->rows[i].end_ns, kind, -1 };
	}
	qsort(edges, count, sizeof *edges, by_time);
	bool is_good = true;
	for (size_t i = 0; i < count && is_good; i++) {
		if (i)
			is_good = add(profile, &out, edges[i - 1].at_ns, edges[i].at_ns, strongest(active));
		active[edges[i].kind] += edges[i].change;
	}
	free(edges);
	free(waits->rows);
	*waits = out;
	return is_good;
}

uint32_t profile_waits_split(
	const struct profile_waits *waits, uint32_t first, int64_t start_ns, int64_t end_ns, int64_t split[IDLE_KIND_COUNT])
{
	memset(split, 0, IDLE_KIND_COUNT * sizeof *split);
	split[IDLE_HOST] = end_ns - start_ns;
	while (first < waits->count && waits->rows[first].end_ns <= start_ns)
		first++;
	for (uint32_t i = first; i < waits->count && waits->rows[i].start_ns < end_ns; i++) {
		const struct profile_wait *wait = &waits->rows[i];
		int64_t common =
			(wait->end_ns < end_ns ? wait->end_ns : end_ns) - (wait->start_ns > start_ns ? wait->start_ns : start_ns);
		split[wait->trait] += common;
		split[IDLE_HOST] -= common;
	}
	return first;
}

/* -- copies from pageable memory -- */

struct uploads {
	struct profile *profile;
	const struct profile_waits *waits;
	struct profile_waits *out;
};

/* The first wait that ends after a time. */
static uint32_t wait_after(const struct profile_waits *waits, int64_t at_ns)
{
	uint32_t low = 0, high = waits->count;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (waits->rows[middle].end_ns <= at_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* PyTorch calls the driver to copy, and then to wait, within aten::copy_. */
static void add_upload(const struct profile_launch *launch, void *context)
{
	struct uploads *uploads = context;
	const struct profile_names *names = &uploads->profile->names;
	const struct profile_waits *waits = uploads->waits;
	struct profile_waits *out = uploads->out;
	if (!launch->call || profile_kind_of(launch->work->name) != PROFILE_COPY ||
		!profile_copy_is_pageable_upload(names, profile_name_of(launch->work->name)))
		return;
	bool has_op = launch->op && profile_names_begin(names, profile_name_of(launch->op->name), "aten::copy_");
	const struct profile_host *copy = has_op ? launch->op : launch->call;
	for (uint32_t i = wait_after(waits, copy->start_ns);
		 i < waits->count && waits->rows[i].start_ns < profile_host_end(copy); i++) {
		const struct profile_wait *wait = &waits->rows[i];
		if (wait->trait != IDLE_COPIES ||
			!profile_grow(uploads->profile, &out->rows, &out->capacity, out->count, sizeof *out->rows))
			continue;
		out->rows[out->count++] =
			(struct profile_wait){ wait->start_ns > copy->start_ns ? wait->start_ns : copy->start_ns,
				wait->end_ns < profile_host_end(copy) ? wait->end_ns : profile_host_end(copy), TRAIT_COPY };
	}
}

bool profile_waits_of_uploads(struct profile *profile, const struct profile_waits *waits, struct profile_waits *uploads)
{
	struct uploads context = { profile, waits, uploads };
	return profile_device_each(profile, add_upload, &context) && !profile->no_memory &&
		profile_waits_flatten(profile, uploads);
}
