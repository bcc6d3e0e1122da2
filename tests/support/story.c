#include "tests/support/story.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/clock.h"
#include "tests/support/story_region.h"

enum { EVENTS_KEPT = 1024, EVENTS_ROOM = 2048, OPEN_MAX = 4 };

/* What comes next when the story is told on. */
enum chapter { CHAPTER_OPENING, CHAPTER_EPOCH, CHAPTER_TRAIN, CHAPTER_VALIDATION, CHAPTER_CLOSE, CHAPTER_END };

struct event {
	struct record record;
	struct evidence evidence;
	uint32_t mode;                 /* what was current when it happened */
};

struct story {
	struct story_options options;
	uint64_t random, figures_random;   /* apart, so that the plot does not depend on when pmtop came */
	enum chapter chapter;
	uint32_t epoch;
	uint64_t batch, trained;       /* in its epoch and mode; of mode train since the start */
	int64_t told_ns;               /* how far it is written */
	int64_t now_ns;                /* how far it has happened */
	bool is_attached, is_over;
	uint64_t written, happened;    /* events: written may be ahead of now */
	struct event events[EVENTS_ROOM];
	struct story_region region;
	struct story_truth truth;
	double *steps;
	size_t step_room;
};

void story_options_default(struct story_options *options)
{
	*options = (struct story_options){
		.seed = 1, .start_ns = 1000 * NS_PER_S, .period_ns = 100 * NS_PER_MS, .pid = 48213, .command = "train.py", .run_name = "resnet50",
		.is_published = true, .has_plan = true, .has_modes = true, .has_evidence = true, .epochs = 3, .batches = 100, .validation_batches = 10,
		.step_s = 0.2, .jitter_ratio = 0.04, .first_s = 0.35, .slow_every = 40, .slow_s = 0.25, .checkpoint_s = 0.5,
		.loss_first = 2.3, .loss_fall = 0.004, .resident_bytes = 2.6e9, .workers = 4,
	};
}

/* splitmix64 (Steele, Lea and Flood, 2014), as a number from −1 to 1. */
static double chance_of(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return (double)((z ^ (z >> 31)) >> 11) * 0x1p-52 - 1;
}

static double chance(struct story *story)
{
	return chance_of(&story->random);
}

static struct event *write_event(struct story *story, enum record_kind kind)
{
	struct event *event = &story->events[story->written % EVENTS_ROOM];
	memset(event, 0, sizeof *event);
	event->record.kind = (uint8_t)kind;
	event->record.run = STORY_RUN;
	event->record.lane = STORY_LANE;
	event->record.sequence = story->written++;
	event->record.time_ns = story->told_ns;
	return event;
}

static void pass(struct story *story, double seconds)
{
	story->told_ns += llround(seconds * 1e9);
}

/* Time that varies a little; it never stands still, so that no two events have the same time. */
static double vary(struct story *story, double seconds)
{
	return fmax(seconds * (1 + story->options.jitter_ratio * chance(story)), 1e-6);
}

static void write_span(struct story *story, enum story_name name, enum story_name parent, int64_t begin_ns, double inside_s)
{
	struct event *event = write_event(story, RECORD_SPAN);
	int64_t duration_ns = story->told_ns - begin_ns;
	event->record.span.name = name;
	event->record.span.parent = parent;
	event->record.span.depth = parent != STORY_NO_NAME;
	event->record.span.duration_ns = duration_ns;
	event->record.span.self_s = (float)((double)duration_ns * 1e-9 - inside_s);
	event->record.span.cpu_s = name == STORY_FORWARD ? (float)((double)duration_ns * 0.9e-9) : NAN;
	event->record.span.memory_bytes = NAN;
}

static void phase(struct story *story, enum story_name name, enum story_name parent, double seconds)
{
	int64_t begin_ns = story->told_ns;
	pass(story, seconds);
	write_span(story, name, parent, begin_ns, 0);
}

static void load_data(struct story *story, double step_s, double slow_s)
{
	int64_t begin_ns = story->told_ns;
	double decode_s = vary(story, 0.2 * step_s) + slow_s, collate_s = vary(story, 0.1 * step_s);
	phase(story, STORY_DECODE, STORY_DATA, decode_s);
	phase(story, STORY_COLLATE, STORY_DATA, collate_s);
	pass(story, vary(story, 0.04 * step_s));
	write_span(story, STORY_DATA, STORY_NO_NAME, begin_ns, decode_s + collate_s);
}

