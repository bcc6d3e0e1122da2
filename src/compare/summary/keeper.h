/* keeper.h: collects a summary while sets are applied to a model, because the model retains only the newest batches. */
#ifndef PMTOP_COMPARE_SUMMARY_KEEPER_H
#define PMTOP_COMPARE_SUMMARY_KEEPER_H

#include "src/compare/summary/summary.h"
#include "src/model/model.h"

struct keeper {
	struct summary *summary;  /* borrowed; being filled */
	bool is_begun, is_failed; /* failed: out of memory */
	unsigned run_id;
	uint32_t mode;
	uint64_t next;      /* ordinal of the next step to read */
	unsigned in_stride; /* steps read of the current stride */
	uint64_t chance;
	unsigned sampled; /* steps with a published sample count */
	double sampled_s;
	uint64_t gap_count; /* steps with lost events */
};

void keeper_init(struct keeper *keeper, struct summary *summary);
/* To be called after each set was applied; `run` is an index into model->runs, −1 = none yet. */
void keeper_read(struct keeper *keeper, const struct model *model, int run);
/* To be called after the last set: takes the last steps and the model's totals. Returns false when out of memory. */
bool keeper_end(struct keeper *keeper, const struct model *model, int run);

#endif
