#include "src/export/text/lines.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "src/base/clock.h"
#include "src/base/text.h"
#include "src/explain/explain.h"
#include "src/export/export.h"
#include "src/export/figures/patterns.h"
#include "src/export/figures/ranks.h"
#include "src/export/figures/scope.h"
#include "src/export/text/gpu_lines.h"
#include "src/model/code/code_advice.h"
#include "src/export/text/report_energy.h"
#include "src/model/energy/energy_runs.h"
#include "src/model/machine/processes.h"
#include "src/model/memory/memory_words.h"
#include "src/model/run/steps/flagged.h"
#include "src/model/run/steps/tracks.h"

#define BYTES_PER_MB 1e6

static const char *const alert_labels[] = {
	[SEVERITY_INFO] = "Note",
	[SEVERITY_WARNING] = "Warning",
	[SEVERITY_CRITICAL] = "Critical",
};

void lines_init(struct lines *lines, int64_t batch_lines) { *lines = (struct lines){ .batch_lines = batch_lines }; }

/* Moves on to the next finished batch in the model. Skips a batch whose end was lost, once another has begun. */
static const struct batch *next_finished(struct lines *lines, const struct track *track)
{
	if (lines->next_ordinal < track->first)
		lines->next_ordinal = track->first;
	for (; lines->next_ordinal < track->end; lines->next_ordinal++) {
		const struct batch *batch = track_batch(track, lines->next_ordinal);
		if (batch && batch->end_ns)
			return batch;
		if (lines->next_ordinal + 1 == track->end)
			break;
	}
	return NULL;
}

/* A batch that ended this shortly before pmtop attached is printed: the first reading still has its resident set. */
#define JUST_BEFORE_NS NS_PER_S

/* Begins with a live run's next batch, or with an ended run's oldest batch in the model. */
static void begin_run(struct lines *lines, const struct model *model, const struct run *run, const struct track *track)
{
	lines->next_ordinal = track->first;
	const struct batch *oldest = next_finished(lines, track);
	lines->printed_until_ns = oldest ? oldest->begin_ns : model->first_ns;
	if (run->is_live && lines->printed_until_ns < model->first_ns - JUST_BEFORE_NS)
		lines->printed_until_ns = model->first_ns - JUST_BEFORE_NS;
	size_t i = 0;
	while (i < run->epoch_count && run->epochs[i].end_ns && run->epochs[i].end_ns <= lines->printed_until_ns)
		i++;
	lines->next_epoch = lines->next_energy = run->epochs_dropped + i;
	for (i = 0; i < run->mark_count && run->marks[i].time_ns <= lines->printed_until_ns;)
		i++;
	lines->next_mark = run->marks_dropped + i;
	lines->flagged_until_ns = lines->printed_until_ns - 1;
}

/* The main track changes when the mode "train" first occurs. Batches already printed are not printed again. */
static void follow(struct lines *lines, const struct model *model, int run_index, const struct track *track)
{
	uint64_t run_part = ((uint64_t)run_index + 1) << 32;
	if (lines->run_key == (run_part | track->mode))
		return;
	if (lines->run_key >> 32 != run_part >> 32)
		begin_run(lines, model, &model->runs[run_index], track);
	lines->run_key = run_part | track->mode;
	lines->next_ordinal = track->first;
	const struct batch *batch;
	while ((batch = next_finished(lines, track)) && batch->end_ns <= lines->printed_until_ns)
		lines->next_ordinal++;
}

static const struct epoch *next_epoch(struct lines *lines, const struct run *run)
{
	if (lines->next_epoch < run->epochs_dropped)
		lines->next_epoch = run->epochs_dropped;
	uint64_t i = lines->next_epoch - run->epochs_dropped;
	return i < run->epoch_count && run->epochs[i].end_ns ? &run->epochs[i] : NULL;
}

/* The index of the next mark to print; mark_count if there is none. */
static size_t next_mark(struct lines *lines, const struct run *run)
{
	if (lines->next_mark < run->marks_dropped)
		lines->next_mark = run->marks_dropped;
	uint64_t at = lines->next_mark - run->marks_dropped;
	return at < run->mark_count ? (size_t)at : run->mark_count;
}

