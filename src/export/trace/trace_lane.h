/* trace_lane.h: what one publishing thread did, as slices that nest: spans come when they end, those within another
 * before it; here they become units, a batch or an outermost span with all that lies in it, parents first. What does
 * not nest (told late, across a batch, more than is kept) is a unit of its own, for a track beside. Internal to
 * src/export. */
#ifndef PMTOP_EXPORT_TRACE_TRACE_LANE_H
#define PMTOP_EXPORT_TRACE_TRACE_LANE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Depths published, a batch and what was put beside. */
enum { LANE_LEVELS = 64, LANE_TRACKS = 64 };

struct lane_slice {
	int64_t begin_ns, end_ns;
	uint16_t depth; /* as published */
	uint16_t level; /* in its unit; 0 = the unit's outermost, the first */
	uint16_t track; /* 0 = the lane's own track, or the number of one beside it */
	/* unfinished: its end is not known; end_ns is where it was last known to run */
	bool is_batch, is_unfinished;
	union {
		struct {
			uint32_t name;
			float cpu_s, memory_bytes;
		} span; /* NAN = not published */
		struct {
			uint64_t number, index;
			double loss;
		} batch;
	};
};

/* list[first … first + count − 1] */
struct lane_slices {
	struct lane_slice *list;
	size_t first, count, capacity;
};

/* at: where its own begin in `building` */
struct lane_open {
	int64_t begin_ns;
	uint64_t number, index;
	size_t at;
};

struct trace_lane {
	struct lane_slices building, ready;
	bool has_batch, failed; /* failed: out of memory, something is not here */
	bool is_certain;        /* false: a batch may run of which the begin was not seen */
	struct lane_open batch; /* while it runs */
	int64_t gap_ns;         /* where the newest gap began; 0 = none */
	size_t gap_at;          /* where in `building` stands what came after it */
	unsigned track_count;
	int64_t track_ends_ns[LANE_TRACKS]; /* where what stands on it ends */
	uint64_t left_out;                  /* slices for which there was no track */
};

void trace_lane_release(struct trace_lane *lane);
/* In the order of the lane's events. */
void trace_lane_batch_begin(struct trace_lane *lane, int64_t time_ns, uint64_t number, uint64_t index);
void trace_lane_batch_end(struct trace_lane *lane, const struct lane_slice *batch);
void trace_lane_span(struct trace_lane *lane, const struct lane_slice *span);
/* Events were lost after `time_ns`. */
void trace_lane_gap(struct trace_lane *lane, int64_t time_ns);
/* No more comes: a batch that runs ends here. */
void trace_lane_finish(struct trace_lane *lane, int64_t time_ns);

/* The oldest unit and how many slices it has; 0 = none is whole. Valid until the next call. */
size_t trace_lane_unit(const struct trace_lane *lane, const struct lane_slice **unit);
void trace_lane_drop_unit(struct trace_lane *lane);

#endif
