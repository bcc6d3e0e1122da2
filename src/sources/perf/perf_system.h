/* perf_system.h: the kernel's counters and libpfm4 as a perf_opener (perf.c). libpfm4 is loaded when the first name
 * is encoded. */
#ifndef PMTOP_SOURCES_PERF_PERF_SYSTEM_H
#define PMTOP_SOURCES_PERF_PERF_SYSTEM_H

#include "src/sources/perf/perf_opener.h"

/* NULL: out of memory. */
struct perf_opener *perf_system_new(void);
void perf_system_free(struct perf_opener *opener);

#endif
