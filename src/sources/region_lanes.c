#include "src/sources/region_lanes.h"

#include <stdlib.h>

enum { LANE_BUFFER = 64 };

struct lane {
	uint64_t until;            /* this reading goes up to here */
	uint64_t lost;             /* told so far */
	bool is_dry, had_events;   /* in this reading */
	size_t next, count;
	struct region_event events[LANE_BUFFER];
};

struct region_lanes {
	struct region *region;
	uint32_t count;
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
	return lanes;
}

void region_lanes_free(struct region_lanes *lanes)
{
	free(lanes);
}

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
		lane->had_events = !lane->is_dry;
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
		if (lane->next < lane->count && (!oldest || lane->events[lane->next].time_ns < oldest->events[oldest->next].time_ns))
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
	enum region_status status = region_lane_status(lanes->region, index, &now);
	if (status == REGION_OK && now.lost > lane->lost) {
		*count = now.lost - lane->lost;
		lane->lost = now.lost;
	}
	return status;
}