static void write_batch_end(struct story *story, int64_t begin_ns, double loss, double slow_s)
{
	struct event *end = write_event(story, RECORD_BATCH_END);
	double batch_s = seconds_between(begin_ns, story->told_ns);
	end->record.batch.index = story->batch;
	end->record.batch.loss = loss;
	end->record.batch.begin_ns = begin_ns;
	if (!story->options.has_evidence)
		return;
	pass(story, 2e-6);
	struct event *evidence = write_event(story, RECORD_EVIDENCE);
	evidence->evidence = (struct evidence){
		.cpu_s = 0.8 * (batch_s - slow_s), .run_queue_wait_s = 0.002 * batch_s, .minor_faults = floor(100 + 20 * chance(story)), .major_faults = slow_s > 0 ? 1204 : 0,
		.voluntary_switches = slow_s > 0 ? 260 : 12, .involuntary_switches = 2, .blocks_read = slow_s > 0 ? 5200 : 0, .samples = STORY_SAMPLES_PER_BATCH,
	};
}

static void train(struct story *story)
{
	const struct story_options *options = &story->options;
	double step_s = options->step_s, slow_s = 0;
	if (options->slow_every && (story->trained + 1) % options->slow_every == 0)
		slow_s = options->slow_s;
	int64_t begin_ns = story->told_ns;
	write_event(story, RECORD_BATCH_BEGIN)->record.batch.index = story->batch;
	if (!options->loads_between)
		load_data(story, step_s, slow_s);
	phase(story, STORY_FORWARD, STORY_NO_NAME, vary(story, 0.22 * step_s) + (story->trained == 0 ? options->first_s : 0));
	phase(story, STORY_BACKWARD, STORY_NO_NAME, vary(story, 0.31 * step_s));
	phase(story, STORY_OPTIMIZER, STORY_NO_NAME, vary(story, 0.08 * step_s));
	pass(story, vary(story, 0.03 * step_s));
	double loss = options->loss_first * exp(-options->loss_fall * (double)story->trained) * (1 + 0.02 * chance(story));
	write_batch_end(story, begin_ns, loss, slow_s);
	struct event *rate = write_event(story, RECORD_GAUGE);
	rate->record.gauge.name = STORY_LEARNING_RATE;
	rate->record.gauge.value = 1e-3 * (1 - 0.5 * (double)story->epoch / options->epochs);
	pass(story, vary(story, 0.02 * step_s));
	if (options->loads_between)
		pass(story, vary(story, 0.34 * step_s) + slow_s);
	story->trained++;
	story->batch++;
}

static void validate(struct story *story)
{
	double step_s = 0.5 * story->options.step_s;
	int64_t begin_ns = story->told_ns;
	write_event(story, RECORD_BATCH_BEGIN)->record.batch.index = story->batch;
	phase(story, STORY_DATA, STORY_NO_NAME, vary(story, 0.5 * step_s));
	phase(story, STORY_FORWARD, STORY_NO_NAME, vary(story, 0.4 * step_s));
	pass(story, vary(story, 0.05 * step_s));
	write_batch_end(story, begin_ns, NAN, 0);
	pass(story, vary(story, 0.05 * step_s));
	story->batch++;
}

static void write_mode(struct story *story, enum story_name mode)
{
	if (!story->options.has_modes)
		return;
	pass(story, 1e-5);
	write_event(story, RECORD_MODE)->record.mode.name = mode;
	pass(story, 1e-5);
}

static void close_epoch(struct story *story)
{
	if (story->options.checkpoint_s > 0)
		phase(story, STORY_CHECKPOINT, STORY_NO_NAME, story->options.checkpoint_s);
	write_mode(story, STORY_TRAIN);
	write_event(story, RECORD_EPOCH_END)->record.epoch.index = story->epoch;
	pass(story, 1e-4);
	story->epoch++;
	story->batch = 0;
}

/* Writes the next batch, or what stands between two. */
static void write_on(struct story *story)
{
	const struct story_options *options = &story->options;
	switch (story->chapter) {
	case CHAPTER_OPENING:
		write_mode(story, STORY_TRAIN);
		story->chapter = options->epochs ? CHAPTER_EPOCH : CHAPTER_END;
		break;
	case CHAPTER_EPOCH:
		write_event(story, RECORD_EPOCH_BEGIN)->record.epoch.index = story->epoch;
		pass(story, 1e-4);
		story->chapter = CHAPTER_TRAIN;
		break;
	case CHAPTER_TRAIN:
		train(story);
		if (story->batch < options->batches)
			break;
		story->batch = 0;
		story->chapter = options->has_modes && options->validation_batches ? CHAPTER_VALIDATION : CHAPTER_CLOSE;
		if (story->chapter == CHAPTER_VALIDATION)
			write_mode(story, STORY_VALIDATION);
		break;
	case CHAPTER_VALIDATION:
		validate(story);
		if (story->batch == options->validation_batches)
			story->chapter = CHAPTER_CLOSE;
		break;
	case CHAPTER_CLOSE:
		close_epoch(story);
		story->chapter = story->epoch < options->epochs ? CHAPTER_EPOCH : CHAPTER_END;
		break;
	case CHAPTER_END:
		break;
	}
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
		bool is_last = event->batch.index + 1 == story->options.batches && !(story->options.has_modes && story->options.validation_batches);
		truth->planted += is_slow && !(story->options.loads_between && is_last);
	}
	if (event->kind == RECORD_SPAN && is_training && event->span.name == STORY_DATA)
		truth->data_total_s += (double)event->span.duration_ns * 1e-9;
	if (event->kind == RECORD_SPAN && is_training && event->span.name == STORY_DECODE)
		truth->decode_total_s += (double)event->span.duration_ns * 1e-9;
}

