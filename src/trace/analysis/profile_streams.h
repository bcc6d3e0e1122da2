/* profile_streams.h: what each stream of each GPU does. */
#ifndef PMTOP_TRACE_PROFILE_STREAMS_H
#define PMTOP_TRACE_PROFILE_STREAMS_H

#include "src/trace/store/profile.h"

enum { PROFILE_STREAMS_MAX = 256 };

struct profile_stream {
	const struct profile_track *track;
	uint64_t kernel_count, copy_count;            /* copies and memsets */
	int64_t kernel_ns, copy_ns, communication_ns; /* unions; kernel_ns: without communication */
	int64_t busy_ns;                              /* the union of all */
	int64_t busy_curve_ns[PROFILE_CURVE_SIZE];
};

struct profile_streams {
	struct profile_stream *rows; /* in the order of the tracks */
	uint32_t count;
	uint32_t left_out; /* beyond PROFILE_STREAMS_MAX */
};

/* After profile_order(). False: no memory. */
bool profile_streams_find(struct profile *profile, struct profile_streams *streams);
void profile_streams_release(struct profile_streams *streams);
/* "stream 7", or the name that the trace gives it. Returns `out`. */
const char *profile_stream_label(
	const struct profile *profile, const struct profile_track *track, char *out, size_t size);

#endif
