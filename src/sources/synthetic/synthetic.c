#include "src/sources/synthetic/synthetic.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/clock.h"
#include "src/sources/synthetic/synthetic_figures.h"
#include "src/sources/synthetic/synthetic_gpu.h"
#include "src/sources/synthetic/synthetic_meters.h"
#include "src/sources/synthetic/synthetic_private.h"
#include "src/sources/target/target.h"

#define NAMES(X) \
	X(NONE_GIVEN, "") \
	X(DATA, "data") \
	X(FORWARD, "forward") \
	X(BACKWARD, "backward") \
	X(OPTIMIZER, "optimizer") \
	X(WAIT, "wait") \
	X(CHECKPOINT, "checkpoint") \
	X(GC, "gc") \
	X(SAMPLES, "samples") \
	X(TRAIN, "train") \
	X(ACCUMULATE, "accumulate") \
	X(STEPS, "optimizer.steps") \
	X(INFERENCE, "inference") \
	X(ALLOCATED, "cuda.allocated_bytes") \
	X(RESERVED, "cuda.reserved_bytes") \
	X(PEAK, "cuda.peak_bytes")
#define NAME_ID(id, text) NAME_##id,
#define NAME_TEXT(id, text) [NAME_##id] = text,
enum name { NAMES(NAME_ID) NAME_COUNT };
static const char *const names[NAME_COUNT] = { NAMES(NAME_TEXT) };
static const double baseline_shares[SYNTHETIC_PHASES] = { 0.12, 0.32, 0.38, 0.14, 0.04 };

#define JITTER 0.04

enum { GAUGES_EVERY = 5 };

double synthetic_chance(struct synthetic *synthetic)
{
	uint64_t z = synthetic->noise += UINT64_C(0x9e3779b97f4a7c15);
	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return (double)((z ^ (z >> 31)) >> 11) * 0x1p-52 - 1;
}

/* -- writing a batch ahead of time -- */

static struct synthetic_event *write_event(struct synthetic *synthetic, enum record_kind kind)
{
	struct synthetic_event *event = &synthetic->events[synthetic->event_count++];
	memset(event, 0, sizeof *event);
	event->record.kind = (uint8_t)kind;
	event->record.run = SYNTHETIC_RUN;
	event->record.lane = SYNTHETIC_LANE;
	event->record.time_ns = event->begin_ns = synthetic->written_ns;
	return event;
}

static void advance(struct synthetic *synthetic, double seconds)
{
	synthetic->written_ns += llround(fmax(seconds, 1e-6) * 1e9);
}

static void write_span(struct synthetic *synthetic, enum name name, enum name parent, int64_t begin_ns, double inside_s)
{
	struct synthetic_event *event = write_event(synthetic, RECORD_SPAN);
	event->begin_ns = begin_ns;
	event->record.span.name = name;
	event->record.span.parent = parent;
	event->record.span.depth = parent != NAME_NONE_GIVEN;
	event->record.span.duration_ns = synthetic->written_ns - begin_ns;
	event->record.span.self_s = (float)(seconds_between(begin_ns, synthetic->written_ns) - inside_s);
	event->record.span.cpu_s = event->record.span.memory_bytes = NAN;
}

/* The position varies, so that episodes are not periodic. The first batches are skipped, so that pmtop can learn a
 * baseline. */
static bool is_in_episode(const struct scenario *scenario, uint64_t seed, uint64_t batch)
{
	uint64_t number = batch / scenario->every, free_batches = scenario->every - scenario->episode;
	uint64_t begin = number * scenario->every + (number * number * 7919 + (seed + number) * 104729) % free_batches;
	return number > 0 && batch >= begin && batch < begin + scenario->episode;
}

static bool is_due(const struct synthetic *synthetic, uint64_t batch)
{
	const struct scenario *scenario = synthetic->scenario;
	if (scenario->step_clock_at)
		return batch == scenario->step_clock_at;
	if (scenario->episode)
		return is_in_episode(scenario, synthetic->seed, batch);
	return scenario->every && batch >= synthetic->offset && (batch - synthetic->offset + 1) % scenario->every == 0;
}

