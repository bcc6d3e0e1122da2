#include "src/sources/inferred/stacks_steps.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/clock.h"

/* A step is emitted once it took POLLS_A_STEP polls: its time is then precise to 20 %, and more so for longer
 * steps. */
enum {
	POLLS_A_STEP = 5,
	POLLS_WANTED = 16,
	POLLS_SINGLE = 5,
	EPOCHS_MAX = 16,
	LOADERS_MAX = 16,
	FIRST_RUN = 255,
	RUNS_MAX = 64
};
#define POLL_MIN_NS (20 * NS_PER_MS)
#define POLL_MAX_NS (50 * NS_PER_MS)
#define LOOP_WAIT_NS (2 * NS_PER_S)
#define LATE_MAX_NS (1 * NS_PER_S)

enum mode { MODE_TRAIN = 1, MODE_VALIDATION = 2 }; /* ids of names */

/* An epoch, or a validation pass. */
struct epoch {
	uint64_t serial;
	enum mode mode;
	uint64_t emitted;               /* batches whose begin was emitted */
	uint64_t yielded;               /* at the last poll */
	int64_t since_ns;               /* when it was found */
	int64_t emitted_ns, yielded_ns; /* begin of the last emitted batch; last poll that saw a new batch */
	bool is_begun;                  /* EPOCH_BEGIN was emitted, if it is of training */
	uint64_t length;                /* batches in the epoch, samples in a batch; 0 = unknown */
	uint32_t batch_size;
};

/* The mode of the loop in which a loader was found. */
struct loader {
	uint64_t sampler;
	enum mode mode;
};

struct event {
	enum record_kind kind;
	int64_t time_ns;
	uint64_t index, number;
	enum mode mode;
	uint32_t epoch;
};

struct stacks_steps {
	uint8_t run;
	pid_t pid;
	char name[128], uuid[33];
	bool is_emitted, is_ended, has_ended_emitted;
	size_t epoch_count;
	struct epoch epochs[EPOCHS_MAX];
	size_t loader_count;
	struct loader loaders[LOADERS_MAX];
	uint64_t current; /* serial of the epoch whose batch is open; 0 = none */
	enum mode mode;
	uint64_t sequence, number; /* of the next event; of the next batch */
	uint64_t counted[3];       /* ended batches, by mode, including those before pmtop's start */
	struct run_state state;
	int64_t event_ns; /* time of the newest event: events are in order */
	double step_s;    /* moving average of the step time; NAN */
	size_t event_count, event_room;
	struct event *events; /* not emitted yet */
};

struct stacks_steps *stacks_steps_new(unsigned number, pid_t pid, uint64_t start_ticks, const char *name)
{
	struct stacks_steps *steps = number < RUNS_MAX ? calloc(1, sizeof *steps) : NULL;
	if (!steps)
		return NULL;
	steps->run = (uint8_t)(FIRST_RUN - number);
	steps->pid = pid;
	steps->mode = MODE_TRAIN;
	steps->step_s = (double)NAN;
	steps->state = (struct run_state){ .mode = MODE_TRAIN, .loss = (double)NAN };
	snprintf(steps->name, sizeof steps->name, "%s", name);
	snprintf(
		steps->uuid, sizeof steps->uuid, "%016llx%016llx", (unsigned long long)pid, (unsigned long long)start_ticks);
	return steps;
}

void stacks_steps_free(struct stacks_steps *steps)
{
	free(steps ? steps->events : NULL);
	free(steps);
}

/* -- from counts to events -- */

static void add(struct stacks_steps *steps, enum record_kind kind, int64_t time_ns, uint64_t index)
{
	if (steps->event_count == steps->event_room) {
		size_t room = steps->event_room ? 2 * steps->event_room : 64;
		struct event *longer = realloc(steps->events, room * sizeof *longer);
		if (!longer)
			return;
		steps->events = longer;
		steps->event_room = room;
	}
	steps->event_ns = time_ns > steps->event_ns ? time_ns : steps->event_ns;
	steps->events[steps->event_count++] =
		(struct event){ kind, steps->event_ns, index, steps->number, steps->mode, steps->state.epoch_index };
}

/* Matches the beginning of words: "val_loader", "evaluate", "for batch in test_data", but not "retrieval" or
 * "latest". */
static bool has_word(const char *text, const char *word)
{
	for (const char *at = text; text && (at = strstr(at, word)); at++)
		if ((at == text || !isalpha((unsigned char)at[-1])) && strncmp(at, "value", 5) != 0)
			return true;
	return false;
}

