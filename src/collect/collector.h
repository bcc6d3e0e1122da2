/* collector.h: runs the sources at their pace on the sampler thread and hands their sample sets to the main thread.
 *
 *   target_refresh → for each source: read → sample set → queue → (main thread) collector_take
 *
 * What the sources read in one turn is one set, together with what those had to say between two turns that cannot wait
 * for them (source.h: look). While the main thread takes nothing, the queue fills up and the newest set grows to a
 * bound; then the sources are not read: figures are left out, events stay in their ring, whose losses its reader
 * counts. A source that fails carries its reason into the sets (RECORD_MISSING) and is retried with back-off (1 s,
 * doubling, at most 30 s). */
#ifndef PMTOP_COLLECT_COLLECTOR_H
#define PMTOP_COLLECT_COLLECTOR_H

#include <stdbool.h>
#include <stdint.h>

#include "src/base/status.h"
#include "src/samples/sample_set.h"
#include "src/sources/target/target.h"

struct collector;
struct source;

/* Takes over `target` (opened; its storage stays the caller's; closed by collector_stop; on failure it is still the
 * caller's). The first reading of every source has been queued, as one set, when this returns: so a first object or
 * frame is complete. Signals are blocked on the sampler thread. */
enum status collector_start(struct target *target, int64_t period_ns, struct collector **out, struct reason *why_not);
/* The same with other sources than those of the table, for tests. */
enum status collector_start_with(const struct source *const *sources, unsigned count, struct target *target,
	int64_t period_ns, struct collector **out, struct reason *why_not);
/* Main thread, never blocks: clears *set and swaps it against the oldest one that waits. False: nothing waits. */
bool collector_take(struct collector *collector, struct sample_set *set);
/* Readable (poll) while a set waits. */
int collector_fd(const struct collector *collector);
/* Main thread. The target has ended, and the set with the last that it left has been taken. */
bool collector_has_ended(const struct collector *collector);
/* Main thread. A source that is awaited (source.h) has begun and has not told anything yet. */
bool collector_is_starting(const struct collector *collector);
/* Main thread. The next set but those that wait already is a snapshot (set->is_snapshot), taken between two readings:
 * all that one who comes then must be told first. */
void collector_want_snapshot(struct collector *collector);
void collector_set_period(struct collector *collector, int64_t period_ns);
void collector_stop(struct collector *collector);

#endif