static void tell_event(struct sample_set *out, const struct event *event)
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
	struct event *event = &story->events[story->happened++ % EVENTS_ROOM];
	uint32_t mode = event->mode = story->region.state.mode;
	story_region_account(&story->region, &event->record);
	remember(story, &event->record, mode);
	if (out)
		tell_event(out, event);
}

/* Lets everything happen up to `now_ns`; tells it where `out` is given. It is written ahead of now, so that what is open then is known. */
static void happen(struct story *story, int64_t now_ns, struct sample_set *out)
{
	story->now_ns = now_ns;
	for (;;) {
		while (story->happened < story->written && story->events[story->happened % EVENTS_ROOM].record.time_ns <= now_ns)
			happen_next(story, out);
		if (story->told_ns > now_ns || story->chapter == CHAPTER_END)
			break;
		write_on(story);
	}
	story->truth.resident_bytes = story->options.resident_bytes + story->options.leak_bytes * (double)story->truth.batches;
}

static void tell_processes(struct story *story, struct sample_set *out)
{
	const struct story_options *options = &story->options;
	for (unsigned i = 0; i <= options->workers; i++) {
		struct record *seen = sample_set_add(out, RECORD_PROCESS_SEEN, 0, story->now_ns);
		seen->process.pid = options->pid + (int32_t)i;
		seen->process.parent = i ? options->pid : 1;
		seen->process.start_ticks = 1000 + i;
		seen->process.command = sample_set_text(out, i ? "pt_data_worker" : options->command, strlen(i ? "pt_data_worker" : options->command));
		seen->process.is_target = i == 0;
	}
}

static void tell_meta(struct sample_set *out, int64_t time_ns, const char *key, const char *value)
{
	struct record *meta = sample_set_add(out, RECORD_META, STORY_RUN, time_ns);
	meta->meta.key = key;
	meta->meta.value = value;
}

/* The ring's. The modes of its oldest batches may differ from the state that was told before, and their change may be gone. */
static void tell_past_events(struct story *story, struct sample_set *out)
{
	uint64_t kept = story->happened < EVENTS_KEPT ? story->happened : EVENTS_KEPT;
	uint32_t mode = story->region.state.mode;
	if (story->happened > kept)
		sample_set_add(out, RECORD_BEFORE_ATTACH, STORY_RUN, story->now_ns)->lost.count = story->happened - kept;
	for (uint64_t i = story->happened - kept; i < story->happened; i++) {
		const struct event *event = &story->events[i % EVENTS_ROOM];
		bool is_of_batch = event->record.kind == RECORD_BATCH_BEGIN || event->record.kind == RECORD_BATCH_END;
		if (is_of_batch && event->mode != mode) {
			struct record *change = sample_set_add(out, RECORD_MODE, STORY_RUN, event->record.time_ns);
			change->sequence = event->record.sequence;
			change->mode.name = mode = event->mode;
		}
		if (event->record.kind == RECORD_MODE)
			mode = event->record.mode.name;
		tell_event(out, event);
	}
}

