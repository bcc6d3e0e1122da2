/* region_advice.h: what to write so that a process without instrumentation publishes its steps, by the libraries that
 * it has mapped. */
#ifndef PMTOP_SOURCES_REGION_REGION_ADVICE_H
#define PMTOP_SOURCES_REGION_REGION_ADVICE_H

#include <stdbool.h>
#include <stdint.h>

#include "src/base/frameworks.h"
#include "src/sources/target/target.h"

/* Zeroed at first. */
struct region_advice {
	const struct framework *found; /* NULL = none */
	bool is_python;                /* a process has mapped an interpreter or a module */
	int64_t next_ns;
};

/* Reads the maps of the target's processes from time to time, because programs import libraries late. */
void region_advice_renew(struct region_advice *advice, const struct target *target, int64_t now_ns);

#endif
