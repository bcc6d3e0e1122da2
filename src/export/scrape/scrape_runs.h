/* scrape_runs.h: the families of runs: who they are, how far, what they publish, their warnings and processes. Internal
 * to src/export/scrape. */
#ifndef PMTOP_EXPORT_SCRAPE_SCRAPE_RUNS_H
#define PMTOP_EXPORT_SCRAPE_SCRAPE_RUNS_H

struct scrape;

void scrape_runs(struct scrape *scrape);

#endif
