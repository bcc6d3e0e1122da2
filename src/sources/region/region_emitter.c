#include "src/sources/region/region_emitter.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "src/region/tables.h"

#define PMTOP_LAYOUT
#include "src/region/pmtop.h"

#define TIME_MAX_NS (INT64_MAX / 2)

struct record *emitter_add(struct region_emitter *emitter, enum record_kind kind, int64_t time_ns)
{
	return sample_set_add(emitter->out, kind, emitter->run, time_ns);
}

void emitter_name(struct region_emitter *emitter, uint32_t id)
{
	if (id <= emitter->names_emitted)
		return;
	/* An id beyond the last name means damage: it gets no name. */
	uint32_t count = region_name_count(emitter->region);
	for (uint32_t next = emitter->names_emitted + 1; next <= id && next <= count; next++) {
		const char *text;
		size_t length;
		if (region_read_name(emitter->region, next, &text, &length) != REGION_OK)
			return;
		struct record *record = emitter_add(emitter, RECORD_NAME, emitter->now_ns);
		if (!record)
			return;
		record->name.id = next;
		record->name.text = sample_set_text(emitter->out, text, length);
		emitter->names_emitted = next;
	}
}

void emitter_names(struct region_emitter *emitter) { emitter_name(emitter, region_name_count(emitter->region)); }

/* 0 = never happened. The times come from another process and may hold any value: they are added as unsigned, and a
 * time that is out of range becomes now, because later layers take differences. */
static int64_t time_of(const struct region_emitter *emitter, int64_t theirs_ns)
{
	int64_t ours_ns = (int64_t)((uint64_t)theirs_ns + (uint64_t)emitter->offset_ns);
	if (theirs_ns == 0)
		return 0;
	return ours_ns >= 0 && ours_ns <= TIME_MAX_NS ? ours_ns : emitter->now_ns;
}

static double seconds_of(uint64_t nanoseconds)
{
	return nanoseconds == PMTOP_UNKNOWN ? (double)NAN : (double)nanoseconds * 1e-9;
}

static double double_of(uint64_t bits)
{
	double value;
	memcpy(&value, &bits, sizeof value);
	return value;
}

void emitter_opened(struct region_emitter *emitter, const struct region_identity *identity, pid_t pid, bool is_live)
{
	char text[2 * sizeof identity->uuid + 1];
	struct record *record = emitter_add(emitter, RECORD_RUN_OPENED, emitter->now_ns);
	if (!record)
		return;
	for (size_t i = 0; i < sizeof identity->uuid; i++)
		snprintf(text + 2 * i, 3, "%02x", identity->uuid[i]);
	record->opened.uuid = sample_set_text(emitter->out, text, strlen(text));
	snprintf(text, sizeof text, "%u.%u", identity->abi_major, identity->abi_minor);
	record->opened.abi = sample_set_text(emitter->out, text, strlen(text));
	record->opened.name =
		sample_set_text(emitter->out, identity->run_name, strnlen(identity->run_name, sizeof identity->run_name));
	record->opened.pid = pid ? pid : identity->writer_pid;
	record->opened.inner_pid = identity->pid;
	record->opened.start_ns = time_of(emitter, identity->start_ns);
	record->opened.is_live = is_live;
}

/* Limits the depth, because later layers indent by it. */
static uint32_t depth_of(uint32_t theirs) { return theirs < PMTOP_OPEN_SPANS ? theirs : PMTOP_OPEN_SPANS - 1; }

void emitter_count(struct region_emitter *emitter, enum record_kind kind, uint32_t lane, uint64_t count)
{
	struct record *record = emitter_add(emitter, kind, emitter->now_ns);
	if (!record)
		return;
	record->lane = (uint16_t)lane;
	record->lost.count = count;
}

