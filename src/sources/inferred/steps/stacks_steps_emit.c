#include "src/sources/inferred/steps/stacks_steps_emit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "src/sources/inferred/steps/stacks_steps_private.h"

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

static void emit_meta(
	const struct stacks_steps *steps, const char *key, const char *value, int64_t now_ns, struct sample_set *out)
{
	struct record *record = sample_set_add(out, RECORD_META, steps->run, now_ns);
	if (!record)
		return;
	record->meta.key = key;
	record->meta.value = sample_set_text(out, value, strlen(value));
}

static void emit_what(const struct stacks_steps *steps, int64_t now_ns, struct sample_set *out)
{
	const char *const meta[][2] = { { "counted_by", *steps->what.text ? steps->what.text : "torch DataLoader" },
		{ "inferred.file", steps->what.file }, { "inferred.line", steps->line },
		{ "inferred.certain", steps->what.is_certain ? "yes" : "no" },
		{ "inferred.at_least", steps->is_at_least || steps->what.is_at_least ? "yes" : "" },
		{ "inferred.chosen", steps->what.is_chosen ? "yes" : "" }, { "micro_batches", steps->micro_batches },
		{ "inferred.steps_before", steps->steps_before }, { "inferred.steps_planned", steps->steps_planned } };
	for (size_t i = 0; i < sizeof meta / sizeof *meta; i++)
		if (*meta[i][1])
			emit_meta(steps, meta[i][0], meta[i][1], now_ns, out);
}

