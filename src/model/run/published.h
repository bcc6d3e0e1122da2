/* published.h: what a run publishes besides its events: names, meta, gauges, counters, marks, open spans. */
#ifndef PMTOP_MODEL_RUN_PUBLISHED_H
#define PMTOP_MODEL_RUN_PUBLISHED_H

#include "src/model/run/run.h"

void run_set_name(struct run *run, uint32_t id, const char *text);
void run_set_meta(struct run *run, const char *key, const char *value);
void run_set_gauge(struct run *run, uint32_t name, int64_t time_ns, double value);
void run_set_counter(struct run *run, uint32_t name, int64_t time_ns, double total);
void run_add_mark(struct run *run, int64_t time_ns, const char *text);
void run_set_open_span(struct run *run, const struct record *record);
void run_clear_open_spans(struct run *run, uint16_t lane);
void run_release_published(struct run *run);

#endif
