/* region_lanes.h: the events of all lanes of a region as one stream, merged by time; the events of a lane keep their
 * order. */
#ifndef PMTOP_SOURCES_REGION_REGION_LANES_H
#define PMTOP_SOURCES_REGION_REGION_LANES_H

#include <stdbool.h>
#include <stdint.h>

#include "src/region/reader.h"

struct region_lanes;

/* `region` is borrowed. NULL when out of memory. */
struct region_lanes *region_lanes_new(struct region *region);
void region_lanes_free(struct region_lanes *lanes);
/* Begins a reading of the events that the lanes hold now; later events are left for the next reading. */
enum region_status region_lanes_begin(struct region_lanes *lanes);
/* The next event, valid until the next call; NULL: no more in this reading. */
enum region_status region_lanes_next(struct region_lanes *lanes, const struct region_event **event);
/* Called between readings, and right after each. Returns how long until its next call: it extrapolates the events
 * since the last call so that no lane fills much beyond a third until then. *is_filling: a lane is so full that it
 * must be read now. */
int64_t region_lanes_refresh(struct region_lanes *lanes, int64_t now_ns, bool *is_filling);
/* How many events of the lane were lost since the last call for this lane. */
enum region_status region_lanes_lost(struct region_lanes *lanes, uint32_t lane, uint64_t *count);

#endif
