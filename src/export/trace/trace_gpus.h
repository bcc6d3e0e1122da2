/* trace_gpus.h: the GPUs of a trace. */
#ifndef PMTOP_EXPORT_TRACE_TRACE_GPUS_H
#define PMTOP_EXPORT_TRACE_TRACE_GPUS_H

#include <stdint.h>

struct record;
struct trace;

void trace_gpu_record(struct trace *trace, const struct record *record);
void trace_gpus_end(struct trace *trace, int64_t end_ns);

#endif
