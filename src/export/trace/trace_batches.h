/* trace_batches.h: batches, phases and spans of a trace. */
#ifndef PMTOP_EXPORT_TRACE_TRACE_BATCHES_H
#define PMTOP_EXPORT_TRACE_TRACE_BATCHES_H

#include <stdint.h>

struct epoch;
struct finished_batch;
struct run;
struct trace;
struct trace_run;

/* Writes units without a batch, and those of batches up to `written`. NULL: all. */
void trace_release(struct trace *trace, struct trace_run *run, const struct finished_batch *written);
void trace_release_ready(struct trace *trace, struct trace_run *run);
void trace_finished(struct trace *trace, const struct finished_batch *written);
void trace_epoch(struct trace *trace, const struct run *of, const struct epoch *epoch, int64_t end_ns);
const char *trace_name_text(const struct trace_run *run, uint32_t id);

#endif