/* Megabytes with `decimals` decimals: "GPU 23.1MB", "3236MB reserved". */
static void add_memory(struct buffer *out, const char *before, double bytes, int decimals, const char *after)
{
	if (!isnan(bytes))
		buffer_printf(out, ", %s%.*fMB%s", before, decimals, bytes / BYTES_PER_MB, after);
}

static void add_mark(struct buffer *out, struct lines *lines, const struct run *run, size_t at)
{
	buffer_printf(out, "  Mark: %s\n", run->marks[at].text);
	lines->next_mark++;
}

static void add_batch(struct buffer *out, struct lines *lines, const struct batch *batch)
{
	char batch_s[NUMBER_SIZE];
	buffer_printf(out, "  Batch %" PRIu64 ": %s", batch->index, format_brief_seconds(batch_s, batch->batch_s));
	add_memory(out, "GPU ", batch->allocated_bytes, 1, "");
	add_memory(out, "CPU ", batch->resident_bytes, 1, "");
	if (!isnan(batch->loss))
		buffer_printf(out, ", loss=%.6f", batch->loss);
	buffer_puts(out, "\n");
	lines->batches_printed++;
	lines->next_ordinal++;
	lines->printed_until_ns = batch->end_ns;
}

/* -- flagged batches -- */

/* The cause is known after the samplers' next reading. A flagged batch is printed then, or after this time without
 * one. */
#define FLAGGED_PATIENCE_NS (2 * NS_PER_S)

static bool is_due(const struct model *model, const struct run *run, const struct flagged *flagged)
{
	int64_t end_ns = flagged->batch.begin_ns + (int64_t)(flagged->batch.step_s * 1e9);
	return flagged->batch_window || !run->is_live || model->target_ended ||
		model->now_ns - end_ns > FLAGGED_PATIENCE_NS;
}

static void add_flagged_line(struct buffer *out, const struct flagged *flagged)
{
	char percent[NUMBER_SIZE], step_s[NUMBER_SIZE];
	const struct explanation *why = flagged_explanation(flagged);
	buffer_printf(out, "  ⚠ Batch %" PRIu64 ": %s%s", flagged->batch.index, format_brief_seconds(step_s, why->step_s),
		why->is_by_device ? " (GPU clock)" : "");
	if (!isnan(why->ratio))
		buffer_printf(out, " = %.1f× the median", why->ratio);
	if (why->cause_count && why->causes[0].kind == CAUSE_UNKNOWN)
		buffer_puts(out, ", cause unknown");
	else if (why->cause_count)
		buffer_printf(out, ", %s (%s)", why->causes[0].what, format_percent(percent, why->causes[0].share_ratio));
	buffer_puts(out, "\n");
}

/* Prints flagged batches of the main mode in their order; one that is not due yet delays the later ones. */
static void add_flagged(struct buffer *out, struct lines *lines, const struct model *model, const struct run *run,
	const struct track *track)
{
	for (size_t i = 0; i < run->flagged_count && is_due(model, run, &run->flagged[i]); i++) {
		const struct flagged *flagged = &run->flagged[i];
		if (flagged->mode != track->mode || flagged->batch.is_by_hand ||
			flagged->batch.begin_ns <= lines->flagged_until_ns)
			continue;
		add_flagged_line(out, flagged);
		lines->flagged_until_ns = flagged->batch.begin_ns;
	}
}

/* The resident set at the end of the epoch's last batch; NAN if the model no longer has that batch. */
static double resident_at_end(const struct track *track, const struct epoch *epoch)
{
	for (uint64_t ordinal = track->end; ordinal > track->first; ordinal--) {
		const struct batch *batch = track_batch(track, ordinal - 1);
		if (batch && batch->end_ns && batch->end_ns <= epoch->end_ns)
			return batch->end_ns > epoch->begin_ns ? batch->resident_bytes : NAN;
	}
	return NAN;
}

