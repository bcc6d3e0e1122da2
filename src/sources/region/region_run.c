#include "src/sources/region/region_run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/region/events.h"
#include "src/region/tables.h"
#include "src/sources/region/region_calls.h"
#include "src/sources/region/region_lanes.h"
#include "src/sources/region/region_emitter.h"

enum {
	EVENTS_A_READING = 64 * 1024,
	METAS_MAX = 64,
	VALUES_MAX = 256,
	TOTALS_MAX = 64 * 1024,
	BINS_MAX = 4096,
	EPOCHS_MAX = 1024,
	OPEN_SPANS_MAX = 32,
};

struct region_run {
	struct region *region;
	struct region_emitter emitter;
	pid_t pid;
	bool is_live;    /* at opening */
	uint64_t before; /* events overwritten before the end of the first reading */
	bool is_emitted, has_ended, has_lost;
	bool has_state;    /* false: some of it was being written and could not be emitted */
	size_t busy_count; /* totals that were being written: one a lane at most */
	uint32_t busy[REGION_LANES_MAX];
	uint64_t state_version, refused;
	uint64_t metas[METAS_MAX];   /* hash of what was emitted; 0 = nothing yet */
	double counters[VALUES_MAX]; /* NAN = not emitted yet */
	const char *failure;
	uint32_t lane_count;
	struct region_lanes *lanes;
	bool *had_open_spans; /* by lane */
	uint64_t *begun; /* by lane: the number from 1 of the record that was being written at the last reading; 0 = none */
	unsigned stuck;  /* lanes with a record that is half written for long, as emitted */
};

/* -- what can go wrong -- */

static const struct {
	enum region_status status;
	const char *text;
} failures[] = {
	{ REGION_CUT_SHORT, "region was cut short" },
	{ REGION_DAMAGED, "region damaged" },
	{ REGION_NO_MEMORY, "out of memory" },
};

/* Other failures only mean that an entry is being written, or that its writer was killed meanwhile: there is no
 * complete copy, and it is skipped. */
static bool is_fatal(enum region_status status) { return status == REGION_CUT_SHORT || status == REGION_IO; }

static enum status fail(struct region_run *run, enum region_status status)
{
	run->failure = "region could not be read";
	for (size_t i = 0; i < sizeof failures / sizeof *failures; i++)
		if (failures[i].status == status)
			run->failure = failures[i].text;
	return status == REGION_NO_MEMORY ? STATUS_NO_MEMORY : STATUS_DAMAGED;
}

/* -- the contents of the region -- */

static uint64_t hash(uint64_t seed, const char *text, size_t length)
{
	for (size_t i = 0; i < length; i++)
		seed = (seed ^ (unsigned char)text[i]) * UINT64_C(0x100000001b3); /* FNV-1a */
	return seed;
}

static enum region_status emit_metas(struct region_run *run, uint32_t count)
{
	struct sample_set *out = run->emitter.out;
	for (uint32_t i = 0; i < count && i < METAS_MAX; i++) {
		const char *key, *value;
		size_t key_length, value_length;
		enum region_status status = region_read_meta(run->region, i, &key, &key_length, &value, &value_length);
		if (is_fatal(status))
			return status;
		if (status != REGION_OK) {
			run->has_state = false;
			continue;
		}
		uint64_t now = hash(hash(UINT64_C(0xcbf29ce484222325), key, key_length) + 1, value, value_length);
		if (now == run->metas[i])
			continue;
		run->metas[i] = now;
		struct record *record = emitter_add(&run->emitter, RECORD_META, run->emitter.now_ns);
		if (!record)
			continue;
		record->meta.key = sample_set_text(out, key, key_length);
		record->meta.value = sample_set_text(out, value, value_length);
	}
	return REGION_OK;
}

static enum region_status emit_counters(struct region_run *run, uint32_t count)
{
	for (uint32_t i = 0; i < count && i < VALUES_MAX; i++) {
		uint32_t name;
		double total;
		enum region_status status = region_read_counter(run->region, i, &name, &total);
		if (is_fatal(status))
			return status;
		if (status != REGION_OK || total == run->counters[i])
			continue;
		run->counters[i] = total;
		emitter_name(&run->emitter, name);
		struct record *record = emitter_add(&run->emitter, RECORD_COUNTER, run->emitter.now_ns);
		if (!record)
			continue;
		record->counter.name = name;
		record->counter.total = total;
	}
	return REGION_OK;
}

