#include "src/sources/region/region_lanes.h"

#include <math.h>
#include <stdlib.h>

#include "src/base/clock.h"
#include "src/region/events.h"

enum { LANE_BUFFER = 64, FILLING_PART = 4, FULL_PART = 3, SLOWER_PART = 8 };

/* READ_MAX_NS allows for a sudden start: some thousand events a second do not overwrite a ring of 1,024 within it. */
#define READ_MIN_NS (10 * NS_PER_MS)
#define READ_MAX_NS (125 * NS_PER_MS)

struct lane {
	uint64_t until;           /* this reading ends here */
	uint64_t lost;            /* emitted so far */
	uint64_t head_at_refresh; /* events written at the last refresh */
	bool is_dry;              /* in this reading */
	bool had_events;          /* since the last region_lanes_lost */
	size_t next, count;
	struct region_event events[LANE_BUFFER];
};

struct region_lanes {
	struct region *region;
	uint32_t count;
	int64_t refreshed_ns, interval_ns;
	struct lane lanes[];
};

struct region_lanes *region_lanes_new(struct region *region)
{
	uint32_t count = region_lane_count(region);
	struct region_lanes *lanes = calloc(1, sizeof *lanes + count * sizeof *lanes->lanes);
	if (!lanes)
		return NULL;
	lanes->region = region;
	lanes->count = count;
	lanes->interval_ns = READ_MIN_NS;
	return lanes;
}

void region_lanes_free(struct region_lanes *lanes) { free(lanes); }

enum region_status region_lanes_begin(struct region_lanes *lanes)
{
	for (uint32_t i = 0; i < lanes->count; i++) {
		struct lane *lane = &lanes->lanes[i];
		struct region_lane_status now;
		enum region_status status = region_lane_status(lanes->region, i, &now);
		if (status != REGION_OK)
			return status;
		lane->until = now.head;
		lane->is_dry = now.position >= now.head;
		lane->had_events |= !lane->is_dry;
	}
	return REGION_OK;
}

static enum region_status refill(struct region_lanes *lanes, uint32_t index)
{
	struct lane *lane = &lanes->lanes[index];
	enum region_status status = region_read_events(lanes->region, index, lane->events, LANE_BUFFER, &lane->count);
	lane->next = 0;
	if (status != REGION_OK)
		lane->count = 0;
	lane->is_dry = lane->count == 0 || lane->events[lane->count - 1].sequence + 1 >= lane->until;
	return status;
}

enum region_status region_lanes_next(struct region_lanes *lanes, const struct region_event **event)
{
	struct lane *oldest = NULL;
	for (uint32_t i = 0; i < lanes->count; i++) {
		struct lane *lane = &lanes->lanes[i];
		if (lane->next == lane->count && !lane->is_dry) {
			enum region_status status = refill(lanes, i);
			if (status != REGION_OK)
				return status;
		}
		if (lane->next < lane->count &&
			(!oldest || lane->events[lane->next].time_ns < oldest->events[oldest->next].time_ns))
			oldest = lane;
	}
	*event = oldest ? &oldest->events[oldest->next++] : NULL;
	return REGION_OK;
}

enum region_status region_lanes_lost(struct region_lanes *lanes, uint32_t index, uint64_t *count)
{
	struct lane *lane = &lanes->lanes[index];
	struct region_lane_status now;
	*count = 0;
	if (!lane->had_events)
		return REGION_OK;
	lane->had_events = false;
	enum region_status status = region_lane_status(lanes->region, index, &now);
	if (status == REGION_OK && now.lost > lane->lost) {
		*count = now.lost - lane->lost;
		lane->lost = now.lost;
	}
	return status;
}

/* How long until the lane is a third full, at the rate of the last `elapsed_ns`. */
static double fill_time_ns(
	const struct region_lanes *lanes, struct lane *lane, uint32_t index, double elapsed_ns, bool *is_filling)
{
	double slots = (double)region_lane_slots(lanes->region);
	uint64_t waiting, head = region_lane_head(lanes->region, index, &waiting);
	double came = head > lane->head_at_refresh ? (double)(head - lane->head_at_refresh) : 0, filled = (double)waiting;
	lane->head_at_refresh = head;
	if (filled >= slots / FILLING_PART) {
		*is_filling = true;
		filled = 0;
	}
	return came > 0 ? (slots / FULL_PART - filled) * elapsed_ns / came : INFINITY;
}

/* The interval shrinks at once but grows slowly, because spans come in bursts. */
int64_t region_lanes_refresh(struct region_lanes *lanes, int64_t now_ns, bool *is_filling)
{
	double elapsed_ns = lanes->refreshed_ns ? (double)(now_ns - lanes->refreshed_ns) : 0;
	double max_ns = (double)(lanes->interval_ns + lanes->interval_ns / SLOWER_PART);
	double next_ns = fmin(max_ns, (double)READ_MAX_NS);
	*is_filling = false;
	/* Too short for a rate. */
	if (lanes->refreshed_ns && elapsed_ns < (double)READ_MIN_NS / 2)
		return lanes->interval_ns;
	for (uint32_t i = 0; i < lanes->count; i++)
		next_ns = fmin(next_ns, fill_time_ns(lanes, &lanes->lanes[i], i, elapsed_ns, is_filling));
	lanes->refreshed_ns = now_ns;
	lanes->interval_ns = next_ns > (double)READ_MIN_NS ? (int64_t)next_ns : READ_MIN_NS;
	return lanes->interval_ns;
}
