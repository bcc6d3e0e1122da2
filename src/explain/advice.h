/* advice.h: what advice rests on: the kind of operation that a phase is, and the loader's settings. Private to
 * src/rules. */
#ifndef PMTOP_EXPLAIN_ADVICE_H
#define PMTOP_EXPLAIN_ADVICE_H

#include <stdbool.h>

#include "src/model/run/run.h"

enum phase_kind { PHASE_OTHER, PHASE_DATA, PHASE_FORWARD, PHASE_BACKWARD, PHASE_OPTIMIZER, PHASE_BETWEEN };

/* By the words in its name: "data", "train_dataloader_next" and "load images" are data, "model forward" is forward. */
enum phase_kind phase_kind(const struct run *run, uint32_t name);
/* "data", "forward", "backward", "optimizer", "between", "other". */
const char *phase_kind_name(enum phase_kind kind);

/* A setting of the loader, as published ("loader.num_workers", or without "loader."); NULL where it was not. */
const char *loader_setting(const struct run *run, const char *key);
/* False where it was not published, or is no count. */
bool loader_count(const struct run *run, const char *key, long *count);

#endif
