/* series_hardware.h: the columns of --to=csv-series that exist only if the machine has the hardware:
 * "gpu0.utilisation_ratio", "energy.package 0.watts", "heat.coretemp Package id 0.celsius",
 * "counter.instructions.per_s". Internal to src/export. */
#ifndef PMTOP_EXPORT_METRICS_SERIES_HARDWARE_H
#define PMTOP_EXPORT_METRICS_SERIES_HARDWARE_H

#include "src/export/wide.h"
#include "src/model/model.h"

/* Fills the current row with the figures of the hardware that this set contains. */
void series_hardware(struct wide *wide, const struct model *model, const struct sample_set *set);

#endif
