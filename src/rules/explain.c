#include "src/rules/explain.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "src/rules/causes.h"

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

void explain_batch(const struct run *run, const struct batch *batch, const struct usual *usual, const struct around *around, struct explanation *out)
{
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
		causes_find(&(struct case_file){ .run = run, .batch = batch, .usual = usual, .around = around, .out = out });
}
