/* report_code.h: the report's table of the user's own Python lines that take the time. Internal to src/export. */
#ifndef PMTOP_EXPORT_TEXT_REPORT_CODE_H
#define PMTOP_EXPORT_TEXT_REPORT_CODE_H

#include "src/base/buffer.h"
#include "src/model/model.h"

/* An empty line and a table for each process with enough samples; nothing if there is none. */
void report_code(struct buffer *out, const struct model *model);

#endif
