#include "src/export/text/report.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "src/base/text.h"
#include "src/explain/causes/causes_words.h"
#include "src/explain/explain.h"
#include "src/export/export.h"
#include "src/export/figures/lost_time.h"
#include "src/export/figures/machine.h"
#include "src/export/figures/patterns.h"
#include "src/export/figures/ranks.h"
#include "src/export/figures/requests.h"
#include "src/export/figures/scope.h"
#include "src/export/table.h"
#include "src/export/text/report_code.h"
#include "src/export/text/report_energy.h"
#include "src/export/text/report_gpus.h"
#include "src/export/text/report_memory.h"
#include "src/export/text/report_workers.h"
#include "src/model/code/code_advice.h"
#include "src/model/run/figures/late_figures.h"
#include "src/model/run/refusals.h"
#include "src/model/run/steps/flagged.h"
#include "src/rules/alerts_list.h"

enum { REPORT_FLAGGED = 10, REPORT_CAUSES = 3, INDENT = 2, STATISTICS_COUNT_MAX = 9999999 };

#define BYTES_PER_MB 1e6

static void add_heading(struct buffer *out, const struct model *model, const struct run *run)
{
	int32_t pid = scope_pid(model, run);
	if (model->command[0])
		buffer_printf(out, "%s, ", model->command);
	if (pid)
		buffer_printf(out, "process %" PRId32, pid);
	if (run)
		buffer_printf(out, ", run %s", run->name);
	if (run && run->rank[0])
		buffer_printf(out, ", rank %s", run->rank);
	if (run && run->rank[0] && run->world[0])
		buffer_printf(out, " of %s", run->world);
	if (run && !run->is_live && run->ended[0])
		buffer_printf(out, ": %s", run->ended);
	buffer_puts(out, "\n\n");
}

/* "PERFORMANCE SUMMARY", with the mode if it is not the main one. */
static void add_title(struct buffer *out, const char *title, const struct run *run, const struct track *track)
{
	char text[256];
	snprintf(text, sizeof text, "%s, mode %s", title, scope_mode_name(run, track->mode));
	table_title(out, track == run_main(run) ? title : text);
}

/* The total of the outermost operations, like get_total_time of the guides; operations of several threads can exceed
 * the elapsed time. */
static double total_seconds(const struct run *run, const struct track *track)
{
	double sum = NAN;
	for (size_t i = 0; i < run->operation_count; i++) {
		const struct operation *operation = &run->operations[i];
		if (operation->depth == 0 && !isnan(operation->total_s) && scope_is_of_track(run, track, operation))
			sum = isnan(sum) ? operation->total_s : sum + operation->total_s;
	}
	return sum;
}

/* Whether any operation published the growth of its memory. */
static bool knows_memory(const struct run *run, const struct track *track)
{
	for (size_t i = 0; i < run->operation_count; i++)
		if (!isnan(run->operations[i].memory_bytes) && scope_is_of_track(run, track, &run->operations[i]))
			return true;
	return false;
}

static void add_summary(struct buffer *out, const struct run *run, const struct track *track)
{
	double total = total_seconds(run, track);
	bool has_memory = knows_memory(run, track);
	add_title(out, "PERFORMANCE SUMMARY", run, track);
	table_name(out, 0, "Operation");
	table_right(out, 11, "Time (s)");
	table_right(out, 11, "Percent");
	table_right(out, has_memory ? 15 : 0, has_memory ? "CPU (MB)" : "");
	buffer_puts(out, "\n");
	table_rule(out, '-');
	for (size_t i = 0; i < run->operation_count; i++) {
		const struct operation *operation = &run->operations[i];
		if (!scope_is_of_track(run, track, operation))
			continue;
		char memory[NUMBER_SIZE] = "–", percent[NUMBER_SIZE];
		if (!isnan(operation->memory_bytes))
			snprintf(memory, sizeof memory, "%+.1f", operation->memory_bytes / BYTES_PER_MB);
		table_name(out, operation->depth * INDENT, run_name(run, operation->name));
		table_seconds(out, 11, operation->total_s);
		table_right(out, 11, format_percent(percent, total > 0 ? operation->total_s / total : NAN));
		if (has_memory)
			table_right(out, 15, memory);
		buffer_puts(out, "\n");
	}
	table_rule(out, '-');
	table_name(out, 0, "TOTAL");
	table_seconds(out, 11, total);
	buffer_puts(out, isnan(total) ? "\n" : "s\n");
	table_rule(out, '=');
}

static void add_statistics_header(struct buffer *out, const char *first, const char *count)
{
	table_name(out, 0, first);
	buffer_printf(out, " %-8s Total (s)    Mean (s)     Min (s)      Max (s)\n", count);
	table_rule(out, '-');
}

