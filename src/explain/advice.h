/* advice.h: input of advice: the kind of a phase, and the published DataLoader settings. Private to src/explain and
 * src/rules. */
#ifndef PMTOP_EXPLAIN_ADVICE_H
#define PMTOP_EXPLAIN_ADVICE_H

#include <stdbool.h>

#include "src/model/run/run.h"

/* PHASE_INFERENCE: forwards without gradients, as pmtop.torch names them. */
enum phase_kind {
	PHASE_OTHER,
	PHASE_DATA,
	PHASE_FORWARD,
	PHASE_INFERENCE,
	PHASE_BACKWARD,
	PHASE_OPTIMIZER,
	PHASE_BETWEEN
};

/* From the words in its name: "data", "train_dataloader_next" and "load images" are data, "model forward" is
 * forward. */
enum phase_kind phase_kind(const struct run *run, uint32_t name);
/* "data", "forward", "backward", "optimizer", "between", "other". */
const char *phase_kind_name(enum phase_kind kind);

/* A DataLoader setting, as published ("loader.num_workers", or without "loader."); NULL if not published. */
const char *loader_setting(const struct run *run, const char *key);
/* False if it was not published or is not a count. */
bool loader_count(const struct run *run, const char *key, long *count);

#endif
