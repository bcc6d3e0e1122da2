#include "src/explain/explain.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "src/explain/causes/causes.h"
#include "src/explain/explain_context.h"
#include "src/model/run/figures/phases.h"
#include "src/model/run/known_names.h"

/* A batch with at least this multiple of the baseline's samples is a larger one. */
#define BIGGER_RATIO 1.2

/* -- phases compared with the baseline -- */

static bool has_row(const struct explanation *out, uint32_t name, uint32_t parent)
{
	for (size_t i = 0; i < out->row_count; i++)
		if (out->rows[i].name == name && out->rows[i].parent == parent)
			return true;
	return false;
}

static void add_row(
	struct explanation *out, const struct phase_time *this, const struct phase_time *baseline, unsigned depth)
{
	const struct phase_time *phase = this ? this : baseline;
	double this_s = this ? (double)this->seconds : NAN, baseline_s = baseline ? (double)baseline->seconds : NAN;
	out->rows[out->row_count++] = (struct explain_row){
		.name = phase->name,
		.parent = phase->parent,
		.depth = depth,
		.this_s = this_s,
		.baseline_s = baseline_s,
		.excess_s = out->baseline_batches ? (this ? this_s : 0) - (baseline ? baseline_s : 0) : NAN,
	};
}

struct pair {
	const struct batch *batch;
	const struct baseline *baseline;
};

/* Adds the phases below `parent`: those of this batch, then those that only the baseline has. Each name is added once
 * below a parent, so the recursion ends even if parents form a cycle; phases without their parent would be counted
 * twice and are skipped. */
static void add_below(struct explanation *out, const struct pair *pair, uint32_t parent, unsigned depth)
{
	const struct batch *batch = pair->batch;
	const struct baseline *baseline = pair->baseline;
	unsigned baseline_count = out->baseline_batches ? baseline->phase_count : 0;
	for (unsigned i = 0; i < batch->phase_count + baseline_count && out->row_count < EXPLAIN_ROWS_MAX; i++) {
		bool is_here = i < batch->phase_count;
		const struct phase_time *phase = is_here ? &batch->phases[i] : &baseline->phases[i - batch->phase_count];
		if (phase->parent != parent || has_row(out, phase->name, parent))
			continue;
		add_row(out, is_here ? phase : NULL, phase_find(baseline->phases, baseline_count, phase->name, parent), depth);
		if (phase->name != parent && depth < RUN_PHASES_MAX)
			add_below(out, pair, phase->name, depth + 1);
	}
}

/* The phase of a figure that the device's clock measured, published as gpu.PHASE_s. */
static uint32_t phase_of_figure(const struct run *run, const struct batch *batch, uint32_t figure)
{
	char phase[64];
	const char *name = run_name(run, figure);
	size_t length = strlen(name);
	if (!name_is_gpu_time(name))
		return NAME_NONE;
	snprintf(phase, sizeof phase, "%.*s", (int)(length - strlen("gpu._s")), name + 4);
	for (unsigned i = 0; i < batch->phase_count; i++)
		if (strcmp(run_name(run, batch->phases[i].name), phase) == 0)
			return batch->phases[i].name;
	return NAME_NONE;
}

/* One row for each phase by the device's clock; the rest of the step is unattributed. */
static void add_device_rows(
	const struct run *run, const struct batch *batch, const struct baseline *baseline, struct explanation *out)
{
	struct phase_time this_rest = { .name = NAME_UNATTRIBUTED, .seconds = (float)batch->paced_s },
					  baseline_rest = { .name = NAME_UNATTRIBUTED, .seconds = (float)baseline->step_s };
	for (unsigned i = 0; i < batch->figure_count && i < baseline->figure_count; i++) {
		struct phase_time this = { .name = phase_of_figure(run, batch, batch->figures[i].name),
			.seconds = batch->figures[i].value };
		struct phase_time baseline_one = { .name = this.name, .seconds = baseline->figures[i].value };
		if (this.name == NAME_NONE || isnan(baseline_one.seconds))
			continue;
		this_rest.seconds -= this.seconds;
		baseline_rest.seconds -= baseline_one.seconds;
		add_row(out, &this, &baseline_one, 0);
	}
	add_row(out, &this_rest, &baseline_rest, 0);
}

