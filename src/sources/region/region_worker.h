/* region_worker.h: the small region of a DataLoader worker, emitted as one row. All calls come from the sampler
 * thread.
 *
 * The ring is not read: the totals hold what a worker did, so the cost of reading does not depend on how many items
 * it prepares, and is almost zero while it prepares none. */
#ifndef PMTOP_SOURCES_REGION_REGION_WORKER_H
#define PMTOP_SOURCES_REGION_REGION_WORKER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "src/base/status.h"
#include "src/region/reader.h"
#include "src/samples/sample_set.h"

enum region_role { REGION_IS_RUN, REGION_IS_WORKER, REGION_IS_YOUNG };

/* By its meta "role". Young: the region is empty and less than a second old. */
enum region_role region_role(struct region *region, int64_t now_ns);

struct region_worker;

/* Takes ownership of `region`, also on failure. `id`: `run` of its records; `pid`, `directory_fd`: its process as
 * pmtop sees it. */
enum status region_worker_open(
	struct region *region, unsigned id, pid_t pid, int directory_fd, struct region_worker **out);
void region_worker_close(struct region_worker *worker);
/* Emits a row if there is anything new, at most five times a second; `is_last`: always. On failure it cannot be read
 * any more. */
enum status region_worker_read(struct region_worker *worker, int64_t now_ns, bool is_last, struct sample_set *out);
/* Emits the current row. */
enum status region_worker_emit(struct region_worker *worker, int64_t now_ns, struct sample_set *out);
/* Whether its writer has closed it, as of the last reading. */
bool region_worker_has_ended(const struct region_worker *worker);

#endif
