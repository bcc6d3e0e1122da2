#include "src/fleet/fleet_rank.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "src/base/clock.h"
#include "src/base/text.h"
#include "src/model/ranks/ranks.h"

#define FUTURE_MAX_NS (60 * NS_PER_S)
#define PAST_MAX_NS (3600 * NS_PER_S)

void fleet_rank_init(struct fleet_rank *rank, unsigned run, int32_t pid)
{
	*rank = (struct fleet_rank){ .run = run,
		.pid = pid,
		.number = -1,
		.gpu = -1,
		.gpu_busy_ratio = NAN,
		.resident_bytes = NAN,
		.wait_s = NAN,
		.data_s = NAN };
}

const struct fleet_name *fleet_rank_name(const struct fleet_rank *rank, uint32_t id)
{
	for (unsigned i = 0; i < rank->name_count; i++)
		if (rank->names[i].id == id)
			return &rank->names[i];
	return NULL;
}

static void add_name(struct fleet_rank *rank, uint32_t id, const char *text)
{
	if (rank->name_count == FLEET_NAMES || fleet_rank_name(rank, id) || !text)
		return;
	struct fleet_name *name = &rank->names[rank->name_count++];
	name->id = id;
	name->is_wait = ranks_is_wait(text);
	name->is_data = strcasecmp(text, "data") == 0;
	text_clean(name->text, sizeof name->text, text, strlen(text));
}

/* -- the heat map -- */

static struct fleet_cell *cell_of(struct fleet_rank *rank, int64_t column)
{
	if (column > rank->newest_column) {
		int64_t from = rank->newest_column + 1;
		from = from < column - FLEET_COLUMNS + 1 ? column - FLEET_COLUMNS + 1 : from;
		for (int64_t i = from; i <= column; i++)
			rank->cells[(uint64_t)i % FLEET_COLUMNS] = (struct fleet_cell){ 0 };
		rank->newest_column = column;
	}
	if (column <= rank->newest_column - FLEET_COLUMNS || column < 0)
		return NULL;
	return &rank->cells[(uint64_t)column % FLEET_COLUMNS];
}

static void fill_cells(struct fleet_rank *rank, const struct fleet_step *step, int64_t end_ns)
{
	int64_t first = step->begin_ns / FLEET_COLUMN_NS, last = end_ns / FLEET_COLUMN_NS;
	first = first < last - FLEET_COLUMNS + 1 ? last - FLEET_COLUMNS + 1 : first;
	for (int64_t column = first; column <= last; column++) {
		struct fleet_cell *cell = cell_of(rank, column);
		if (!cell)
			continue;
		cell->step_s += step->step_s;
		cell->own_s += (float)fleet_step_own(step);
		cell->count++;
	}
}

double fleet_rank_step_at(const struct fleet_rank *rank, int64_t column, bool is_own)
{
	if (column < 0 || column > rank->newest_column || column <= rank->newest_column - FLEET_COLUMNS)
		return NAN;
	const struct fleet_cell *cell = &rank->cells[(uint64_t)column % FLEET_COLUMNS];
	return cell->count ? (double)(is_own ? cell->own_s : cell->step_s) / (double)cell->count : (double)NAN;
}

/* -- steps -- */

double fleet_step_time(const struct fleet_step *step) { return (double)step->step_s; }
double fleet_step_wait(const struct fleet_step *step) { return (double)step->wait_s; }
double fleet_step_data(const struct fleet_step *step) { return (double)step->data_s; }

double fleet_step_own(const struct fleet_step *step)
{
	double own_s = (double)step->step_s - (double)step->wait_s;
	return own_s < 0 ? 0 : own_s;
}

double fleet_rank_mean(const struct fleet_rank *rank, double (*value)(const struct fleet_step *step))
{
	double sum = 0;
	unsigned count = 0;
	for (unsigned i = 0; i < FLEET_STEPS && i < rank->step_count; i++) {
		double one = value(&rank->steps[i]);
		if (!isfinite(one))
			continue;
		sum += one;
		count++;
	}
	return count ? sum / count : (double)NAN;
}

const struct fleet_step *fleet_rank_step(const struct fleet_rank *rank, uint64_t number)
{
	/* Where it is if no number is missing. */
	uint64_t newest = rank->step_count ? rank->steps[(rank->step_count - 1) % FLEET_STEPS].number : 0;
	const struct fleet_step *likely = &rank->steps[(rank->step_count - 1 - (newest - number)) % FLEET_STEPS];
	if (number <= newest && newest - number < rank->step_count && likely->number == number)
		return likely;
	for (unsigned i = 0; i < FLEET_STEPS && i < rank->step_count; i++)
		if (rank->steps[i].number == number)
			return &rank->steps[i];
	return NULL;
}

/* The newest batch's step ends at `end_ns`. */
static void close_step(struct fleet_rank *rank, int64_t end_ns)
{
	if (!rank->has_batch || rank->begin_ns == 0 || end_ns <= rank->begin_ns)
		return;
	struct fleet_step step = { rank->batch_number, rank->begin_ns, (float)seconds_between(rank->begin_ns, end_ns),
		rank->wait_s, rank->data_s };
	rank->steps[rank->step_count++ % FLEET_STEPS] = step;
	fill_cells(rank, &step, end_ns);
	rank->begin_ns = 0;
	rank->wait_s = rank->data_s = NAN;
}

