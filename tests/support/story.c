#include "tests/support/story.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/clock.h"
#include "tests/support/story_plot.h"
#include "tests/support/story_region.h"
#include "tests/support/story_workers.h"

enum { EVENTS_RETAINED = 1024 };

struct story {
	struct story_options options;
	struct plot plot;
	uint64_t figures_random; /* separate, so that the plot does not depend on the time of attach */
	int64_t now_ns;          /* events up to here have happened */
	bool is_attached, is_over;
	uint64_t happened; /* events; the plot is written ahead of it */
	struct story_region region;
	struct story_truth truth;
	double *steps;
	size_t step_room;
};

void story_options_default(struct story_options *options)
{
	*options = (struct story_options){
		.seed = 1,
		.start_ns = 1000 * NS_PER_S,
		.period_ns = 100 * NS_PER_MS,
		.pid = 48213,
		.command = "train.py",
		.run_name = "resnet50",
		.is_published = true,
		.has_plan = true,
		.has_modes = true,
		.has_evidence = true,
		.epochs = 3,
		.batches = 100,
		.validation_batches = 10,
		.step_s = 0.2,
		.jitter_ratio = 0.04,
		.first_s = 0.35,
		.slow_every = 40,
		.slow_s = 0.25,
		.checkpoint_s = 0.5,
		.loss_first = 2.3,
		.loss_fall = 0.004,
		.resident_bytes = 2.6e9,
		.workers = 4,
	};
}

static void remember_step(struct story *story, double seconds)
{
	struct story_truth *truth = &story->truth;
	if (truth->steps == story->step_room) {
		story->step_room = story->step_room ? story->step_room * 2 : 256;
		story->steps = realloc(story->steps, story->step_room * sizeof *story->steps);
		if (!story->steps)
			abort();
	}
	story->steps[truth->steps] = seconds;
	truth->first_step_s = truth->steps ? truth->first_step_s : seconds;
	truth->step_min_s = truth->steps ? fmin(truth->step_min_s, seconds) : seconds;
	truth->step_max_s = fmax(truth->step_max_s, seconds);
	truth->step_total_s += seconds;
	truth->steps++;
}

static void remember(struct story *story, const struct record *event, uint32_t mode)
{
	struct story_truth *truth = &story->truth;
	bool is_training = mode != STORY_VALIDATION;
	if (!isnan(story->region.closed_step_s) && story->region.closed_step_mode != STORY_VALIDATION)
		remember_step(story, story->region.closed_step_s);
	if (event->kind == RECORD_BATCH_END && !is_training)
		truth->validation_batches++;
	if (event->kind == RECORD_BATCH_END && is_training) {
		truth->batches++;
		truth->batch_total_s += seconds_between(event->batch.begin_ns, event->time_ns);
		bool is_slow = story->options.slow_every && truth->batches % story->options.slow_every == 0;
		bool is_last = event->batch.index + 1 == story->options.batches &&
			!(story->options.has_modes && story->options.validation_batches);
		truth->planted += is_slow && !(story->options.loads_between && is_last);
	}
	if (event->kind == RECORD_SPAN && is_training && event->span.name == STORY_DATA)
		truth->data_total_s += (double)event->span.duration_ns * 1e-9;
	if (event->kind == RECORD_SPAN && is_training && event->span.name == STORY_DECODE)
		truth->decode_total_s += (double)event->span.duration_ns * 1e-9;
}

static void emit_event(struct sample_set *out, const struct event *event)
{
	struct record *record = sample_set_add(out, (enum record_kind)event->record.kind, STORY_RUN, event->record.time_ns);
	*record = event->record;
	if (event->record.kind != RECORD_EVIDENCE)
		return;
	struct evidence *evidence = sample_set_allocate(out, sizeof *evidence);
	*evidence = event->evidence;
	record->evidence = evidence;
}