/* Emits the last values of gauges whose events are lost. */
static enum region_status emit_gauges(struct region_run *run, uint32_t count)
{
	for (uint32_t i = 0; i < count && i < VALUES_MAX; i++) {
		uint32_t name;
		double value;
		enum region_status status = region_read_gauge(run->region, i, &name, &value);
		if (is_fatal(status))
			return status;
		if (status != REGION_OK)
			continue;
		emitter_name(&run->emitter, name);
		struct record *record = emitter_add(&run->emitter, RECORD_GAUGE, run->emitter.now_ns);
		if (!record)
			continue;
		record->gauge.name = name;
		record->gauge.value = value;
	}
	return REGION_OK;
}

static enum region_status emit_state(struct region_run *run, struct region_state *state)
{
	enum region_status status = region_read_state(run->region, state);
	if (status != REGION_OK) {
		*state = (struct region_state){ 0 };
		return is_fatal(status) ? status : REGION_OK;
	}
	if (run->has_state && state->version == run->state_version)
		return REGION_OK;
	run->has_state = true;
	run->state_version = state->version;
	run->has_ended = state->is_ended;
	status = emit_metas(run, state->meta_count);
	emitter_state(&run->emitter, state);
	if (state->refused != run->refused) {
		run->refused = state->refused;
		_Static_assert(sizeof state->refused_for / sizeof state->refused_for[0] == REFUSAL_COUNT, "one each");
		for (uint32_t i = 0; i < REFUSAL_COUNT; i++)
			if (state->refused_for[i])
				emitter_count(&run->emitter, RECORD_REFUSED, i + 1, state->refused_for[i]);
		/* Last, because pmtop 0.1.0 takes the last record for the total. */
		emitter_count(&run->emitter, RECORD_REFUSED, 0, state->refused);
	}
	return status;
}

/* The set records the failure; the run goes on. */
static enum region_status out_of_memory(struct region_run *run)
{
	run->emitter.out->failed = true;
	return REGION_OK;
}

/* `lanes`: by lane, whose totals to emit; NULL = all. */
static enum region_status emit_total(struct region_run *run, uint32_t i, const bool *lanes, struct region_total *room)
{
	enum region_status status = region_read_total(run->region, i, room);
	if (status == REGION_BUSY && run->busy_count < REGION_LANES_MAX)
		run->busy[run->busy_count++] = i;
	if (status == REGION_OK && (!lanes || (room->lane < run->lane_count && lanes[room->lane])))
		emitter_total(&run->emitter, room);
	return is_fatal(status) ? status : REGION_OK;
}

static enum region_status emit_totals(struct region_run *run, const bool *lanes)
{
	uint32_t count = region_total_count(run->region);
	struct region_total *room = malloc(sizeof *room);
	if (!room)
		return out_of_memory(run);
	enum region_status status = REGION_OK;
	for (uint32_t i = 0; i < count && i < TOTALS_MAX && status == REGION_OK; i++)
		status = emit_total(run, i, lanes, room);
	free(room);
	return status;
}

static enum region_status emit_busy_totals(struct region_run *run)
{
	struct region_total *room = run->busy_count > 0 ? malloc(sizeof *room) : NULL;
	if (!room)
		return REGION_OK;
	enum region_status status = REGION_OK;
	size_t count = run->busy_count;
	run->busy_count = 0;
	for (size_t i = 0; i < count && status == REGION_OK; i++)
		status = emit_total(run, run->busy[i], NULL, room);
	free(room);
	return status;
}

static enum region_status emit_history(struct region_run *run)
{
	size_t count;
	struct region_bin *bins = malloc(BINS_MAX * sizeof *bins);
	if (!bins)
		return out_of_memory(run);
	enum region_status status = region_read_history(run->region, bins, BINS_MAX, &count);
	if (status == REGION_OK)
		emitter_history(&run->emitter, bins, count);
	free(bins);
	return is_fatal(status) ? status : REGION_OK;
}

static enum region_status emit_epochs(struct region_run *run)
{
	size_t count;
	uint64_t dropped, upto;
	struct region_epoch *epochs = malloc(EPOCHS_MAX * sizeof *epochs);
	if (!epochs)
		return out_of_memory(run);
	enum region_status status = region_read_epochs(run->region, epochs, EPOCHS_MAX, &count, &dropped, &upto);
	if (status == REGION_OK)
		emitter_epochs(&run->emitter, epochs, count, dropped, upto);
	free(epochs);
	return is_fatal(status) ? status : REGION_OK;
}