static void add_span(struct fleet_rank *rank, const struct record *record)
{
	const struct fleet_name *name = fleet_rank_name(rank, record->span.name);
	const struct fleet_name *parent = fleet_rank_name(rank, record->span.parent);
	float span_s = (float)seconds_between(0, record->span.duration_ns);
	if (!name || (rank->has_batch && record->lane != rank->lane) || record->span.duration_ns < 0)
		return;
	if (name->is_wait && !(parent && parent->is_wait))
		rank->wait_s = (isfinite(rank->wait_s) ? rank->wait_s : 0) + span_s;
	if (name->is_data)
		rank->data_s = (isfinite(rank->data_s) ? rank->data_s : 0) + span_s;
}

static void begin_batch(struct fleet_rank *rank, const struct record *record, int64_t time_ns)
{
	close_step(rank, time_ns);
	rank->has_batch = rank->is_open = true;
	rank->lane = record->lane;
	rank->batch_number = record->batch.number;
	rank->begin_ns = time_ns;
}

/* When a batch began whose begin was not seen; 0 = unknown, or impossible. */
static int64_t begin_of(const struct record *record, int64_t end_ns, int64_t ahead_ns)
{
	int64_t begin_ns;
	bool is_known = record->batch.begin_ns && !__builtin_sub_overflow(record->batch.begin_ns, ahead_ns, &begin_ns);
	return is_known && begin_ns < end_ns && begin_ns > end_ns - PAST_MAX_NS && begin_ns > 0 ? begin_ns : 0;
}

static void end_batch(struct fleet_rank *rank, const struct record *record, int64_t time_ns, int64_t ahead_ns)
{
	/* pmtop came while the batch was running. */
	if (!rank->is_open || rank->batch_number != record->batch.number) {
		rank->has_batch = true;
		rank->lane = record->lane;
		rank->batch_number = record->batch.number;
		rank->begin_ns = begin_of(record, time_ns, ahead_ns);
	}
	rank->is_open = false;
	rank->end_ns = time_ns;
}

static void take_meta(struct fleet_rank *rank, const char *key, const char *value)
{
	long number = value ? text_count(value) : -1;
	if (!key || number < 0)
		return;
	if (strcmp(key, "RANK") == 0)
		rank->number = number;
	else if (strcmp(key, "WORLD_SIZE") == 0)
		rank->world_size = number;
}

static void take_state(struct fleet_rank *rank, const struct run_state *state)
{
	if (!state || rank->has_batch)
		return;
	rank->batch_number = state->batch_index;
}

static void take_opened(struct fleet_rank *rank, const struct record *record, int64_t now_ns)
{
	const char *name = record->opened.name ? record->opened.name : "";
	const char *uuid = record->opened.uuid ? record->opened.uuid : "";
	int32_t pid = record->opened.pid ? record->opened.pid : record->opened.inner_pid;
	if (rank->opened_ns && (pid != rank->pid || strncmp(uuid, rank->uuid, sizeof rank->uuid - 1) != 0))
		fleet_rank_init(rank, record->run, pid);
	rank->pid = pid;
	rank->opened_ns = rank->opened_ns ? rank->opened_ns : now_ns;
	text_clean(rank->name, sizeof rank->name, name, strlen(name));
	snprintf(rank->uuid, sizeof rank->uuid, "%s", uuid);
	rank->is_inferred = opened_is_counted(record);
}

static bool take_event(struct fleet_rank *rank, const struct record *record, int64_t ahead_ns, int64_t now_ns)
{
	int64_t time_ns;
	if (__builtin_sub_overflow(record->time_ns, ahead_ns, &time_ns) || time_ns > now_ns + FUTURE_MAX_NS ||
		time_ns < now_ns - PAST_MAX_NS || time_ns <= 0)
		return false;
	rank->event_ns = time_ns > rank->event_ns ? time_ns : rank->event_ns;
	switch (record->kind) {
	case RECORD_BATCH_BEGIN: begin_batch(rank, record, time_ns); break;
	case RECORD_BATCH_END: end_batch(rank, record, time_ns, ahead_ns); break;
	case RECORD_SPAN: add_span(rank, record); break;
	default: close_step(rank, rank->is_open ? time_ns : rank->end_ns); rank->is_open = false;
	}
	return true;
}

bool fleet_rank_apply(struct fleet_rank *rank, const struct record *record, int64_t ahead_ns, int64_t now_ns)
{
	switch (record->kind) {
	case RECORD_RUN_OPENED: take_opened(rank, record, now_ns); break;
	case RECORD_RUN_CLOSED:
		rank->has_ended = true;
		rank->is_orderly = end_is_orderly(record->text);
		break;
	case RECORD_NAME: add_name(rank, record->name.id, record->name.text); break;
	case RECORD_META: take_meta(rank, record->meta.key, record->meta.value); break;
	case RECORD_STATE: take_state(rank, record->state); break;
	case RECORD_OPEN_SPAN: rank->where = record->span.name; break;
	case RECORD_OPEN_SPANS_NONE: rank->where = 0; break;
	case RECORD_BATCH_BEGIN:
	case RECORD_BATCH_END:
	case RECORD_SPAN:
	case RECORD_EPOCH_BEGIN:
	case RECORD_EPOCH_END: return take_event(rank, record, ahead_ns, now_ns);
	default: break;
	}
	return true;
}
