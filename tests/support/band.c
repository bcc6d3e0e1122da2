#include "tests/support/band.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int64_t time_at(const struct band *band, double at_s) { return band->base_ns + llround(at_s * 1e9); }

static struct record *add(struct band *band, enum record_kind kind, unsigned rank, double at_s)
{
	struct record *record = sample_set_add(&band->set, kind, rank, time_at(band, at_s));
	if (!record)
		abort();
	return record;
}

static struct record *add_event(struct band *band, enum record_kind kind, unsigned rank, double at_s)
{
	struct record *record = add(band, kind, rank, at_s);
	record->sequence = band->ranks[rank].sequence++;
	return record;
}

static void add_meta(struct band *band, unsigned rank, const char *key, const char *value)
{
	struct record *record = add(band, RECORD_META, rank, 0);
	record->meta.key = key;
	record->meta.value = sample_set_text(&band->set, value, strlen(value));
}

static void add_state(struct band *band, unsigned rank, bool in_batch, bool is_ended)
{
	struct run_state *state = sample_set_allocate(&band->set, sizeof *state);
	if (!state)
		abort();
	*state = (struct run_state){ .in_epoch = !is_ended,
		.in_batch = in_batch,
		.is_ended = is_ended,
		.epochs_begun = 1,
		.loss = NAN,
		.batch_begin_ns = in_batch ? time_at(band, band->ranks[rank].at_s) : 0,
		.batches_in_epoch = band->ranks[rank].batches };
	add(band, RECORD_STATE, rank, band->ranks[rank].at_s)->state = state;
}

void band_open(struct band *band, struct model *model, int64_t base_ns)
{
	memset(band, 0, sizeof *band);
	band->model = model;
	band->base_ns = base_ns;
}

void band_close(struct band *band) { sample_set_release(&band->set); }

unsigned band_add(struct band *band, long rank, long world, const char *run_id, int32_t pid)
{
	static const char *const names[BAND_NAMES] = { [BAND_DATA] = "data",
		[BAND_FORWARD] = "forward",
		[BAND_BACKWARD] = "backward",
		[BAND_ALLREDUCE] = "allreduce",
		[BAND_OPTIMIZER] = "optimizer" };
	unsigned run = band->count++;
	char text[40];
	struct record *opened = add(band, RECORD_RUN_OPENED, run, 0);
	snprintf(text, sizeof text, "%032u", run + 1);
	opened->opened.uuid = sample_set_text(&band->set, text, strlen(text));
	opened->opened.name = "resnet50";
	opened->opened.abi = "1.0";
	opened->opened.pid = opened->opened.inner_pid = pid;
	opened->opened.start_ns = band->base_ns + (int64_t)run;
	opened->opened.is_live = true;
	for (uint32_t id = 1; id < BAND_NAMES; id++) {
		struct record *name = add(band, RECORD_NAME, run, 0);
		name->name.id = id;
		name->name.text = names[id];
	}
	snprintf(text, sizeof text, "%ld", rank);
	if (world)
		add_meta(band, run, "RANK", text);
	snprintf(text, sizeof text, "%ld", world);
	if (world)
		add_meta(band, run, "WORLD_SIZE", text);
	if (run_id)
		add_meta(band, run, "run_id", run_id);
	add_event(band, RECORD_EPOCH_BEGIN, run, 0);
	add_state(band, run, false, false);
	return run;
}

void band_rename(struct band *band, enum band_name name, const char *text)
{
	for (unsigned run = 0; run < band->count; run++) {
		struct record *record = add(band, RECORD_NAME, run, 0);
		record->name.id = name;
		record->name.text = sample_set_text(&band->set, text, strlen(text));
	}
}

static double add_span(struct band *band, unsigned rank, double begin_s, double seconds, uint32_t name)
{
	if (seconds <= 0)
		return begin_s;
	struct record *record = add_event(band, RECORD_SPAN, rank, begin_s + seconds);
	record->span.name = name;
	record->span.duration_ns = llround(seconds * 1e9);
	record->span.self_s = (float)seconds;
	record->span.cpu_s = record->span.memory_bytes = NAN;
	return begin_s + seconds;
}

static double begin_batch(struct band *band, unsigned rank)
{
	struct record *begin = add_event(band, RECORD_BATCH_BEGIN, rank, band->ranks[rank].at_s);
	begin->batch.index = begin->batch.number = band->ranks[rank].batches;
	return band->ranks[rank].at_s;
}

void band_step(struct band *band, unsigned rank, struct band_step step)
{
	const double seconds[BAND_NAMES] = { [BAND_DATA] = step.data_s,
		[BAND_FORWARD] = step.forward_s,
		[BAND_BACKWARD] = step.backward_s,
		[BAND_ALLREDUCE] = step.allreduce_s,
		[BAND_OPTIMIZER] = step.optimizer_s };
	double begin_s = begin_batch(band, rank), at_s = begin_s;
	for (uint32_t name = 1; name < BAND_NAMES; name++)
		at_s = add_span(band, rank, at_s, seconds[name], name);
	struct record *end = add_event(band, RECORD_BATCH_END, rank, at_s);
	end->batch.index = end->batch.number = band->ranks[rank].batches++;
	end->batch.begin_ns = time_at(band, begin_s);
	end->batch.loss = 0.5;
	band->ranks[rank].at_s = at_s;
}

void band_hang(struct band *band, unsigned rank, enum band_name name)
{
	double begin_s = begin_batch(band, rank);
	add_state(band, rank, true, false);
	if (!name)
		return;
	struct record *open = add(band, RECORD_OPEN_SPAN, rank, begin_s);
	open->span.name = name;
}

void band_load(struct band *band, unsigned rank) { add_state(band, rank, false, false); }

void band_end(struct band *band, unsigned rank, double at_s, bool is_killed)
{
	band->ranks[rank].at_s = at_s;
	if (!is_killed)
		add_state(band, rank, false, true);
	add(band, RECORD_RUN_CLOSED, rank, at_s)->text =
		is_killed ? "killed or crashed: its last events are kept" : "ended";
}

void band_figure(struct band *band, double at_s, enum metric metric, int32_t pid, double value)
{
	sample_set_figure(&band->set, time_at(band, at_s), metric, pid, value);
}

void band_apply(struct band *band, double at_s)
{
	band->set.time_ns = time_at(band, at_s);
	band->set.source = "band";
	model_apply(band->model, &band->set);
	sample_set_clear(&band->set);
}
