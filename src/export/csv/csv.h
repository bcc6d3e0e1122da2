/* csv.h: batches as CSV. */
#ifndef PMTOP_EXPORT_CSV_CSV_H
#define PMTOP_EXPORT_CSV_CSV_H

#include <stdint.h>

struct buffer;
struct model;

/* One line per refresh for --format=csv; the header when `with_header`. */
void export_csv(struct buffer *out, const struct model *model, int run, int64_t realtime_ns, int with_header);

#endif
