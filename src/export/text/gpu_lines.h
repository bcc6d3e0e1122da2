/* gpu_lines.h: the lines of `pmtop -b` about GPUs: events, a lost GPU, and a changed verdict on the run's memory.
 * Internal to src/export. */
#ifndef PMTOP_EXPORT_TEXT_GPU_LINES_H
#define PMTOP_EXPORT_TEXT_GPU_LINES_H

#include "src/export/export.h"

void gpus_as_lines(struct buffer *out, struct lines *lines, const struct model *model);

#endif