static void remember_planted(struct synthetic *synthetic, uint64_t batch)
{
	if (synthetic->planted_count == synthetic->planted_room) {
		uint64_t room = synthetic->planted_room ? synthetic->planted_room * 2 : 64;
		uint64_t *grown = realloc(synthetic->planted, room * sizeof *grown);
		if (!grown)
			return;
		synthetic->planted = grown;
		synthetic->planted_room = room;
	}
	synthetic->planted[synthetic->planted_count++] = batch;
}

static void write_slow_part(struct synthetic *synthetic, enum name parent)
{
	const struct scenario *scenario = synthetic->scenario;
	if (synthetic->has_slow)
		synthetic->slow_s_before += seconds_between(synthetic->slow_begin_ns, synthetic->slow_end_ns);
	synthetic->has_slow = true;
	synthetic->slow_begin_ns = synthetic->written_ns;
	synthetic->slow_worker = (unsigned)(synthetic->batch % SYNTHETIC_WORKERS);
	advance(synthetic, scenario->seconds * (1 + 0.1 * synthetic_chance(synthetic)));
	synthetic->slow_end_ns = synthetic->written_ns;
	if (scenario->step_clock_at)
		synthetic->stepped_ns = synthetic->slow_begin_ns + (synthetic->slow_end_ns - synthetic->slow_begin_ns) / 2;
	remember_planted(synthetic, synthetic->batch);
	if (scenario->span)
		write_span(
			synthetic, strcmp(scenario->span, "gc") ? NAME_CHECKPOINT : NAME_GC, parent, synthetic->slow_begin_ns, 0);
}

/* The GPU's queued work when the next batch is fetched. */
#define QUEUED_NS INT64_C(6000000)

static void write_work(struct synthetic *synthetic, enum synthetic_phase phase, int64_t begin_ns, int64_t end_ns)
{
	static const enum synthetic_work works[] = {
		[SYNTHETIC_FORWARD] = WORK_FORWARD, [SYNTHETIC_BACKWARD] = WORK_BACKWARD, [SYNTHETIC_OPTIMIZER] = WORK_OPTIMIZER
	};
	int64_t queued_ns = end_ns - begin_ns < QUEUED_NS ? end_ns : begin_ns + QUEUED_NS;
	if (phase == SYNTHETIC_DATA) {
		synthetic_gpu_work(synthetic, WORK_OPTIMIZER, begin_ns, queued_ns);
		synthetic_gpu_work(synthetic, WORK_COPY, queued_ns, end_ns);
	} else if (phase <= SYNTHETIC_OPTIMIZER) {
		synthetic_gpu_work(synthetic, works[phase], begin_ns, end_ns);
	}
}

/* How much longer the GPU work takes in a batch in which the GPUs are throttled. */
static double throttled_s(const struct synthetic *synthetic, enum synthetic_phase phase, double seconds)
{
	bool is_work = phase >= SYNTHETIC_FORWARD && phase <= SYNTHETIC_OPTIMIZER;
	return is_work && synthetic->node.is_throttled ? seconds * (1 / synthetic->scenario->node.clock_ratio - 1) : 0;
}

/* Returns by how many seconds the phase is slower. */
static double write_phase(struct synthetic *synthetic, enum synthetic_phase phase, double seconds, bool is_slow)
{
	static const enum name phase_names[] = { NAME_DATA, NAME_FORWARD, NAME_BACKWARD, NAME_OPTIMIZER, NAME_NONE_GIVEN };
	enum name name = phase_names[phase];
	int64_t begin_ns = synthetic->written_ns;
	double inside_s = 0, slow_s = throttled_s(synthetic, phase, seconds);
	advance(synthetic, seconds * (1 + JITTER * synthetic_chance(synthetic)) + slow_s);
	write_work(synthetic, phase, begin_ns, synthetic->written_ns);
	if (is_slow && phase == synthetic->scenario->phase) {
		write_slow_part(synthetic, name);
		slow_s = seconds_between(synthetic->slow_begin_ns, synthetic->slow_end_ns);
		inside_s = synthetic->scenario->span ? slow_s : 0;
	}
	if (phase == SYNTHETIC_DATA) {
		write_span(synthetic, NAME_WAIT, NAME_DATA, begin_ns, 0);
		inside_s = seconds_between(begin_ns, synthetic->written_ns);
	}
	if (name != NAME_NONE_GIVEN)
		write_span(synthetic, name, NAME_NONE_GIVEN, begin_ns, inside_s);
	return slow_s;
}

