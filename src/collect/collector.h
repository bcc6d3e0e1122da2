/* collector.h: runs the sources at their pace on the sampler thread and hands their sample sets to the main thread.
 *
 *   target_refresh → for each source: read → sample set → queue → (main thread) collector_take
 *
 * A source that fails carries its reason into the sets (RECORD_MISSING) and is retried with back-off (1 s, doubling, at most 30 s). */
#ifndef PMTOP_COLLECT_COLLECTOR_H
#define PMTOP_COLLECT_COLLECTOR_H

#include <stdbool.h>
#include <stdint.h>

#include "src/base/status.h"
#include "src/samples/sample_set.h"
#include "src/sources/target.h"

struct collector;

/* Takes over `target` (opened; released by collector_stop). The first reading of every source has been queued, as one set, when
 * this returns: so a first object or frame is complete. Signals are blocked on the sampler thread. */
enum status collector_start(struct target *target, int64_t period_ns, struct collector **out, struct reason *why_not);
/* Main thread, never blocks: swaps the oldest set into *set. False: nothing waits. */
bool collector_take(struct collector *collector, struct sample_set *set);
/* Readable (poll) while a set waits. */
int collector_fd(const struct collector *collector);
/* The target has ended and everything it left has been queued. */
bool collector_has_ended(const struct collector *collector);
void collector_set_period(struct collector *collector, int64_t period_ns);
void collector_stop(struct collector *collector);

#endif