static enum mode mode_of(const struct py_counted *counted, const char *text)
{
	static const char *const words[] = { "val", "eval", "test" };
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (has_word(text, words[i]) || has_word(counted->function, words[i]) ||
			strstr(counted->file, "/evaluation_loop.py"))
			return MODE_VALIDATION;
	return MODE_TRAIN;
}

static struct loader *find_loader(struct stacks_steps *steps, uint64_t sampler)
{
	for (size_t i = 0; i < steps->loader_count; i++)
		if (steps->loaders[i].sampler == sampler)
			return &steps->loaders[i];
	return NULL;
}

static void remember_loader(struct stacks_steps *steps, uint64_t sampler, enum mode mode)
{
	struct loader *loader = find_loader(steps, sampler);
	if (!loader)
		loader = &steps->loaders[steps->loader_count < LOADERS_MAX ? steps->loader_count++ : LOADERS_MAX - 1];
	*loader = (struct loader){ sampler, mode };
}

/* The loop may be found later than its loader. Until then its loader, or the fact that another one trains, decides
 * the mode. False: wait. */
static bool find_mode(struct stacks_steps *steps, const struct py_counted *counted, const char *text, int64_t since_ns,
	int64_t now_ns, enum mode *mode)
{
	const struct loader *loader = find_loader(steps, counted->sampler);
	if (*counted->function) {
		*mode = mode_of(counted, text);
		remember_loader(steps, counted->sampler, *mode);
		return true;
	}
	*mode = loader ? loader->mode : steps->state.epochs_begun > 0 ? MODE_VALIDATION : MODE_TRAIN;
	return loader || counted->is_over || now_ns - since_ns > LOOP_WAIT_NS;
}

static void end_batch(struct stacks_steps *steps, int64_t time_ns)
{
	if (!steps->state.in_batch)
		return;
	add(steps, RECORD_BATCH_END, time_ns, steps->state.batch_index);
	steps->counted[steps->mode]++;
	steps->number++;
	steps->state.in_batch = false;
	steps->state.batches_in_epoch += steps->mode == MODE_TRAIN;
	steps->current = 0;
}

static void set_mode(struct stacks_steps *steps, enum mode mode, int64_t time_ns)
{
	if (steps->mode == mode)
		return;
	steps->mode = mode;
	steps->state.mode = mode;
	add(steps, RECORD_MODE, time_ns, 0);
}

static void end_epoch(struct stacks_steps *steps, int64_t time_ns)
{
	if (!steps->state.in_epoch)
		return;
	set_mode(steps, MODE_TRAIN, time_ns);
	add(steps, RECORD_EPOCH_END, time_ns, 0);
	steps->state.in_epoch = false;
}

static void begin_epoch(struct stacks_steps *steps, struct epoch *epoch, int64_t time_ns)
{
	if (epoch->is_begun)
		return;
	epoch->is_begun = true;
	if (epoch->mode != MODE_TRAIN)
		return;
	end_epoch(steps, time_ns);
	set_mode(steps, MODE_TRAIN, time_ns);
	steps->state.epoch_index = steps->state.epochs_begun++;
	steps->state.in_epoch = true;
	steps->state.epoch_begin_ns = time_ns;
	steps->state.batches_in_epoch = 0;
	steps->state.batches_per_epoch = epoch->length;
	steps->state.samples_per_batch = epoch->batch_size;
	add(steps, RECORD_EPOCH_BEGIN, time_ns, 0);
}

/* The loader delivers batch `index` of the epoch. */
static void begin_batch(struct stacks_steps *steps, struct epoch *epoch, uint64_t index, int64_t time_ns)
{
	end_batch(steps, time_ns);
	set_mode(steps, epoch->mode, time_ns);
	add(steps, RECORD_BATCH_BEGIN, time_ns, index);
	steps->state.in_batch = true;
	steps->state.batch_index = index;
	steps->state.batch_begin_ns = time_ns;
	steps->current = epoch->serial;
}

/* An epoch is found after it began: estimates its begin from the batches so far and the step time, if plausible. */
static int64_t estimate_begin_ns(const struct stacks_steps *steps, uint64_t yielded, int64_t now_ns)
{
	double baseline_ns = (double)yielded * steps->step_s * (double)NS_PER_S;
	int64_t since_event_ns = now_ns - steps->event_ns;
	bool is_close = steps->event_ns > 0 && since_event_ns < LATE_MAX_NS;
	if (isnan(steps->step_s))
		return is_close ? steps->event_ns : now_ns - POLL_MIN_NS;
	return baseline_ns < (double)since_event_ns ? now_ns - (int64_t)baseline_ns : steps->event_ns;
}

