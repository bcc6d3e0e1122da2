/* scrape_devices.h: the GPUs, and the ranks on them. Internal to src/export/scrape. */
#ifndef PMTOP_EXPORT_SCRAPE_SCRAPE_DEVICES_H
#define PMTOP_EXPORT_SCRAPE_SCRAPE_DEVICES_H

struct scrape;

void scrape_devices(struct scrape *scrape);

#endif
