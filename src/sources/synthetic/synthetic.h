/* synthetic.h: a synthetic run: the records that the sources would emit for it, so that pmtop can be shown without a
 * real run, and tests can trigger every warning.
 *
 * The same scenario, seed and times give the same records, to the nanosecond. Its processes have pids that no real
 * process can have; its command and its name begin with "synthetic", so that no screen shows it as real. */
#ifndef PMTOP_SOURCES_SYNTHETIC_SYNTHETIC_H
#define PMTOP_SOURCES_SYNTHETIC_SYNTHETIC_H

#include <stdbool.h>
#include <stdint.h>

#include "src/base/status.h"
#include "src/samples/sample_set.h"
#include "src/sources/source.h"

/* Above the largest pid of Linux (4,194,304). */
enum { SYNTHETIC_PID = 5000000, SYNTHETIC_WORKERS = 4 };

struct synthetic;

/* `wanted`: "slow-worker:7" is a scenario and a seed; either may be missing ("" = clean, seed 1). The run begins at
 * `start_ns`. */
enum status synthetic_new(const char *wanted, int64_t start_ns, struct synthetic **out, struct reason *why_not);
void synthetic_free(struct synthetic *synthetic);
/* Emits everything up to `now_ns`, as one reading of all sources. The first call also describes the run. */
void synthetic_emit(struct synthetic *synthetic, int64_t now_ns, struct sample_set *out);

/* The planted causes, for tests to compare pmtop's results with: ordinals of slow batches, oldest first; those
 * before `batches` have ended. */
struct synthetic_truth {
	uint64_t batches, planted_count;
	const uint64_t *planted;
	double retained_bytes;
};
struct synthetic_truth synthetic_truth(const struct synthetic *synthetic);
unsigned synthetic_epoch_batches(void);
/* The name and help line of a scenario; NULL beyond the last one. */
const char *synthetic_scenario(unsigned number, const char **help);

/* Not in the table of sources: it is read alone, with a target of pid 0 whose `synthetic` holds the wanted scenario. */
extern const struct source synthetic_source;

#endif