/* The cells after the name in AGGREGATE STATISTICS and EPOCHS. */
static void add_statistics(
	struct buffer *out, uint64_t count, double total_s, double mean_s, double min_s, double max_s)
{
	char text[NUMBER_SIZE];
	snprintf(text, sizeof text, "%" PRIu64, count);
	buffer_printf(out, " %-7s", count > STATISTICS_COUNT_MAX ? format_count(text, (double)count) : text);
	table_seconds(out, 8, total_s);
	table_seconds(out, 12, mean_s);
	table_seconds(out, 13, min_s);
	table_seconds(out, 13, max_s);
	buffer_puts(out, "\n");
}

static void add_aggregate(struct buffer *out, const struct run *run, const struct track *track)
{
	add_title(out, "AGGREGATE STATISTICS (for repeated operations)", run, track);
	add_statistics_header(out, "Operation", "Count");
	for (size_t i = 0; i < run->operation_count; i++) {
		const struct operation *operation = &run->operations[i];
		if (!scope_is_of_track(run, track, operation))
			continue;
		table_name(out, operation->depth * INDENT, run_name(run, operation->name));
		add_statistics(
			out, operation->count, operation->total_s, operation->mean_s, operation->min_s, operation->max_s);
	}
	table_rule(out, '=');
}

static bool has_operations(const struct run *run, const struct track *track)
{
	for (size_t i = 0; i < run->operation_count; i++)
		if (scope_is_of_track(run, track, &run->operations[i]))
			return true;
	return false;
}

static void add_operations(struct buffer *out, const struct run *run)
{
	const struct track *main_track = run_main(run);
	add_summary(out, run, main_track);
	buffer_puts(out, "\n");
	add_aggregate(out, run, main_track);
	for (unsigned i = 0; i < run->track_count; i++) {
		const struct track *track = &run->tracks[i];
		if (track == main_track || !has_operations(run, track))
			continue;
		buffer_puts(out, "\n");
		add_summary(out, run, track);
		buffer_puts(out, "\n");
		add_aggregate(out, run, track);
	}
}

static const char *format_figure(char out[NUMBER_SIZE], enum figure_unit unit, double value)
{
	switch (unit) {
	case FIGURE_SECONDS: return format_fixed_seconds(out, value);
	case FIGURE_BYTES: return format_bytes(out, value);
	case FIGURE_RATIO: return format_percent(out, value);
	default: break;
	}
	snprintf(out, NUMBER_SIZE, isnan(value) ? "–" : "%.4g", value);
	return out;
}

/* The tables above do not include the events of refused calls. */
static void add_refused(struct buffer *out, const struct run *run)
{
	if (!run->refused_events)
		return;
	buffer_printf(out, "Refused calls: %" PRIu64 "\n", run->refused_events);
	for (unsigned i = 0; i < REFUSAL_COUNT; i++)
		if (run_refused_for(run, i))
			buffer_printf(out, "  %" PRIu64 ": %s\n", run_refused_for(run, i), refusal_why(i));
	if (run_refused_for(run, REFUSAL_COUNT))
		buffer_printf(out, "  %" PRIu64 ": reason unknown\n", run_refused_for(run, REFUSAL_COUNT));
	buffer_puts(out, "\n");
}

/* Figures of batches that the program emits later, or that have another clock (GPU): they are not parts of the host's
 * times. */
static void add_late_figures(struct buffer *out, const struct run *run)
{
	if (run->late_figure_count == 0)
		return;
	table_title(out, "LATE FIGURES");
	table_name(out, 0, "Figure");
	buffer_puts(out, " Count         Mean       Median         Last\n");
	table_rule(out, '-');
	for (size_t i = 0; i < run->late_figure_count; i++) {
		const struct late_figure *figure = &run->late_figures[i];
		const double values[] = { figure->mean, figure->median, figure->last };
		char name[160], text[NUMBER_SIZE], whole[256];
		enum figure_unit unit = late_figure_label(name, sizeof name, run_name(run, figure->name));
		snprintf(whole, sizeof whole, figure->mode == run_main(run)->mode ? "%s" : "%s, %s", name,
			scope_mode_name(run, figure->mode));
		table_name(out, 0, whole);
		snprintf(text, sizeof text, "%" PRIu64, figure->count);
		table_right(out, 6, text);
		for (size_t k = 0; k < sizeof values / sizeof *values; k++)
			table_right(out, 13, format_figure(text, unit, values[k]));
		buffer_puts(out, "\n");
	}
	table_rule(out, '=');
}

