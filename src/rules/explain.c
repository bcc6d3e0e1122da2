#include "src/rules/explain.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "src/base/text.h"

/* Less of the excess than this is left to "unknown": it would be a line without a message. */
#define CAUSE_LEAST_RATIO 0.05
/* A share that would print as 0 %. */
#define NOTHING_RATIO 0.005
/* Of the usual samples: from here on a batch is a bigger one. */
#define BIGGER_RATIO 1.2

/* -- phases against the usual ones -- */

static const struct phase_time *find_phase(const struct phase_time *phases, unsigned count, uint32_t name, uint32_t parent)
{
	for (unsigned i = 0; i < count; i++)
		if (phases[i].name == name && phases[i].parent == parent)
			return &phases[i];
	return NULL;
}

static bool has_row(const struct explanation *out, uint32_t name, uint32_t parent)
{
	for (size_t i = 0; i < out->row_count; i++)
		if (out->rows[i].name == name && out->rows[i].parent == parent)
			return true;
	return false;
}

static void add_row(struct explanation *out, const struct phase_time *this, const struct phase_time *usual, unsigned depth)
{
	const struct phase_time *phase = this ? this : usual;
	double this_s = this ? (double)this->seconds : NAN, usual_s = usual ? (double)usual->seconds : NAN;
	out->rows[out->row_count++] = (struct explain_row){
		.name = phase->name, .parent = phase->parent, .depth = depth, .this_s = this_s, .usual_s = usual_s,
		.excess_s = out->usual_batches ? (this ? this_s : 0) - (usual ? usual_s : 0) : NAN,
	};
}

struct pair { const struct batch *batch; const struct usual *usual; };

/* The phases below `parent`: first those of this batch, then those that it lacks. A name that turns up again below itself is taken once,
 * so this ends whatever the parents say; phases whose parent is not here would be counted twice, and are left out. */
static void add_below(struct explanation *out, const struct pair *pair, uint32_t parent, unsigned depth)
{
	const struct batch *batch = pair->batch;
	const struct usual *usual = pair->usual;
	unsigned usual_count = out->usual_batches ? usual->phase_count : 0;
	for (unsigned i = 0; i < batch->phase_count + usual_count && out->row_count < EXPLAIN_ROWS_MAX; i++) {
		bool is_here = i < batch->phase_count;
		const struct phase_time *phase = is_here ? &batch->phases[i] : &usual->phases[i - batch->phase_count];
		if (phase->parent != parent || has_row(out, phase->name, parent))
			continue;
		add_row(out, is_here ? phase : NULL, find_phase(usual->phases, usual_count, phase->name, parent), depth);
		if (phase->name != parent && depth < RUN_PHASES_MAX)
			add_below(out, pair, phase->name, depth + 1);
	}
}

/* -- causes -- */

/* Where the larger part of a phase's excess lies below it; NULL: in no one place. */
static const struct explain_row *main_part(const struct explanation *out, const struct explain_row *row)
{
	for (const struct explain_row *child = row + 1; child < out->rows + out->row_count && child->depth > row->depth; child++)
		if (child->depth == row->depth + 1 && child->excess_s > row->excess_s / 2)
			return child;
	return NULL;
}

static void name_cause(const struct run *run, const struct explanation *out, const struct explain_row *row, struct cause *cause)
{
	char path[512];
	int used = snprintf(path, sizeof path, "%s", run_name(run, row->name));
	while ((row = main_part(out, row)) && used > 0 && (size_t)used < sizeof path)
		used += snprintf(path + used, sizeof path - (size_t)used, " › %s", run_name(run, row->name));
	text_clean(cause->what, sizeof cause->what, path, strlen(path));
}

/* Keeps the causes sorted, largest first. When the room is used up the smallest is dropped, and so becomes part of the unknown. */
static void add_cause(struct explanation *out, const struct cause *cause, size_t most)
{
	size_t at = out->cause_count;
	while (at > 0 && out->causes[at - 1].share_ratio < cause->share_ratio)
		at--;
	if (at >= most)
		return;
	size_t kept = out->cause_count < most ? out->cause_count : most - 1;
	memmove(&out->causes[at + 1], &out->causes[at], (kept - at) * sizeof *cause);
	out->causes[at] = *cause;
	out->cause_count = kept + 1;
}

static bool is_explaining(const struct explain_row *row)
{
	return row->depth == 0 && row->name != NAME_UNATTRIBUTED && row->excess_s > 0;
}

