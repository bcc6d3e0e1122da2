/* story_region.h: the totals, history, epochs and state in the region of a synthetic run, counted event by event after
 * pmtop-region(7). */
#ifndef PMTOP_TESTS_STORY_REGION_H
#define PMTOP_TESTS_STORY_REGION_H

#include <stddef.h>

#include "src/samples/sample_set.h"

enum { STORY_TOTALS_MAX = 32, STORY_BINS_MAX = 4096, STORY_EPOCHS_MAX = 1024 };

struct story_region {
	struct run_state state;
	size_t total_count, bin_count, epoch_count;
	uint64_t bin_width, steps, epochs_dropped;
	struct total_row totals[STORY_TOTALS_MAX];
	struct history_row bins[STORY_BINS_MAX];
	struct epoch_row epochs[STORY_EPOCHS_MAX];
	bool has_step; /* a batch has begun whose step is not closed */
	uint32_t step_mode;
	int64_t step_begin_ns;
	double step_batch_s;
	double closed_step_s; /* of the step that the last event closed; NAN = it closed none */
	uint32_t closed_step_mode;
};

void story_region_init(struct story_region *region);
/* Counts one event of the (only) lane; `sequence` follows on the one before. */
void story_region_account(struct story_region *region, const struct record *event);
/* STATE, TOTAL, HISTORY and EPOCHS, as at attach. */
void story_region_emit(const struct story_region *region, struct sample_set *out, unsigned run, int64_t time_ns);
void story_region_emit_state(const struct story_region *region, struct sample_set *out, unsigned run, int64_t time_ns);

#endif
