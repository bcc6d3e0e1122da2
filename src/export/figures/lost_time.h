/* lost_time.h: how much time ranks waited for which rank, in each format. Nothing is written before enough collectives
 * are known. Internal to src/export. */
#ifndef PMTOP_EXPORT_FIGURES_LOST_TIME_H
#define PMTOP_EXPORT_FIGURES_LOST_TIME_H

#include "src/base/buffer.h"
#include "src/base/formats/json.h"
#include "src/model/model.h"

/* The member `lost_time{}` of the object that is open. */
void lost_time_as_json(struct json *json, const struct model *model);
/* The table LOST TIME and an empty line. */
void lost_time_as_table(struct buffer *out, const struct model *model);

#endif
