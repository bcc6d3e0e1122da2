/* ranks.h: the ranks of a run in each format. Nothing is written if the run has only one rank. Internal to src/export.
 */
#ifndef PMTOP_EXPORT_FIGURES_RANKS_H
#define PMTOP_EXPORT_FIGURES_RANKS_H

#include "src/base/buffer.h"
#include "src/base/formats/json.h"
#include "src/model/model.h"

/* The members `world_size`, `ranks[]`, `slowest{}` and `still{}` of the object that is open. */
void ranks_as_json(struct json *json, const struct model *model, int run);
/* The table RANKS and an empty line; nothing if only one rank is known. */
void ranks_as_table(struct buffer *out, const struct model *model, int run);
/* "  Ranks: …" */
void ranks_as_line(struct buffer *out, const struct model *model, int run);

#endif
