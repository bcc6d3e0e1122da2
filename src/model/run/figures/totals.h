/* totals.h: a run's totals since its start, per lane, kind, mode, name and parent. A row from the region replaces a
 * total; events from the row's `upto` on are added, those before it are already included. Lanes are merged when figures
 * are read. */
#ifndef PMTOP_MODEL_RUN_FIGURES_TOTALS_H
#define PMTOP_MODEL_RUN_FIGURES_TOTALS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/model/run/run.h"
#include "src/samples/sample_set.h"

enum { TOTALS_MAX = 4096, TOTALS_HISTOGRAMS_MAX = 1024 };

struct total_key {
	enum total_kind kind;
	uint16_t lane;
	uint32_t mode, name, parent;
};

struct total {
	struct total_key key;
	uint32_t depth;
	uint64_t upto; /* lane events below this are included */
	uint64_t seen; /* sequence of the latest added event, plus 1 */
	uint64_t count;
	double total_s, self_s, min_s, max_s, last_s; /* NAN if the region only counts */
	double cpu_s, memory_bytes;                   /* NAN if never published */
	int64_t last_ns;                              /* time of last_s; 0 = from a row */
	uint32_t *histogram;                          /* NULL: none, so no quantiles */
	bool has_histogram;                           /* false: some events are not in the histogram */
	/* Spans only: time of all events seen, regardless of `upto`; in batches; and between them. A nested span in a step
	 * counts as in its batch. */
	double seen_s, in_batch_s, between_s;
	double before_s; /* before the first batch seen in the lane */
	uint32_t next;   /* index plus 1 of the same total in another lane, for operations.c */
	bool is_changed;
};

struct totals {
	size_t count, room, table_room, histograms;
	struct total *list; /* in order of first appearance */
	uint32_t *table;    /* hash table of list indexes plus 1 */
	uint64_t left_out;  /* events dropped because the list was full */
};

void totals_release(struct totals *totals);
/* NULL: not found, or, with `create`, the list is full; left_out is incremented then. Valid until the next creation. */
struct total *totals_find(struct totals *totals, const struct total_key *key, bool create);
/* Replaces the total by a row, unless the row is older and contains less. */
void totals_replace(struct totals *totals, const struct total_key *key, const struct total_row *row);
/* Adds an event that ends at `time_ns`. cpu_s and memory_bytes: NAN = not published. False: already included, or
 * `total` is NULL. */
bool totals_add(struct totals *totals, struct total *total, uint64_t sequence, int64_t time_ns, double seconds,
	double self_s, double cpu_s, double memory_bytes);

/* Totals merged over lanes. */
struct merged_total {
	uint64_t count;
	double total_s, self_s, min_s, max_s, last_s, cpu_s, memory_bytes;
	int64_t last_ns;
	bool has_histogram;
	unsigned parts;
	const uint32_t *only; /* the histogram, as long as there is only one part */
	uint32_t histogram[HISTOGRAM_BUCKETS];
};
void merged_total_init(struct merged_total *merged);
void merged_total_add(struct merged_total *merged, const struct total *total);
void merged_total_quantiles(const struct merged_total *merged, double *p50_s, double *p95_s);
void merged_total_figures(const struct merged_total *merged, struct figures *out);

#endif