/* Emits everything that a reader that joins late needs. */
static enum region_status emit_retained(struct region_run *run, struct region_state *state)
{
	struct region_identity identity;
	enum region_status status = region_identify(run->region, &identity);
	if (status != REGION_OK)
		return status;
	emitter_opened(&run->emitter, &identity, run->pid, run->is_live);
	emitter_names(&run->emitter);
	status = emit_state(run, state);
	if (status == REGION_OK)
		status = emit_totals(run, NULL);
	if (status == REGION_OK)
		status = emit_history(run);
	if (status == REGION_OK)
		status = emit_epochs(run);
	return status;
}

static enum region_status emit_all(struct region_run *run)
{
	struct region_state state;
	enum region_status status = emit_retained(run, &state);
	for (uint32_t i = 0; i < run->lane_count && status == REGION_OK; i++) {
		struct region_lane_status lane = { 0 };
		status = region_lane_status(run->region, i, &lane);
		run->before += lane.before;
	}
	if (run->before > 0)
		emitter_count(&run->emitter, RECORD_BEFORE_ATTACH, 0, run->before);
	return status;
}

/* -- the events -- */

static enum region_status emit_events(struct region_run *run, bool *has_more)
{
	const struct region_event *event = NULL;
	enum region_status status = region_lanes_begin(run->lanes);
	for (size_t emitted = 0; status == REGION_OK; emitted++) {
		*has_more = emitted == EVENTS_A_READING;
		if (*has_more)
			break;
		status = region_lanes_next(run->lanes, &event);
		if (status != REGION_OK || !event)
			break;
		emitter_event(&run->emitter, event);
	}
	return status;
}

/* Events that are overwritten during the first reading count as before the attach. */
static enum region_status emit_losses(struct region_run *run, bool is_first, bool *had_any)
{
	enum region_status status = REGION_OK;
	bool had[REGION_LANES_MAX] = { false };
	for (uint32_t i = 0; i < run->lane_count && status == REGION_OK; i++) {
		uint64_t lost;
		status = region_lanes_lost(run->lanes, i, &lost);
		if (status != REGION_OK || lost == 0)
			continue;
		*had_any = had[i] = true;
		run->has_lost |= !is_first;
		emitter_count(
			&run->emitter, is_first ? RECORD_BEFORE_ATTACH : RECORD_LOST, i, is_first ? run->before += lost : lost);
	}
	if (*had_any && status == REGION_OK)
		status = emit_totals(run, had);
	if (*had_any && status == REGION_OK)
		status = emit_history(run);
	if (*had_any && status == REGION_OK)
		status = emit_epochs(run);
	return status;
}

static enum region_status emit_open_spans(struct region_run *run)
{
	for (uint32_t i = 0; i < run->lane_count; i++) {
		struct region_open_span spans[OPEN_SPANS_MAX];
		size_t count = 0;
		enum region_status status = region_read_open_spans(run->region, i, spans, OPEN_SPANS_MAX, &count);
		if (is_fatal(status))
			return status;
		if (status != REGION_OK)
			continue;
		for (size_t depth = 0; depth < count; depth++)
			emitter_open_span(&run->emitter, i, spans, depth);
		if (count == 0 && run->had_open_spans[i])
			emitter_count(&run->emitter, RECORD_OPEN_SPANS_NONE, i, 0);
		run->had_open_spans[i] = count > 0;
	}
	return REGION_OK;
}

/* A record that is still being written at the next reading: its writer stopped in the middle. pmtop does not wait
 * for it. */
static enum region_status emit_stuck(struct region_run *run, struct sample_set *out)
{
	unsigned stuck = 0;
	for (uint32_t i = 0; i < run->lane_count; i++) {
		struct region_lane_status lane = { 0 };
		enum region_status status = region_lane_status(run->region, i, &lane);
		if (status != REGION_OK)
			return status;
		uint64_t begun = lane.in_record ? lane.head + 1 : 0;
		stuck += begun && begun == run->begun[i];
		run->begun[i] = begun;
	}
	if (stuck == run->stuck)
		return REGION_OK;
	run->stuck = stuck;
	char text[64];
	snprintf(text, sizeof text, "%u record%s half written: the writer has stopped", stuck, stuck == 1 ? "" : "s");
	sample_set_missing(
		out, run->emitter.now_ns, "events", stuck ? text : NULL, "check whether the process is stopped (state T)");
	return REGION_OK;
}

/* -- the run -- */

