/* region_run.h: one attached region, emitted as the records of a run. All calls come from the sampler thread.
 *
 * The first reading emits everything that the region holds (names, meta, state, totals, history, epochs), then the
 * events of its ring; later readings emit only what is new. Totals precede the events that follow on them. They are
 * repeated, with history and epochs, for a lane that lost events: `upto` of a total says which events it includes.
 * Events of all lanes are merged by time; the events of a lane keep their order. */
#ifndef PMTOP_SOURCES_REGION_REGION_RUN_H
#define PMTOP_SOURCES_REGION_REGION_RUN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "src/base/status.h"
#include "src/region/reader.h"
#include "src/samples/sample_set.h"

struct region_run;

/* Takes ownership of `region`, also on failure. `id`: `run` of its records; `pid`: its process as pmtop sees it (0 =
 * unknown); `directory_fd`: that process's /proc/PID, borrowed, −1 = none. */
enum status region_run_open(struct region *region, unsigned id, pid_t pid, int directory_fd, struct region_run **out);
void region_run_close(struct region_run *run);
/* STATUS_AGAIN: the set is full, and there are more events. Any other failure: the region cannot be read any more,
 * and region_run_failure says why. */
enum status region_run_read(struct region_run *run, int64_t now_ns, struct sample_set *out);
/* Called between readings, and right after each: emits only events that might be overwritten before the next
 * reading. Returns the time of its next call. */
int64_t region_run_refresh(struct region_run *run, int64_t now_ns, struct sample_set *out);
/* Whether events were overwritten before they were read. */
bool region_run_has_lost(const struct region_run *run);
/* Emits again all that the region holds, without events, for a reader that joins late. */
enum status region_run_emit_all(struct region_run *run, int64_t now_ns, struct sample_set *out);
const char *region_run_failure(const struct region_run *run);
/* Whether its writer has closed it, as of the last reading. */
bool region_run_has_ended(const struct region_run *run);
struct region *region_run_region(const struct region_run *run);

#endif
