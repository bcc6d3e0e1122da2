/* scrape_collectives.h: which rank the others wait for, as series of that rank. Internal to src/export/scrape. */
#ifndef PMTOP_EXPORT_SCRAPE_SCRAPE_COLLECTIVES_H
#define PMTOP_EXPORT_SCRAPE_SCRAPE_COLLECTIVES_H

struct scrape;

void scrape_collectives(struct scrape *scrape);

#endif
