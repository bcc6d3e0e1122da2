#include "src/explain/explain.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/clock.h"
#include "src/explain/explain_flagged.h"
#include "src/samples/sample_set.h"
#include "tests/support/fixture.h"

static const char *const name_texts[] = { "",
#define FIXTURE_NAME_TEXT(id, text) text,
	FIXTURE_NAMES(FIXTURE_NAME_TEXT)
#undef FIXTURE_NAME_TEXT
};

static struct model *model_with_names(void)
{
	struct model_options options;
	struct sample_set set = SAMPLE_SET_INIT;
	model_options_default(&options);
	struct model *model = model_new(&options);
	struct record *opened = sample_set_add(&set, RECORD_RUN_OPENED, 0, NS_PER_S);
	if (!model || !opened)
		abort();
	opened->opened.pid = opened->opened.inner_pid = 48213;
	opened->opened.name = "resnet50";
	opened->opened.uuid = "0123456789abcdef0123456789abcdef";
	opened->opened.abi = "1.0";
	opened->opened.start_ns = NS_PER_S;
	opened->opened.is_live = true;
	for (uint32_t id = 1; id < sizeof name_texts / sizeof name_texts[0]; id++) {
		struct record *name = sample_set_add(&set, RECORD_NAME, 0, NS_PER_S);
		if (!name)
			abort();
		name->name.id = id;
		name->name.text = name_texts[id];
	}
	set.time_ns = NS_PER_S;
	model_apply(model, &set);
	explain_flagged(model);
	sample_set_release(&set);
	return model;
}

static void forget_figures(struct fixture *fixture)
{
	struct memory *memory = &fixture->model.memory;
	double *const unknown[] = {
		&memory->rss_bytes,
		&memory->peak_rss_bytes,
		&memory->anonymous_bytes,
		&memory->file_bytes,
		&memory->shared_bytes,
		&memory->swap_bytes,
		&memory->tree_rss_bytes,
		&memory->tree_peak_bytes,
		&memory->growth_bytes,
		&memory->slope_per_batch,
		&memory->slope_per_batch_low,
		&memory->slope_per_batch_high,
		&memory->tree_anonymous_bytes,
		&memory->tree_file_bytes,
		&memory->tree_shared_bytes,
		&memory->growth_per_epoch,
		&memory->grower_share_ratio,
		&memory->limit_bytes,
		&memory->limit_room_bytes,
		&memory->limit_in_s,
		&memory->spike_bytes,
		&fixture->model.self.cpu_ratio,
		&fixture->model.self.memory_bytes,
		&fixture->process.cpu_ratio,
		&fixture->process.run_queue_wait_ratio,
		&fixture->process.read_bytes_per_s,
		&fixture->process.write_bytes_per_s,
		&fixture->process.major_faults_per_s,
		&fixture->process.state_since_s,
		&fixture->run.loss,
		&fixture->run.loss_trend,
		&fixture->run.epoch_done_ratio,
		&fixture->run.epoch_eta_s,
		&fixture->run.run_done_ratio,
		&fixture->run.run_eta_s,
	};
	for (size_t i = 0; i < sizeof unknown / sizeof unknown[0]; i++)
		*unknown[i] = NAN;
	for (size_t i = 0; i < PROCESS_METRICS; i++)
		fixture->process.now[i] = NAN;
	memory->slope = (struct slope){ NAN, NAN, NAN, 0 };
	memory->verdict = MEMORY_UNKNOWN;
}

void fixture_init(struct fixture *fixture)
{
	memset(fixture, 0, sizeof *fixture);
	fixture->names = model_with_names();
	fixture->run = fixture->names->runs[0];
	fixture->run.track_count = 0;
	fixture->run.epochs = fixture->epochs;
	fixture->run.operations = fixture->operations;
	fixture->run.flagged = fixture->flagged;
	fixture->run.gauges = fixture->gauges;
	fixture->run.epoch_count = fixture->run.operation_count = fixture->run.flagged_count = 0;
	fixture->process = (struct process){ .pid = 48213, .parent = 1, .is_target = true, .command = "train.py" };
	fixture->model = (struct model){
		.now_ns = NS_PER_S,
		.first_ns = NS_PER_S,
		.has_target = true,
		.target_pid = 48213,
		.command = "train.py",
		.process_count = 1,
		.processes = &fixture->process,
		.run_count = 1,
		.runs = &fixture->run,
	};
	forget_figures(fixture);
	fixture->run.main_track = 0;
	fixture_add_track(fixture, FIXTURE_TRAIN);
}

void fixture_explain(struct fixture *fixture)
{
	for (size_t i = 0; i < fixture->run.flagged_count; i++)
		fixture->run.flagged[i].has_news = true;
	explain_flagged(&fixture->model);
}

void fixture_release(struct fixture *fixture)
{
	for (size_t i = 0; i < fixture->run.flagged_count; i++)
		free(fixture->run.flagged[i].explanation);
	model_free(fixture->names);
}

struct track *fixture_add_track(struct fixture *fixture, uint32_t mode)
{
	struct track *track = &fixture->run.tracks[fixture->run.track_count];
	*track = (struct track){
		.mode = mode,
		.ring = fixture->ring[fixture->run.track_count],
		.capacity = FIXTURE_BATCHES,
		.rate_per_s = NAN,
		.samples_per_s = NAN,
		.slow_first_s = NAN,
		.loss = NAN,
	};
	fixture->run.track_count++;
	return track;
}