static void tell_run(struct story *story, struct sample_set *out)
{
	static const char *const names[STORY_NAME_COUNT] = {
		[STORY_NO_NAME] = "",
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
	tell_meta(out, story->now_ns, "RANK", "0");
	tell_meta(out, story->now_ns, "WORLD_SIZE", "1");
	if (story->options.loads_between)
		tell_meta(out, story->now_ns, "between", "data");
	story_region_tell(&story->region, out, STORY_RUN, story->now_ns);
	tell_past_events(story, out);
}

/* Spans that have begun but not ended: they are written, but have not happened. Outermost first. */
static void tell_open_spans(struct story *story, struct sample_set *out)
{
	bool has_any = false;
	for (uint64_t i = story->written; i-- > story->happened;) {
		const struct record *event = &story->events[i % EVENTS_ROOM].record;
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

static void tell_figures(struct story *story, struct sample_set *out)
{
	const struct story_options *options = &story->options;
	int64_t now_ns = story->now_ns;
	double elapsed_ns = (double)(now_ns - options->start_ns);
	for (unsigned i = 0; i <= options->workers; i++) {
		int32_t pid = options->pid + (int32_t)i;
		double resident = i ? 2e8 : story->truth.resident_bytes + 1e6 * chance_of(&story->figures_random);
		const struct { enum metric metric; double value; } figures[] = {
			{ METRIC_PROCESS_RESIDENT, resident }, { METRIC_PROCESS_RESIDENT_PEAK, resident + 2e6 }, { METRIC_PROCESS_ANONYMOUS, 0.9 * resident },
			{ METRIC_PROCESS_FILE, 0.08 * resident }, { METRIC_PROCESS_SHARED, 0.02 * resident }, { METRIC_PROCESS_SWAP, 0 },
			{ METRIC_PROCESS_THREADS, i ? 1 : 9 }, { METRIC_PROCESS_STATE, i ? 'S' : 'R' },
			{ METRIC_PROCESS_CPU_USER, floor(elapsed_ns * (i ? 0.4 : 0.85) / 1e7) * 1e7 }, { METRIC_PROCESS_CPU_SYSTEM, floor(elapsed_ns * 0.05 / 1e7) * 1e7 },
			{ METRIC_PROCESS_RUN_QUEUE_WAIT, elapsed_ns * 0.002 }, { METRIC_PROCESS_MINOR_FAULTS, floor(elapsed_ns * 5e-7) },
			{ METRIC_PROCESS_MAJOR_FAULTS, (double)story->truth.planted * (i ? 0 : 1204) }, { METRIC_PROCESS_SWITCHES_FORCED, floor(elapsed_ns * 1e-8) },
			{ METRIC_PROCESS_READ, elapsed_ns * (i ? 0.02 : 0.001) }, { METRIC_PROCESS_WRITTEN, 0 },
		};
		for (size_t k = 0; k < sizeof figures / sizeof *figures; k++)
			sample_set_figure(out, now_ns, figures[k].metric, pid, figures[k].value);
	}
	sample_set_figure(out, now_ns, METRIC_SELF_CPU, 0, elapsed_ns * 0.002);
	sample_set_figure(out, now_ns, METRIC_SELF_RESIDENT, 0, 5e6);
}

static void tell_end(struct story *story, struct sample_set *out)
{
	bool is_killed = story->options.killed_s > 0 && story->chapter != CHAPTER_END;
	if (story->options.is_published && !is_killed) {
		story->region.state.is_ended = true;
		story_region_tell_state(&story->region, out, STORY_RUN, story->now_ns);
	}
	if (story->options.is_published)
		sample_set_add(out, RECORD_RUN_CLOSED, STORY_RUN, story->now_ns)->text = is_killed ? "its process ended without closing it" : "ended";
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
	story->random = options->seed;
	story->figures_random = ~options->seed;
	story->told_ns = options->start_ns;
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
	int64_t now_ns = story->is_attached ? story->now_ns + options->period_ns : options->start_ns + llround(options->attach_s * 1e9);
	int64_t killed_ns = options->start_ns + llround(options->killed_s * 1e9);
	bool is_killed = options->killed_s > 0 && now_ns >= killed_ns;
	out->time_ns = now_ns;
	out->source = "story";
	happen(story, is_killed ? killed_ns : now_ns, story->is_attached && options->is_published ? out : NULL);
	story->now_ns = now_ns;
	if (!story->is_attached) {
		tell_processes(story, out);
		if (options->is_published)
			tell_run(story, out);
	} else if (options->is_published) {
		story_region_tell_state(&story->region, out, STORY_RUN, now_ns);
	}
	story->is_attached = true;
	if (is_killed || (story->chapter == CHAPTER_END && story->happened == story->written)) {
		tell_end(story, out);
		return true;
	}
	if (options->is_published) {
		tell_open_spans(story, out);
		struct record *counter = sample_set_add(out, RECORD_COUNTER, STORY_RUN, now_ns);
		counter->counter.name = STORY_SAMPLES;
		counter->counter.total = (double)(story->truth.batches * STORY_SAMPLES_PER_BATCH);
	}
	tell_figures(story, out);
	return true;
}

struct story_truth story_truth(const struct story *story)
{
	return story->truth;
}

const double *story_steps(const struct story *story, size_t *count)
{
	*count = (size_t)story->truth.steps;
	return story->steps;
}
