/* ranks.h: the ranks of a run in each format. Nothing where the run is no rank of several. Internal to src/export. */
#ifndef PMTOP_EXPORT_FIGURES_RANKS_H
#define PMTOP_EXPORT_FIGURES_RANKS_H

#include "src/base/buffer.h"
#include "src/base/formats/json.h"
#include "src/model/model.h"

/* The members `world_size`, `ranks[]`, `slowest{}` and `still{}` of the object that is open. */
void ranks_as_json(struct json *json, const struct model *model, int run);
/* The table RANKS, and the empty line after it; nothing where there is but one here. */
void ranks_as_table(struct buffer *out, const struct model *model, int run);
/* "  Ranks: …" */
void ranks_as_line(struct buffer *out, const struct model *model, int run);

#endif
