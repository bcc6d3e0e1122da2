/* trace_tracks.h: the names and units of the tracks of a trace. */
#ifndef PMTOP_EXPORT_TRACE_TRACE_TRACKS_H
#define PMTOP_EXPORT_TRACE_TRACE_TRACKS_H

#include <stdint.h>

#include "src/export/trace/trace.h"

struct trace_shared_tracks;
struct trace_process;

/* NULL: out of memory. `process` NULL: of none. */
struct trace_track *trace_track(struct trace *trace, enum trace_kind kind, enum trace_unit unit,
	struct trace_process *process, const char *name, int rank);
struct trace_process *trace_process(
	struct trace *trace, int32_t pid, const char *name, const char *run_uuid, long rank);
const struct trace_track *trace_track_beside(struct trace *trace, struct trace_shared_tracks *tracks,
	struct trace_process *process, const char *name, int rank, int64_t begin_ns, int64_t end_ns);

#endif
