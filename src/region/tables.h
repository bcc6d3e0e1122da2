/* tables.h: the current contents of a region: state, names, values, totals, histories.
 *
 * Each call makes a consistent copy under the entry's sequence counter, or returns REGION_CUT_SHORT or REGION_DAMAGED.
 * Only region_read_total, _meta, _open_spans and the very first region_read_state return REGION_BUSY. */
#ifndef PMTOP_REGION_TABLES_H
#define PMTOP_REGION_TABLES_H

#include <stddef.h>
#include <stdint.h>

#include "src/region/reader.h"

enum region_status region_read_state(struct region *region, struct region_state *out);

/* One load. While it is unchanged and even, no batch or epoch has begun or ended. */
uint32_t region_state_sequence(const struct region *region);
/* The i-th entry; *key and *value are valid until the next call. */
enum region_status region_read_meta(
	struct region *region, uint32_t i, const char **key, size_t *key_length, const char **value, size_t *value_length);
enum region_status region_read_gauge(struct region *region, uint32_t i, uint32_t *name, double *value);
enum region_status region_read_counter(struct region *region, uint32_t i, uint32_t *name, double *total);

/* The number of names published so far; ids start at 1 and have no gaps. */
uint32_t region_name_count(struct region *region);
enum region_status region_read_name(struct region *region, uint32_t id, const char **text, size_t *length);
uint32_t region_total_count(struct region *region); /* entries in use so far */
enum region_status region_read_total(struct region *region, uint32_t i, struct region_total *out);

/* Fill at most `max` entries, oldest first, and set *count. *upto: number of the run's batches, all modes, in the
 * epochs. */
enum region_status region_read_history(struct region *region, struct region_bin *out, size_t max, size_t *count);
enum region_status region_read_epochs(
	struct region *region, struct region_epoch *out, size_t max, size_t *count, uint64_t *dropped, uint64_t *upto);

#endif