static void happen_next(struct story *story, struct sample_set *out)
{
	struct event *event = &story->plot.events[story->happened++ % PLOT_EVENTS];
	uint32_t mode = event->mode = story->region.state.mode;
	story_region_account(&story->region, &event->record);
	remember(story, &event->record, mode);
	if (out)
		emit_event(out, event);
}

/* Advances to `now_ns`, and emits events if `out` is given. The plot is written ahead of now, so that open spans are
 * known. */
static void happen(struct story *story, int64_t now_ns, struct sample_set *out)
{
	story->now_ns = now_ns;
	for (;;) {
		while (story->happened < story->plot.written &&
			story->plot.events[story->happened % PLOT_EVENTS].record.time_ns <= now_ns)
			happen_next(story, out);
		if (story->plot.emitted_ns > now_ns || story->plot.chapter == CHAPTER_END)
			break;
		plot_write_on(&story->plot);
	}
	story->truth.resident_bytes =
		story->options.resident_bytes + story->options.leak_bytes * (double)story->truth.batches;
}

static void emit_processes(struct story *story, struct sample_set *out)
{
	const struct story_options *options = &story->options;
	for (unsigned i = 0; i <= options->workers; i++) {
		struct record *seen = sample_set_add(out, RECORD_PROCESS_SEEN, 0, story->now_ns);
		seen->process.pid = options->pid + (int32_t)i;
		seen->process.parent = i ? options->pid : 1;
		seen->process.start_ticks = 1000 + i;
		seen->process.command = sample_set_text(
			out, i ? "pt_data_worker" : options->command, strlen(i ? "pt_data_worker" : options->command));
		seen->process.is_target = i == 0;
	}
}

static void emit_meta(struct sample_set *out, int64_t time_ns, const char *key, const char *value)
{
	struct record *meta = sample_set_add(out, RECORD_META, STORY_RUN, time_ns);
	meta->meta.key = key;
	meta->meta.value = value;
}

/* Events of the ring. The modes of its oldest batches may differ from the emitted state, and their MODE event may be
 * overwritten. */
static void emit_past_events(struct story *story, struct sample_set *out)
{
	uint64_t retained = story->happened < EVENTS_RETAINED ? story->happened : EVENTS_RETAINED;
	uint32_t mode = story->region.state.mode;
	if (story->happened > retained)
		sample_set_add(out, RECORD_BEFORE_ATTACH, STORY_RUN, story->now_ns)->lost.count = story->happened - retained;
	for (uint64_t i = story->happened - retained; i < story->happened; i++) {
		const struct event *event = &story->plot.events[i % PLOT_EVENTS];
		bool is_of_batch = event->record.kind == RECORD_BATCH_BEGIN || event->record.kind == RECORD_BATCH_END;
		if (is_of_batch && event->mode != mode) {
			struct record *change = sample_set_add(out, RECORD_MODE, STORY_RUN, event->record.time_ns);
			change->sequence = event->record.sequence;
			change->mode.name = mode = event->mode;
		}
		if (event->record.kind == RECORD_MODE)
			mode = event->record.mode.name;
		emit_event(out, event);
	}
}

static void emit_run(struct story *story, struct sample_set *out)
{
	static const char *const names[STORY_NAME_COUNT] = { [STORY_NO_NAME] = "",
#define STORY_NAME_TEXT(id, text) [STORY_##id] = text,
		STORY_NAMES(STORY_NAME_TEXT)
#undef STORY_NAME_TEXT
	};
	struct record *opened = sample_set_add(out, RECORD_RUN_OPENED, STORY_RUN, story->now_ns);
	opened->opened.pid = opened->opened.inner_pid = story->options.pid;
	opened->opened.name = story->options.run_name;
	opened->opened.uuid = "0123456789abcdef0123456789abcdef";
	opened->opened.abi = "1.0";
	opened->opened.start_ns = story->options.start_ns;
	opened->opened.is_live = true;
	for (uint32_t id = 1; id < STORY_NAME_COUNT; id++) {
		struct record *name = sample_set_add(out, RECORD_NAME, STORY_RUN, story->now_ns);
		name->name.id = id;
		name->name.text = names[id];
	}
	emit_meta(out, story->now_ns, "RANK", "0");
	emit_meta(out, story->now_ns, "WORLD_SIZE", "1");
	if (story->options.loads_between)
		emit_meta(out, story->now_ns, "between", "data");
	if (story->options.accumulate) {
		char text[16];
		snprintf(text, sizeof text, "%u", story->options.accumulate);
		emit_meta(out, story->now_ns, "accumulation", sample_set_text(out, text, strlen(text)));
	}
	story_region_emit(&story->region, out, STORY_RUN, story->now_ns);
	emit_past_events(story, out);
}

