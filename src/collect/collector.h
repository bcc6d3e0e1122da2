/* collector.h: reads the sources periodically on the sampler thread and passes their sample sets to the main thread.
 *
 *   target_refresh → for each source: read → sample set → queue → (main thread) collector_take
 *
 * A set holds what all sources read in one period, including the samples they took within it (source.h: sample). While
 * the main thread takes no sets, the queue fills up and the newest set grows to a limit. Beyond it the sources are not
 * read: figures are skipped, and events stay in their ring, whose reader counts the losses. When a source fails, a
 * RECORD_MISSING gives the reason, and the source is retried with back-off (1 s, doubling, at most 30 s). */
#ifndef PMTOP_COLLECT_COLLECTOR_H
#define PMTOP_COLLECT_COLLECTOR_H

#include <stdbool.h>
#include <stdint.h>

#include "src/base/status.h"
#include "src/samples/sample_set.h"
#include "src/sources/target/target.h"

struct collector;
struct source;

/* Takes over the opened `target`: collector_stop closes it, but the caller owns its storage. On failure the caller
 * still owns it. Returns after the first reading of every source has been queued as one set, so that the first screen
 * is complete. Signals are blocked on the sampler thread. */
enum status collector_start(struct target *target, int64_t period_ns, struct collector **out, struct reason *why_not);
/* The same with the given sources, for tests. */
enum status collector_start_with(const struct source *const *sources, unsigned count, struct target *target,
	int64_t period_ns, struct collector **out, struct reason *why_not);
/* Main thread, never blocks. Clears *set and swaps it with the oldest set in the queue. False: the queue is empty. */
bool collector_take(struct collector *collector, struct sample_set *set);
/* Readable (poll) while the queue is not empty. */
int collector_fd(const struct collector *collector);
/* Main thread. The target has ended, and its last set has been taken. */
bool collector_has_ended(const struct collector *collector);
/* Main thread. A source with is_awaited (source.h) has been opened but has not delivered anything yet. */
bool collector_is_starting(const struct collector *collector);
/* Main thread. Requests a snapshot (set->is_snapshot) as the next set pushed to the queue: the complete state between
 * two readings, for new readers. */
void collector_want_snapshot(struct collector *collector);
void collector_set_period(struct collector *collector, int64_t period_ns);
void collector_stop(struct collector *collector);

/* -- within src/collect -- */

/* The sampler thread. */
void collector_sample(void *collector);

#endif
