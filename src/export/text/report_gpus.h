/* report_gpus.h: the report's table GPUS: the run's GPUs since pmtop attached. Internal to src/export. */
#ifndef PMTOP_EXPORT_TEXT_REPORT_GPUS_H
#define PMTOP_EXPORT_TEXT_REPORT_GPUS_H

#include "src/base/buffer.h"
#include "src/model/model.h"

/* The table and an empty line; nothing without a GPU. */
void report_gpus(struct buffer *out, const struct model *model);

#endif
