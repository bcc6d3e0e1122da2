/* trace_happenings.h: the instants of a trace: warnings, stalls, events of GPUs. */
#ifndef PMTOP_EXPORT_TRACE_TRACE_HAPPENINGS_H
#define PMTOP_EXPORT_TRACE_TRACE_HAPPENINGS_H

#include <stdbool.h>
#include <stdint.h>

struct record;
struct trace;
struct trace_run;
struct trace_slice;

void trace_alerts(struct trace *trace, bool is_end);
void trace_join_alerts(struct trace *trace, const struct trace_run *run, struct trace_slice *batch);
void trace_gap(struct trace *trace, struct trace_run *run, uint64_t count, int64_t from_ns, int64_t to_ns);
void trace_left_out(struct trace *trace, struct trace_run *run, uint64_t count, int64_t time_ns);
void trace_mark(struct trace *trace, struct trace_run *run, const struct record *record);
void trace_worker(struct trace *trace, const struct record *record);
void trace_workers_end(struct trace *trace, int64_t end_ns);

#endif
