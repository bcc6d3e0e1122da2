/* openmetrics_hardware.h: the OpenMetrics families of GPUs, energy and CPU counters. */
#ifndef PMTOP_EXPORT_METRICS_OPENMETRICS_HARDWARE_H
#define PMTOP_EXPORT_METRICS_OPENMETRICS_HARDWARE_H

struct openmetrics;

/* GPUs, CPU counters, energy, heat. */
void openmetrics_hardware(struct openmetrics *text);

#endif
