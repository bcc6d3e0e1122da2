/* code_data.h: the data phase of a loop that fetches its batches by lines of its own: what comes before its first line
 * with forward, as for pmtop.torch. */
#ifndef PMTOP_MODEL_CODE_CODE_DATA_H
#define PMTOP_MODEL_CODE_CODE_DATA_H

struct model;

/* Sets the phases of nodes in the loops whose iterations are the steps of inferred runs. */
void model_find_data(struct model *model);

#endif
