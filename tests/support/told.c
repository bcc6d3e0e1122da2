#include "tests/support/told.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/clock.h"
#include "src/samples/sample_set.h"

static const char *const name_texts[] = { "",
#define TOLD_NAME_TEXT(id, text) text,
	TOLD_NAMES(TOLD_NAME_TEXT)
#undef TOLD_NAME_TEXT
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
	sample_set_release(&set);
	return model;
}

static void forget_figures(struct told *told)
{
	struct memory *memory = &told->model.memory;
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
		&told->model.self.cpu_ratio,
		&told->model.self.memory_bytes,
		&told->process.cpu_ratio,
		&told->process.run_queue_wait_ratio,
		&told->process.read_bytes_per_s,
		&told->process.write_bytes_per_s,
		&told->process.major_faults_per_s,
		&told->process.state_since_s,
		&told->run.loss,
		&told->run.loss_trend,
		&told->run.epoch_done_ratio,
		&told->run.epoch_eta_s,
		&told->run.run_done_ratio,
		&told->run.run_eta_s,
	};
	for (size_t i = 0; i < sizeof unknown / sizeof unknown[0]; i++)
		*unknown[i] = NAN;
	for (size_t i = 0; i < PROCESS_METRICS; i++)
		told->process.now[i] = NAN;
	memory->slope = (struct slope){ NAN, NAN, NAN, 0 };
	memory->verdict = "unknown";
}

void told_init(struct told *told)
{
	memset(told, 0, sizeof *told);
	told->names = model_with_names();
	told->run = told->names->runs[0];
	told->run.track_count = 0;
	told->run.epochs = told->epochs;
	told->run.operations = told->operations;
	told->run.flagged = told->flagged;
	told->run.gauges = told->gauges;
	told->run.epoch_count = told->run.operation_count = told->run.flagged_count = 0;
	told->process = (struct process){ .pid = 48213, .parent = 1, .is_target = true, .command = "train.py" };
	told->model = (struct model){
		.now_ns = NS_PER_S,
		.first_ns = NS_PER_S,
		.has_target = true,
		.target_pid = 48213,
		.command = "train.py",
		.process_count = 1,
		.processes = &told->process,
		.run_count = 1,
		.runs = &told->run,
	};
	forget_figures(told);
	told->run.main_track = 0;
	told_add_track(told, TOLD_TRAIN);
}

void told_release(struct told *told) { model_free(told->names); }

struct track *told_add_track(struct told *told, uint32_t mode)
{
	struct track *track = &told->run.tracks[told->run.track_count];
	*track = (struct track){
		.mode = mode,
		.ring = told->ring[told->run.track_count],
		.capacity = TOLD_BATCHES,
		.rate_per_s = NAN,
		.samples_per_s = NAN,
		.slow_first_s = NAN,
		.loss = NAN,
	};
	told->run.track_count++;
	return track;
}

struct batch *told_add_batch(struct told *told, struct track *track, uint64_t index, double seconds)
{
	int64_t begin_ns = told->model.now_ns, end_ns = begin_ns + (int64_t)(seconds * 1e9);
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
	told->model.now_ns = end_ns;
	track->count++;
	track->end++;
	if (track->end - track->first > track->capacity)
		track->first++;
	return batch;
}

struct epoch *told_begin_epoch(struct told *told, uint32_t index)
{
	struct epoch *epoch = &told->epochs[told->run.epoch_count++];
	*epoch = (struct epoch){
		.index = index,
		.ordinal = (uint32_t)told->run.epoch_count,
		.mode = TOLD_TRAIN,
		.begin_ns = told->model.now_ns,
		.mean_s = NAN,
		.min_s = NAN,
		.max_s = NAN,
		.allocator = { NAN, NAN, NAN },
	};
	return epoch;
}

void told_end_epoch(struct told *told, struct epoch *epoch)
{
	epoch->end_ns = told->model.now_ns;
	epoch->total_s = seconds_between(epoch->begin_ns, epoch->end_ns);
}

struct operation *told_add_operation(
	struct told *told, uint32_t mode, uint32_t name, uint32_t parent, uint64_t count, double total_s)
{
	struct operation *operation = &told->operations[told->run.operation_count++];
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

struct flagged *told_add_flagged(struct told *told, uint32_t epoch, uint64_t index, double step_s, double usual_s)
{
	struct flagged *flagged = &told->flagged[told->run.flagged_count++];
	*flagged = (struct flagged){
		.mode = TOLD_TRAIN,
		.batch = { .epoch = epoch,
			.index = index,
			.step_s = step_s,
			.batch_s = step_s,
			.is_flagged = true,
			.phase_count = 1,
			.phases = { { TOLD_DATA, NAME_NONE, (float)step_s, NAN, NAN } } },
		.usual = { .batches = 200,
			.step_s = usual_s,
			.batch_s = usual_s,
			.phase_count = 1,
			.phases = { { TOLD_DATA, NAME_NONE, (float)usual_s, NAN, NAN } } },
	};
	return flagged;
}

void told_add_gauge(struct told *told, uint32_t name, double value)
{
	told->gauges[told->run.gauge_count].name = name;
	told->gauges[told->run.gauge_count++].value = value;
}

void told_accumulate(struct told *told)
{
	struct track *track = &told->run.tracks[0];
	track->kind_count = 2;
	track->kinds[0] = (struct batch_kind){ NAME_NONE, 25, 0.18, 0.2 };
	track->kinds[1] = (struct batch_kind){ TOLD_ACCUMULATE, 75, 0.1, 0.11 };
	told->steps = (struct counter){ .name = TOLD_STEPS, .total = 25, .rate_per_s = 1.2 };
	told->run.counters = &told->steps;
	told->run.counter_count = 1;
	told->meta[0].key = (char *)(uintptr_t) "accumulation";
	told->meta[0].value = (char *)(uintptr_t) "4";
	told->run.meta = told->meta;
	told->run.meta_count = 1;
}

void told_add_late_figure(struct told *told, uint32_t mode, uint32_t name, double value)
{
	told->run.late_figures[told->run.late_figure_count++] =
		(struct late_figure){ name, mode, 150, value, 1.1 * value, 0.9 * value };
}

struct alert *told_add_alert(struct told *told, const char *rule, enum severity severity, const char *message)
{
	struct alert *alert = &told->alerts.list[told->alerts.count++];
	*alert = (struct alert){ .rule = rule, .severity = severity, .is_raised = true, .since_ns = told->model.now_ns };
	snprintf(alert->message, sizeof alert->message, "%s", message);
	return alert;
}
