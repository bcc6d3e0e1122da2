/* trace_lane.h: turns one thread's events into slices that nest. A span's event comes at its end, so children come
 * before their parent; a unit is a batch or an outermost span with its children, parents first. A slice that does not
 * nest (published late, or across a batch's border) is a unit of its own on another track. Internal to src/export. */
#ifndef PMTOP_EXPORT_TRACE_TRACE_LANE_H
#define PMTOP_EXPORT_TRACE_TRACE_LANE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* LANE_LEVELS: the published depths, the batch, and one for slices beside it. */
enum { LANE_LEVELS = 64, LANE_TRACKS = 64 };

struct lane_slice {
	int64_t begin_ns, end_ns;
	uint16_t depth; /* as published */
	uint16_t level; /* depth in its unit; 0 = the unit's outermost slice, which is its first */
	uint16_t track; /* 0 = the lane's own track; else another one */
	/* unfinished: its end is unknown; end_ns is the last time at which it ran */
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

/* at: index in `building` of its first child */
struct lane_open {
	int64_t begin_ns;
	uint64_t number, index;
	size_t at;
};

struct trace_lane {
	struct lane_slices building, ready;
	bool has_batch, failed; /* failed: out of memory, slices are missing */
	bool is_certain;        /* false: a batch may be running whose begin was lost */
	struct lane_open batch; /* only if has_batch */
	int64_t gap_ns;         /* begin of the newest gap; 0 = none */
	size_t gap_at;          /* index in `building` of the first slice after it */
	unsigned track_count;
	int64_t track_ends_ns[LANE_TRACKS]; /* end of each track's last slice */
	uint64_t left_out;                  /* slices without a free track */
};

void trace_lane_release(struct trace_lane *lane);
/* In the order of the lane's events. */
void trace_lane_batch_begin(struct trace_lane *lane, int64_t time_ns, uint64_t number, uint64_t index);
void trace_lane_batch_end(struct trace_lane *lane, const struct lane_slice *batch);
void trace_lane_span(struct trace_lane *lane, const struct lane_slice *span);
/* Events were lost after `time_ns`. */
void trace_lane_gap(struct trace_lane *lane, int64_t time_ns);
/* No more events follow: a running batch ends here. */
void trace_lane_finish(struct trace_lane *lane, int64_t time_ns);

/* The oldest finished unit and its number of slices; 0 = none. Valid until the next call. */
size_t trace_lane_unit(const struct trace_lane *lane, const struct lane_slice **unit);
void trace_lane_drop_unit(struct trace_lane *lane);

#endif
