#include "src/sources/collectives/collectives_tables.h"

#include <string.h>

#include "src/base/text.h"

static const char *text_of(struct sample_set *out, const char *text)
{
	return *text ? sample_set_text(out, text, strlen(text)) : NULL;
}

/* -- operations and groups -- */

static void emit_op(const struct collectives_tables *tables, size_t at, int64_t now_ns, struct sample_set *out)
{
	struct record *record = sample_set_add(out, RECORD_COLLECTIVE_OP, 0, now_ns);
	if (!record)
		return;
	const char *name = text_of(out, tables->ops[at].name), *sizes = text_of(out, tables->ops[at].sizes);
	record->collective_op.id = (uint32_t)at + 1;
	record->collective_op.name = name ? name : "?";
	record->collective_op.sizes = sizes;
}

/* 0: the table is full. */
static uint32_t op_of(
	struct collectives_tables *tables, const struct flight_entry *entry, int64_t now_ns, struct sample_set *out)
{
	for (size_t i = 0; i < tables->op_count; i++)
		if (strcmp(tables->ops[i].name, entry->name) == 0 && strcmp(tables->ops[i].sizes, entry->sizes) == 0)
			return (uint32_t)i + 1;
	if (tables->op_count == COLLECTIVES_OPS_MAX)
		return 0;
	strcpy(tables->ops[tables->op_count].name, entry->name);
	strcpy(tables->ops[tables->op_count].sizes, entry->sizes);
	emit_op(tables, tables->op_count, now_ns, out);
	return (uint32_t)++tables->op_count;
}

static void emit_group(const struct collectives_tables *tables, size_t at, int64_t now_ns, struct sample_set *out)
{
	struct record *record = sample_set_add(out, RECORD_COLLECTIVE_GROUP, 0, now_ns);
	if (!record)
		return;
	const char *name = text_of(out, tables->groups[at].name),
			   *description = text_of(out, tables->groups[at].description), *job = text_of(out, tables->groups[at].job);
	record->collective_group.id = (uint32_t)at + 1;
	record->collective_group.name = name ? name : "";
	record->collective_group.description = description;
	record->collective_group.job = job;
	record->collective_group.is_device = tables->groups[at].is_device;
}

static uint32_t group_of(struct collectives_tables *tables, const struct collectives_rank *rank,
	const struct flight_entry *entry, int64_t now_ns, struct sample_set *out)
{
	size_t at = 0;
	while (at < tables->group_count &&
		(strcmp(tables->groups[at].name, entry->group) != 0 || strcmp(tables->groups[at].job, rank->job.run_id) != 0 ||
			tables->groups[at].is_device != rank->is_device))
		at++;
	if (at < tables->group_count)
		return (uint32_t)at + 1;
	if (at == COLLECTIVES_GROUPS_MAX)
		return 0;
	strcpy(tables->groups[at].name, entry->group);
	strcpy(tables->groups[at].description, entry->description);
	strcpy(tables->groups[at].job, rank->job.run_id);
	tables->groups[at].is_device = rank->is_device;
	tables->group_count++;
	emit_group(tables, at, now_ns, out);
	return (uint32_t)at + 1;
}

/* -- a reading -- */

static size_t known_group(const struct collectives_rank *rank, uint64_t group_id)
{
	size_t at = 0;
	while (at < rank->group_count && rank->groups[at].group_id != group_id)
		at++;
	return at;
}

static uint32_t group_of_entry(struct collectives_tables *tables, struct collectives_rank *rank,
	const struct flight_entry *entry, int64_t now_ns, struct sample_set *out)
{
	size_t at = known_group(rank, entry->group_id);
	if (at == rank->group_count && at < FLIGHT_GROUPS_MAX) {
		rank->groups[at].group_id = entry->group_id;
		rank->groups[at].group = group_of(tables, rank, entry, now_ns, out);
		rank->groups[at].emitted = (struct flight_status){ entry->group_id, -1, -1, -1 };
		rank->group_count++;
	}
	return at < rank->group_count ? rank->groups[at].group : 0;
}

static void emit_state(const struct collectives_rank *rank, size_t at, int64_t now_ns, struct sample_set *out)
{
	const struct flight_status *status = &rank->groups[at].emitted;
	struct record *record = rank->groups[at].group ? sample_set_add(out, RECORD_COLLECTIVE_STATE, 0, now_ns) : NULL;
	if (!record)
		return;
	record->collective_state.pid = rank->pid;
	record->collective_state.group = rank->groups[at].group;
	record->collective_state.enqueued = status->enqueued;
	record->collective_state.started = status->started;
	record->collective_state.completed = status->completed;
}

/* gloo's status has op_ids, which count send and receive, too: ranks that send and receive differently have different
 * ones for the same collective. The recorder has both numbers of each collective, but neither send nor receive. */
