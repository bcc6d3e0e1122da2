#include "src/explain/explain.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/explain/explain_flagged.h"
#include "tests/support/rank_group.h"

static int64_t time_at(const struct rank_group *rank_group, double at_s)
{
	return rank_group->base_ns + llround(at_s * 1e9);
}

static struct record *add(struct rank_group *rank_group, enum record_kind kind, unsigned rank, double at_s)
{
	struct record *record = sample_set_add(&rank_group->set, kind, rank, time_at(rank_group, at_s));
	if (!record)
		abort();
	return record;
}

static struct record *add_event(struct rank_group *rank_group, enum record_kind kind, unsigned rank, double at_s)
{
	struct record *record = add(rank_group, kind, rank, at_s);
	record->sequence = rank_group->ranks[rank].sequence++;
	return record;
}

static void add_meta(struct rank_group *rank_group, unsigned rank, const char *key, const char *value)
{
	struct record *record = add(rank_group, RECORD_META, rank, 0);
	record->meta.key = key;
	record->meta.value = sample_set_text(&rank_group->set, value, strlen(value));
}

static void add_state(struct rank_group *rank_group, unsigned rank, bool in_batch, bool is_ended)
{
	struct run_state *state = sample_set_allocate(&rank_group->set, sizeof *state);
	if (!state)
		abort();
	*state = (struct run_state){ .in_epoch = !is_ended,
		.in_batch = in_batch,
		.is_ended = is_ended,
		.epochs_begun = 1,
		.loss = NAN,
		.batch_begin_ns = in_batch ? time_at(rank_group, rank_group->ranks[rank].at_s) : 0,
		.batches_in_epoch = rank_group->ranks[rank].batches };
	add(rank_group, RECORD_STATE, rank, rank_group->ranks[rank].at_s)->state = state;
}

void rank_group_open(struct rank_group *rank_group, struct model *model, int64_t base_ns)
{
	memset(rank_group, 0, sizeof *rank_group);
	rank_group->model = model;
	rank_group->base_ns = base_ns;
}

void rank_group_close(struct rank_group *rank_group) { sample_set_release(&rank_group->set); }

unsigned rank_group_add(struct rank_group *rank_group, long rank, long world, const char *run_id, int32_t pid)
{
	static const char *const names[RANK_GROUP_NAMES] = { [RANK_GROUP_DATA] = "data",
		[RANK_GROUP_FORWARD] = "forward",
		[RANK_GROUP_BACKWARD] = "backward",
		[RANK_GROUP_ALLREDUCE] = "allreduce",
		[RANK_GROUP_OPTIMIZER] = "optimizer" };
	unsigned run = rank_group->count++;
	char text[40];
	struct record *opened = add(rank_group, RECORD_RUN_OPENED, run, 0);
	snprintf(text, sizeof text, "%032u", run + 1);
	opened->opened.uuid = sample_set_text(&rank_group->set, text, strlen(text));
	opened->opened.name = "resnet50";
	opened->opened.abi = "1.0";
	opened->opened.pid = opened->opened.inner_pid = pid;
	opened->opened.start_ns = rank_group->base_ns + (int64_t)run;
	opened->opened.is_live = true;
	for (uint32_t id = 1; id < RANK_GROUP_NAMES; id++) {
		struct record *name = add(rank_group, RECORD_NAME, run, 0);
		name->name.id = id;
		name->name.text = names[id];
	}
	snprintf(text, sizeof text, "%ld", rank);
	if (world)
		add_meta(rank_group, run, "RANK", text);
	snprintf(text, sizeof text, "%ld", world);
	if (world)
		add_meta(rank_group, run, "WORLD_SIZE", text);
	if (run_id)
		add_meta(rank_group, run, "run_id", run_id);
	add_event(rank_group, RECORD_EPOCH_BEGIN, run, 0);
	add_state(rank_group, run, false, false);
	return run;
}

void rank_group_rename(struct rank_group *rank_group, enum rank_group_name name, const char *text)
{
	for (unsigned run = 0; run < rank_group->count; run++) {
		struct record *record = add(rank_group, RECORD_NAME, run, 0);
		record->name.id = name;
		record->name.text = sample_set_text(&rank_group->set, text, strlen(text));
	}
}

static double add_span(struct rank_group *rank_group, unsigned rank, double begin_s, double seconds, uint32_t name)
{
	if (seconds <= 0)
		return begin_s;
	struct record *record = add_event(rank_group, RECORD_SPAN, rank, begin_s + seconds);
	record->span.name = name;
	record->span.duration_ns = llround(seconds * 1e9);
	record->span.self_s = (float)seconds;
	record->span.cpu_s = record->span.memory_bytes = NAN;
	return begin_s + seconds;
}

static double begin_batch(struct rank_group *rank_group, unsigned rank)
{
	struct record *begin = add_event(rank_group, RECORD_BATCH_BEGIN, rank, rank_group->ranks[rank].at_s);
	begin->batch.index = begin->batch.number = rank_group->ranks[rank].batches;
	return rank_group->ranks[rank].at_s;
}

void rank_group_step(struct rank_group *rank_group, unsigned rank, struct rank_group_step step)
{
	const double seconds[RANK_GROUP_NAMES] = { [RANK_GROUP_DATA] = step.data_s,
		[RANK_GROUP_FORWARD] = step.forward_s,
		[RANK_GROUP_BACKWARD] = step.backward_s,
		[RANK_GROUP_ALLREDUCE] = step.allreduce_s,
		[RANK_GROUP_OPTIMIZER] = step.optimizer_s };
	double begin_s = begin_batch(rank_group, rank), at_s = begin_s;
	for (uint32_t name = 1; name < RANK_GROUP_NAMES; name++)
		at_s = add_span(rank_group, rank, at_s, seconds[name], name);
	struct record *end = add_event(rank_group, RECORD_BATCH_END, rank, at_s);
	end->batch.index = end->batch.number = rank_group->ranks[rank].batches++;
	end->batch.begin_ns = time_at(rank_group, begin_s);
	end->batch.loss = 0.5;
	rank_group->ranks[rank].at_s = at_s;
}

void rank_group_hang(struct rank_group *rank_group, unsigned rank, enum rank_group_name name)
{
	double begin_s = begin_batch(rank_group, rank);
	add_state(rank_group, rank, true, false);
	if (!name)
		return;
	struct record *open = add(rank_group, RECORD_OPEN_SPAN, rank, begin_s);
	open->span.name = name;
}

void rank_group_load(struct rank_group *rank_group, unsigned rank) { add_state(rank_group, rank, false, false); }

void rank_group_end(struct rank_group *rank_group, unsigned rank, double at_s, bool is_killed)
{
	rank_group->ranks[rank].at_s = at_s;
	if (!is_killed)
		add_state(rank_group, rank, false, true);
	add(rank_group, RECORD_RUN_CLOSED, rank, at_s)->text =
		is_killed ? "killed or crashed: its last events were read" : "ended";
}

void rank_group_figure(struct rank_group *rank_group, double at_s, enum metric metric, int32_t pid, double value)
{
	sample_set_figure(&rank_group->set, time_at(rank_group, at_s), metric, pid, value);
}

void rank_group_apply(struct rank_group *rank_group, double at_s)
{
	rank_group->set.time_ns = time_at(rank_group, at_s);
	rank_group->set.source = "ranks";
	model_apply(rank_group->model, &rank_group->set);
	explain_flagged(rank_group->model);
	sample_set_clear(&rank_group->set);
}
