/* heat.h: energy meters and sensors, filled into the model by hand for tests of output. */
#ifndef PMTOP_TESTS_HEAT_H
#define PMTOP_TESTS_HEAT_H

#include "src/model/model.h"

/* Nothing is known. */
void heat_forget(struct energy *energy);
/* One package with its memory, a platform meter, two GPUs' power, sensors of a CPU, a disk and the firmware, CO2 at 360
 * g a kWh, with history up to the model's now. The first run's first epoch was metered in part, the second whole. */
void heat_fill(struct model *model);
/* Frees what heat_fill made; before model_free. */
void heat_release(struct model *model);

#endif
