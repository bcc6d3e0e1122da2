/* gpu_lines.h: what `pmtop -b` says of GPUs beside batches: what happened to one, that it was lost, and what the run's
 * memory on it does where that is news. Internal to src/export. */
#ifndef PMTOP_EXPORT_TEXT_GPU_LINES_H
#define PMTOP_EXPORT_TEXT_GPU_LINES_H

#include "src/export/export.h"

void gpus_as_lines(struct buffer *out, struct lines *lines, const struct model *model);

#endif