static void write_evidence(struct synthetic *synthetic, double batch_s, double slow_s, double bigger)
{
	const struct scenario *scenario = synthetic->scenario;
	advance(synthetic, 2e-6);
	write_event(synthetic, RECORD_EVIDENCE)->evidence = (struct evidence){
		.cpu_s = 0.85 * (batch_s - slow_s) + scenario->cpu_ratio * slow_s,
		.run_queue_wait_s = 0.002 * (batch_s - slow_s) + scenario->queue_ratio * slow_s,
		.minor_faults = floor(120 + 20 * synthetic_chance(synthetic) + scenario->minor_per_s * slow_s),
		.major_faults = floor(scenario->major_per_s * slow_s),
		.blocks_read = floor(scenario->blocks_per_s * slow_s),
		.voluntary_switches = 12,
		.involuntary_switches = floor(2 + scenario->forced_per_s * slow_s),
		.samples = SYNTHETIC_SAMPLES * bigger,
	};
}

static void account_fetch(struct synthetic *synthetic, int64_t begin_ns, int64_t end_ns)
{
	struct synthetic_fetches *fetches = &synthetic->fetches[synthetic->batch % SYNTHETIC_WORKERS];
	double seconds = seconds_between(begin_ns, end_ns);
	fetches->begin_ns = begin_ns;
	fetches->end_ns = end_ns;
	fetches->min_s = fetches->count ? fmin(fetches->min_s, seconds) : seconds;
	fetches->max_s = fmax(fetches->max_s, seconds);
	fetches->total_s += seconds;
	fetches->histogram[histogram_bucket((uint64_t)llround(seconds * 1e9))]++;
	fetches->count++;
}

/* The fetch of the batch that begins now: it ended long ago, or, if it makes the batch slow, it ends with the data
 * phase. */
static void write_fetch(struct synthetic *synthetic, double step_s, double slow_s, int64_t data_end_ns)
{
	bool is_late = slow_s > 0 && synthetic->scenario->in_worker;
	double ratio = synthetic->scenario->fetch_ratio > 0 ? synthetic->scenario->fetch_ratio : 0.5;
	double baseline_s = ratio * SYNTHETIC_WORKERS * step_s * (1 + 0.15 * synthetic_chance(synthetic));
	int64_t end_ns = is_late ? data_end_ns : synthetic->state.batch_begin_ns - llround(0.3 * step_s * 1e9);
	account_fetch(synthetic, end_ns - llround((baseline_s + (is_late ? slow_s : 0)) * 1e9), end_ns);
}

static double ratio_of(struct synthetic *synthetic)
{
	const struct scenario *scenario = synthetic->scenario;
	double ratio = scenario->slower_from && synthetic->batch >= scenario->slower_from ? scenario->slower_ratio : 1;
	if (scenario->other_share > 0 && synthetic_chance(synthetic) / 2 + 0.5 < scenario->other_share)
		ratio *= scenario->other_ratio;
	return ratio;
}

static void write_batch_begin(struct synthetic *synthetic)
{
	uint64_t index = synthetic->batch % SYNTHETIC_EPOCH;
	if (index == 0 && synthetic->batch) {
		write_event(synthetic, RECORD_EPOCH_END)->record.epoch.index =
			(uint32_t)(synthetic->batch / SYNTHETIC_EPOCH - 1);
		advance(synthetic, 1e-3);
	}
	if (index == 0) {
		write_event(synthetic, RECORD_EPOCH_BEGIN)->record.epoch.index = (uint32_t)(synthetic->batch / SYNTHETIC_EPOCH);
		advance(synthetic, 1e-4);
	}
	struct synthetic_event *begin = write_event(synthetic, RECORD_BATCH_BEGIN);
	begin->record.batch.index = index;
	begin->record.batch.number = synthetic->batch;
	synthetic->state.batch_begin_ns = synthetic->written_ns;
}

static void write_batch_end(struct synthetic *synthetic, bool steps)
{
	struct synthetic_event *end = write_event(synthetic, RECORD_BATCH_END);
	end->record.batch.index = synthetic->batch % SYNTHETIC_EPOCH;
	end->record.batch.number = synthetic->batch;
	end->record.batch.loss =
		0.1 + 2.3 * exp(-0.004 * (double)synthetic->batch) * (1 + 0.02 * synthetic_chance(synthetic));
	end->record.batch.kind = steps ? NAME_NONE_GIVEN : NAME_ACCUMULATE;
	end->record.batch.begin_ns = synthetic->state.batch_begin_ns;
}

