/* perf_reader.h: the source "perf" without the system below it: what is counted, when counters are opened, what is
 * emitted. perf.c adds kernel and libpfm4.
 *
 * No counter is opened, and no library loaded, before choices->wants_counters is set; when it is cleared, all are
 * closed again. */
#ifndef PMTOP_SOURCES_PERF_PERF_READER_H
#define PMTOP_SOURCES_PERF_PERF_READER_H

#include "src/sources/perf/perf_opener.h"
#include "src/sources/source.h"

struct perf_reader;

/* The opener is the caller's and must outlive the reader. NULL: out of memory. */
struct perf_reader *perf_reader_new(struct target *target, const struct perf_opener *opener);
void perf_reader_free(struct perf_reader *reader);
enum status perf_reader_read(struct perf_reader *reader, int64_t now_ns, struct sample_set *out);
void perf_reader_emit_all(const struct perf_reader *reader, int64_t now_ns, struct sample_set *out);

#endif
