/* trace_figures.h: the counter tracks of a trace. */
#ifndef PMTOP_EXPORT_TRACE_TRACE_FIGURES_H
#define PMTOP_EXPORT_TRACE_TRACE_FIGURES_H

struct record;
struct sample_set;
struct trace;
struct trace_run;

void trace_readings(struct trace *trace, const struct sample_set *set);
void trace_gauge(struct trace *trace, struct trace_run *run, const struct record *record);

#endif
