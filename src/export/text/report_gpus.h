/* report_gpus.h: the report's table GPUS: what the run's GPUs did since pmtop watches. Internal to src/export. */
#ifndef PMTOP_EXPORT_TEXT_REPORT_GPUS_H
#define PMTOP_EXPORT_TEXT_REPORT_GPUS_H

#include "src/base/buffer.h"
#include "src/model/model.h"

/* And the empty line after it; nothing where no GPU was read. */
void report_gpus(struct buffer *out, const struct model *model);

#endif
