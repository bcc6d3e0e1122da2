/* report_memory.h: the report's table MEMORY. Internal to src/export. */
#ifndef PMTOP_EXPORT_TEXT_REPORT_MEMORY_H
#define PMTOP_EXPORT_TEXT_REPORT_MEMORY_H

#include "src/base/buffer.h"
#include "src/model/model.h"

/* `run` may be NULL. */
void report_memory(struct buffer *out, const struct memory *memory, const struct run *run);

#endif
