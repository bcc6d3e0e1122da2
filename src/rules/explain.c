#include "src/rules/explain.h"

#include <math.h>
#include <stdbool.h>

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
	struct case_file file;       /* its claims are not cleared: lists call this for every row that they draw */
	file.run = run;
	file.batch = batch;
	file.usual = usual;
	file.around = around;
	file.out = out;
	file.whole_s = NAN;
	file.named_s[0] = file.named_s[1] = 0;
	file.claim_count = 0;
	if (out->excess_s > 0)
		causes_find(&file);
	explain_context(&file);
}
