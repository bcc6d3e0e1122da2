/* scrape.h: what `pmtop exporter` serves: the state of all watched runs, family by family, as Prometheus's text format
 * 0.0.4 or as OpenMetrics 1.0.
 *
 *   sources (one for each watched target) → subjects (one for each rank) → families
 *
 * A rank has at most SCRAPE_SERIES_MAX series: names that a program publishes are capped, the rest is summed as
 * "other" and counted in pmtop_folded_names. Nothing here comes from a command line or an environment, except the
 * ranks' numbers and ids. */
#ifndef PMTOP_EXPORT_SCRAPE_SCRAPE_H
#define PMTOP_EXPORT_SCRAPE_SCRAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/buffer.h"
#include "src/export/metrics/openmetrics.h"
#include "src/model/model.h"
#include "src/model/ranks/ranks.h"
#include "src/rules/alerts.h"

enum { SCRAPE_SERIES_MAX = 150, SCRAPE_SUBJECTS_MAX = 256 };

struct scrape_source {
	const struct model *model;
	const struct alerts *alerts;
	const char *host; /* of the run; empty = unknown */
	int64_t realtime_offset_ns;
};

struct scrape_options {
	bool is_plain;     /* format 0.0.4, without exemplars */
	bool has_commands; /* run_info has command lines and names that come from them */
};

/* The exporter's own figures; NAN = unknown. */
struct scrape_self {
	double cpu_s, resident_bytes;
	size_t left_out;           /* runs that are not watched */
	uint64_t scrapes, refused; /* requests answered, and connections closed before they were complete */
};

void scrape_write(struct buffer *out, const struct scrape_source *sources, size_t count,
	const struct scrape_options *options, const struct scrape_self *self);

/* -- within src/export/scrape -- */

/* A rank, or a target without an instrumented run (run NULL). */
struct scrape_subject {
	const struct scrape_source *source;
	const struct run *run;
	unsigned index;   /* of the run, in its model */
	char *labels;     /* run_id="…",rank="0",local_rank="0" */
	size_t id_length; /* of the first of them */
};

struct scrape {
	struct openmetrics text;
	const struct scrape_options *options;
	const struct scrape_source *sources;
	size_t source_count, subject_count, left_out;
	const struct scrape_source *compared; /* the source of `ranks`; NULL: none yet */
	struct ranks ranks;
	struct scrape_subject subjects[SCRAPE_SUBJECTS_MAX];
};

/* The name under which folded ones are summed; a name that a program publishes may be the same, and is folded too. */
#define SCRAPE_OTHER "other"
bool scrape_is_other(const char *name);
/* Replaces the labels of the next sample by those of the subject. */
void scrape_label(struct scrape *scrape, const struct scrape_subject *subject);
#define EACH_SUBJECT(scrape, subject) \
	for (const struct scrape_subject *subject = (scrape)->subjects; \
		 subject < (scrape)->subjects + (scrape)->subject_count; subject++)

#endif