static void write_gauges(struct synthetic *synthetic)
{
	const struct {
		enum name name;
		double value;
	} gauges[] = {
		{ NAME_ALLOCATED, synthetic_gpu_allocated(synthetic) },
		{ NAME_RESERVED, synthetic_gpu_reserved(synthetic) },
		{ NAME_PEAK, synthetic_gpu_peak(synthetic) },
	};
	for (size_t i = 0; i < sizeof gauges / sizeof *gauges; i++) {
		struct synthetic_event *gauge = write_event(synthetic, RECORD_GAUGE);
		gauge->record.gauge.name = gauges[i].name;
		gauge->record.gauge.value = gauges[i].value;
	}
}

static void write_batch(struct synthetic *synthetic)
{
	const struct scenario *scenario = synthetic->scenario;
	double step_s = scenario->step_s > 0 ? scenario->step_s : 0.1;
	const double *shares = scenario->shares[SYNTHETIC_FORWARD] > 0 ? scenario->shares : baseline_shares;
	bool is_slow = is_due(synthetic, synthetic->batch),
		 steps = !scenario->accumulate || (synthetic->batch + 1) % scenario->accumulate == 0;
	bool is_bigger = is_slow && scenario->samples_ratio > 0,
		 is_throttled = scenario->node.clock_ratio > 0 && (is_slow || scenario->node.is_always_throttled);
	double ratio = ratio_of(synthetic) * (is_bigger ? scenario->samples_ratio : 1), slow_s = 0;
	if (is_bigger || (is_throttled && is_slow))
		remember_planted(synthetic, synthetic->batch);
	synthetic->event_count = synthetic->next_event = 0;
	synthetic_gpu_begin_batch(synthetic, is_throttled);
	write_batch_begin(synthetic);
	for (enum synthetic_phase phase = 0; phase <= SYNTHETIC_OPTIMIZER; phase++) {
		double seconds = shares[phase] * step_s * ratio;
		if (phase == SYNTHETIC_FORWARD && synthetic->batch == 0)
			seconds += scenario->first_s;
		if (phase == SYNTHETIC_OPTIMIZER && !steps)
			continue;
		slow_s +=
			write_phase(synthetic, phase, phase == SYNTHETIC_OPTIMIZER && scenario->accumulate ? 4 * seconds : seconds,
				is_slow && !is_bigger && !is_throttled);
		if (phase == SYNTHETIC_DATA)
			write_fetch(synthetic, step_s, slow_s, synthetic->written_ns);
		if (phase == SYNTHETIC_BACKWARD && scenario->hang_at == synthetic->batch && scenario->hang_at)
			synthetic->events[synthetic->event_count - 1].record.time_ns = synthetic->written_ns = SYNTHETIC_FOREVER_NS;
	}
	write_batch_end(synthetic, steps);
	write_evidence(synthetic, seconds_between(synthetic->state.batch_begin_ns, synthetic->written_ns), slow_s,
		is_bigger ? scenario->samples_ratio : 1);
	if (!scenario->node.is_bare && synthetic->batch % GAUGES_EVERY == 0)
		write_gauges(synthetic);
	write_phase(
		synthetic, SYNTHETIC_BETWEEN, shares[SYNTHETIC_BETWEEN] * step_s, is_slow && !is_bigger && !is_throttled);
	synthetic->batch++;
}

/* -- output -- */

static void *copy(struct sample_set *out, const void *what, size_t size)
{
	void *stored = sample_set_allocate(out, size);
	if (stored)
		memcpy(stored, what, size);
	return stored;
}

static void account(struct run_state *state, const struct record *record)
{
	switch ((enum record_kind)record->kind) {
	case RECORD_EPOCH_BEGIN:
		state->in_epoch = true;
		state->epoch_index = record->epoch.index;
		state->epochs_begun++;
		state->epoch_begin_ns = record->time_ns;
		state->batches_in_epoch = 0;
		break;
	case RECORD_EPOCH_END: state->in_epoch = false; break;
	case RECORD_BATCH_BEGIN:
		state->in_batch = true;
		state->batch_index = record->batch.index;
		break;
	case RECORD_BATCH_END:
		state->in_batch = false;
		state->batches_in_epoch++;
		state->loss = record->batch.loss;
		break;
	default: break;
	}
}