static struct epoch *find_epoch(
	struct stacks_steps *steps, const struct py_counted *counted, const char *text, int64_t now_ns)
{
	for (size_t i = 0; i < steps->epoch_count; i++)
		if (steps->epochs[i].serial == counted->serial)
			return &steps->epochs[i];
	if (steps->epoch_count == EPOCHS_MAX)
		return NULL;
	struct epoch *epoch = &steps->epochs[steps->epoch_count++];
	*epoch = (struct epoch){ .serial = counted->serial,
		.since_ns = now_ns,
		.emitted_ns = estimate_begin_ns(steps, counted->yielded, now_ns),
		.yielded_ns = now_ns };
	find_mode(steps, counted, text, now_ns, now_ns, &epoch->mode);
	/* pmtop started in the middle of this epoch: earlier batches are counted, without times. */
	if (counted->yielded > 1 && !steps->is_emitted && steps->event_count == 0) {
		epoch->emitted = epoch->yielded = counted->yielded;
		epoch->emitted_ns = epoch->yielded_ns = now_ns;
		begin_epoch(steps, epoch, now_ns);
		/* This includes the current batch, whose duration is unknown. */
		steps->counted[epoch->mode] += counted->yielded;
		steps->number += counted->yielded;
		steps->state.batches_in_epoch += epoch->mode == MODE_TRAIN ? counted->yielded : 0;
	}
	return epoch;
}

/* The end of an epoch is detected when the next one may have begun: estimates the end from the last batches and the
 * step time, if plausible. Time after the loop is not part of them; nor, then, is a slow last batch. */
static int64_t estimate_end_ns(const struct stacks_steps *steps, const struct epoch *epoch, int64_t now_ns)
{
	double baseline_ns = (double)(epoch->yielded - epoch->emitted + 1) * steps->step_s * (double)NS_PER_S;
	bool can_be = steps->current == epoch->serial && baseline_ns < (double)(now_ns - epoch->emitted_ns);
	return can_be ? epoch->emitted_ns + (int64_t)baseline_ns : now_ns;
}

/* Whether that many batches fit between the last poll with a new batch and now. */
static bool could_be_missed(const struct stacks_steps *steps, const struct epoch *epoch, uint64_t count, int64_t now_ns)
{
	double max = isnan(steps->step_s) ? 0 : (double)(now_ns - epoch->yielded_ns) * 1e-9 / steps->step_s;
	return (double)count <= max + 1;
}

static void drop_epoch(struct stacks_steps *steps, struct epoch *epoch, int64_t end_ns)
{
	if (steps->current == epoch->serial)
		end_batch(steps, end_ns);
	if (epoch->mode == MODE_TRAIN && epoch->is_begun)
		end_epoch(steps, end_ns);
	*epoch = steps->epochs[--steps->epoch_count];
}

static bool is_fast(const struct stacks_steps *steps)
{
	return steps->step_s * (double)NS_PER_S < POLLS_SINGLE * (double)POLL_MIN_NS;
}

/* Short steps are known only by their mean, which needs few polls. */
static int64_t poll_ns(const struct stacks_steps *steps)
{
	double wanted_ns = steps->step_s / POLLS_WANTED * (double)NS_PER_S;
	if (isnan(steps->step_s))
		return POLL_MIN_NS;
	if (is_fast(steps) || wanted_ns > (double)POLL_MAX_NS)
		return POLL_MAX_NS;
	return wanted_ns > (double)POLL_MIN_NS ? (int64_t)wanted_ns : POLL_MIN_NS;
}

/* Emits the new batches evenly spaced since the last emitted one. If the epoch is over the last batch ended at
 * until_ns, otherwise it begins there. */
static void emit_batches(struct stacks_steps *steps, struct epoch *epoch, bool is_over, int64_t until_ns)
{
	uint64_t count = epoch->yielded - epoch->emitted;
	bool is_alone = epoch->emitted_ns >= steps->event_ns;
	int64_t from_ns = is_alone ? epoch->emitted_ns : steps->event_ns;
	from_ns = from_ns < until_ns ? from_ns : until_ns;
	double each_ns = (double)(until_ns - from_ns) / (double)(count + is_over);
	begin_epoch(steps, epoch, from_ns);
	for (uint64_t i = 0; i < count; i++)
		begin_batch(steps, epoch, epoch->emitted++, from_ns + (int64_t)(each_ns * (double)(i + 1)));
	if (is_alone && epoch->emitted > count) {
		double step_s = each_ns * 1e-9;
		steps->step_s = isnan(steps->step_s) ? step_s : steps->step_s + (step_s - steps->step_s) / 8;
	}
	epoch->emitted_ns = until_ns;
}