/* Spans that have begun but not ended: in the plot, but not yet emitted. Outermost first. */
static void emit_open_spans(struct story *story, struct sample_set *out)
{
	bool has_any = false;
	for (uint64_t i = story->plot.written; i-- > story->happened;) {
		const struct record *event = &story->plot.events[i % PLOT_EVENTS].record;
		if (event->kind != RECORD_SPAN || event->time_ns - event->span.duration_ns > story->now_ns)
			continue;
		struct record *open = sample_set_add(out, RECORD_OPEN_SPAN, STORY_RUN, story->now_ns);
		open->lane = STORY_LANE;
		open->span = event->span;
		open->span.duration_ns = story->now_ns - (event->time_ns - event->span.duration_ns);
		has_any = true;
	}
	if (!has_any)
		sample_set_add(out, RECORD_OPEN_SPANS_NONE, STORY_RUN, story->now_ns)->lane = STORY_LANE;
}

static void emit_figures(struct story *story, struct sample_set *out)
{
	const struct story_options *options = &story->options;
	int64_t now_ns = story->now_ns;
	double elapsed_ns = (double)(now_ns - options->start_ns);
	for (unsigned i = 0; i <= options->workers; i++) {
		int32_t pid = options->pid + (int32_t)i;
		double resident = i ? 2e8 : story->truth.resident_bytes + 1e6 * plot_chance(&story->figures_random);
		/* the leak is anonymous memory */
		double file = 0.08 * (i ? 2e8 : options->resident_bytes), shared = file / 4;
		const struct {
			enum metric metric;
			double value;
		} figures[] = {
			{ METRIC_PROCESS_RESIDENT, resident },
			{ METRIC_PROCESS_RESIDENT_PEAK, resident + 2e6 },
			{ METRIC_PROCESS_ANONYMOUS, resident - file - shared },
			{ METRIC_PROCESS_FILE, file },
			{ METRIC_PROCESS_SHARED, shared },
			{ METRIC_PROCESS_SWAP, 0 },
			{ METRIC_PROCESS_THREADS, i ? 1 : 9 },
			{ METRIC_PROCESS_STATE, i ? 'S' : 'R' },
			{ METRIC_PROCESS_CPU_USER, floor(elapsed_ns * (i ? 0.4 : 0.85) / 1e7) * 1e7 },
			{ METRIC_PROCESS_CPU_SYSTEM, floor(elapsed_ns * 0.05 / 1e7) * 1e7 },
			{ METRIC_PROCESS_RUN_QUEUE_WAIT, elapsed_ns * 0.002 },
			{ METRIC_PROCESS_MINOR_FAULTS, floor(elapsed_ns * 5e-7) },
			{ METRIC_PROCESS_MAJOR_FAULTS, (double)story->truth.planted * (i ? 0 : 1204) },
			{ METRIC_PROCESS_SWITCHES_FORCED, floor(elapsed_ns * 1e-8) },
			{ METRIC_PROCESS_READ, elapsed_ns * (i ? 0.02 : 0.001) },
			{ METRIC_PROCESS_WRITTEN, 0 },
		};
		for (size_t k = 0; k < sizeof figures / sizeof *figures; k++)
			sample_set_figure(out, now_ns, figures[k].metric, pid, figures[k].value);
	}
	sample_set_figure(out, now_ns, METRIC_SELF_CPU, 0, elapsed_ns * 0.002);
	sample_set_figure(out, now_ns, METRIC_SELF_RESIDENT, 0, 5e6);
}

