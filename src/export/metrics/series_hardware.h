/* series_hardware.h: the columns of --to=csv-series that are there only where the hardware is:
 * "gpu0.utilisation_ratio", "energy.package 0.watts", "heat.coretemp Package id 0.celsius",
 * "counter.instructions.per_s". Internal to src/export. */
#ifndef PMTOP_EXPORT_METRICS_SERIES_HARDWARE_H
#define PMTOP_EXPORT_METRICS_SERIES_HARDWARE_H

#include "src/export/wide.h"
#include "src/model/model.h"

/* Of the row that is being filled: what this set has told of. */
void series_hardware(struct wide *wide, const struct model *model, const struct sample_set *set);

#endif