enum status region_run_read(struct region_run *run, int64_t now_ns, struct sample_set *out)
{
	struct region_state state;
	bool has_more = false, had_losses = false;
	run->emitter.out = out;
	run->emitter.now_ns = now_ns;
	bool is_first = !run->is_emitted;
	enum region_status status = is_first ? emit_all(run) : emit_busy_totals(run);
	run->is_emitted = true;
	if (status == REGION_OK)
		status = emit_events(run, &has_more);
	if (status == REGION_OK)
		status = emit_losses(run, is_first, &had_losses);
	if (status == REGION_OK)
		status = emit_state(run, &state);
	if (status == REGION_OK && (is_first || had_losses))
		status = emit_gauges(run, state.gauge_count);
	if (status == REGION_OK)
		status = emit_counters(run, state.counter_count);
	if (status == REGION_OK)
		status = emit_open_spans(run);
	if (status == REGION_OK)
		status = emit_stuck(run, out);
	if (status != REGION_OK)
		return fail(run, status);
	return has_more ? STATUS_AGAIN : STATUS_OK;
}

/* A failure here is ignored: the next reading meets it again and reports it. */
int64_t region_run_refresh(struct region_run *run, int64_t now_ns, struct sample_set *out)
{
	bool is_filling, has_more;
	int64_t interval_ns = run->is_emitted ? region_lanes_refresh(run->lanes, now_ns, &is_filling) : INT64_MAX - now_ns;
	run->emitter.out = out;
	run->emitter.now_ns = now_ns;
	if (run->is_emitted && is_filling && emit_busy_totals(run) == REGION_OK)
		emit_events(run, &has_more);
	return now_ns + interval_ns;
}

static void forget_emitted(struct region_run *run)
{
	for (size_t i = 0; i < VALUES_MAX; i++)
		run->counters[i] = (double)NAN;
	memset(run->metas, 0, sizeof run->metas);
	run->emitter.names_emitted = run->emitter.mode = 0;
	run->has_state = false;
	run->refused = 0;
}

enum status region_run_emit_all(struct region_run *run, int64_t now_ns, struct sample_set *out)
{
	struct region_state state = { 0 };
	struct region_run *retained = malloc(sizeof *retained);
	if (!retained)
		return STATUS_NO_MEMORY;
	*retained = *run;
	forget_emitted(run);
	run->emitter.out = out;
	run->emitter.now_ns = now_ns;
	enum region_status status = emit_retained(run, &state);
	if (status == REGION_OK && run->before > 0)
		emitter_count(&run->emitter, RECORD_BEFORE_ATTACH, 0, run->before);
	if (status == REGION_OK)
		status = emit_gauges(run, state.gauge_count);
	if (status == REGION_OK)
		status = emit_counters(run, state.counter_count);
	if (status == REGION_OK)
		status = emit_open_spans(run);
	*run = *retained;
	free(retained);
	return status == REGION_OK ? STATUS_OK : STATUS_DAMAGED;
}

enum status region_run_open(struct region *region, unsigned id, pid_t pid, int directory_fd, struct region_run **out)
{
	struct region_run *run = calloc(1, sizeof *run);
	if (!run) {
		region_close(region);
		return STATUS_NO_MEMORY;
	}
	run->region = region;
	run->pid = pid;
	run->is_live = region_calls_is_live(region, directory_fd);
	run->lane_count = region_lane_count(region);
	run->lanes = region_lanes_new(region);
	run->had_open_spans = calloc(run->lane_count + 1, sizeof *run->had_open_spans);
	run->begun = calloc(run->lane_count + 1, sizeof *run->begun);
	run->emitter = (struct region_emitter){
		.region = region, .run = id, .offset_ns = region_calls_clock_offset_ns(region, directory_fd)
	};
	forget_emitted(run);
	if (!run->lanes || !run->had_open_spans || !run->begun) {
		region_run_close(run);
		return STATUS_NO_MEMORY;
	}
	*out = run;
	return STATUS_OK;
}

void region_run_close(struct region_run *run)
{
	region_close(run->region);
	region_lanes_free(run->lanes);
	free(run->had_open_spans);
	free(run->begun);
	free(run);
}

const char *region_run_failure(const struct region_run *run) { return run->failure; }

bool region_run_has_ended(const struct region_run *run) { return run->has_ended; }

bool region_run_has_lost(const struct region_run *run) { return run->has_lost; }

struct region *region_run_region(const struct region_run *run) { return run->region; }
