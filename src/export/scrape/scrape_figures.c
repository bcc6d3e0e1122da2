#include "src/export/scrape/scrape_figures.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/export/scrape/scrape.h"
#include "src/rules/rule_context.h"
#include "src/rules/rule_figures.h"

/* Those that rules compare and that mean the same over time: not words, not positions. */
static const struct scrape_figure {
	enum scrape_scope scope;
	const char *name;
	const char *written_as; /* by another file, as this metric; NULL = here, with the figure's name */
} exported[] = {
	{ SCRAPE_MACHINE, "system.cpus", NULL },
	{ SCRAPE_MACHINE, "system.cpu_ratio", NULL },
	{ SCRAPE_MACHINE, "system.io_wait_ratio", NULL },
	{ SCRAPE_MACHINE, "system.memory_ratio", NULL },
	{ SCRAPE_MACHINE, "system.memory_available_bytes", NULL },
	{ SCRAPE_MACHINE, "system.swap_bytes_per_s", NULL },
	{ SCRAPE_MACHINE, "system.shm_ratio", NULL },
	{ SCRAPE_MACHINE, "disk.busy_ratio", NULL },
	{ SCRAPE_MACHINE, "network.received_bytes_per_s", NULL },
	{ SCRAPE_MACHINE, "heat.cpu_throttles_per_s", NULL },
	{ SCRAPE_JOB, "memory.tree_rss_bytes", NULL },
	{ SCRAPE_JOB, "memory.tree_share_ratio", NULL },
	{ SCRAPE_JOB, "memory.growth_bytes", NULL },
	{ SCRAPE_JOB, "memory.grows", NULL },
	{ SCRAPE_JOB, "memory.limit_in_s", NULL },
	{ SCRAPE_JOB, "memory.spike_bytes", NULL },
	{ SCRAPE_JOB, "memory.spike_ratio", NULL },
	{ SCRAPE_JOB, "memory.shm_others_growth_bytes", NULL },
	{ SCRAPE_JOB, "system.others_cpu_ratio", NULL },
	{ SCRAPE_JOB, "system.space_ratio", NULL },
	{ SCRAPE_JOB, "system.space_free_bytes", NULL },
	{ SCRAPE_JOB, "disk.run_bytes_per_s", NULL },
	{ SCRAPE_JOB, "cgroup.throttled_ratio", NULL },
	{ SCRAPE_JOB, "cgroup.held_ratio", NULL },
	{ SCRAPE_JOB, "gpu.busy_ratio", NULL },
	{ SCRAPE_JOB, "gpu.sm_active_ratio", NULL },
	{ SCRAPE_JOB, "gpu.tensor_active_ratio", NULL },
	{ SCRAPE_JOB, "gpu.memory_ratio", NULL },
	{ SCRAPE_JOB, "gpu.memory_grows", NULL },
	{ SCRAPE_JOB, "gpu.memory_slope_bytes_per_s", NULL },
	{ SCRAPE_JOB, "gpu.full_in_s", NULL },
	{ SCRAPE_JOB, "gpu.others_ratio", NULL },
	{ SCRAPE_JOB, "gpu.throttled_thermal_ratio", NULL },
	{ SCRAPE_JOB, "gpu.throttled_power_ratio", NULL },
	{ SCRAPE_JOB, "gpu.throttled_hardware_ratio", NULL },
	{ SCRAPE_JOB, "gpu.pcie_ratio", NULL },
	{ SCRAPE_JOB, "gpu.lost", NULL },
	{ SCRAPE_JOB, "gpu.reports", NULL },
	{ SCRAPE_JOB, "gpu.ecc_uncorrected", NULL },
	/* Of the worst rank; of each rank they name it. */
	{ SCRAPE_RUN, "collectives.behind_s", "rank_behind_seconds" },
	{ SCRAPE_RUN, "collectives.straggler_ratio", "rank_waited_for_ratio" },
	{ SCRAPE_JOB, "collectives.slow_s", NULL },
	{ SCRAPE_JOB, "collectives.mismatch", NULL },
	{ SCRAPE_JOB, "ranks.excess_ratio", NULL },
	{ SCRAPE_JOB, "ranks.still_s", NULL },
	{ SCRAPE_RUN, "run.steps", NULL },
	{ SCRAPE_RUN, "run.cpu_ratio", NULL },
	{ SCRAPE_RUN, "run.unattributed_ratio", NULL },
	{ SCRAPE_RUN, "loading.share_ratio", NULL },
	{ SCRAPE_RUN, "waits.share_ratio", NULL },
	{ SCRAPE_RUN, "waits.per_step", NULL },
	{ SCRAPE_RUN, "events.refused", NULL },
	{ SCRAPE_RUN, "workers.count", NULL },
	{ SCRAPE_RUN, "workers.cpu_ratio", NULL },
	{ SCRAPE_RUN, "workers.on_disk_ratio", NULL },
	{ SCRAPE_RUN, "workers.gone", NULL },
	{ SCRAPE_RUN, "workers.stopped", NULL },
	{ SCRAPE_RUN, "workers.disk_s", NULL },
	{ SCRAPE_RUN, "latency.p95_s", NULL },
	{ SCRAPE_RUN, "requests.late", NULL },
};
enum { FIGURES = sizeof exported / sizeof *exported };

/* -- names -- */