/* If batches are of several kinds, the last 200 of each. */
static void add_kinds(struct buffer *out, const struct run *run, const struct track *track)
{
	if (track->kind_count < 2)
		return;
	const struct counter *steps = run_counter(run, "optimizer.steps");
	char text[NUMBER_SIZE];
	add_title(out, "KINDS OF BATCHES", run, track);
	if (track == run_main(run) && run_accumulation(run))
		buffer_printf(out, "Gradients are accumulated over %u batches\n", run_accumulation(run));
	if (track == run_main(run) && steps && !isnan(steps->rate_per_s))
		buffer_printf(out, "Optimizer steps a second: %s\n", format_rate(text, steps->rate_per_s));
	table_name(out, 0, "Kind");
	buffer_puts(out, " Count   Median (s)      P95 (s)\n");
	table_rule(out, '-');
	for (unsigned i = 0; i < track->kind_count; i++) {
		const struct batch_kind *kind = &track->kinds[i];
		if (kind->count == 0)
			continue;
		table_name(out, 0, track_kind_name(run, track, kind->kind));
		snprintf(text, sizeof text, "%" PRIu64, kind->count);
		table_right(out, 6, text);
		table_seconds(out, 13, kind->median_s);
		table_seconds(out, 13, kind->p95_s);
		buffer_puts(out, "\n");
	}
	table_rule(out, '=');
	buffer_puts(out, "\n");
}

/* If there are several: training beside validation or inference. The rate is of the last 200 steps. */
static void add_modes(struct buffer *out, const struct run *run)
{
	if (run->track_count < 2)
		return;
	table_title(out, "MODES");
	table_name(out, 0, "Mode");
	buffer_puts(out, " Batches     Mean (s)   Median (s)      P95 (s)  Samples/s\n");
	table_rule(out, '-');
	for (unsigned i = 0; i < run->track_count; i++) {
		const struct track *track = &run->tracks[i];
		char text[NUMBER_SIZE];
		table_name(out, 0, scope_mode_name(run, track->mode));
		snprintf(text, sizeof text, "%s%" PRIu64, run_track_is_at_least(run, track) ? "≥ " : "", track->count);
		table_right(out, 8, text);
		table_seconds(out, 13, track->batch.mean_s);
		table_seconds(out, 13, track->batch.p50_s);
		table_seconds(out, 13, track->batch.p95_s);
		table_right(out, 11, isnan(track->samples_per_s) ? "–" : format_rate(text, track->samples_per_s));
		buffer_puts(out, "\n");
	}
	table_rule(out, '=');
	buffer_puts(out, "\n");
}

static void add_progress(struct buffer *out, const struct run *run)
{
	char ratio[NUMBER_SIZE], left[NUMBER_SIZE];
	buffer_printf(out, "PROGRESS: %" PRIu64 " of %" PRIu64 " batches, %s", run_main(run)->count,
		run_batches_planned(run), format_percent(ratio, run->run_done_ratio));
	if (!isnan(run->run_eta_s))
		buffer_printf(out, ", about %s to go", format_seconds(left, run->run_eta_s));
	buffer_puts(out, "\n\n");
}

static void add_epochs(struct buffer *out, const struct run *run)
{
	if (run_batches_planned(run))
		add_progress(out, run);
	if (!run->epoch_count && !run->epochs_dropped)
		return;
	table_title(out, "EPOCHS");
	add_statistics_header(out, "Epoch", "Batches");
	if (run->epochs_dropped)
		buffer_printf(out, "(%" PRIu64 " earlier epochs are not shown)\n", run->epochs_dropped);
	for (size_t i = 0; i < run->epoch_count; i++) {
		const struct epoch *epoch = &run->epochs[i];
		char name[64], number[RUN_EPOCH_NAME_SIZE];
		bool is_main = epoch->mode == run_main(run)->mode;
		snprintf(name, sizeof name, "%s%s%.30s%s", run_epoch_name(run, epoch->ordinal, number), is_main ? "" : " ",
			is_main ? "" : run_name(run, epoch->mode), epoch->end_ns ? "" : " (running)");
		table_name(out, 0, name);
		bool has_batches = epoch->batches > 0;
		add_statistics(out, epoch->batches, epoch->total_s, has_batches ? epoch->mean_s : NAN,
			has_batches ? epoch->min_s : NAN, has_batches ? epoch->max_s : NAN);
	}
	table_rule(out, '=');
	buffer_puts(out, "\n");
}

static void add_warnings(struct buffer *out, const struct alerts *alerts, int run)
{
	size_t written = 0;
	table_title(out, "WARNINGS");
	for (size_t i = 0; i < alerts->count; i++) {
		const struct alert *alert = &alerts->list[i];
		if (!alert->is_raised || !scope_has_alert(alert, run))
			continue;
		buffer_printf(out, "%s: %s\n", severity_name(alert->severity), alert->message);
		for (size_t k = 0; k < alert->advice_count; k++)
			buffer_printf(out, "    try: %s\n", alert->advice[k]);
		written++;
	}
	if (!written)
		buffer_puts(out, "none\n");
	table_rule(out, '=');
}

