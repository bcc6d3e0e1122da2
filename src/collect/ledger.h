/* ledger.h: what sources have told once and what still stands: processes, where they wait and were told to run, names
 * of devices, GPUs and who uses them, what the CPU counters count, what is missing. */
#ifndef PMTOP_COLLECT_LEDGER_H
#define PMTOP_COLLECT_LEDGER_H

#include "src/samples/sample_set.h"

struct ledger;

struct ledger *ledger_new(void); /* NULL when out of memory, which all calls accept */
void ledger_free(struct ledger *ledger);
/* Looks through the records of a set from `from` on. */
void ledger_note(struct ledger *ledger, const struct sample_set *set, size_t from);
void ledger_emit(const struct ledger *ledger, int64_t now_ns, struct sample_set *out);

#endif
