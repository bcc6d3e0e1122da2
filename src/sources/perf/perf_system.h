/* perf_system.h: the kernel's counters and libpfm4, which is loaded when the first name is asked of it, as a
 * perf_opener (perf.c). */
#ifndef PMTOP_SOURCES_PERF_PERF_SYSTEM_H
#define PMTOP_SOURCES_PERF_PERF_SYSTEM_H

#include "src/sources/perf/perf_opener.h"

/* NULL: out of memory. */
struct perf_opener *perf_system_new(void);
void perf_system_free(struct perf_opener *opener);

#endif