static void emit_event(struct synthetic *synthetic, const struct synthetic_event *event, struct sample_set *out)
{
	struct record *record =
		sample_set_add(out, (enum record_kind)event->record.kind, SYNTHETIC_RUN, event->record.time_ns);
	account(&synthetic->state, &event->record);
	if (!record)
		return;
	*record = event->record;
	record->sequence = synthetic->sequence++;
	if (record->kind == RECORD_EVIDENCE)
		record->evidence = copy(out, &event->evidence, sizeof event->evidence);
}

static void emit_open_spans(const struct synthetic *synthetic, int64_t now_ns, struct sample_set *out)
{
	bool has_any = false;
	/* Outermost first, because they were written last. */
	for (unsigned i = synthetic->event_count; i-- > synthetic->next_event;) {
		const struct synthetic_event *event = &synthetic->events[i];
		if (event->record.kind != RECORD_SPAN || event->begin_ns > now_ns)
			continue;
		struct record *open = sample_set_add(out, RECORD_OPEN_SPAN, SYNTHETIC_RUN, now_ns);
		if (!open)
			return;
		open->lane = SYNTHETIC_LANE;
		open->span = event->record.span;
		open->span.duration_ns = now_ns - event->begin_ns;
		has_any = true;
	}
	if (!has_any)
		sample_set_add(out, RECORD_OPEN_SPANS_NONE, SYNTHETIC_RUN, now_ns);
}

static void emit_meta(struct sample_set *out, int64_t now_ns, const char *key, const char *value)
{
	struct record *meta = sample_set_add(out, RECORD_META, SYNTHETIC_RUN, now_ns);
	if (!meta)
		return;
	meta->meta.key = key;
	meta->meta.value = value;
}

static void introduce(struct synthetic *synthetic, int64_t now_ns, struct sample_set *out)
{
	static const struct {
		const char *key, *value;
	} metas[] = {
		{ "synthetic", "made by pmtop: no process runs" },
		{ "loader.num_workers", "4" },
		{ "loader.prefetch_factor", "2" },
		{ "batch_size", "32" },
		{ "flops_per_sample", "2.4e12" },
		{ "peak_flops", "1.979e15" },
	};
	struct record *opened = sample_set_add(out, RECORD_RUN_OPENED, SYNTHETIC_RUN, now_ns);
	if (!opened)
		return;
	opened->opened.pid = opened->opened.inner_pid = SYNTHETIC_PID;
	opened->opened.name = synthetic->name;
	opened->opened.uuid = "00000000000000000000000000000000";
	opened->opened.abi = "1.0";
	opened->opened.start_ns = synthetic->start_ns;
	opened->opened.is_live = true;
	for (uint32_t id = 1; id < NAME_COUNT; id++) {
		struct record *name = sample_set_add(out, RECORD_NAME, SYNTHETIC_RUN, now_ns);
		if (!name)
			return;
		name->name.id = id;
		name->name.text = names[id];
	}
	for (size_t i = 0; i < sizeof metas / sizeof *metas; i++)
		emit_meta(out, now_ns, metas[i].key, metas[i].value);
	emit_meta(out, now_ns, "precision", synthetic->scenario->node.has_idle_tensor_cores ? "fp32" : "bf16-mixed");
	if (synthetic->scenario->accumulate) {
		char text[16];
		int length = snprintf(text, sizeof text, "%u", synthetic->scenario->accumulate);
		emit_meta(out, now_ns, "accumulation", sample_set_text(out, text, (size_t)length));
	}
}

void synthetic_emit(struct synthetic *synthetic, int64_t now_ns, struct sample_set *out)
{
	bool is_first = !synthetic->is_introduced;
	if (is_first)
		introduce(synthetic, now_ns, out);
	if (is_first)
		sample_set_add(out, RECORD_STATE, SYNTHETIC_RUN, now_ns)->state =
			copy(out, &synthetic->state, sizeof synthetic->state);
	for (;;) {
		while (synthetic->next_event < synthetic->event_count &&
			synthetic->events[synthetic->next_event].record.time_ns <= now_ns)
			emit_event(synthetic, &synthetic->events[synthetic->next_event++], out);
		if (synthetic->written_ns > now_ns || synthetic->next_event < synthetic->event_count)
			break;
		write_batch(synthetic);
	}
	synthetic->emitted_ns = now_ns;
	struct record *state = sample_set_add(out, RECORD_STATE, SYNTHETIC_RUN, now_ns);
	if (state)
		state->state = copy(out, &synthetic->state, sizeof synthetic->state);
	emit_open_spans(synthetic, now_ns, out);
	synthetic_emit_figures(synthetic, now_ns, out);
	synthetic->is_introduced = true;
}