/* Batches that the last polls may have missed are emitted too. */
static void finish_epoch(struct stacks_steps *steps, struct epoch *epoch, int64_t now_ns)
{
	if (epoch->yielded < epoch->length && could_be_missed(steps, epoch, epoch->length - epoch->yielded, now_ns))
		epoch->yielded = epoch->length;
	int64_t end_ns = estimate_end_ns(steps, epoch, now_ns);
	if (epoch->yielded > epoch->emitted)
		emit_batches(steps, epoch, true, end_ns);
	drop_epoch(steps, epoch, end_ns);
}

static void take_one(struct stacks_steps *steps, const struct py_counted *counted, const char *text, int64_t now_ns)
{
	struct epoch *epoch = find_epoch(steps, counted, text, now_ns);
	if (!epoch)
		return;
	epoch->length = counted->length;
	epoch->batch_size = counted->batch_size;
	bool is_known = epoch->emitted > 0 || find_mode(steps, counted, text, epoch->since_ns, now_ns, &epoch->mode);
	if (counted->yielded > epoch->yielded) {
		epoch->yielded = counted->yielded;
		epoch->yielded_ns = now_ns;
	}
	bool is_first = !is_fast(steps) && (epoch->emitted == 0 || steps->current != epoch->serial),
		 is_long = epoch->yielded_ns - epoch->emitted_ns >= POLLS_A_STEP * poll_ns(steps);
	if (counted->is_over)
		finish_epoch(steps, epoch, now_ns);
	else if (is_known && epoch->yielded > epoch->emitted && (is_first || is_long))
		emit_batches(steps, epoch, false, epoch->yielded_ns);
}

void stacks_steps_take(struct stacks_steps *steps, const struct py_counted *counted, size_t count,
	const char *const *texts, int64_t now_ns)
{
	for (size_t i = 0; i < count && !steps->is_ended; i++)
		take_one(steps, &counted[i], texts[i], now_ns);
}

int64_t stacks_steps_next_ns(const struct stacks_steps *steps, int64_t now_ns) { return now_ns + poll_ns(steps); }

void stacks_steps_end(struct stacks_steps *steps, int64_t now_ns)
{
	if (steps->is_ended)
		return;
	while (steps->epoch_count > 0)
		finish_epoch(steps, &steps->epochs[0], now_ns);
	end_batch(steps, now_ns);
	end_epoch(steps, now_ns);
	steps->state.is_ended = true;
	steps->is_ended = true;
}

/* -- output -- */

static void emit_name(
	const struct stacks_steps *steps, enum mode mode, const char *text, int64_t now_ns, struct sample_set *out)
{
	struct record *record = sample_set_add(out, RECORD_NAME, steps->run, now_ns);
	if (!record)
		return;
	record->name.id = mode;
	record->name.text = text;
}

static void emit_opened(const struct stacks_steps *steps, int64_t now_ns, struct sample_set *out)
{
	struct record *record = sample_set_add(out, RECORD_RUN_OPENED, steps->run, now_ns);
	if (!record)
		return;
	record->opened.pid = steps->pid;
	record->opened.inner_pid = steps->pid;
	record->opened.name = sample_set_text(out, steps->name, strlen(steps->name));
	record->opened.uuid = sample_set_text(out, steps->uuid, strlen(steps->uuid));
	record->opened.abi = STEPS_ABI;
	record->opened.start_ns = now_ns;
	record->opened.is_live = true;
	emit_name(steps, MODE_TRAIN, "train", now_ns, out);
	emit_name(steps, MODE_VALIDATION, "validation", now_ns, out);
	record = sample_set_add(out, RECORD_META, steps->run, now_ns);
	if (record) {
		record->meta.key = "counted_by";
		record->meta.value = "torch DataLoader";
	}
}

/* Batches that were counted but not emitted as events. */
static void emit_total(
	const struct stacks_steps *steps, enum mode mode, uint64_t count, int64_t now_ns, struct sample_set *out)
{
	const double unknown = (double)NAN;
	for (enum total_kind kind = TOTAL_BATCH; count > 0 && kind <= TOTAL_STEP; kind++) {
		struct total_row *row = sample_set_allocate(out, sizeof *row);
		struct record *record = row ? sample_set_add(out, RECORD_TOTAL, steps->run, now_ns) : NULL;
		if (!record)
			return;
		*row = (struct total_row){ .kind = kind,
			.mode = mode,
			.upto = steps->sequence,
			.count = count,
			.total_s = unknown,
			.self_s = unknown,
			.min_s = unknown,
			.max_s = unknown,
			.last_s = unknown,
			.squares_s2 = unknown,
			.cpu_s = unknown,
			.memory_bytes = unknown };
		record->total = row;
	}
}

