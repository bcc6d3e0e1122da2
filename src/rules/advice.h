/* advice.h: what to try about an operation, made concrete with what the run has published. Private to src/rules. */
#ifndef PMTOP_RULES_ADVICE_H
#define PMTOP_RULES_ADVICE_H

#include "src/model/model.h"
#include "src/rules/alerts.h"

enum phase_kind { PHASE_OTHER, PHASE_DATA, PHASE_FORWARD, PHASE_BACKWARD, PHASE_OPTIMIZER, PHASE_BETWEEN };

/* By the words in its name: "data", "train_dataloader_next" and "load images" are data, "model forward" is forward. */
enum phase_kind phase_kind(const struct run *run, uint32_t name);

/* A setting of the loader, as published ("loader.num_workers", or without "loader."); false where it was not, or is no count. */
bool loader_count(const struct run *run, const char *key, long *count);

__attribute__((format(printf, 2, 3)))
void advise(struct alert *alert, const char *format, ...);      /* one more line; none beyond ALERT_ADVICE_MAX */
/* What to try about an operation of this kind in a run of the model; for data with what its loader's workers do and its published settings.
 * is_rare: it is slow now and then, not always. */
void advise_phase(const struct model *model, const struct run *run, enum phase_kind kind, bool is_rare, struct alert *alert);

#endif