void emitter_state(struct region_emitter *emitter, const struct region_state *state)
{
	emitter_name(emitter, state->mode);
	struct run_state *copy = sample_set_allocate(emitter->out, sizeof *copy);
	struct record *record = copy ? emitter_add(emitter, RECORD_STATE, emitter->now_ns) : NULL;
	if (!record)
		return;
	*copy = (struct run_state){
		.mode = state->mode,
		.epochs_planned = state->epochs_planned,
		.batches_per_epoch = state->batches_per_epoch,
		.samples_per_batch = state->samples_per_batch,
		.in_epoch = state->in_epoch,
		.in_batch = state->in_batch,
		.is_ended = state->is_ended,
		.epoch_index = state->epoch_index,
		.epochs_begun = state->epochs_begun,
		.epoch_begin_ns = time_of(emitter, state->epoch_begin_ns),
		.batch_index = state->batch_index,
		.batches_in_epoch = state->batches_in_epoch,
		.batch_begin_ns = time_of(emitter, state->batch_begin_ns),
		.loss = state->loss,
	};
	record->state = copy;
	emitter->mode = state->mode;
}

void emitter_total(struct region_emitter *emitter, const struct region_total *total)
{
	_Static_assert(sizeof((struct total_row *)0)->histogram == sizeof total->histogram, "both count alike");
	if (total->kind > TOTAL_SPAN)
		return;
	emitter_name(emitter, total->mode);
	emitter_name(emitter, total->name);
	emitter_name(emitter, total->parent);
	struct total_row *copy = sample_set_allocate(emitter->out, sizeof *copy);
	struct record *record = copy ? emitter_add(emitter, RECORD_TOTAL, emitter->now_ns) : NULL;
	if (!record)
		return;
	*copy = (struct total_row){
		.kind = (enum total_kind)total->kind,
		.mode = total->mode,
		.name = total->name,
		.parent = total->parent,
		.depth = depth_of(total->depth),
		.upto = total->upto,
		.count = total->count,
		.total_s = total->total_s,
		.self_s = total->self_s,
		.min_s = total->min_s,
		.max_s = total->max_s,
		.last_s = total->last_s,
		.squares_s2 = total->squares_s2,
		.cpu_s = total->cpu_s,
		.memory_bytes = total->memory_bytes,
		.has_histogram = total->has_histogram,
	};
	memcpy(copy->histogram, total->histogram, sizeof copy->histogram);
	record->lane = (uint16_t)total->lane;
	record->total = copy;
}

void emitter_history(struct region_emitter *emitter, const struct region_bin *bins, size_t count)
{
	struct history_row *rows = sample_set_allocate(emitter->out, count * sizeof *rows);
	struct record *record = rows ? emitter_add(emitter, RECORD_HISTORY, emitter->now_ns) : NULL;
	if (!record)
		return;
	for (size_t i = 0; i < count; i++)
		rows[i] = (struct history_row){
			.first = bins[i].first,
			.count = bins[i].count,
			.sum_s = bins[i].sum_s,
			.min_s = bins[i].min_s,
			.max_s = bins[i].max_s,
			.begin_ns = time_of(emitter, bins[i].begin_ns),
		};
	record->history.rows = rows;
	record->history.count = count;
}

void emitter_epochs(
	struct region_emitter *emitter, const struct region_epoch *epochs, size_t count, uint64_t dropped, uint64_t upto)
{
	for (size_t i = 0; i < count; i++)
		emitter_name(emitter, epochs[i].mode);
	struct epoch_row *rows = sample_set_allocate(emitter->out, count * sizeof *rows);
	struct record *record = rows ? emitter_add(emitter, RECORD_EPOCHS, emitter->now_ns) : NULL;
	if (!record)
		return;
	for (size_t i = 0; i < count; i++)
		rows[i] = (struct epoch_row){
			.index = epochs[i].index,
			.mode = epochs[i].mode,
			.begin_ns = time_of(emitter, epochs[i].begin_ns),
			.end_ns = time_of(emitter, epochs[i].end_ns),
			.batches = epochs[i].batches,
			.sum_s = epochs[i].sum_s,
			.min_s = epochs[i].min_s,
			.max_s = epochs[i].max_s,
		};
	record->epochs.rows = rows;
	record->epochs.count = count;
	record->epochs.dropped = dropped;
	record->epochs.upto = upto;
}

