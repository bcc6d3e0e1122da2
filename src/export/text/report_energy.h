/* report_energy.h: the energy of a run: the report's table ENERGY, and a line at an epoch's end. Internal to
 * src/export. */
#ifndef PMTOP_EXPORT_TEXT_REPORT_ENERGY_H
#define PMTOP_EXPORT_TEXT_REPORT_ENERGY_H

#include "src/base/buffer.h"
#include "src/model/model.h"

/* An empty line and the table; nothing without a meter and a sensor. `run`: its epochs are written; −1 = none. */
void report_energy(struct buffer *out, const struct model *model, int run);
/* "  Energy of epoch 3: CPUs 12.1kJ, GPUs 29.1kJ, 66.1J a batch, 4.3g CO2" */
void energy_as_line(
	struct buffer *out, const struct energy *energy, const struct epoch_energy *used, const struct epoch *epoch);

#endif
