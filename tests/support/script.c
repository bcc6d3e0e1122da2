#include "src/explain/explain.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/histogram.h"
#include "src/explain/explain_flagged.h"
#include "src/model/run/steps/tracks.h"
#include "tests/support/script.h"

int64_t script_ns(double at_s) { return SCRIPT_BASE_NS + llround(at_s * 1e9); }

struct record *script_add(struct script *script, enum record_kind kind, double at_s)
{
	struct record *record = sample_set_add(&script->set, kind, 0, script_ns(at_s));
	if (!record)
		abort();
	return record;
}

struct record *script_event(struct script *script, enum record_kind kind, unsigned lane, double at_s)
{
	struct record *record = script_add(script, kind, at_s);
	record->lane = (uint16_t)lane;
	record->sequence = script->sequence[lane]++;
	return record;
}

static void open_run(struct script *script)
{
	static const char *const names[STORY_NAME_COUNT] = { [STORY_NO_NAME] = "",
#define NAME_TEXT(id, text) [STORY_##id] = text,
		STORY_NAMES(NAME_TEXT)
#undef NAME_TEXT
	};
	struct record *opened = script_add(script, RECORD_RUN_OPENED, 0);
	opened->opened.name = "script";
	opened->opened.uuid = "00000000000000000000000000000001";
	opened->opened.abi = "1.0";
	opened->opened.pid = 100;
	opened->opened.start_ns = SCRIPT_BASE_NS;
	opened->opened.is_live = true;
	for (uint32_t id = 1; id < STORY_NAME_COUNT; id++) {
		struct record *name = script_add(script, RECORD_NAME, 0);
		name->name.id = id;
		name->name.text = names[id];
	}
}

void script_open(struct script *script, const struct model_options *options)
{
	struct model_options defaults;
	model_options_default(&defaults);
	memset(script, 0, sizeof *script);
	script->model = model_new(options ? options : &defaults);
	if (!script->model)
		abort();
	open_run(script);
}

void script_close(struct script *script)
{
	sample_set_release(&script->set);
	model_free(script->model);
}

void script_apply(struct script *script, double at_s)
{
	script->set.time_ns = script_ns(at_s);
	script->set.source = "script";
	model_apply(script->model, &script->set);
	explain_flagged(script->model);
	sample_set_clear(&script->set);
}

struct run *script_run(struct script *script) { return &script->model->runs[0]; }

void script_batch_begin(struct script *script, unsigned lane, double at_s, uint64_t index)
{
	struct record *record = script_event(script, RECORD_BATCH_BEGIN, lane, at_s);
	record->batch.index = index;
	record->batch.number = script->batches;
}

void script_batch_end(struct script *script, unsigned lane, double at_s, double begin_s, double loss)
{
	struct record *record = script_event(script, RECORD_BATCH_END, lane, at_s);
	record->batch.begin_ns = script_ns(begin_s);
	record->batch.number = script->batches++;
	record->batch.loss = loss;
}

void script_span(struct script *script, unsigned lane, double begin_s, double end_s, uint32_t name, uint32_t parent)
{
	struct record *record = script_event(script, RECORD_SPAN, lane, end_s);
	record->span.name = name;
	record->span.parent = parent;
	record->span.depth = parent != 0;
	record->span.duration_ns = script_ns(end_s) - script_ns(begin_s);
	record->span.self_s = (float)(end_s - begin_s);
	record->span.cpu_s = record->span.memory_bytes = NAN;
}

void script_epoch(struct script *script, enum record_kind kind, double at_s, uint32_t index)
{
	script_event(script, kind, 0, at_s)->epoch.index = index;
}

void script_mode(struct script *script, unsigned lane, double at_s, uint32_t name)
{
	script_event(script, RECORD_MODE, lane, at_s)->mode.name = name;
}

void script_meta(struct script *script, const char *key, const char *value)
{
	struct record *record = script_add(script, RECORD_META, 0);
	record->meta.key = key;
	record->meta.value = value;
}

void script_state(struct script *script, const struct run_state *state)
{
	struct run_state *copy = sample_set_allocate(&script->set, sizeof *copy);
	if (!copy)
		abort();
	*copy = *state;
	script_add(script, RECORD_STATE, 0)->state = copy;
}

void script_figure(struct script *script, double at_s, enum metric metric, int32_t pid, double value)
{
	sample_set_figure(&script->set, script_ns(at_s), metric, pid, value);
}

void script_process(
	struct script *script, double at_s, int32_t pid, uint64_t start_ticks, const char *command, bool is_target)
{
	struct record *record = script_add(script, RECORD_PROCESS_SEEN, at_s);
	record->process.pid = pid;
	record->process.parent = 1;
	record->process.start_ticks = start_ticks;
	record->process.command = command;
	record->process.is_target = is_target;
}

double script_steps(struct script *script, double at_s, const double *steps_s, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		script_batch_begin(script, 0, at_s, i);
		script_batch_end(script, 0, at_s + 0.9 * steps_s[i], at_s, NAN);
		at_s += steps_s[i];
	}
	script_apply(script, at_s);
	return at_s;
}

void script_whole_batch(struct script *script, double begin_s, double end_s, double now_s)
{
	script_batch_begin(script, 0, begin_s, script->batches);
	script_batch_end(script, 0, end_s, begin_s, NAN);
	script_batch_begin(script, 0, end_s, script->batches);
	script_apply(script, fmax(now_s, end_s));
}

const struct batch *script_batch(struct script *script, uint64_t ordinal)
{
	const struct batch *batch = track_batch(run_main(script_run(script)), ordinal);
	ck_assert_ptr_nonnull(batch);
	return batch;
}

const struct batch *script_newest_batch(struct script *script)
{
	const struct track *track = run_main(script_run(script));
	for (uint64_t ordinal = track->end; ordinal-- > track->first;)
		if (track_batch(track, ordinal) && track_batch(track, ordinal)->end_ns)
			return track_batch(track, ordinal);
	ck_abort_msg("no batch");
}

struct total_row *script_total(
	struct script *script, enum total_kind kind, unsigned lane, uint64_t upto, uint64_t count, double each_s)
{
	struct total_row *row = sample_set_allocate(&script->set, sizeof *row);
	*row = (struct total_row){ .kind = kind,
		.upto = upto,
		.count = count,
		.total_s = (double)count * each_s,
		.self_s = (double)count * each_s,
		.min_s = each_s,
		.max_s = each_s,
		.last_s = each_s,
		.cpu_s = NAN,
		.memory_bytes = NAN,
		.has_histogram = true };
	row->histogram[histogram_bucket((uint64_t)llround(each_s * 1e9))] = (uint32_t)count;
	struct record *record = script_add(script, RECORD_TOTAL, 0);
	record->lane = (uint16_t)lane;
	record->total = row;
	return row;
}