static void add_flagged_batch(struct buffer *out, const struct run *run, const struct flagged *flagged)
{
	char text[NUMBER_SIZE * 2];
	const struct track *track = run_track_of(run, flagged->mode);
	const char *kind = track ? track_kind_name(run, track, flagged->batch.kind) : NULL;
	const struct explanation *why = flagged_explanation(flagged);
	if (flagged->batch.epoch == EPOCH_UNKNOWN)
		snprintf(text, sizeof text, "–/%" PRIu64, flagged->batch.index);
	else
		snprintf(text, sizeof text, "%" PRIu32 "/%" PRIu64, flagged->batch.epoch, flagged->batch.index);
	buffer_printf(out, "%-16s", text);
	table_seconds(out, 9, why->step_s);
	table_seconds(out, 12, why->baseline_s);
	snprintf(text, sizeof text, "%.1f×", why->ratio);
	table_right(out, 8, isnan(why->ratio) ? "–" : text);
	if (kind)
		buffer_printf(out, "  (%s)", kind);
	for (size_t i = 0; i < why->cause_count && i < REPORT_CAUSES; i++)
		buffer_printf(
			out, "%s%s %s", i ? "; " : "  ", why->causes[i].what, format_percent(text, why->causes[i].share_ratio));
	buffer_puts(out, "\n");
}

/* The advice for the causes of these batches: each once, with the number of batches. */
static void add_next_steps(struct buffer *out, const struct run *run, size_t first)
{
	struct {
		char next[CAUSE_NEXT_SIZE], what[CAUSE_BRIEF_SIZE];
		size_t count;
	} steps[REPORT_FLAGGED];
	size_t step_count = 0, at;
	for (size_t i = run->flagged_count; i-- > first;) {
		const struct flagged *flagged = &run->flagged[i];
		const struct explanation *why = flagged_explanation(flagged);
		if (!why->cause_count || !why->causes[0].next[0])
			continue;
		for (at = 0; at < step_count && strcmp(steps[at].next, why->causes[0].next) != 0;)
			at++;
		if (at == step_count) {
			steps[step_count].count = 0;
			memcpy(steps[step_count].next, why->causes[0].next, sizeof steps[0].next);
			cause_brief(run, &why->causes[0], steps[step_count++].what);
		}
		steps[at].count++;
	}
	for (at = 0; at < step_count; at++)
		buffer_printf(out, "try (%s, %zu of these): %s\n", steps[at].what, steps[at].count, steps[at].next);
}

static void add_flagged(struct buffer *out, const struct run *run)
{
	char title[96];
	size_t first = run->flagged_count > REPORT_FLAGGED ? run->flagged_count - REPORT_FLAGGED : 0;
	snprintf(
		title, sizeof title, "FLAGGED BATCHES (the newest %zu of %zu)", run->flagged_count - first, run->flagged_count);
	table_title(out, first ? title : "FLAGGED BATCHES");
	if (run->flagged_count) {
		buffer_puts(out, "Epoch/batch      Step (s)  Median (s)   Ratio  Causes\n");
		table_rule(out, '-');
	} else {
		buffer_puts(out, "none\n");
	}
	for (size_t i = first; i < run->flagged_count; i++)
		add_flagged_batch(out, run, &run->flagged[i]);
	add_next_steps(out, run, first);
	table_rule(out, '=');
}

void export_report(struct buffer *out, const struct model *model, const struct alerts *alerts, int run_index)
{
	const struct run *run = scope_run(model, run_index);
	add_heading(out, model, run);
	if (run) {
		add_operations(out, run);
		buffer_puts(out, "\n");
		report_requests(out, model, run);
		add_modes(out, run);
		for (unsigned i = 0; i < run->track_count; i++)
			add_kinds(out, run, &run->tracks[i]);
		add_late_figures(out, run);
		if (run->late_figure_count)
			buffer_puts(out, "\n");
		add_refused(out, run);
		add_epochs(out, run);
	} else {
		char why[512];
		code_write_no_steps(model, ' ', why, sizeof why);
		buffer_printf(out, "%s\n\n", why);
	}
	ranks_as_table(out, model, run_index);
	lost_time_as_table(out, model);
	report_workers(out, model, run_index);
	add_warnings(out, alerts, run_index);
	if (run) {
		buffer_puts(out, "\n");
		patterns_as_table(out, alerts, model, run_index);
		add_flagged(out, run);
	}
	buffer_puts(out, "\n");
	report_code(out, model);
	machine_as_table(out, model);
	report_gpus(out, model);
	report_memory(out, &model->memory, run);
	report_energy(out, model, run ? run_index : -1);
}
