#include "src/export/scrape/scrape.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/export/scrape/scrape_collectives.h"
#include "src/export/scrape/scrape_devices.h"
#include "src/export/scrape/scrape_figures.h"
#include "src/export/scrape/scrape_runs.h"
#include "src/export/scrape/scrape_steps.h"
#include "src/model/ranks/rank_places.h"

/* -- subjects -- */

static const char *meta(const struct run *run, const char *key)
{
	const char *value = run_meta(run, key);
	return value ? value : "";
}

/* The id that all ranks of a run have, else one of this run alone. */
static const char *id_of(const struct run *run, char out[32])
{
	if (meta(run, "run_id")[0])
		return meta(run, "run_id");
	if (run->uuid[0])
		return run->uuid;
	snprintf(out, 32, "pid-%" PRId32, run->pid ? run->pid : run->inner_pid);
	return out;
}

static char *labels_of(struct scrape *scrape, const struct model *model, const struct run *run, size_t *id_length)
{
	char id[32];
	struct buffer *labels = &scrape->text.labels;
	buffer_clear(labels);
	if (run) {
		openmetrics_label(&scrape->text, "run_id", id_of(run, id));
		*id_length = labels->length;
		openmetrics_label(&scrape->text, "rank", run->rank);
		openmetrics_label(&scrape->text, "local_rank", meta(run, "LOCAL_RANK"));
	} else {
		snprintf(id, sizeof id, "pid-%" PRId32, model->target_pid);
		openmetrics_label(&scrape->text, "run_id", id);
		*id_length = labels->length;
	}
	return labels->data && !labels->failed ? strdup(labels->data) : NULL;
}

static const struct scrape_subject *find_labels(const struct scrape *scrape, const char *labels)
{
	EACH_SUBJECT(scrape, subject)
	if (strcmp(subject->labels, labels) == 0)
		return subject;
	return NULL;
}

/* Two samples with the same labels would make the whole page invalid. Two sources may know one rank. */
static void add_subject(struct scrape *scrape, const struct scrape_source *source, int index)
{
	const struct run *run = index < 0 ? NULL : &source->model->runs[index];
	size_t id_length = 0;
	char *labels = labels_of(scrape, source->model, run, &id_length);
	const struct scrape_subject *same = labels ? find_labels(scrape, labels) : NULL;
	if (!labels || same || scrape->subject_count == SCRAPE_SUBJECTS_MAX) {
		bool is_known = same && same->run && run && same->run->pid == run->pid;
		scrape->left_out += !is_known;
		free(labels);
		return;
	}
	scrape->subjects[scrape->subject_count++] = (struct scrape_subject){ .source = source,
		.run = run,
		.index = index < 0 ? source->model->run_count : (unsigned)index,
		.labels = labels,
		.id_length = id_length };
}

static bool uses_gpu(const struct model *model)
{
	for (size_t i = 0; i < model->gpus.count; i++)
		if (model->gpus.gpus[i].is_ours)
			return true;
	return false;
}

/* A process may open one run after another; a rank that has ended matters to the others. */
static bool is_over(const struct model *model, const struct run *run)
{
	for (unsigned i = 0; i < model->run_count && !run->is_live && rank_number(run) < 0; i++)
		if (model->runs[i].is_used && model->runs[i].is_live)
			return true;
	return false;
}

/* A process without steps is a subject if it uses a GPU or is the only one: most others are no training. */
static void find_subjects(struct scrape *scrape)
{
	for (size_t i = 0; i < scrape->source_count; i++) {
		const struct scrape_source *source = &scrape->sources[i];
		bool has_run = false;
		for (unsigned k = 0; k < source->model->run_count; k++) {
			const struct run *run = &source->model->runs[k];
			if (!run->is_used || is_over(source->model, run))
				continue;
			add_subject(scrape, source, (int)k);
			has_run = true;
		}
		bool has_ranks = source->model->collectives && source->model->collectives->rank_count > 1;
		if (!has_run && source->model->has_target &&
			(scrape->source_count == 1 || has_ranks || uses_gpu(source->model)))
			add_subject(scrape, source, -1);
	}
}

bool scrape_is_other(const char *name)
{
	static const char other[] = SCRAPE_OTHER;
	return strcmp(name, other) == 0;
}

void scrape_label(struct scrape *scrape, const struct scrape_subject *subject)
{
	buffer_clear(&scrape->text.labels);
	buffer_puts(&scrape->text.labels, subject->labels);
}

/* -- the exporter itself -- */

static void write_self(struct scrape *scrape, const struct scrape_self *self)
{
	const struct {
		const char *name, *type, *unit, *help, *suffix;
		double value;
	} rows[] = {
		{ "exporter_ranks", "gauge", "", "Ranks on this page.", "", (double)scrape->subject_count },
		{ "exporter_ranks_left_out", "gauge", "",
			"Ranks and runs left out: too many, unreadable, or with the labels of another.", "",
			(double)(scrape->left_out + self->left_out) },
		{ "exporter_cpu_seconds", "counter", "seconds", "CPU time of the exporter.", "_total", self->cpu_s },
		{ "exporter_resident_bytes", "gauge", "bytes", "Resident memory of the exporter.", "", self->resident_bytes },
		{ "exporter_requests", "counter", "", "HTTP requests answered.", "_total", (double)self->scrapes },
		{ "exporter_dropped_connections", "counter", "", "Connections closed early: slow, or too many.", "_total",
			(double)self->refused },
	};
	buffer_clear(&scrape->text.labels);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		openmetrics_begin(&scrape->text, rows[i].name, rows[i].type, rows[i].unit, rows[i].help);
		openmetrics_sample(&scrape->text, rows[i].suffix, NULL, rows[i].value);
	}
}

void scrape_write(struct buffer *out, const struct scrape_source *sources, size_t count,
	const struct scrape_options *options, const struct scrape_self *self)
{
	struct scrape *scrape = calloc(1, sizeof *scrape);
	if (!scrape) {
		out->failed = true;
		return;
	}
	*scrape = (struct scrape){ .text = { .out = out, .is_plain = options->is_plain, .labels = BUFFER_INIT },
		.options = options,
		.sources = sources,
		.source_count = count };
	find_subjects(scrape);
	scrape_runs(scrape);
	scrape_steps(scrape);
	scrape_collectives(scrape);
	scrape_figures(scrape);
	scrape_devices(scrape);
	write_self(scrape, self);
	if (!options->is_plain)
		buffer_puts(out, "# EOF\n");
	EACH_SUBJECT(scrape, subject)
	free(subject->labels);
	out->failed |= scrape->text.labels.failed;
	buffer_release(&scrape->text.labels);
	free(scrape);
}