void emitter_open_span(
	struct region_emitter *emitter, uint32_t lane, const struct region_open_span *spans, size_t depth)
{
	emitter_name(emitter, spans[depth].name);
	struct record *record = emitter_add(emitter, RECORD_OPEN_SPAN, emitter->now_ns);
	if (!record)
		return;
	/* The span may have begun after this reading did. */
	int64_t begin_ns = time_of(emitter, spans[depth].begin_ns);
	record->lane = (uint16_t)lane;
	record->span.name = spans[depth].name;
	record->span.parent = depth > 0 ? spans[depth - 1].name : 0;
	record->span.depth = (uint32_t)depth;
	record->span.duration_ns = begin_ns < emitter->now_ns ? emitter->now_ns - begin_ns : 0;
	record->span.self_s = record->span.cpu_s = record->span.memory_bytes = NAN;
}

/* -- events, by type -- */

static void fill_epoch(struct region_emitter *emitter, const struct region_event *event, struct record *record)
{
	(void)emitter;
	record->epoch.index = (uint32_t)event->payload[0];
}

static void fill_batch_begin(struct region_emitter *emitter, const struct region_event *event, struct record *record)
{
	(void)emitter;
	record->batch.index = event->payload[0];
	record->batch.number = event->payload[2];
	record->batch.loss = (double)NAN;
	record->batch.begin_ns = record->time_ns;
}

static void fill_batch_end(struct region_emitter *emitter, const struct region_event *event, struct record *record)
{
	record->batch.index = event->payload[0];
	record->batch.number = event->payload[2];
	record->batch.loss = double_of(event->payload[3]);
	record->batch.kind = event->name;
	int64_t begin_ns = time_of(emitter, (int64_t)event->payload[4]);
	record->batch.begin_ns = begin_ns < record->time_ns ? begin_ns : record->time_ns;
}

static void fill_evidence(struct region_emitter *emitter, const struct region_event *event, struct record *record)
{
	static const struct evidence unknown = { NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN };
	const uint64_t *payload = event->payload;
	struct evidence *copy = sample_set_allocate(emitter->out, sizeof *copy);
	record->evidence = copy ? copy : &unknown;
	if (!copy)
		return;
	uint32_t samples = (uint32_t)(payload[4] >> 32);
	*copy = (struct evidence){
		.cpu_s = seconds_of(payload[0]),
		.minor_faults = (uint32_t)payload[1],
		.major_faults = (uint32_t)(payload[1] >> 32),
		.voluntary_switches = (uint32_t)payload[2],
		.involuntary_switches = (uint32_t)(payload[2] >> 32),
		.run_queue_wait_s = seconds_of(payload[3]),
		.blocks_read = (uint32_t)payload[4],
		.samples = samples ? (double)samples : (double)NAN,
	};
}

static void fill_span(struct region_emitter *emitter, const struct region_event *event, struct record *record)
{
	const uint64_t *payload = event->payload;
	(void)emitter;
	record->span.name = event->name;
	record->span.parent = (uint32_t)payload[2];
	record->span.depth = depth_of((uint32_t)(payload[2] >> 32));
	record->span.duration_ns = payload[0] < TIME_MAX_NS ? (int64_t)payload[0] : TIME_MAX_NS;
	record->span.self_s = (float)seconds_of(payload[1]);
	record->span.cpu_s = (float)seconds_of(payload[3]);
	record->span.memory_bytes = payload[4] == PMTOP_UNKNOWN ? NAN : (float)(int64_t)payload[4];
}