static void note_numbers(struct collectives_rank *rank, const struct flight_entry *entry)
{
	size_t at = known_group(rank, entry->group_id), count = at < rank->group_count ? rank->groups[at].newest_count : 0;
	if (at == rank->group_count || rank->is_device || !entry->op_id)
		return;
	if (count == COLLECTIVES_NUMBERS)
		memmove(&rank->groups[at].newest[0], &rank->groups[at].newest[1], --count * sizeof rank->groups[at].newest[0]);
	rank->groups[at].newest[count].op_id = entry->op_id;
	rank->groups[at].newest[count].sequence = entry->sequence;
	rank->groups[at].newest_count = count + 1;
}

/* The sequence number of the last collective up to an op_id. Further back than the newest are known, as if there were
 * neither send nor receive. */
static int64_t sequence_of(const struct collectives_rank *rank, size_t group, int64_t op_id)
{
	size_t count = rank->groups[group].newest_count;
	if (op_id < 0 || count == 0)
		return op_id;
	for (size_t i = count; i-- > 0;)
		if (rank->groups[group].newest[i].op_id <= (uint64_t)op_id)
			return (int64_t)rank->groups[group].newest[i].sequence;
	uint64_t back = rank->groups[group].newest[0].op_id - (uint64_t)op_id,
			 sequence = rank->groups[group].newest[0].sequence;
	return sequence > back ? (int64_t)(sequence - back) : 0;
}

static void emit_changes(
	struct collectives_rank *rank, const struct flight_reading *reading, int64_t now_ns, struct sample_set *out)
{
	for (size_t i = 0; i < reading->status_count; i++) {
		size_t at = known_group(rank, reading->statuses[i].group_id);
		if (at == rank->group_count)
			continue;
		struct flight_status now = reading->statuses[i], *status = &now;
		now.enqueued = sequence_of(rank, at, now.enqueued);
		now.completed = sequence_of(rank, at, now.completed);
		struct flight_status *emitted = &rank->groups[at].emitted;
		if (emitted->enqueued == status->enqueued && emitted->started == status->started &&
			emitted->completed == status->completed)
			continue;
		*emitted = *status;
		emit_state(rank, at, now_ns, out);
	}
}

/* Operations between two ranks have numbers of their own, and are left out. */
static size_t fill_rows(struct collectives_tables *tables, struct collectives_rank *rank,
	const struct flight_reading *reading, int64_t realtime_offset_ns, int64_t now_ns, struct collective_row *rows,
	struct sample_set *out)
{
	size_t count = 0;
	for (size_t i = 0; i < reading->entry_count; i++) {
		const struct flight_entry *entry = &reading->entries[i];
		uint32_t group = entry->is_point_to_point ? 0 : group_of_entry(tables, rank, entry, now_ns, out);
		if (!group)
			continue;
		note_numbers(rank, entry);
		rows[count++] = (struct collective_row){ .group = group,
			.op = op_of(tables, entry, now_ns, out),
			.sequence = entry->sequence,
			.entered_ns = entry->created_realtime_ns - realtime_offset_ns };
	}
	return count;
}

void collectives_emit_reading(struct collectives_tables *tables, struct collectives_rank *rank,
	const struct flight_reading *reading, const struct collectives_process *process, int64_t realtime_offset_ns,
	int64_t now_ns, struct sample_set *out)
{
	struct collective_row *rows = sample_set_allocate(out, (reading->entry_count + 1) * sizeof *rows);
	if (!rows)
		return;
	size_t count = fill_rows(tables, rank, reading, realtime_offset_ns, now_ns, rows, out);
	emit_changes(rank, reading, now_ns, out);
	struct record *record = sample_set_add(out, RECORD_COLLECTIVES, 0, now_ns);
	if (!record)
		return;
	record->collectives.pid = rank->pid;
	record->collectives.state = (unsigned char)process->state;
	record->collectives.switches = process->switches;
	record->collectives.throttled_s = process->throttled_s;
	record->collectives.skipped = reading->skipped;
	record->collectives.rows = count ? rows : NULL;
	record->collectives.count = count;
}

/* -- ranks, and all again -- */

void collectives_emit_rank(const struct collectives_rank *rank, bool is_gone, int64_t now_ns, struct sample_set *out)
{
	struct record *record = sample_set_add(out, RECORD_COLLECTIVE_RANK, 0, now_ns);
	long number = text_count(rank->job.rank), world_size = text_count(rank->job.world_size);
	if (!record)
		return;
	const char *job = text_of(out, rank->job.run_id);
	record->collective_rank.pid = rank->pid;
	record->collective_rank.rank = number >= 0 && number <= INT32_MAX ? (int32_t)number : -1;
	record->collective_rank.world_size = world_size > 0 && world_size <= INT32_MAX ? (uint32_t)world_size : 0;
	record->collective_rank.job = job;
	record->collective_rank.is_gone = is_gone;
}

void collectives_emit_tables(const struct collectives_tables *tables, int64_t now_ns, struct sample_set *out)
{
	for (size_t i = 0; i < tables->group_count; i++)
		emit_group(tables, i, now_ns, out);
	for (size_t i = 0; i < tables->op_count; i++)
		emit_op(tables, i, now_ns, out);
}

void collectives_emit_states(const struct collectives_rank *rank, int64_t now_ns, struct sample_set *out)
{
	for (size_t i = 0; i < rank->group_count; i++)
		emit_state(rank, i, now_ns, out);
}
