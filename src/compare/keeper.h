/* keeper.h: makes a summary of a run while its sets are applied to a model, for the model keeps the newest batches
 * only. */
#ifndef PMTOP_COMPARE_KEEPER_H
#define PMTOP_COMPARE_KEEPER_H

#include "src/compare/summary.h"
#include "src/model/model.h"

struct keeper {
	struct summary *summary;  /* borrowed; being filled */
	bool is_begun, is_failed; /* failed: out of memory */
	unsigned run_id;
	uint32_t mode;
	uint64_t next;      /* ordinal of the next step to look at */
	unsigned in_stride; /* steps looked at since the last that is kept for good */
	uint64_t chance;
	unsigned sampled; /* steps that told their samples */
	double sampled_s;
	uint64_t gap_count; /* of which events were lost */
};

void keeper_init(struct keeper *keeper, struct summary *summary);
/* After each set, once it was applied; `run` is an index into model->runs, −1 = none yet. */
void keeper_read(struct keeper *keeper, const struct model *model, int run);
/* All has been applied: takes the last, and what the model knows of the run. False: out of memory. */
bool keeper_end(struct keeper *keeper, const struct model *model, int run);

#endif