static void fill_gauge(struct region_emitter *emitter, const struct region_event *event, struct record *record)
{
	(void)emitter;
	record->gauge.name = event->name;
	record->gauge.value = double_of(event->payload[0]);
}

static void fill_figure(struct region_emitter *emitter, const struct region_event *event, struct record *record)
{
	(void)emitter;
	record->batch_figure.name = event->name;
	record->batch_figure.value = double_of(event->payload[0]);
	record->batch_figure.number = event->payload[1];
}

static void fill_mark(struct region_emitter *emitter, const struct region_event *event, struct record *record)
{
	const char *text = (const char *)event->payload;
	size_t length = event->length < sizeof event->payload ? event->length : sizeof event->payload;
	if (event->name != 0 && region_read_name(emitter->region, event->name, &text, &length) != REGION_OK)
		length = 0;
	record->text = sample_set_text(emitter->out, text, length);
}

static void fill_mode(struct region_emitter *emitter, const struct region_event *event, struct record *record)
{
	(void)emitter;
	record->mode.name = event->name;
}

static const struct {
	enum record_kind kind;
	void (*fill)(struct region_emitter *emitter, const struct region_event *event, struct record *record);
} event_types[] = {
	[PMTOP_EVENT_EPOCH_BEGIN] = { RECORD_EPOCH_BEGIN, fill_epoch },
	[PMTOP_EVENT_EPOCH_END] = { RECORD_EPOCH_END, fill_epoch },
	[PMTOP_EVENT_BATCH_BEGIN] = { RECORD_BATCH_BEGIN, fill_batch_begin },
	[PMTOP_EVENT_BATCH_END] = { RECORD_BATCH_END, fill_batch_end },
	[PMTOP_EVENT_EVIDENCE] = { RECORD_EVIDENCE, fill_evidence },
	[PMTOP_EVENT_SPAN] = { RECORD_SPAN, fill_span },
	[PMTOP_EVENT_GAUGE] = { RECORD_GAUGE, fill_gauge },
	[PMTOP_EVENT_MARK] = { RECORD_MARK, fill_mark },
	[PMTOP_EVENT_MODE] = { RECORD_MODE, fill_mode },
	[PMTOP_EVENT_FIGURE] = { RECORD_BATCH_FIGURE, fill_figure },
};

/* The event that changed the mode may be lost, or lie between the emitted state and this older event. Batch events
 * carry the mode that was current. */
static void follow_mode(struct region_emitter *emitter, const struct region_event *event)
{
	bool is_of_batch = event->type == PMTOP_EVENT_BATCH_BEGIN || event->type == PMTOP_EVENT_BATCH_END;
	uint32_t mode = event->type == PMTOP_EVENT_MODE ? event->name : is_of_batch ? event->mode : emitter->mode;
	bool is_emitted = mode == emitter->mode || event->type == PMTOP_EVENT_MODE;
	emitter->mode = mode;
	if (is_emitted)
		return;
	emitter_name(emitter, mode);
	struct record *record = emitter_add(emitter, RECORD_MODE, time_of(emitter, event->time_ns));
	if (!record)
		return;
	record->lane = (uint16_t)event->lane;
	record->sequence = event->sequence;
	record->mode.name = mode;
}

void emitter_event(struct region_emitter *emitter, const struct region_event *event)
{
	if (event->type >= sizeof event_types / sizeof *event_types || !event_types[event->type].fill)
		return;
	emitter_name(emitter, event->name);
	if (event->type == PMTOP_EVENT_SPAN)
		emitter_name(emitter, (uint32_t)event->payload[2]);
	follow_mode(emitter, event);
	struct record *record = emitter_add(emitter, event_types[event->type].kind, time_of(emitter, event->time_ns));
	if (!record)
		return;
	record->lane = (uint16_t)event->lane;
	record->sequence = event->sequence;
	event_types[event->type].fill(emitter, event, record);
}
