/* counts.h: CPU counters made up for tests, told by records beside a story, twice a second. */
#ifndef PMTOP_TESTS_SUPPORT_COUNTS_H
#define PMTOP_TESTS_SUPPORT_COUNTS_H

#include <stdbool.h>

#include "tests/support/stage.h"

struct counts {
	bool is_software_only; /* the CPU's own are refused */
	double counted_ratio;  /* of the hardware events; 1 = always */
};

/* Tells the story on until then, and what was counted of its trainer and its workers. */
void counts_play(const struct counts *counts, struct stage *stage, double until_s);

#endif
