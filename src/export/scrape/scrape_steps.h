/* scrape_steps.h: the histograms of steps and phases, with exemplars. Internal to src/export/scrape. */
#ifndef PMTOP_EXPORT_SCRAPE_SCRAPE_STEPS_H
#define PMTOP_EXPORT_SCRAPE_SCRAPE_STEPS_H

#include <stddef.h>

struct run;
struct scrape;

enum { SCRAPE_PHASES_MAX = 4 }; /* further ones are summed as "other" */

/* The outermost spans of the main mode. */
size_t scrape_phase_count(const struct run *run);
void scrape_steps(struct scrape *scrape);

#endif