static void add_epoch(struct buffer *out, struct lines *lines, const struct track *track, const struct epoch *epoch)
{
	char total_s[NUMBER_SIZE], mean_s[NUMBER_SIZE], min_s[NUMBER_SIZE], max_s[NUMBER_SIZE];
	buffer_printf(out, "  Epoch end: %s total", format_brief_seconds(total_s, epoch->total_s));
	add_memory(out, "GPU ", epoch->allocator.allocated_bytes, 1, "");
	add_memory(out, "", epoch->allocator.reserved_bytes, 0, " reserved");
	add_memory(out, "peak ", epoch->allocator.peak_bytes, 0, "");
	add_memory(out, "CPU ", resident_at_end(track, epoch), 1, "");
	buffer_puts(out, "\n");
	if (epoch->batches)
		buffer_printf(out, "  Batch timing: avg=%s, min=%s, max=%s\n", format_brief_seconds(mean_s, epoch->mean_s),
			format_brief_seconds(min_s, epoch->min_s), format_brief_seconds(max_s, epoch->max_s));
	lines->next_epoch++;
}

/* -- energy -- */

/* The epoch's energy is known after the meters' next reading; do not wait for that longer than this. */
#define ENERGY_PATIENCE_NS (3 * NS_PER_S)

static void add_energy(struct buffer *out, struct lines *lines, const struct model *model, int run_index)
{
	const struct run *run = &model->runs[run_index];
	if (lines->next_energy < run->epochs_dropped)
		lines->next_energy = run->epochs_dropped;
	for (; lines->next_energy < lines->next_epoch; lines->next_energy++) {
		const struct epoch *epoch = &run->epochs[lines->next_energy - run->epochs_dropped];
		const struct epoch_energy *used = energy_of_epoch(&model->energy, (unsigned)run_index, epoch->ordinal);
		bool may_become_known = energy_is_metered(&model->energy) && !model->target_ended &&
			model->now_ns - epoch->end_ns < ENERGY_PATIENCE_NS;
		if (may_become_known && (!used || !used->is_settled))
			return;
		if (used)
			energy_as_line(out, &model->energy, used, epoch);
	}
}

/* Whether an epoch has ended meanwhile. */
static bool add_run(struct buffer *out, struct lines *lines, const struct model *model, int run_index)
{
	const struct run *run = &model->runs[run_index];
	const struct track *track = run_main(run);
	follow(lines, model, run_index, track);
	const uint64_t epochs_before = lines->next_epoch;
	for (;;) {
		const struct batch *batch = lines->batches_printed < lines->batch_lines ? next_finished(lines, track) : NULL;
		const struct epoch *epoch = next_epoch(lines, run);
		size_t mark = next_mark(lines, run);
		int64_t batch_ns = batch ? batch->end_ns : INT64_MAX, epoch_ns = epoch ? epoch->end_ns : INT64_MAX;
		int64_t mark_ns = mark < run->mark_count ? run->marks[mark].time_ns : INT64_MAX;
		if (batch && batch_ns <= epoch_ns && batch_ns <= mark_ns)
			add_batch(out, lines, batch);
		else if (epoch && epoch_ns <= mark_ns)
			add_epoch(out, lines, track, epoch);
		else if (mark < run->mark_count)
			add_mark(out, lines, run, mark);
		else
			break;
	}
	if (lines->next_epoch > epochs_before)
		ranks_as_line(out, model, run_index);
	add_energy(out, lines, model, run_index);
	add_flagged(out, lines, model, run, track);
	return lines->next_epoch > epochs_before;
}

static void add_no_steps(struct buffer *out, struct lines *lines, const struct model *model)
{
	char why[sizeof lines->no_steps];
	if (!code_write_no_steps(model, ' ', why, sizeof why) || strcmp(why, lines->no_steps) == 0)
		return;
	memcpy(lines->no_steps, why, sizeof why);
	buffer_printf(out, "  %s\n", why);
}

