/* rule_figures.h: the named figures that rules judge, show and advise with: one table, each with its unit, what it is
 * of, and what it is.
 *
 * Unknown is NAN, or an empty text. A name may end in a word of the run's own: meta.KEY, gauge.NAME, counter.NAME. */
#ifndef PMTOP_RULES_RULE_FIGURES_H
#define PMTOP_RULES_RULE_FIGURES_H

#include <stdbool.h>
#include <stddef.h>

#include "src/explain/advice.h"
#include "src/explain/explain.h"
#include "src/explain/patterns/patterns.h"
#include "src/explain/stall.h"
#include "src/model/model.h"
#include "src/model/ranks/ranks.h"

enum rule_scope { RULE_OF_MODEL, RULE_OF_RUN, RULE_OF_PHASE, RULE_SCOPES }; /* "model", "run", "phase" */

/* How a figure is written, which says its unit too. */
enum figure_form {
	FORM_NUMBER,
	FORM_COUNT,
	FORM_FACTOR,
	FORM_PERCENT,
	FORM_SECONDS,
	FORM_BYTES,
	FORM_BYTES_PER_S,
	FORM_RATE,
	FORM_TEXT,
	FORM_FIXED,
	FORMS
};

enum { READ_PHASES_MAX = RUN_PHASES_MAX * 2, FIGURE_TEXT_SIZE = 160 };

/* Of the newest flagged batches together: shares and ratios are means. */
struct common_cause {
	size_t explained;
	double slow_ratio;
	struct cause cause;
};

enum { FLAGGED_EXPLAINED = 8 };

/* What costs something to find out: asked for at most once a look. */
struct rule_cache {
	bool has_ranks, has_cause, has_stall, is_stalled, has_worker_group, has_load;
	struct ranks ranks;
	struct common_cause cause;
	struct stall stall;
	struct worker_group_now worker_group;
	struct worker_group_load load;
};

/* What is judged, gathered once for each run and update. Of the whole model: run and track are NULL and the rest is
 * empty. */
struct context {
	const struct model *model;
	unsigned index; /* of the run */
	const struct run *run;
	const struct track *track;
	const struct patterns *patterns; /* NULL: nothing was looked for */
	/* of the last 200 finished steps without the warm-up */
	double lost_s; /* of the flagged ones: by how much they were slower than is usual, together */
	size_t steps, flagged;
	/* of the flagged ones those outside of the quarter of the steps that has the most of them */
	size_t apart;
	double lost_apart_s; /* and what they lost */
	uint64_t oldest;     /* ordinal of the first of them */
	double mean_s, median_s;
	/* the median of the kind that the run's first step is of, the largest where that is gone */
	double first_baseline_s;
	double fastest_s, slowest_s; /* of the kind in which they lie farthest apart */
	size_t slow_count;           /* steps of more than twice the fastest of their kind */
	uint32_t spread_kind;        /* that kind */
	size_t phase_count;          /* outermost ones */
	struct phase_row phases[READ_PHASES_MAX];
	const struct phase_row *phase; /* the subject of a rule of phases */
	const struct gpu *gpu;         /* the only GPU that figures of GPUs are of; NULL: all that the run uses */
	struct rule_cache *cache;
};

/* A look at the whole model (index < 0) or a run. The cache is emptied. */
void rule_context_init(struct context *context, struct rule_cache *cache, const struct model *model, int index,
	const struct patterns *patterns);
const struct ranks *context_ranks(const struct context *context);
const struct common_cause *context_cause(const struct context *context);
/* The run itself; of the whole model the slowest rank, or where none is the first run. NULL: nothing publishes. */
const struct run *context_run(const struct context *context);

struct figure {
	const char *name; /* "phase.share_ratio"; one that ends in a dot takes an argument */
	enum figure_form form;
	enum rule_scope of; /* known in rules of this and of what it is part of */
	double (*number)(const struct context *context, const char *argument);
	void (*text)(const struct context *context, const char *argument, char out[FIGURE_TEXT_SIZE]);
	size_t offset;     /* of a double in struct model, where neither function is there */
	const char *what;  /* for a person */
	const char *lacks; /* why it is not known where it is not; NULL: no general reason */
};

struct figure_ref {
	const struct figure *row;
	const char *argument;
};

const struct figure *figure_at(size_t index); /* NULL at the end */
/* By its name; `argument` is where in `name` the run's own word begins. NULL: no such figure. */
const struct figure *figure_find(const char *name, const char **argument);
double figure_number(const struct figure_ref *ref, const struct context *context);
/* False: unknown. Numbers as their form has them. */
bool figure_text(const struct figure_ref *ref, const struct context *context, char out[FIGURE_TEXT_SIZE]);
void figure_write(enum figure_form form, double value, char out[FIGURE_TEXT_SIZE]);
/* A part and its whole in one unit, so that they can be compared at sight: "0.068 s of 0.201 s". Nothing of NAN. */
void figure_write_part(double part_s, double whole_s, char out[FIGURE_TEXT_SIZE]);
const char *figure_form_name(enum figure_form form);
enum figure_unit figure_form_unit(enum figure_form form);
void figure_name(const struct figure_ref *ref, char *out, size_t size);
/* Names on one line: cut to the length that leaves room for figures beside them, and made harmless. */
void figure_shorten(char out[FIGURE_TEXT_SIZE], const char *name);

/* The parts of the table, one file each. */
struct figure_part {
	const struct figure *rows;
	size_t count;
};
extern const struct figure_part machine_figures, memory_figures, run_figures, worker_figures, rank_figures, gpu_figures,
	gpu_memory_figures, gpu_wait_figures, hardware_figures, code_figures;

#endif
