/* explain.h: why one batch was slow: its excess over the baseline step, divided among causes, largest first. The
 * unexplained rest is "unknown". */
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
/* Its words contain figures, which differ from batch to batch. */
bool cause_is_about_clock(enum cause_kind kind);
/* For a column: "data: disk read", "data › decode", "unknown". */
const char *cause_brief(const struct run *run, const struct cause *cause, char out[CAUSE_BRIEF_SIZE]);
/* Call after model_apply() and model_flag(): updates the explanation of each flagged batch with new evidence. */
void explain_flagged(struct model *model);
/* The explanation of any batch of a track: the stored one if it is flagged, else computed into *room. */
const struct explanation *explain_any(const struct model *model, const struct run *run, const struct track *track,
	const struct batch *batch, struct explanation *room);
#endif