static void add_process(struct buffer *out, const struct model *model)
{
	const struct process *target = model_target(model);
	if (!target)
		return;
	const char *state = scope_state_name(target);
	const double *now = target->now;
	buffer_printf(out, "  Process %" PRId32 ":", target->pid);
	const char *separator = " ";
	if (!isnan(now[METRIC_PROCESS_RESIDENT])) {
		buffer_printf(out, "%sresident %.1fMB", separator, now[METRIC_PROCESS_RESIDENT] / BYTES_PER_MB);
		separator = ", ";
	}
	if (!isnan(target->cpu_ratio)) {
		buffer_printf(out, "%sCPU %.1f%%", separator, target->cpu_ratio * 100);
		separator = ", ";
	}
	if (!isnan(now[METRIC_PROCESS_THREADS])) {
		buffer_printf(out, "%sthreads %.0f", separator, now[METRIC_PROCESS_THREADS]);
		separator = ", ";
	}
	buffer_printf(out, "%s%s\n", separator, state ? state : "state unknown");
}

/* "Memory: leak, worker 4711, 0.5MB a batch, 47.5MB an epoch, full in 1 h 31 (machine)": printed when memory begins to
 * grow, at the end of each epoch while it grows, and once when it stops. */
static void add_memory_verdict(
	struct buffer *out, struct lines *lines, const struct memory *memory, bool has_epoch_ended)
{
	bool is_growing = memory_is_growing(memory), is_same = lines->memory_verdict == memory->verdict;
	char text[NUMBER_SIZE];
	if (!is_growing && !lines->memory_verdict)
		return;
	if (is_growing ? is_same && !has_epoch_ended : !memory_verdict_is_known(memory->verdict))
		return;
	lines->memory_verdict = is_growing ? memory->verdict : MEMORY_NOT_JUDGED;
	buffer_printf(out, "  Memory: %s", memory_verdict_word(memory->verdict));
	if (is_growing && memory->grower[0])
		buffer_printf(out, ", %s", memory->grower);
	if (is_growing) {
		add_memory(out, "", memory->slope_per_batch, 2, " a batch");
		add_memory(out, "", memory->growth_per_epoch, 1, " an epoch");
	}
	if (!isnan(memory->limit_in_s))
		buffer_printf(out, ", full in %s (%s)", format_seconds(text, memory->limit_in_s), memory->limit);
	buffer_puts(out, "\n");
}

static bool was_printed(const struct lines *lines, const struct alert *alert)
{
	for (size_t i = 0; i < lines->warned_count; i++)
		if (lines->warned[i].rule == alert->rule && lines->warned[i].run == alert->run &&
			lines->warned[i].subject == alert->subject)
			return true;
	return false;
}

/* Forgets cleared warnings, so that they are printed again when raised again. */
static void add_warnings(struct buffer *out, struct lines *lines, const struct alerts *alerts, int run)
{
	const struct lines before = *lines;
	lines->warned_count = 0;
	for (size_t i = 0; i < alerts->count; i++) {
		const struct alert *alert = &alerts->list[i];
		if (!alert->is_raised || !scope_has_alert(alert, run))
			continue;
		if (!was_printed(&before, alert))
			buffer_printf(out, "  %s: %s\n", alert_labels[alert->severity], alert->message);
		lines->warned[lines->warned_count].rule = alert->rule;
		lines->warned[lines->warned_count].run = alert->run;
		lines->warned[lines->warned_count++].subject = alert->subject;
	}
}

void export_lines(
	struct buffer *out, struct lines *lines, const struct model *model, const struct alerts *alerts, int run)
{
	bool has_epoch_ended = scope_run(model, run) && add_run(out, lines, model, run);
	if (!scope_run(model, run)) {
		add_no_steps(out, lines, model);
		add_process(out, model);
	}
	add_memory_verdict(out, lines, &model->memory, has_epoch_ended);
	gpus_as_lines(out, lines, model);
	patterns_as_lines(out, lines, alerts, model, run);
	add_warnings(out, lines, alerts, run);
}