struct batch *fixture_add_batch(struct fixture *fixture, struct track *track, uint64_t index, double seconds)
{
	int64_t begin_ns = fixture->model.now_ns, end_ns = begin_ns + (int64_t)(seconds * 1e9);
	struct batch *batch = &track->ring[track->end % track->capacity];
	*batch = (struct batch){
		.ordinal = track->end,
		.index = index,
		.begin_ns = begin_ns,
		.end_ns = end_ns,
		.batch_s = seconds,
		.step_s = seconds,
		.loss = NAN,
		.samples = NAN,
		.resident_bytes = NAN,
		.allocated_bytes = NAN,
		.median_s = NAN,
		.mad_s = NAN,
	};
	fixture->model.now_ns = end_ns;
	track->count++;
	track->end++;
	if (track->end - track->first > track->capacity)
		track->first++;
	return batch;
}

struct epoch *fixture_begin_epoch(struct fixture *fixture, uint32_t index)
{
	struct epoch *epoch = &fixture->epochs[fixture->run.epoch_count++];
	*epoch = (struct epoch){
		.index = index,
		.ordinal = (uint32_t)fixture->run.epoch_count,
		.mode = FIXTURE_TRAIN,
		.begin_ns = fixture->model.now_ns,
		.mean_s = NAN,
		.min_s = NAN,
		.max_s = NAN,
		.allocator = { NAN, NAN, NAN },
	};
	return epoch;
}

void fixture_end_epoch(struct fixture *fixture, struct epoch *epoch)
{
	epoch->end_ns = fixture->model.now_ns;
	epoch->total_s = seconds_between(epoch->begin_ns, epoch->end_ns);
}

struct operation *fixture_add_operation(
	struct fixture *fixture, uint32_t mode, uint32_t name, uint32_t parent, uint64_t count, double total_s)
{
	struct operation *operation = &fixture->operations[fixture->run.operation_count++];
	*operation = (struct operation){
		.name = name,
		.parent = parent,
		.mode = mode,
		.depth = parent ? 1 : 0,
		.count = count,
		.total_s = total_s,
		.self_s = total_s,
		.mean_s = NAN,
		.min_s = NAN,
		.max_s = NAN,
		.last_s = NAN,
		.p50_s = NAN,
		.p95_s = NAN,
		.cpu_s = NAN,
		.memory_bytes = NAN,
		.share_ratio = NAN,
		.recent_median_s = NAN,
	};
	return operation;
}

struct flagged *fixture_add_flagged(
	struct fixture *fixture, uint32_t epoch, uint64_t index, double step_s, double baseline_s)
{
	struct flagged *flagged = &fixture->flagged[fixture->run.flagged_count++];
	*flagged = (struct flagged){
		.mode = FIXTURE_TRAIN,
		.batch = { .epoch = epoch,
			.index = index,
			.step_s = step_s,
			.batch_s = step_s,
			.is_flagged = true,
			.phase_count = 1,
			.phases = { { FIXTURE_DATA, NAME_NONE, (float)step_s, NAN, NAN } } },
		.baseline = { .batches = 200,
			.step_s = baseline_s,
			.batch_s = baseline_s,
			.phase_count = 1,
			.phases = { { FIXTURE_DATA, NAME_NONE, (float)baseline_s, NAN, NAN } } },
	};
	return flagged;
}

void fixture_add_gauge(struct fixture *fixture, uint32_t name, double value)
{
	fixture->gauges[fixture->run.gauge_count].name = name;
	fixture->gauges[fixture->run.gauge_count++].value = value;
}

void fixture_accumulate(struct fixture *fixture)
{
	struct track *track = &fixture->run.tracks[0];
	track->kind_count = 2;
	track->kinds[0] = (struct batch_kind){ NAME_NONE, 25, 0.18, 0.2 };
	track->kinds[1] = (struct batch_kind){ FIXTURE_ACCUMULATE, 75, 0.1, 0.11 };
	fixture->steps = (struct counter){ .name = FIXTURE_STEPS, .total = 25, .rate_per_s = 1.2 };
	fixture->run.counters = &fixture->steps;
	fixture->run.counter_count = 1;
	fixture->meta[0].key = (char *)(uintptr_t) "accumulation";
	fixture->meta[0].value = (char *)(uintptr_t) "4";
	fixture->run.meta = fixture->meta;
	fixture->run.meta_count = 1;
}

void fixture_add_late_figure(struct fixture *fixture, uint32_t mode, uint32_t name, double value)
{
	fixture->run.late_figures[fixture->run.late_figure_count++] =
		(struct late_figure){ name, mode, 150, value, 1.1 * value, 0.9 * value };
}

struct alert *fixture_add_alert(struct fixture *fixture, const char *rule, enum severity severity, const char *message)
{
	struct alert *alert = &fixture->alerts.list[fixture->alerts.count++];
	*alert = (struct alert){ .rule = rule, .severity = severity, .is_raised = true, .since_ns = fixture->model.now_ns };
	snprintf(alert->message, sizeof alert->message, "%s", message);
	return alert;
}
