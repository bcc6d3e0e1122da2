/* phase_kind.h: what kind of operation a phase is, which says what can be tried about it. Private to src/rules. */
#ifndef PMTOP_RULES_PHASE_KIND_H
#define PMTOP_RULES_PHASE_KIND_H

#include "src/model/run.h"

enum phase_kind { PHASE_OTHER, PHASE_DATA, PHASE_FORWARD, PHASE_BACKWARD, PHASE_OPTIMIZER, PHASE_BETWEEN };

/* By the words in its name: "data", "train_dataloader_next" and "load images" are data, "model forward" is forward. */
enum phase_kind phase_kind(const struct run *run, uint32_t name);

#endif
