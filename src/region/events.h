/* events.h: the events of a region's lanes. */
#ifndef PMTOP_REGION_EVENTS_H
#define PMTOP_REGION_EVENTS_H

#include <stddef.h>
#include <stdint.h>

#include "src/region/reader.h"

/* When the writer was last active, CLOCK_REALTIME: its newest event, else its start, or the file's mtime if later.
 * Never later than now. */
int64_t region_last_sign_ns(struct region *region);
uint32_t region_lane_count(const struct region *region);
uint64_t region_lane_slots(const struct region *region); /* capacity of a lane, in events */

/* One load. Returns the events written so far; *waiting: those not read yet. */
uint64_t region_lane_head(const struct region *region, uint32_t lane, uint64_t *waiting);
enum region_status region_lane_status(struct region *region, uint32_t lane, struct region_lane_status *out);

/* Reads up to `max` next events of a lane, in order. *count 0: none now. Lost events are counted and skipped. */
enum region_status region_read_events(
	struct region *region, uint32_t lane, struct region_event *out, size_t max, size_t *count);
/* Outermost first. */
enum region_status region_read_open_spans(
	struct region *region, uint32_t lane, struct region_open_span *out, size_t max, size_t *count);

#endif
