#include "src/export/scrape/scrape_runs.h"

#include <math.h>
#include <string.h>

#include "src/export/figures/scope.h"
#include "src/export/scrape/scrape.h"
#include "src/export/scrape/scrape_steps.h"
#include "src/model/ranks/ranks.h"
#include "src/rules/alerts_list.h"

enum { GAUGES_NAMED_MAX = 4, COUNTERS_NAMED_MAX = 3, WARNINGS_NAMED_MAX = 4 };

/* -- who it is -- */

static bool is_ended(const struct scrape_subject *subject)
{
	return subject->run ? !subject->run->is_live : subject->source->model->target_ended;
}

/* The name of an inferred run comes from its command line. */
static void write_info(struct scrape *scrape)
{
	bool has_commands = scrape->options->has_commands;
	openmetrics_begin(&scrape->text, "run", "info", "", "The run and where it runs.");
	EACH_SUBJECT(scrape, subject)
	{
		const struct run *run = subject->run;
		scrape_label(scrape, subject);
		if (run && (!run->is_counted || has_commands))
			openmetrics_label(&scrape->text, "run", run->name);
		openmetrics_label(&scrape->text, "world_size", run ? run->world : "");
		openmetrics_label(&scrape->text, "host", subject->source->host);
		openmetrics_label_number(&scrape->text, "pid", run && run->pid ? run->pid : subject->source->model->target_pid);
		openmetrics_label(&scrape->text, "steps", !run ? "unknown" : run->is_counted ? "inferred" : "published");
		if (has_commands)
			openmetrics_label(&scrape->text, "command", subject->source->model->command);
		openmetrics_label(&scrape->text, "pmtop", PMTOP_VERSION);
		openmetrics_sample(&scrape->text, "_info", NULL, 1);
	}
}

/* -- how far it is: FAMILY(name, unit, help, value of `run` and `track`) -- */

#define RUN_GAUGES(X) \
	X(start_time_seconds, "seconds", "When the run began, since 1970.", \
		run->start_ns ? (double)(subject->source->realtime_offset_ns + run->start_ns) * 1e-9 : NAN) \
	X(epochs_begun, "", "Epochs begun.", \
		run->state.epoch_index == EPOCH_UNKNOWN ? NAN : (double)run->state.epochs_begun) \
	X(epochs_planned, "", "Epochs planned.", run->state.epochs_planned ? (double)run->state.epochs_planned : NAN) \
	X(epoch_done_ratio, "ratio", "Share of the epoch that is done.", run->epoch_done_ratio) \
	X(epoch_remaining_seconds, "seconds", "Until the epoch ends, estimated.", run->epoch_eta_s) \
	X(run_remaining_seconds, "seconds", "Until the run ends, estimated.", run->run_eta_s) \
	X(step_recent_median_seconds, "seconds", "Median of the last 200 steps.", \
		track->recent.count ? track->recent.p50_s : NAN) \
	X(step_recent_p95_seconds, "seconds", "95th percentile of the last 200 steps.", \
		track->recent.count ? track->recent.p95_s : NAN) \
	X(samples_per_second, "", "Rate over the last 200 steps.", track->samples_per_s) \
	X(loss, "", "Loss of the newest batch that has one.", track->loss)
#define RUN_COUNTERS(X) \
	X(flagged_batches, "Batches flagged as slow, since pmtop watches.", (double)track->flagged_count) \
	X(lost_events, "Events overwritten before pmtop could read them.", (double)run->lost_events)

