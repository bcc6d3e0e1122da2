/* report_workers.h: the report's line about DataLoader workers. Internal to src/export. */
#ifndef PMTOP_EXPORT_TEXT_REPORT_WORKERS_H
#define PMTOP_EXPORT_TEXT_REPORT_WORKERS_H

#include "src/base/buffer.h"
#include "src/model/model.h"

/* "Workers: 8 seen, 1,200 items, 12.3 ms an item (most 9.43 ms to 20.5 ms), decode 78 %", and an empty line; nothing
 * without workers that publish. */
void report_workers(struct buffer *out, const struct model *model, int run);

#endif
