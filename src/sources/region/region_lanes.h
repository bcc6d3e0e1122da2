/* region_lanes.h: the events of all lanes of a region as one stream, merged by time; each lane's keep their order. */
#ifndef PMTOP_SOURCES_REGION_REGION_LANES_H
#define PMTOP_SOURCES_REGION_REGION_LANES_H

#include <stdbool.h>
#include <stdint.h>

#include "src/region/reader.h"

struct region_lanes;

/* `region` is borrowed. NULL when out of memory. */
struct region_lanes *region_lanes_new(struct region *region);
void region_lanes_free(struct region_lanes *lanes);
/* A reading begins: it goes up to what the lanes hold now; what is written meanwhile waits for the next one. */
enum region_status region_lanes_begin(struct region_lanes *lanes);
/* The next event, valid until the next call; NULL: no more in this reading. */
enum region_status region_lanes_next(struct region_lanes *lanes, const struct region_event **event);
/* Between readings, and right after each. How long until it is to be called again, by how fast events came since the
 * last call: so that no lane is much more than a third full then. *is_filling: one is so full that it must be read
 * now. */
int64_t region_lanes_refresh(struct region_lanes *lanes, int64_t now_ns, bool *is_filling);
/* How many events of the lane were lost since the last call for it. */
enum region_status region_lanes_lost(struct region_lanes *lanes, uint32_t lane, uint64_t *count);

#endif
