/* totals.h: a run's running totals since its start, per lane, kind, mode, name and parent. What the region had counted
 * before is a row's to say; events after the row's `upto` are added, those below it are in it already. Figures are
 * merged over lanes when they are read. */
#ifndef PMTOP_MODEL_RUN_TOTALS_H
#define PMTOP_MODEL_RUN_TOTALS_H

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
	uint64_t upto; /* events of the lane below this are in */
	uint64_t seen; /* one beyond the newest event that was added */
	uint64_t count;
	double total_s, self_s, min_s, max_s, last_s; /* NAN where the region only counted */
	double cpu_s, memory_bytes;                   /* NAN where never published */
	int64_t last_ns;                              /* when last_s was seen; 0 = it stood in a row */
	uint32_t *histogram;                          /* NULL: none, so no quantiles */
	bool has_histogram;                           /* false: part of it was never in a histogram */
	/* Spans: of what was seen as events, whatever `upto` says: all, in batches, between them. A nested one in a step
	 * counts as in its batch. */
	double seen_s, in_batch_s, between_s;
	double before_s; /* before the first batch that was seen in the lane */
	uint32_t next;   /* place + 1 of the same in another lane: operations.c's */
	bool is_changed;
};

struct totals {
	size_t count, room, table_room, histograms;
	struct total *list; /* in the order of their first appearance */
	uint32_t *table;    /* place in the list + 1, by hash */
	uint64_t left_out;  /* events for which there was no room */
};

void totals_release(struct totals *totals);
/* NULL: not there, or (with `create`) no room for it; left_out is then counted. Valid until the next creation. */
struct total *totals_find(struct totals *totals, const struct total_key *key, bool create);
/* Replaces what was accumulated, unless the row is older than that and holds less. */
void totals_replace(struct totals *totals, const struct total_key *key, const struct total_row *row);
/* An event that ends at `time_ns`. cpu_s and memory_bytes NAN = not published. False: it is in already, or total is
 * NULL. */
bool totals_add(struct totals *totals, struct total *total, uint64_t sequence, int64_t time_ns, double seconds,
	double self_s, double cpu_s, double memory_bytes);

/* Merges rows of one kind of figures over lanes. */
struct merged_total {
	uint64_t count;
	double total_s, self_s, min_s, max_s, last_s, cpu_s, memory_bytes;
	int64_t last_ns;
	bool has_histogram;
	unsigned parts;
	const uint32_t *only; /* the histogram, while there is one part */
	uint32_t histogram[HISTOGRAM_BUCKETS];
};
void merged_total_init(struct merged_total *merged);
void merged_total_add(struct merged_total *merged, const struct total *total);
void merged_total_quantiles(const struct merged_total *merged, double *p50_s, double *p95_s);
void merged_total_figures(const struct merged_total *merged, struct figures *out);

#endif