static void write_progress(struct scrape *scrape)
{
	openmetrics_begin(&scrape->text, "up", "gauge", "", "Whether the run goes on (1) or has ended (0).");
	EACH_SUBJECT(scrape, subject)
	{
		scrape_label(scrape, subject);
		openmetrics_sample(&scrape->text, "", NULL, !is_ended(subject));
	}
#define EMIT(name, type, suffix, unit, help, value) \
	openmetrics_begin(&scrape->text, #name, type, unit, help); \
	EACH_SUBJECT(scrape, subject) \
	{ \
		const struct run *run = subject->run; \
		const struct track *track = run ? run_main(run) : NULL; \
		scrape_label(scrape, subject); \
		if (track) \
			openmetrics_sample(&scrape->text, suffix, NULL, value); \
	}
#define GAUGE(name, unit, help, value) EMIT(name, "gauge", "", unit, help, value)
#define COUNTER(name, help, value) EMIT(name, "counter", "_total", "", help, value)
	RUN_GAUGES(GAUGE)
	RUN_COUNTERS(COUNTER)
#undef GAUGE
#undef COUNTER
#undef EMIT
}

/* -- ranks that are compared -- */

/* NAN: not compared with other ranks. Ranks of one run are compared at once. */
static double own_time(struct scrape *scrape, const struct scrape_subject *subject)
{
	struct ranks *ranks = &scrape->ranks;
	for (unsigned tries = 0; tries < 2; tries++) {
		for (size_t i = 0; i < ranks->count && scrape->compared == subject->source; i++)
			if (ranks->list[i].run == subject->index)
				return ranks->list[i].own_s;
		ranks_compare(subject->source->model, subject->index, ranks);
		scrape->compared = subject->source;
	}
	return NAN;
}

static void write_own_time(struct scrape *scrape)
{
	openmetrics_begin(&scrape->text, "rank_own_step_seconds", "gauge", "seconds",
		"Median step without waiting for other ranks: the straggler's is the largest.");
	EACH_SUBJECT(scrape, subject)
	{
		scrape_label(scrape, subject);
		openmetrics_sample(&scrape->text, "", NULL, subject->run ? own_time(scrape, subject) : NAN);
	}
}

/* -- what it publishes -- */

static void write_gauges(struct scrape *scrape)
{
	openmetrics_begin(&scrape->text, "published", "gauge", "", "A gauge that the run publishes, by its name.");
	EACH_SUBJECT(scrape, subject)
	{
		for (size_t i = 0; subject->run && i < subject->run->gauge_count && i < GAUGES_NAMED_MAX; i++) {
			scrape_label(scrape, subject);
			openmetrics_label(&scrape->text, "name", run_name(subject->run, subject->run->gauges[i].name));
			openmetrics_sample(&scrape->text, "", NULL, subject->run->gauges[i].value);
		}
	}
}

static void write_counters(struct scrape *scrape)
{
	openmetrics_begin(
		&scrape->text, "published_count", "counter", "", "A counter that the run publishes, by its name.");
	EACH_SUBJECT(scrape, subject)
	{
		const struct run *run = subject->run;
		double others = NAN;
		for (size_t i = 0; run && i < run->counter_count; i++) {
			const char *name = run_name(run, run->counters[i].name);
			if (i >= COUNTERS_NAMED_MAX || scrape_is_other(name)) {
				others = (isnan(others) ? 0 : others) + run->counters[i].total;
				continue;
			}
			scrape_label(scrape, subject);
			openmetrics_label(&scrape->text, "name", name);
			openmetrics_sample(&scrape->text, "_total", NULL, run->counters[i].total);
		}
		scrape_label(scrape, subject);
		openmetrics_label(&scrape->text, "name", SCRAPE_OTHER);
		openmetrics_sample(&scrape->text, "_total", NULL, others);
	}
}

static double beyond(size_t count, size_t named) { return count > named ? (double)(count - named) : 0; }

static void write_folded(struct scrape *scrape)
{
	openmetrics_begin(&scrape->text, "folded_names", "gauge", "",
		"Published names beyond the limit: phases and counters are summed as other, gauges are left out.");
	EACH_SUBJECT(scrape, subject)
	{
		const struct run *run = subject->run;
		if (!run)
			continue;
		const struct {
			const char *kind;
			double count;
		} rows[] = { { "phase", beyond(scrape_phase_count(run), SCRAPE_PHASES_MAX) },
			{ "gauge", beyond(run->gauge_count, GAUGES_NAMED_MAX) },
			{ "counter", beyond(run->counter_count, COUNTERS_NAMED_MAX) } };
		for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
			scrape_label(scrape, subject);
			openmetrics_label(&scrape->text, "kind", rows[i].kind);
			openmetrics_sample(&scrape->text, "", NULL, rows[i].count);
		}
	}
}