/* Prometheus spells units out. */
static void name_metric(const char *figure, char out[SCRAPE_NAME_SIZE])
{
	static const char *const endings[][2] = { { "_per_s", "_per_second" }, { "_s", "_seconds" }, { ".count", "" } };
	size_t length = strlen(figure);
	const char *ending = "";
	for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
		size_t cut = strlen(endings[i][0]);
		if (ending[0] || length < cut || strcmp(figure + length - cut, endings[i][0]) != 0)
			continue;
		ending = endings[i][1];
		length -= cut;
	}
	snprintf(out, SCRAPE_NAME_SIZE, "%.*s%s", (int)length, figure, ending);
	for (char *c = out; *c; c++)
		*c = *c == '.' ? '_' : *c;
}

/* Those that count from the start of the driver, as in --to=openmetrics. */
static bool is_counter(const char *figure)
{
	static const char *const counters[] = { "gpu.ecc_uncorrected" };
	size_t i = 0;
	while (i < sizeof counters / sizeof *counters && strcmp(figure, counters[i]) != 0)
		i++;
	return i < sizeof counters / sizeof *counters;
}

static const char *unit_of(const char *metric)
{
	static const char *const units[] = { "seconds", "bytes", "ratio" };
	const char *last = strrchr(metric, '_');
	for (size_t i = 0; last && i < sizeof units / sizeof *units; i++)
		if (strcmp(last + 1, units[i]) == 0)
			return units[i];
	return "";
}

bool scrape_figure_find(const struct figure *figure, enum scrape_scope *scope, char out[SCRAPE_NAME_SIZE])
{
	for (size_t i = 0; i < FIGURES; i++) {
		if (strcmp(exported[i].name, figure->name) != 0)
			continue;
		*scope = exported[i].scope;
		if (exported[i].written_as)
			snprintf(out, SCRAPE_NAME_SIZE, "%s", exported[i].written_as);
		else
			name_metric(figure->name, out);
		if (is_counter(figure->name))
			strncat(out, "_total", SCRAPE_NAME_SIZE - strlen(out) - 1);
		return true;
	}
	return false;
}

/* -- values -- */

struct reading {
	double values[FIGURES]; /* NAN = unknown */
};

struct work {
	struct context context;
	struct rule_cache cache;
	struct figure_ref refs[FIGURES];
	struct reading subjects[SCRAPE_SUBJECTS_MAX]; /* of each subject: RUN; of a source's first one also the others */
};

static void read_scope(struct work *work, bool is_of_run, struct reading *out)
{
	for (size_t i = 0; i < FIGURES; i++)
		if (work->refs[i].row && (exported[i].scope == SCRAPE_RUN) == is_of_run)
			out->values[i] = figure_number(&work->refs[i], &work->context);
}

static bool is_first_of_source(const struct scrape *scrape, const struct scrape_subject *subject)
{
	return subject == scrape->subjects || subject[-1].source != subject->source;
}

static void read_subject(const struct scrape *scrape, const struct scrape_subject *subject, struct work *work)
{
	const struct scrape_source *source = subject->source;
	struct reading *out = &work->subjects[subject - scrape->subjects];
	for (size_t i = 0; i < FIGURES; i++)
		out->values[i] = NAN;
	if (is_first_of_source(scrape, subject)) {
		rule_context_init(&work->context, &work->cache, source->model, -1, NULL);
		read_scope(work, false, out);
	}
	if (!subject->run)
		return;
	rule_context_init(&work->context, &work->cache, source->model, (int)subject->index,
		alerts_patterns(source->alerts, subject->index));
	read_scope(work, true, out);
}

/* -- samples -- */

/* A job of several ranks has the run_id alone. */
static void label_job(struct scrape *scrape, const struct scrape_subject *subject)
{
	bool is_single = subject + 1 == scrape->subjects + scrape->subject_count || subject[1].source != subject->source;
	buffer_clear(&scrape->text.labels);
	buffer_add(&scrape->text.labels, subject->labels, is_single ? strlen(subject->labels) : subject->id_length);
}

static void write_figure(struct scrape *scrape, const struct work *work, size_t figure)
{
	char name[SCRAPE_NAME_SIZE];
	enum scrape_scope scope = exported[figure].scope;
	name_metric(exported[figure].name, name);
	bool is_counted = is_counter(exported[figure].name);
	openmetrics_begin(
		&scrape->text, name, is_counted ? "counter" : "gauge", unit_of(name), work->refs[figure].row->what);
	EACH_SUBJECT(scrape, subject)
	{
		double value = work->subjects[subject - scrape->subjects].values[figure];
		if (isnan(value))
			continue;
		if (scope == SCRAPE_RUN)
			scrape_label(scrape, subject);
		else if (scope == SCRAPE_JOB)
			label_job(scrape, subject);
		else
			buffer_clear(&scrape->text.labels);
		openmetrics_sample(&scrape->text, is_counted ? "_total" : "", NULL, value);
		if (scope == SCRAPE_MACHINE)
			break;
	}
}

void scrape_figures(struct scrape *scrape)
{
	struct work *work = calloc(1, sizeof *work);
	if (!work) {
		scrape->text.out->failed = true;
		return;
	}
	for (size_t i = 0; i < FIGURES; i++)
		if (!exported[i].written_as)
			work->refs[i].row = figure_find(exported[i].name, &work->refs[i].argument);
	EACH_SUBJECT(scrape, subject)
	read_subject(scrape, subject, work);
	for (size_t i = 0; i < FIGURES; i++)
		if (work->refs[i].row)
			write_figure(scrape, work, i);
	free(work);
}
