/* ledger.h: remembers the current state of what sources emit only on change: processes, their wait channels and
 * devices, device names, GPUs and their processes, perf events, missing figures. */
#ifndef PMTOP_COLLECT_LEDGER_H
#define PMTOP_COLLECT_LEDGER_H

#include "src/samples/sample_set.h"

struct ledger;

struct ledger *ledger_new(void); /* NULL: out of memory; all calls accept NULL */
void ledger_free(struct ledger *ledger);
/* Updates the ledger with the records of a set from index `from` on. */
void ledger_note(struct ledger *ledger, const struct sample_set *set, size_t from);
void ledger_emit(const struct ledger *ledger, int64_t now_ns, struct sample_set *out);

#endif
