/* series_devices.h: columns of csv-series for each disk and network interface. Internal to src/export. */
#ifndef PMTOP_EXPORT_SERIES_DEVICES_H
#define PMTOP_EXPORT_SERIES_DEVICES_H

struct model;
struct wide;

/* The present rates of the devices that were ever used. */
void series_devices(struct wide *wide, const struct model *model);

#endif
