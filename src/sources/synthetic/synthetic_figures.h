/* synthetic_figures.h: steps, processes and memory of a synthetic run. */
#ifndef PMTOP_SOURCES_SYNTHETIC_SYNTHETIC_FIGURES_H
#define PMTOP_SOURCES_SYNTHETIC_SYNTHETIC_FIGURES_H

#include <stdbool.h>
#include <stdint.h>

#include "src/samples/metric.h"
#include "src/sources/synthetic/synthetic_scenarios.h"

struct sample_set;
struct synthetic;

double synthetic_retained_bytes(const struct synthetic *synthetic);
int32_t synthetic_worker_pid(unsigned worker);
bool synthetic_worker_is_gone(const struct synthetic *synthetic, unsigned worker);

/* A counter's growth since the run began; NAN: there is no such figure. */
double synthetic_grown(const struct synthetic *synthetic, enum metric metric, enum synthetic_who who, int64_t now_ns);
/* By how many seconds slow batches were longer, up to now. */
double synthetic_slow_s(const struct synthetic *synthetic, int64_t now_ns);
bool synthetic_is_slow(const struct synthetic *synthetic, int64_t now_ns);
/* Emits the current figures, processes and workers. */
void synthetic_emit_figures(struct synthetic *synthetic, int64_t now_ns, struct sample_set *out);

#endif