/* -- one run -- */

static bool parse_seed(const char *text, uint64_t *seed)
{
	char *end;
	*seed = strtoull(text, &end, 10);
	return end != text && !*end && *text >= '0' && *text <= '9';
}

enum status synthetic_new(const char *wanted, int64_t start_ns, struct synthetic **out, struct reason *why_not)
{
	size_t length = strcspn(wanted, ":");
	const struct scenario *scenario = length ? scenario_find(wanted, length) : scenario_find("clean", 5);
	uint64_t seed = 1;
	if (!scenario)
		return reason_set(why_not, STATUS_INVALID, "list them: pmtop --demo=list", "no synthetic run is named %.*s",
			(int)(length < 60 ? length : 60), wanted);
	if (wanted[length] && !parse_seed(wanted + length + 1, &seed))
		return reason_set(why_not, STATUS_INVALID, "a seed is a whole number: --demo=slow-worker:7",
			"%.60s is not a seed", wanted + length + 1);
	struct synthetic *synthetic = calloc(1, sizeof *synthetic);
	if (!synthetic)
		return reason_set(why_not, STATUS_NO_MEMORY, NULL, "out of memory");
	synthetic->scenario = scenario;
	synthetic->seed = synthetic->noise = seed;
	synthetic->offset = scenario->every > 1 ? seed * 7 % scenario->every : 0;
	synthetic->start_ns = synthetic->written_ns = synthetic->emitted_ns = synthetic->node.before.time_ns = start_ns;
	synthetic->state = (struct run_state){ .mode = scenario->is_inference ? NAME_INFERENCE : NAME_TRAIN,
		.epochs_planned = 20,
		.batches_per_epoch = SYNTHETIC_EPOCH,
		.samples_per_batch = SYNTHETIC_SAMPLES,
		.loss = NAN };
	snprintf(synthetic->name, sizeof synthetic->name, "synthetic %s", scenario->name);
	*out = synthetic;
	return STATUS_OK;
}

void synthetic_free(struct synthetic *synthetic)
{
	if (synthetic)
		free(synthetic->planted);
	free(synthetic);
}

struct synthetic_truth synthetic_truth(const struct synthetic *synthetic)
{
	return (struct synthetic_truth){ synthetic->batch, synthetic->planted_count, synthetic->planted,
		synthetic_retained_bytes(synthetic) };
}

unsigned synthetic_epoch_batches(void) { return SYNTHETIC_EPOCH; }

const char *synthetic_scenario(unsigned number, const char **help)
{
	if (number >= scenario_count)
		return NULL;
	*help = scenarios[number].help;
	return scenarios[number].name;
}

/* -- as a source -- */

static enum status open_synthetic(struct target *target, void **state, struct reason *why_not)
{
	struct synthetic *synthetic;
	enum status status = synthetic_new(target->synthetic, clock_monotonic_ns(), &synthetic, why_not);
	if (status == STATUS_OK)
		*state = synthetic;
	return status;
}

static enum status read_synthetic(void *state, int64_t now_ns, struct sample_set *out)
{
	synthetic_emit(state, now_ns, out);
	return STATUS_OK;
}

static enum status emit_all_synthetic(void *state, int64_t now_ns, struct sample_set *out)
{
	struct synthetic *synthetic = state;
	introduce(synthetic, now_ns, out);
	synthetic_describe_gpus(synthetic, now_ns, out);
	synthetic_describe_meters(synthetic, now_ns, out);
	struct record *record = sample_set_add(out, RECORD_STATE, SYNTHETIC_RUN, now_ns);
	if (record)
		record->state = copy(out, &synthetic->state, sizeof synthetic->state);
	return STATUS_OK;
}

static void close_synthetic(void *state) { synthetic_free(state); }

const struct source synthetic_source = { .name = "synthetic",
	.open = open_synthetic,
	.read = read_synthetic,
	.emit_all = emit_all_synthetic,
	.close = close_synthetic };