static void emit_state(const struct stacks_steps *steps, int64_t now_ns, struct sample_set *out)
{
	struct run_state *state = sample_set_allocate(out, sizeof *state);
	struct record *record = state ? sample_set_add(out, RECORD_STATE, steps->run, now_ns) : NULL;
	if (!record)
		return;
	*state = steps->state;
	record->state = state;
}

static void emit_event(struct stacks_steps *steps, const struct event *event, struct sample_set *out)
{
	struct record *record = sample_set_add(out, event->kind, steps->run, event->time_ns);
	uint64_t sequence = steps->sequence++;
	if (!record)
		return;
	record->sequence = sequence;
	if (event->kind == RECORD_MODE) {
		record->mode.name = event->mode;
	} else if (event->kind == RECORD_EPOCH_BEGIN || event->kind == RECORD_EPOCH_END) {
		record->epoch.index = event->epoch;
	} else {
		record->batch.index = event->index;
		record->batch.number = event->number;
		record->batch.loss = (double)NAN;
	}
}

/* Batches whose end is not emitted yet. */
static uint64_t count_waiting(const struct stacks_steps *steps, enum mode mode)
{
	uint64_t count = 0;
	for (size_t i = 0; i < steps->event_count; i++)
		count += steps->events[i].kind == RECORD_BATCH_END && steps->events[i].mode == mode;
	return count;
}

/* The current epoch with its emitted batches. */
static void emit_epoch(const struct stacks_steps *steps, int64_t now_ns, struct sample_set *out)
{
	uint64_t waiting = count_waiting(steps, MODE_TRAIN);
	struct epoch_row *row = steps->state.in_epoch ? sample_set_allocate(out, sizeof *row) : NULL;
	struct record *record = row ? sample_set_add(out, RECORD_EPOCHS, steps->run, now_ns) : NULL;
	if (!record || steps->state.batches_in_epoch < waiting)
		return;
	*row = (struct epoch_row){ .index = steps->state.epoch_index,
		.mode = MODE_TRAIN,
		.begin_ns = steps->state.epoch_begin_ns,
		.batches = steps->state.batches_in_epoch - waiting,
		.sum_s = (double)NAN,
		.min_s = (double)NAN,
		.max_s = (double)NAN };
	record->epochs.rows = row;
	record->epochs.count = 1;
	record->epochs.dropped = steps->state.epoch_index;
	record->epochs.upto = steps->number - waiting - count_waiting(steps, MODE_VALIDATION);
}

/* Emits what a reader that joins late needs; the waiting events follow. */
static void emit_all(const struct stacks_steps *steps, int64_t now_ns, struct sample_set *out)
{
	emit_opened(steps, now_ns, out);
	for (enum mode mode = MODE_TRAIN; mode <= MODE_VALIDATION; mode++)
		emit_total(steps, mode, steps->counted[mode] - count_waiting(steps, mode), now_ns, out);
	emit_epoch(steps, now_ns, out);
	emit_state(steps, now_ns, out);
}

static void emit_new(struct stacks_steps *steps, int64_t now_ns, struct sample_set *out)
{
	if (!steps->is_emitted && steps->event_count == 0)
		return;
	if (!steps->is_emitted)
		emit_all(steps, now_ns, out);
	steps->is_emitted = true;
	for (size_t i = 0; i < steps->event_count; i++)
		emit_event(steps, &steps->events[i], out);
	if (steps->event_count > 0)
		emit_state(steps, now_ns, out);
	steps->event_count = 0;
	struct record *record = steps->is_ended && !steps->has_ended_emitted
		? sample_set_add(out, RECORD_RUN_CLOSED, steps->run, now_ns)
		: NULL;
	if (record) {
		record->text = "ended";
		steps->has_ended_emitted = true;
	}
}

void stacks_steps_emit(struct stacks_steps *steps, bool again, int64_t now_ns, struct sample_set *out)
{
	if (!again)
		emit_new(steps, now_ns, out);
	else if (steps->is_emitted && !steps->has_ended_emitted)
		emit_all(steps, now_ns, out);
}