static void emit_end(struct story *story, struct sample_set *out)
{
	bool is_killed = story->options.killed_s > 0 && story->plot.chapter != CHAPTER_END;
	if (story->options.is_published && !is_killed) {
		story->region.state.is_ended = true;
		story_region_emit_state(&story->region, out, STORY_RUN, story->now_ns);
	}
	if (story->options.is_published)
		sample_set_add(out, RECORD_RUN_CLOSED, STORY_RUN, story->now_ns)->text =
			is_killed ? "its process ended without closing it" : "ended";
	for (unsigned i = 0; i <= story->options.workers; i++)
		sample_set_add(out, RECORD_PROCESS_GONE, 0, story->now_ns)->process.pid = story->options.pid + (int32_t)i;
	story->is_over = true;
}

struct story *story_new(const struct story_options *options)
{
	struct story *story = calloc(1, sizeof *story);
	if (!story)
		abort();
	story->options = *options;
	story->plot.options = *options;
	story->plot.random = options->seed;
	story->figures_random = ~options->seed;
	story->plot.emitted_ns = options->start_ns;
	story_region_init(&story->region);
	if (options->has_plan) {
		story->region.state.epochs_planned = options->epochs;
		story->region.state.batches_per_epoch = options->batches;
		story->region.state.samples_per_batch = STORY_SAMPLES_PER_BATCH;
	}
	return story;
}

void story_free(struct story *story)
{
	if (story)
		free(story->steps);
	free(story);
}

bool story_next(struct story *story, struct sample_set *out)
{
	const struct story_options *options = &story->options;
	sample_set_clear(out);
	if (story->is_over)
		return false;
	int64_t now_ns =
		story->is_attached ? story->now_ns + options->period_ns : options->start_ns + llround(options->attach_s * 1e9);
	int64_t killed_ns = options->start_ns + llround(options->killed_s * 1e9);
	bool is_killed = options->killed_s > 0 && now_ns >= killed_ns;
	out->time_ns = now_ns;
	out->source = "story";
	happen(story, is_killed ? killed_ns : now_ns, story->is_attached && options->is_published ? out : NULL);
	story->now_ns = now_ns;
	if (!story->is_attached) {
		emit_processes(story, out);
		if (options->is_published)
			emit_run(story, out);
	} else if (options->is_published) {
		story_region_emit_state(&story->region, out, STORY_RUN, now_ns);
	}
	story->is_attached = true;
	if (is_killed || (story->plot.chapter == CHAPTER_END && story->happened == story->plot.written)) {
		emit_end(story, out);
		return true;
	}
	if (options->is_published) {
		emit_open_spans(story, out);
		struct record *counter = sample_set_add(out, RECORD_COUNTER, STORY_RUN, now_ns);
		counter->counter.name = STORY_SAMPLES;
		counter->counter.total = (double)(story->truth.batches * STORY_SAMPLES_PER_BATCH);
		if (options->accumulate) {
			counter = sample_set_add(out, RECORD_COUNTER, STORY_RUN, now_ns);
			counter->counter.name = STORY_STEPS;
			counter->counter.total = (double)(story->truth.batches / options->accumulate);
		}
	}
	emit_figures(story, out);
	if (options->has_emitted_workers)
		story_emit_workers(options, now_ns, out);
	return true;
}

struct story_truth story_truth(const struct story *story) { return story->truth; }

const double *story_steps(const struct story *story, size_t *count)
{
	*count = (size_t)story->truth.steps;
	return story->steps;
}
