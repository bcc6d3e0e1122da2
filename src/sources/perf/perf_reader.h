/* perf_reader.h: the source "perf" without the system under it: what is counted, when it is opened, what is told.
 * perf.c adds kernel and libpfm4.
 *
 * Nothing is opened, and no library loaded, before choices->wants_counters; where that is withdrawn all is closed
 * again. */
#ifndef PMTOP_SOURCES_PERF_PERF_READER_H
#define PMTOP_SOURCES_PERF_PERF_READER_H

#include "src/sources/perf/perf_opener.h"
#include "src/sources/source.h"

struct perf_reader;

/* The opener is the caller's as long as the reader lives. NULL: out of memory. */
struct perf_reader *perf_reader_new(struct target *target, const struct perf_opener *opener);
void perf_reader_free(struct perf_reader *reader);
enum status perf_reader_read(struct perf_reader *reader, int64_t now_ns, struct sample_set *out);
void perf_reader_emit_all(const struct perf_reader *reader, int64_t now_ns, struct sample_set *out);

#endif
