/* rule_figures.h: the named figures that rules use in conditions, texts and evidence: one table with unit, scope and
 * description.
 *
 * Unknown is NAN, or an empty text. A name may end in a published name: meta.KEY, gauge.NAME, counter.NAME. */
#ifndef PMTOP_RULES_RULE_FIGURES_H
#define PMTOP_RULES_RULE_FIGURES_H

#include <stdbool.h>
#include <stddef.h>

#include "src/explain/advice.h"
#include "src/explain/explain.h"
#include "src/explain/patterns/patterns.h"
#include "src/explain/stall.h"
#include "src/model/collectives/collectives_judge.h"
#include "src/model/model.h"
#include "src/model/ranks/ranks.h"

enum rule_scope { RULE_OF_MODEL, RULE_OF_RUN, RULE_OF_PHASE, RULE_SCOPES }; /* "model", "run", "phase" */

/* How a figure is printed; implies its unit. */
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

/* The common cause of the newest flagged batches: shares and ratios are means. */
struct common_cause {
	size_t explained;
	double slow_ratio;
	struct cause cause;
};

enum { FLAGGED_EXPLAINED = 8 };

/* The judgement on collectives, and the pace of the group in which others wait most for one rank; −1 = none. */
struct rule_collectives {
	struct collective_judgement judgement;
	int slowest_group;
	struct collective_pace pace;
};

/* Expensive results, computed at most once per update. */
struct rule_cache {
	bool has_ranks, has_cause, has_stall, is_stalled, has_worker_group, has_load, has_collectives;
	struct ranks ranks;
	struct rule_collectives collectives;
	struct common_cause cause;
	struct stall stall;
	struct worker_group_now worker_group;
	struct worker_group_load load;
};

/* The input of rules, gathered once for each run and update. For rules of the model, run and track are NULL and the
 * rest is empty. */
struct context {
	const struct model *model;
	unsigned index; /* of the run */
	const struct run *run;
	const struct track *track;
	const struct patterns *patterns; /* NULL = no search yet */
	/* of the last 200 finished steps without the warm-up */
	double lost_s; /* sum of the flagged steps' excess over the median */
	size_t steps, flagged;
	/* flagged steps outside the quarter of the steps with the most flags */
	size_t apart;
	double lost_apart_s; /* their excess */
	uint64_t oldest;     /* ordinal of the oldest of these steps */
	double mean_s, median_s;
	/* median of the first step's kind; if that kind is unknown, the largest median of a kind */
	double first_baseline_s;
	double fastest_s, slowest_s; /* of the kind with the largest ratio */
	size_t slow_count;           /* steps of more than twice the fastest of their kind */
	double typical_ratio;        /* 95th ÷ 5th percentile of that kind, without waits for a CPU */
	uint32_t spread_kind;        /* that kind */
	size_t phase_count;          /* outermost phases */
	struct phase_row phases[READ_PHASES_MAX];
	/* of all phases "compile" of the recent steps, at any depth; NAN: there are no steps */
	double compile_share_ratio, compile_median_s;
	const struct phase_row *phase; /* the subject of a rule of phases */
	const struct gpu *gpu;         /* the only GPU that figures of GPUs are of; NULL: all that the run uses */
	struct rule_cache *cache;
};

struct figure {
	const char *name; /* "phase.share_ratio"; one that ends in a dot takes an argument */
	enum figure_form form;
	enum rule_scope of; /* available in rules of this scope and of narrower ones */
	double (*number)(const struct context *context, const char *argument);
	void (*text)(const struct context *context, const char *argument, char out[FIGURE_TEXT_SIZE]);
	size_t offset;     /* of a double in struct model, if both functions are NULL */
	const char *what;  /* description, for people */
	const char *lacks; /* why it may be unknown; NULL = no general reason */
};

struct figure_ref {
	const struct figure *row;
	const char *argument;
};

const struct figure *figure_at(size_t index); /* NULL at the end */
/* Finds a figure by name; `argument` points to the published name in `name`, or is NULL. NULL = no such figure. */
const struct figure *figure_find(const char *name, const char **argument);
double figure_number(const struct figure_ref *ref, const struct context *context);
/* False if unknown. Numbers are printed in their form. */
bool figure_text(const struct figure_ref *ref, const struct context *context, char out[FIGURE_TEXT_SIZE]);
void figure_write(enum figure_form form, double value, char out[FIGURE_TEXT_SIZE]);
/* A part and its whole in one unit: "0.068 s of 0.201 s". Writes nothing for NAN. */
void figure_write_part(double part_s, double whole_s, char out[FIGURE_TEXT_SIZE]);
const char *figure_form_name(enum figure_form form);
enum figure_unit figure_form_unit(enum figure_form form);
void figure_name(const struct figure_ref *ref, char *out, size_t size);
/* A name from the program, shortened to leave room for figures, without control characters. */
void figure_shorten(char out[FIGURE_TEXT_SIZE], const char *name);

/* The table consists of one part for each file of inputs/. */
struct figure_part {
	const struct figure *rows;
	size_t count;
};
extern const struct figure_part machine_figures, memory_figures, run_figures, worker_figures, rank_figures,
	collective_figures, gpu_figures, gpu_memory_figures, gpu_wait_figures, hardware_figures, code_figures,
	waits_figures, requests_figures, ras_figures;

#endif
