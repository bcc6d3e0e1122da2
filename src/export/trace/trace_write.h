/* trace_write.h: writes the events of a trace through its format. */
#ifndef PMTOP_EXPORT_TRACE_TRACE_WRITE_H
#define PMTOP_EXPORT_TRACE_TRACE_WRITE_H

#include <stdbool.h>
#include <stdint.h>

#include "src/export/trace/trace.h"

struct trace_process;

bool trace_begin(struct trace *trace, struct trace_slice *slice);
void trace_close(struct trace *trace, const struct trace_track *track, int64_t end_ns);
void trace_slice(struct trace *trace, struct trace_slice *slice);
void trace_instant(struct trace *trace, struct trace_slice *slice);

/* Omitted if the value is unknown. Creates the track at its first use. */
void trace_counter(struct trace *trace, struct trace_track **track, struct trace_process *process, const char *name,
	enum trace_unit unit, int64_t time_ns, double value);
void note_text(struct trace_slice *slice, const char *key, const char *text);
void note_number(struct trace_slice *slice, const char *key, double number);
void note_count(struct trace_slice *slice, const char *key, uint64_t count);
void note_true(struct trace_slice *slice, const char *key, bool is_true);

#endif
