/* synthetic.h: a run that never was: what the sources would say of it, so that pmtop can be seen without one, and every
 * warning raised in tests.
 *
 * The same scenario, seed and times tell the same, to the nanosecond. Its processes have pids that no process can have;
 * its command and its name begin with "synthetic", so that no screen passes it off as real. */
#ifndef PMTOP_SOURCES_SYNTHETIC_SYNTHETIC_H
#define PMTOP_SOURCES_SYNTHETIC_SYNTHETIC_H

#include <stdbool.h>
#include <stdint.h>

#include "src/base/status.h"
#include "src/samples/sample_set.h"
#include "src/sources/source.h"

/* Above the largest pid that Linux gives (4,194,304). */
enum { SYNTHETIC_PID = 5000000, SYNTHETIC_WORKERS = 4 };

struct synthetic;

/* "slow-worker:7": a scenario and a seed; either may be missing ("" = clean, seed 1). It begins at `start_ns`. */
enum status synthetic_new(const char *emitted, int64_t start_ns, struct synthetic **out, struct reason *why_not);
void synthetic_free(struct synthetic *synthetic);
/* Appends all that happened up to `now_ns`, as one reading of every source. The first also tells what there is to know
 * of the run. */
void synthetic_emit(struct synthetic *synthetic, int64_t now_ns, struct sample_set *out);

/* What was planted, for tests to hold pmtop against: ordinals of slow batches, oldest first; those before `batches`
 * have ended. */
struct synthetic_truth {
	uint64_t batches, planted_count;
	const uint64_t *planted;
	double retained_bytes;
};
struct synthetic_truth synthetic_truth(const struct synthetic *synthetic);
unsigned synthetic_epoch_batches(void);
/* NAME and help of each scenario, a line each. */
const char *synthetic_scenario(unsigned number, const char **help);

/* Not in the table of sources: whoever wants it reads it alone, with a target of pid 0 whose `synthetic` says what is
 * wanted. */
extern const struct source synthetic_source;

#endif
