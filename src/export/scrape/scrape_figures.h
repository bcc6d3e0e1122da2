/* scrape_figures.h: the figures that rules compare, as gauges: `memory.limit_in_s` is pmtop_memory_limit_in_seconds.
 * Internal to src/export/scrape. */
#ifndef PMTOP_EXPORT_SCRAPE_SCRAPE_FIGURES_H
#define PMTOP_EXPORT_SCRAPE_SCRAPE_FIGURES_H

#include <stdbool.h>

struct scrape;

/* MACHINE: one series; JOB: of all ranks that one source watches; RUN: of each rank. */
enum scrape_scope { SCRAPE_MACHINE, SCRAPE_JOB, SCRAPE_RUN };

enum { SCRAPE_NAME_SIZE = 96 };

void scrape_figures(struct scrape *scrape);
/* Whether a figure of rules is exported; its metric without "pmtop_" in `out`, its scope in *scope. */
struct figure;
bool scrape_figure_find(const struct figure *figure, enum scrape_scope *scope, char out[SCRAPE_NAME_SIZE]);

#endif
