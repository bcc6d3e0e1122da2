/* explain.h: why one batch was slow. Its excess over its baseline is split over the phases, the largest first; the part
 * that no evidence accounts for has the cause "unknown". */
#ifndef PMTOP_EXPLAIN_EXPLAIN_H
#define PMTOP_EXPLAIN_EXPLAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/model/model.h"
#include "src/model/run/explanation.h"

enum { CAUSE_BRIEF_SIZE = 96 };

const char *cause_kind_name(enum cause_kind kind); /* as in CAUSES */
const char *cause_kind_id(enum cause_kind kind);   /* "disk_read": for programs */
/* its words have figures in them, which differ from batch to batch */
bool cause_is_about_clock(enum cause_kind kind);
/* For a column: "data: reads disk", "data › decode", "unknown". */
const char *cause_brief(const struct run *run, const struct cause *cause, char out[CAUSE_BRIEF_SIZE]);
/* After model_apply() and model_flag(): fills the explanation of each flagged batch of which more has become known. */
void explain_flagged(struct model *model);
/* The explanation of any batch of a track: the one that it holds where it is flagged, else worked out into *room. */
const struct explanation *explain_any(const struct model *model, const struct run *run, const struct track *track,
	const struct batch *batch, struct explanation *room);
#endif
