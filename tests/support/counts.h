/* counts.h: synthetic CPU counters, emitted as records beside a story, twice a second. */
#ifndef PMTOP_TESTS_SUPPORT_COUNTS_H
#define PMTOP_TESTS_SUPPORT_COUNTS_H

#include <stdbool.h>

#include "tests/support/stage.h"

struct counts {
	bool is_software_only; /* hardware events are denied */
	double counted_ratio;  /* share of the time in which hardware events are counted; 1 = always */
};

/* Emits the story until then, with the counters of its trainer and its workers. */
void counts_play(const struct counts *counts, struct stage *stage, double until_s);

#endif
