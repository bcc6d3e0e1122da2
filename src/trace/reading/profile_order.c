#include "src/trace/reading/profile_order.h"

#include <stdlib.h>

/* Both kinds of events are 32 bytes and begin with start and duration. */
struct event {
	int64_t start_ns, duration_ns;
	uint32_t rest[4];
};

_Static_assert(sizeof(struct event) == sizeof(struct profile_host), "one sort for both kinds");
_Static_assert(sizeof(struct event) == sizeof(struct profile_work), "one sort for both kinds");

static inline bool is_before(const struct event *a, const struct event *b)
{
	return a->start_ns < b->start_ns || (a->start_ns == b->start_ns && a->duration_ns > b->duration_ns);
}

/* The first element of [from, to) that `event` is before. */
static uint32_t upper(const struct event *events, uint32_t from, uint32_t to, const struct event *event)
{
	while (from < to) {
		uint32_t middle = from + (to - from) / 2;
		if (is_before(event, &events[middle]))
			to = middle;
		else
			from = middle + 1;
	}
	return from;
}

/* Merges [from, middle) and [middle, to), stably. What already lies in its position is not moved. */
static bool merge(struct event *events, uint32_t from, uint32_t middle, uint32_t to)
{
	from = upper(events, from, middle, &events[middle]);
	if (from == middle)
		return true;
	uint32_t count = middle - from, next = 0;
	struct event *left = malloc(count * sizeof *left);
	if (!left)
		return false;
	memcpy(left, events + from, count * sizeof *left);
	for (uint32_t out = from; next < count; out++)
		events[out] = middle < to && is_before(&events[middle], &left[next]) ? events[middle++] : left[next++];
	free(left);
	return true;
}

/* The run that begins at `from` ends before the returned index. */
static uint32_t run_end(const struct event *events, uint32_t from, uint32_t count)
{
	for (from++; from < count && !is_before(&events[from], &events[from - 1]); from++)
		continue;
	return from;
}

struct runs {
	uint32_t *ends;
	uint32_t count, capacity;
};

static bool find_runs(const struct event *events, uint32_t count, struct runs *runs)
{
	for (uint32_t at = 0; at < count;) {
		if (runs->count == runs->capacity) {
			runs->capacity = runs->capacity ? runs->capacity * 2 : 64;
			uint32_t *ends = realloc(runs->ends, runs->capacity * sizeof *ends);
			if (!ends)
				return false;
			runs->ends = ends;
		}
		at = runs->ends[runs->count++] = run_end(events, at, count);
	}
	return true;
}

static bool sort(struct event *events, uint32_t count)
{
	struct runs runs = { 0 };
	bool is_good = find_runs(events, count, &runs);
	while (is_good && runs.count > 1) {
		uint32_t out = 0, from = 0;
		for (uint32_t i = 0; i < runs.count && is_good; i += 2) {
			uint32_t end = runs.ends[i + 1 < runs.count ? i + 1 : i];
			is_good = i + 1 == runs.count || merge(events, from, runs.ends[i], end);
			runs.ends[out++] = from = end;
		}
		runs.count = out;
	}
	free(runs.ends);
	return is_good;
}

bool profile_order_track(struct profile_track *track)
{
	return sort((struct event *)(void *)track->hosts, track->host_count) &&
		sort((struct event *)(void *)track->works, track->work_count);
}

bool profile_order(struct profile *profile)
{
	uint32_t base = 0;
	for (uint32_t i = 0; i < profile->track_count; i++) {
		struct profile_track *track = &profile->tracks[i];
		if (!profile_order_track(track))
			return false;
		track->host_base = base;
		base += track->host_count;
	}
	return true;
}