/* Phases of an inferred step, by its stack samples: those with the most time first, "other" last. The baseline is the
 * phase's share in the baseline's samples, times the median of the baseline's steps. */
static void add_sampled_row(
	struct explanation *out, const struct batch_window *window, enum code_phase phase, double baseline_s)
{
	const struct sampled_phases *this = &window->phases, *baseline = &window->baseline_phases;
	struct explain_row row = { .name = NAME_SAMPLED + phase,
		.this_s = this->phases[phase].share_ratio * out->step_s,
		.this_error_s = this->phases[phase].error_ratio * out->step_s,
		.baseline_s = NAN,
		.excess_s = NAN,
		.samples = this->phases[phase].samples };
	if (out->baseline_batches && baseline->samples >= STEP_SAMPLES_MIN) {
		row.baseline_s = baseline->phases[phase].share_ratio * baseline_s;
		row.excess_s = row.this_s - row.baseline_s;
		row.error_s = hypot(row.this_error_s, baseline->phases[phase].error_ratio * baseline_s);
		if (baseline->phases[phase].samples == 0)
			row.baseline_s = NAN;
	}
	size_t at = out->row_count++;
	while (at > 0 && phase != CODE_PHASE_OTHER && out->rows[at - 1].this_s < row.this_s) {
		out->rows[at] = out->rows[at - 1];
		at--;
	}
	out->rows[at] = row;
}

static void add_sampled_rows(struct explanation *out, const struct batch_window *window, double baseline_s)
{
	for (int i = 1; i <= CODE_PHASE_COUNT; i++) {
		enum code_phase phase = (enum code_phase)(i % CODE_PHASE_COUNT); /* CODE_PHASE_OTHER, which is 0, comes last */
		if (window->phases.phases[phase].samples > 0 || window->baseline_phases.phases[phase].samples > 0)
			add_sampled_row(out, window, phase, baseline_s);
	}
}

void explain_batch(const struct run *run, const struct batch *batch, const struct baseline *baseline,
	const struct batch_window *batch_window, struct explanation *out)
{
	*out = (struct explanation){ .step_s = batch_pace_s(batch),
		.baseline_s = NAN,
		.excess_s = NAN,
		.ratio = NAN,
		.samples = batch->samples,
		.baseline_samples = NAN,
		.baseline_batches = baseline->batches };
	if (baseline->batches) {
		out->baseline_samples = baseline->evidence.samples;
		out->is_bigger = out->baseline_samples > 0 && batch->samples >= BIGGER_RATIO * out->baseline_samples;
		out->baseline_s = baseline->step_s;
		out->excess_s = out->step_s - baseline->step_s;
		out->ratio = out->step_s / baseline->step_s;
	}
	out->is_by_device = batch->is_by_device && baseline->batches > 0;
	if (batch_window && batch_window->phases.is_sampled) {
		out->is_sampled = true;
		out->is_retained = batch_window->phases.is_retained;
		out->stack_samples = batch_window->phases.samples;
	}
	if (out->is_by_device)
		add_device_rows(run, batch, baseline, out);
	else if (out->is_retained && out->stack_samples >= STEP_SAMPLES_MIN)
		add_sampled_rows(out, batch_window, baseline->step_s);
	else
		add_below(out, &(struct pair){ batch, baseline }, NAME_NONE, 0);
	struct case_file file; /* claims stay uninitialized: lists call this function for every row that they draw */
	file.run = run;
	file.batch = batch;
	file.baseline = baseline;
	file.batch_window = batch_window;
	file.out = out;
	file.whole_s = NAN;
	file.named_s[0] = file.named_s[1] = 0;
	file.claim_count = 0;
	if (out->excess_s > 0)
		causes_find(&file);
	explain_context(&file);
}
