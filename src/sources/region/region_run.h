/* region_run.h: one attached region, told as the records of a run. All calls from the sampler thread.
 *
 * First everything that the region keeps (names, meta, state, totals, history, epochs), then the events of its ring;
 * later only what is new. Totals come before the events that follow on them, and again, with history and epochs, for a
 * lane that lost events: `upto` of a total says which events it includes. Events of all lanes are merged by time; each
 * lane's keep their order. */
#ifndef PMTOP_SOURCES_REGION_REGION_RUN_H
#define PMTOP_SOURCES_REGION_REGION_RUN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "src/base/status.h"
#include "src/region/reader.h"
#include "src/samples/sample_set.h"

struct region_run;

/* Takes `region`, also on failure. `id`: `run` of its records; `pid`: its process as pmtop sees it (0 = not known);
 * `directory_fd`: that process's /proc/PID, borrowed, −1 = none. */
enum status region_run_open(struct region *region, unsigned id, pid_t pid, int directory_fd, struct region_run **out);
void region_run_close(struct region_run *run);
/* STATUS_AGAIN: a set may hold only so many events, and there are more. Any other failure: the region can be read no
 * further, and region_run_failure says why. */
enum status region_run_read(struct region_run *run, int64_t now_ns, struct sample_set *out);
/* Between readings, and right after each: tells events that might be overwritten before the next one, and nothing else.
 * When it is to be called again. */
int64_t region_run_refresh(struct region_run *run, int64_t now_ns, struct sample_set *out);
/* Events were overwritten before they were read. */
bool region_run_has_lost(const struct region_run *run);
/* The first part again, for one who comes now: all that the region keeps, without events. */
enum status region_run_emit_all(struct region_run *run, int64_t now_ns, struct sample_set *out);
const char *region_run_failure(const struct region_run *run);
/* Its writer has closed it, as of the last reading. */
bool region_run_has_ended(const struct region_run *run);
struct region *region_run_region(const struct region_run *run);

#endif