static void emit_job(const struct stacks_steps *steps, int64_t now_ns, struct sample_set *out)
{
	const char *key, *value;
	for (size_t i = 0; i < STACKS_JOB_KEYS; i++)
		if (stacks_job_meta(&steps->job, i, &key, &value))
			emit_meta(steps, key, value, now_ns, out);
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
	emit_what(steps, now_ns, out);
	emit_job(steps, now_ns, out);
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

static void emit_state(
	const struct stacks_steps *steps, const struct run_state *emitted, int64_t now_ns, struct sample_set *out)
{
	struct run_state *state = sample_set_allocate(out, sizeof *state);
	struct record *record = state ? sample_set_add(out, RECORD_STATE, steps->run, now_ns) : NULL;
	if (!record)
		return;
	*state = *emitted;
	record->state = state;
}

static uint32_t index_of(const struct event *event) { return event->is_numbered ? event->epoch : EPOCH_UNKNOWN; }

static void follow_epoch(struct emitted_epoch *epoch, const struct event *event)
{
	if (event->kind == RECORD_EPOCH_BEGIN && !(epoch->is_open && epoch->index == event->epoch))
		*epoch = (struct emitted_epoch){
			.is_open = true, .is_numbered = event->is_numbered, .index = event->epoch, .begin_ns = event->time_ns
		};
	else if (event->kind == RECORD_EPOCH_END)
		epoch->is_open = false;
	else
		epoch->batches += event->kind == RECORD_BATCH_END && event->mode == MODE_TRAIN;
}

static void emit_event(struct stacks_steps *steps, const struct event *event, struct sample_set *out)
{
	struct record *record = sample_set_add(out, event->kind, steps->run, event->time_ns);
	uint64_t sequence = steps->sequence++;
	follow_epoch(&steps->emitted, event);
	if (!record)
		return;
	record->sequence = sequence;
	if (event->kind == RECORD_MODE) {
		record->mode.name = event->mode;
	} else if (event->kind == RECORD_EPOCH_BEGIN || event->kind == RECORD_EPOCH_END) {
		record->epoch.index = index_of(event);
	} else {
		record->batch.index = event->index;
		record->batch.number = event->number;
		record->batch.loss = event->loss;
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

static void emit_epoch(const struct stacks_steps *steps, int64_t now_ns, struct sample_set *out)
{
	struct epoch_row *row = steps->emitted.is_open ? sample_set_allocate(out, sizeof *row) : NULL;
	struct record *record = row ? sample_set_add(out, RECORD_EPOCHS, steps->run, now_ns) : NULL;
	if (!record)
		return;
	*row = (struct epoch_row){ .index = steps->emitted.is_numbered ? steps->emitted.index : EPOCH_UNKNOWN,
		.mode = MODE_TRAIN,
		.begin_ns = steps->emitted.begin_ns,
		.batches = steps->emitted.batches,
		.sum_s = (double)NAN,
		.min_s = (double)NAN,
		.max_s = (double)NAN };
	record->epochs.rows = row;
	record->epochs.count = 1;
	record->epochs.dropped = steps->emitted.index;
	record->epochs.upto = steps->number - count_waiting(steps, MODE_TRAIN) - count_waiting(steps, MODE_VALIDATION);
}

/* Emits what a reader that joins late needs; the waiting events follow. */
static void emit_all(const struct stacks_steps *steps, int64_t now_ns, struct sample_set *out)
{
	emit_opened(steps, now_ns, out);
	for (enum mode mode = MODE_TRAIN; mode <= MODE_VALIDATION; mode++)
		emit_total(steps, mode, steps->counted[mode] - count_waiting(steps, mode), now_ns, out);
	emit_epoch(steps, now_ns, out);
	if (steps->is_emitted)
		emit_state(steps, &steps->emitted_state, now_ns, out);
}

/* The pass in which pmtop started may validate. */
static bool is_undecided(const struct stacks_steps *steps)
{
	for (size_t i = 0; i < steps->epoch_count; i++)
		if (steps->epochs[i].is_undecided && steps->epochs[i].joined > 0)
			return true;
	return false;
}

static bool emit_closed(const struct stacks_steps *steps, const char *why, int64_t now_ns, struct sample_set *out)
{
	struct record *record = sample_set_add(out, RECORD_RUN_CLOSED, steps->run, now_ns);
	if (record)
		record->text = why;
	return record;
}

static void emit_new(struct stacks_steps *steps, int64_t now_ns, struct sample_set *out)
{
	if (steps->is_withdrawn)
		emit_closed(steps, END_WITHDRAWN, now_ns, out);
	steps->is_withdrawn = false;
	bool is_awaiting = !steps->is_ended && (now_ns < steps->epoch_until_ns || is_undecided(steps));
	if (steps->replaces && !steps->has_replaced)
		emit_opened(steps, now_ns, out);
	steps->has_replaced = steps->replaces;
	if (!steps->is_emitted && (steps->event_count == 0 || is_awaiting) && !(steps->has_replaced && steps->is_ended))
		return;
	if (!steps->is_emitted)
		emit_all(steps, now_ns, out);
	else if (steps->has_new_what)
		emit_what(steps, now_ns, out);
	if (steps->is_emitted && steps->has_new_job)
		emit_job(steps, now_ns, out);
	steps->has_new_what = steps->has_new_job = false;
	steps->is_emitted = true;
	for (size_t i = 0; i < steps->event_count; i++)
		emit_event(steps, &steps->events[i], out);
	if (steps->event_count > 0 || (steps->is_ended && !steps->has_ended_emitted)) {
		steps->emitted_state = steps->state;
		if (!steps->is_numbered)
			steps->emitted_state.epoch_index = EPOCH_UNKNOWN;
		emit_state(steps, &steps->emitted_state, now_ns, out);
	}
	steps->event_count = 0;
	if (steps->is_ended && !steps->has_ended_emitted)
		steps->has_ended_emitted = emit_closed(steps, "ended", now_ns, out);
}

void stacks_steps_emit(struct stacks_steps *steps, bool again, int64_t now_ns, struct sample_set *out)
{
	if (!again)
		emit_new(steps, now_ns, out);
	else if (steps->is_emitted && !steps->has_ended_emitted)
		emit_all(steps, now_ns, out);
}

void stacks_steps_place(struct stacks_steps *steps, const struct stacks_job *job, bool is_elsewhere)
{
	steps->has_new_job |= !stacks_job_is_equal(&steps->job, job);
	steps->job = *job;
	steps->is_elsewhere = is_elsewhere;
}

void stacks_steps_describe(struct stacks_steps *steps, const struct stacks_what *what)
{
	const struct stacks_what *now = &steps->what;
	if (now->line == what->line && now->is_certain == what->is_certain && now->is_at_least == what->is_at_least &&
		now->micro_batches == what->micro_batches && now->is_chosen == what->is_chosen &&
		strcmp(now->text, what->text) == 0 && strcmp(now->file, what->file) == 0)
		return;
	steps->what = *what;
	steps->has_new_what = true;
	steps->line[0] = steps->micro_batches[0] = '\0';
	if (what->micro_batches > 1)
		snprintf(steps->micro_batches, sizeof steps->micro_batches, "%u", what->micro_batches);
	if (what->line > 0)
		snprintf(steps->line, sizeof steps->line, "%d", what->line);
}
