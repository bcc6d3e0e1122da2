/* region_worker.h: the small region of a loader worker, told as one row. All calls from the sampler thread.
 *
 * Its ring is not followed: what a worker did stands in its totals, so reading costs the same however many items it
 * prepares, and next to nothing while it prepares none. */
#ifndef PMTOP_SOURCES_REGION_REGION_WORKER_H
#define PMTOP_SOURCES_REGION_REGION_WORKER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "src/base/status.h"
#include "src/region/reader.h"
#include "src/samples/sample_set.h"

enum region_role { REGION_IS_RUN, REGION_IS_WORKER, REGION_IS_YOUNG };

/* By its meta "role". Young: nothing is published yet, and it was made less than a second ago. */
enum region_role region_role(struct region *region, int64_t now_ns);

struct region_worker;

/* Takes `region`, also on failure. `id`: `run` of its records; `pid`, `directory_fd`: its process as pmtop sees it. */
enum status region_worker_open(
	struct region *region, unsigned id, pid_t pid, int directory_fd, struct region_worker **out);
void region_worker_close(struct region_worker *worker);
/* A row, where there is anything new, at most five times a second; `is_last`: in any case. A failure: it can be read no
 * further. */
enum status region_worker_read(struct region_worker *worker, int64_t now_ns, bool is_last, struct sample_set *out);
/* the row as it stands */
enum status region_worker_emit(struct region_worker *worker, int64_t now_ns, struct sample_set *out);
/* Its writer has closed it, as of the last reading. */
bool region_worker_has_ended(const struct region_worker *worker);

#endif
