/* recorded.h: a recording of a synthetic run of any length, written at once. */
#ifndef PMTOP_TESTS_SUPPORT_RECORDED_H
#define PMTOP_TESTS_SUPPORT_RECORDED_H

#include <stdint.h>

#include "src/base/clock.h"
#include "src/samples/sample_set.h"
#include "src/samples/stream.h"

/* The first set's time; its date is 14:00:00 UTC on 20 November 2026. */
#define RECORDED_BEGIN_NS (INT64_C(100000) * NS_PER_S)
#define RECORDED_DATE_S INT64_C(1795183200)

struct recorded_options {
	const char *scenario; /* as --demo takes it: "slow-data:7"; NULL = clean */
	double seconds;
	int64_t period_ns;                 /* between two sets; 0 = 200 ms */
	double lost_from_s, lost_to_s;     /* blocks of this time are not written */
	double silent_from_s, silent_to_s; /* no sets in this time, as when the monitor is stopped */
	/* sets; 0 = 50. A dictionary is the synthetic run's first set again: enough to go on from */
	unsigned dictionary_every;
	bool is_cut; /* no index and a truncated last block, as from a killed recorder */
};

void recorded_header(struct stream_header *out);
/* Aborts if writing fails. `each` (may be NULL) gets every set except dictionaries before it is written. */
void recorded_write(const char *path, const struct recorded_options *options,
	void (*each)(void *context, const struct sample_set *set), void *context);

#endif