/* -- warnings -- */

/* One sample a rule, whichever phases it warns of. */
static bool is_first_of_rule(const struct alerts *alerts, size_t at, int run)
{
	for (size_t i = 0; i < at; i++)
		if (alerts->list[i].is_raised && scope_has_alert(&alerts->list[i], run) &&
			strcmp(alerts->list[i].rule, alerts->list[at].rule) == 0)
			return false;
	return true;
}

static void write_warnings(struct scrape *scrape)
{
	openmetrics_begin(
		&scrape->text, "warning", "gauge", "", "1 for each rule that warns now; other: how many more warn.");
	EACH_SUBJECT(scrape, subject)
	{
		const struct alerts *alerts = subject->source->alerts;
		unsigned named = 0, others = 0;
		for (size_t i = 0; i < alerts->count; i++) {
			const struct alert *alert = &alerts->list[i];
			if (!alert->is_raised || !scope_has_alert(alert, (int)subject->index) ||
				!is_first_of_rule(alerts, i, (int)subject->index))
				continue;
			if (named == WARNINGS_NAMED_MAX) {
				others++;
				continue;
			}
			named++;
			scrape_label(scrape, subject);
			openmetrics_label(&scrape->text, "rule", alert->rule);
			openmetrics_label(&scrape->text, "severity", severity_name(alert->severity));
			openmetrics_sample(&scrape->text, "", NULL, 1);
		}
		scrape_label(scrape, subject);
		openmetrics_label(&scrape->text, "rule", SCRAPE_OTHER);
		openmetrics_sample(&scrape->text, "", NULL, others ? (double)others : NAN);
	}
}

/* -- its process -- */

#define NOW(metric) (process->now[METRIC_##metric])
#define PROCESS_FIGURES(X) \
	X(process_resident_bytes, "gauge", "", "bytes", "Resident memory of the rank's process.", NOW(PROCESS_RESIDENT)) \
	X(process_cpu_seconds, "counter", "_total", "seconds", "CPU time of the rank's process, user and system.", \
		(NOW(PROCESS_CPU_USER) + NOW(PROCESS_CPU_SYSTEM)) * 1e-9) \
	X(process_read_bytes, "counter", "_total", "bytes", "Read from storage by it.", NOW(PROCESS_READ))

static const struct process *find_process(const struct model *model, int32_t pid)
{
	for (size_t i = 0; i < model->process_count; i++)
		if (model->processes[i].pid == pid && !model->processes[i].is_gone)
			return &model->processes[i];
	return NULL;
}

/* A rank may be known to one source, as one of the job, and its process to another. */
static const struct process *process_of(const struct scrape *scrape, const struct scrape_subject *subject)
{
	const struct model *model = subject->source->model;
	int32_t pid = subject->run && subject->run->pid ? subject->run->pid : model->target_pid;
	const struct process *process = find_process(model, pid);
	for (size_t i = 0; i < scrape->source_count && !process; i++)
		process = find_process(scrape->sources[i].model, pid);
	return process;
}

static void write_processes(struct scrape *scrape)
{
#define EMIT(name, type, suffix, unit, help, value) \
	openmetrics_begin(&scrape->text, #name, type, unit, help); \
	EACH_SUBJECT(scrape, subject) \
	{ \
		const struct process *process = process_of(scrape, subject); \
		scrape_label(scrape, subject); \
		if (process) \
			openmetrics_sample(&scrape->text, suffix, NULL, value); \
	}
	PROCESS_FIGURES(EMIT)
#undef EMIT
}

void scrape_runs(struct scrape *scrape)
{
	write_info(scrape);
	write_progress(scrape);
	write_own_time(scrape);
	write_gauges(scrape);
	write_counters(scrape);
	write_folded(scrape);
	write_warnings(scrape);
	write_processes(scrape);
}