/* Where some phases were faster than usual, the slower ones together exceed the batch's excess: shares are then of what they have together. */
static double shared_seconds(const struct explanation *out)
{
	double slower_s = 0;
	for (size_t i = 0; i < out->row_count; i++)
		if (out->rows[i].depth == 0 && out->rows[i].excess_s > 0)
			slower_s += out->rows[i].excess_s;
	return slower_s > out->excess_s ? slower_s : out->excess_s;
}

static void find_causes(const struct run *run, struct explanation *out)
{
	double whole_s = shared_seconds(out), explained_s = 0;
	for (size_t i = 0; i < out->row_count; i++) {
		const struct explain_row *row = &out->rows[i];
		if (!is_explaining(row) || row->excess_s < CAUSE_LEAST_RATIO * whole_s)
			continue;
		struct cause cause = { .phase = row->name, .share_ratio = row->excess_s / whole_s, .excess_s = row->excess_s };
		name_cause(run, out, row, &cause);
		add_cause(out, &cause, EXPLAIN_CAUSES_MAX - 1);
	}
	for (size_t i = 0; i < out->cause_count; i++)
		explained_s += out->causes[i].excess_s;
	struct cause unknown = { .kind = CAUSE_UNKNOWN, .what = "unknown", .phase = NAME_NONE, .share_ratio = (whole_s - explained_s) / whole_s, .excess_s = whole_s - explained_s };
	if (unknown.share_ratio >= NOTHING_RATIO)
		add_cause(out, &unknown, EXPLAIN_CAUSES_MAX);
}

/* -- what else happened -- */

static const struct {
	const char *what, *key;
	enum explain_unit unit;
	size_t offset;               /* in struct evidence */
} context_rows[] = {
	{ "CPU time of the training thread", "cpu_s", EXPLAIN_SECONDS, offsetof(struct evidence, cpu_s) },
	{ "run-queue wait", "run_queue_wait_s", EXPLAIN_SECONDS, offsetof(struct evidence, run_queue_wait_s) },
	{ "major faults", "major_faults", EXPLAIN_COUNT, offsetof(struct evidence, major_faults) },
	{ "minor faults", "minor_faults", EXPLAIN_COUNT, offsetof(struct evidence, minor_faults) },
	{ "blocks read", "blocks_read", EXPLAIN_COUNT, offsetof(struct evidence, blocks_read) },
	{ "forced switches", "involuntary_switches", EXPLAIN_COUNT, offsetof(struct evidence, involuntary_switches) },
	{ "voluntary switches", "voluntary_switches", EXPLAIN_COUNT, offsetof(struct evidence, voluntary_switches) },
	{ "samples", "samples", EXPLAIN_COUNT, offsetof(struct evidence, samples) },
};
_Static_assert(sizeof context_rows / sizeof *context_rows <= EXPLAIN_CONTEXT_MAX, "room for every row");

static double evidence_value(const struct evidence *evidence, size_t offset)
{
	return *(const double *)(const void *)((const char *)evidence + offset);
}

static void compare_evidence(const struct batch *batch, const struct usual *usual, struct explanation *out)
{
	if (!batch->has_evidence)
		return;
	for (size_t i = 0; i < sizeof context_rows / sizeof *context_rows; i++) {
		double this_value = evidence_value(&batch->evidence, context_rows[i].offset);
		if (isnan(this_value))
			continue;
		out->context[out->context_count++] = (struct explain_context){
			.what = context_rows[i].what, .key = context_rows[i].key, .unit = context_rows[i].unit, .this_value = this_value,
			.usual_value = out->usual_batches ? evidence_value(&usual->evidence, context_rows[i].offset) : NAN,
		};
	}
}

const char *cause_kind_name(enum cause_kind kind)
{
#define CAUSE_NAME(id, words) [CAUSE_##id] = words,
	static const char *const names[CAUSE_COUNT] = { CAUSES(CAUSE_NAME) };
#undef CAUSE_NAME
	return names[kind];
}

void explain_batch(const struct run *run, const struct batch *batch, const struct usual *usual, const struct around *around, struct explanation *out)
{
	(void)around;
	*out = (struct explanation){ .step_s = batch->step_s, .usual_s = NAN, .excess_s = NAN, .ratio = NAN, .samples = batch->samples, .usual_samples = NAN,
		.usual_batches = usual->batches };
	if (usual->batches) {
		out->usual_samples = usual->evidence.samples;
		out->is_bigger = out->usual_samples > 0 && batch->samples >= BIGGER_RATIO * out->usual_samples;
		out->usual_s = usual->step_s;
		out->excess_s = batch->step_s - usual->step_s;
		out->ratio = batch->step_s / usual->step_s;
	}
	add_below(out, &(struct pair){ batch, usual }, NAME_NONE, 0);
	compare_evidence(batch, usual, out);
	if (out->excess_s > 0)
		find_causes(run, out);
}
