/* story_workers.h: what the DataLoader's workers of a story publish: fetches of 32 items with decode and augment, and
 * waits for work between. */
#ifndef PMTOP_TESTS_STORY_WORKERS_H
#define PMTOP_TESTS_STORY_WORKERS_H

#include "tests/support/story.h"

enum { STORY_WORKER_ITEMS = 32 };

/* A row of each worker as of `now_ns`. */
void story_emit_workers(const struct story_options *options, int64_t now_ns, struct sample_set *out);

#endif
