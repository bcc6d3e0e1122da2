/* perf.h: the kernel's counters and libpfm4 as a perf_opener. libpfm4 is loaded when the first name is encoded. */
#ifndef PMTOP_SOURCES_PERF_PERF_H
#define PMTOP_SOURCES_PERF_PERF_H

struct perf_opener;

/* NULL: out of memory. */
struct perf_opener *perf_system_new(void);
void perf_system_free(struct perf_opener *opener);

#endif
