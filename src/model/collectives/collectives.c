#include "src/model/collectives/collectives.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/clock.h"
#include "src/base/text.h"
#include "src/model/collectives/exchange_hang.h"
#include "src/model/model_private.h"
#include "src/model/ranks/rank_places.h"

/* Of a CPU quota's throttling. */
static const double throttle_min_s = 0.2, throttle_mean_s = 5;
static const double running_mean_s = 2;

const struct collective_slot *collective_slot_of(const struct collective_group *group, uint64_t sequence)
{
	const struct collective_slot *slot = group->slots ? &group->slots[sequence % COLLECTIVE_SLOTS] : NULL;
	return slot && sequence > 0 && slot->sequence == sequence ? slot : NULL;
}

const struct collective_op *collective_op_of(const struct collectives *collectives, uint32_t op)
{
	return op > 0 && op <= COLLECTIVE_OPS_MAX && collectives->ops[op - 1].name[0] ? &collectives->ops[op - 1] : NULL;
}

bool collective_is_member(const struct collectives *collectives, const struct collective_group *group, size_t rank)
{
	if (!group->members[rank].is_member)
		return false;
	for (size_t i = 0; collectives->ranks[rank].is_gone && i < collectives->rank_count; i++)
		if (!collectives->ranks[i].is_gone && group->members[i].is_member &&
			collectives->ranks[i].number == collectives->ranks[rank].number)
			return false;
	return true;
}

/* -- ranks, operations, groups -- */

static size_t find_rank(const struct collectives *collectives, int32_t pid)
{
	size_t at = 0;
	while (at < collectives->rank_count && collectives->ranks[at].pid != pid)
		at++;
	return at;
}

/* The number of a rank that has no launcher's variables may be known from its steps. */
static long number_of(const struct model *model, long number, int32_t pid)
{
	for (unsigned i = 0; number < 0 && i < model->run_count; i++)
		if (model->runs[i].is_used && model->runs[i].pid == pid)
			number = rank_number(&model->runs[i]);
	return number;
}

static void forget_rank(struct collectives *collectives, size_t rank)
{
	for (size_t i = 0; i < collectives->group_count; i++) {
		struct collective_group *group = &collectives->groups[i];
		group->members[rank] = (struct collective_member){ .is_member = false };
		if (group->lost) {
			memset(group->lost->seconds[rank], 0, sizeof group->lost->seconds[rank]);
			group->lost->exchanges[rank] = (struct exchange_pair){ .delays_s = 0 };
		}
		for (size_t k = 0; group->slots && k < COLLECTIVE_SLOTS; k++) {
			group->slots[k].entries[rank].entered_ns = 0;
			group->slots[k].entries[rank].op = 0;
		}
	}
}

static void take_rank(struct model *model, struct collectives *collectives, const struct record *record)
{
	size_t at = find_rank(collectives, record->collective_rank.pid);
	if (at == COLLECTIVE_RANKS_MAX)
		for (at = 0; at < COLLECTIVE_RANKS_MAX && !collectives->ranks[at].is_gone; at++)
			;
	if (at == COLLECTIVE_RANKS_MAX)
		return;
	struct collective_rank *rank = &collectives->ranks[at];
	bool is_new = at == collectives->rank_count || rank->pid != record->collective_rank.pid ||
		(rank->is_gone && !record->collective_rank.is_gone);
	if (is_new) {
		forget_rank(collectives, at);
		*rank = (struct collective_rank){ .pid = record->collective_rank.pid, .throttle = { NAN, 0, NAN } };
		collectives->rank_count += at == collectives->rank_count;
	}
	rank->number = number_of(model, record->collective_rank.rank, rank->pid);
	rank->world_size = record->collective_rank.world_size;
	rank->is_gone = record->collective_rank.is_gone;
}

static void take_text(char out[COLLECTIVE_TEXT_SIZE], const char *text)
{
	text_clean(out, COLLECTIVE_TEXT_SIZE, text ? text : "", text ? strlen(text) : 0);
}

/* "nccl:all_reduce" is shown without the library's name. */
static void take_op(struct collectives *collectives, const struct record *record)
{
	if (record->collective_op.id == 0 || record->collective_op.id > COLLECTIVE_OPS_MAX)
		return;
	struct collective_op *op = &collectives->ops[record->collective_op.id - 1];
	const char *name = record->collective_op.name ? record->collective_op.name : "", *colon = strchr(name, ':');
	take_text(op->name, colon && colon[1] ? colon + 1 : name);
	take_text(op->sizes, record->collective_op.sizes);
}

static void take_group(struct collectives *collectives, const struct record *record)
{
	if (record->collective_group.id == 0 || record->collective_group.id > COLLECTIVE_GROUPS_MAX)
		return;
	size_t at = record->collective_group.id - 1u;
	struct collective_group *group = &collectives->groups[at];
	const char *description = record->collective_group.description;
	bool has_description = description && *description && strcmp(description, "undefined") != 0;
	take_text(group->name, has_description ? description : record->collective_group.name);
	group->is_used = true;
	group->is_device = record->collective_group.is_device;
	collectives->group_count = collectives->group_count > at ? collectives->group_count : at + 1;
}

static struct collective_group *group_at(struct collectives *collectives, uint32_t id)
{
	return id > 0 && id <= collectives->group_count && collectives->groups[id - 1].is_used
		? &collectives->groups[id - 1]
		: NULL;
}

/* -- how far a rank is -- */

/* Begins anew: the group was destroyed and made again, so its numbers begin at 1. */
static void restart(struct collective_group *group)
{
	if (group->slots)
		memset(group->slots, 0, COLLECTIVE_SLOTS * sizeof *group->slots);
	memset(group->members, 0, sizeof group->members);
	group->longest_skew_s = 0;
	if (group->lost) {
		group->lost->ended_ns = group->lost->released_ns ? group->lost->released_ns : group->lost->ended_ns;
		group->lost->released_ns = 0;
		group->lost->next = 0;
	}
}

/* Whether all members have ended, so that a rank of a restarted job begins the group anew. */
static bool is_over(const struct collectives *collectives, const struct collective_group *group)
{
	size_t members = 0;
	for (size_t i = 0; i < collectives->rank_count; i++) {
		members += group->members[i].is_member;
		if (group->members[i].is_member && !collectives->ranks[i].is_gone)
			return false;
	}
	return members > 0;
}

static void advance(struct collective_member *member, int64_t enqueued, int64_t now_ns)
{
	if (!member->is_member)
		*member = (struct collective_member){ true, -1, -1, -1, now_ns };
	if (enqueued <= member->enqueued)
		return;
	member->enqueued = enqueued;
	member->moved_ns = now_ns;
}

static void take_state(struct collectives *collectives, const struct record *record)
{
	struct collective_group *group = group_at(collectives, record->collective_state.group);
	size_t rank = find_rank(collectives, record->collective_state.pid);
	if (!group || rank == collectives->rank_count)
		return;
	struct collective_member *member = &group->members[rank];
	bool is_back = member->is_member && record->collective_state.completed < member->completed,
		 is_next = !member->is_member && !collectives->ranks[rank].is_gone && is_over(collectives, group);
	if (is_back || is_next)
		restart(group);
	advance(member, record->collective_state.enqueued, bounded_time(record->time_ns));
	member->started = record->collective_state.started;
	member->completed = record->collective_state.completed;
}

/* Once all members have entered a collective, its skew is known. */
static void note_skew(struct collectives *collectives, struct collective_group *group, struct collective_slot *slot)
{
	int64_t first_ns = INT64_MAX, last_ns = 0;
	slot->released_ns = 0;
	for (size_t i = 0; i < collectives->rank_count; i++) {
		if (!collective_is_member(collectives, group, i))
			continue;
		int64_t entered_ns = slot->entries[i].entered_ns;
		if (!entered_ns)
			return;
		first_ns = entered_ns < first_ns ? entered_ns : first_ns;
		last_ns = entered_ns > last_ns ? entered_ns : last_ns;
	}
	slot->released_ns = last_ns;
	double skew_s = first_ns < last_ns ? seconds_between(first_ns, last_ns) : 0;
	group->longest_skew_s = skew_s > group->longest_skew_s ? skew_s : group->longest_skew_s;
}

static void take_row(struct collectives *collectives, size_t rank, const struct collective_row *row, int64_t now_ns)
{
	struct collective_group *group = group_at(collectives, row->group);
	if (!group || row->sequence == 0 || row->sequence > INT64_MAX)
		return;
	if (!group->slots && !(group->slots = calloc(COLLECTIVE_SLOTS, sizeof *group->slots)))
		return;
	struct collective_slot *slot = &group->slots[row->sequence % COLLECTIVE_SLOTS];
	if (!group->members[rank].is_member && !collectives->ranks[rank].is_gone && is_over(collectives, group))
		restart(group);
	advance(&group->members[rank], (int64_t)row->sequence, now_ns);
	if (slot->sequence > row->sequence)
		return;
	if (slot->sequence < row->sequence) {
		memset(slot, 0, sizeof *slot);
		slot->sequence = row->sequence;
	}
	/* Operations that are launched together have one number: the first is shown. */
	if (slot->entries[rank].entered_ns)
		return;
	slot->entries[rank].entered_ns = bounded_time(row->entered_ns);
	slot->entries[rank].op = row->op;
	note_skew(collectives, group, slot);
}

/* An exponential mean over throttle_mean_s. Of another cgroup, or one that was reset, the mean begins anew. */
static void take_throttle(struct collective_throttle *throttle, double total_s, int64_t now_ns)
{
	double elapsed_s = seconds_between(throttle->time_ns, now_ns), added_s = total_s - throttle->total_s;
	if (throttle->time_ns && elapsed_s < throttle_min_s && added_s >= 0)
		return;
	bool is_known = throttle->time_ns && elapsed_s > 0 && added_s >= 0;
	double ratio = is_known ? fmin(added_s / elapsed_s, 1) : (double)NAN,
		   weight = isnan(throttle->recent_ratio) ? 1 : 1 - exp(-elapsed_s / throttle_mean_s);
	double before = isnan(throttle->recent_ratio) ? 0 : throttle->recent_ratio;
	*throttle =
		(struct collective_throttle){ total_s, now_ns, is_known ? before + weight * (ratio - before) : (double)NAN };
}

/* An exponential mean over running_mean_s. */
static void take_process_state(struct collective_rank *rank, char state, int64_t now_ns)
{
	double elapsed_s = rank->read_ns ? seconds_between(rank->read_ns, now_ns) : running_mean_s;
	rank->running_ratio += (1 - exp(-elapsed_s / running_mean_s)) * ((state == 'R' ? 1 : 0) - rank->running_ratio);
	rank->state = state;
	rank->read_ns = now_ns;
}

static void take_rows(struct model *model, struct collectives *collectives, const struct record *record)
{
	size_t rank = find_rank(collectives, record->collectives.pid);
	int64_t now_ns = bounded_time(record->time_ns);
	if (rank == collectives->rank_count)
		return;
	collectives->ranks[rank].number = number_of(model, collectives->ranks[rank].number, collectives->ranks[rank].pid);
	take_process_state(&collectives->ranks[rank], (char)record->collectives.state, now_ns);
	take_throttle(&collectives->ranks[rank].throttle, record->collectives.throttled_s, now_ns);
	exchange_note_switches(&collectives->ranks[rank], record->collectives.switches, now_ns);
	for (size_t i = 0; record->collectives.rows && i < record->collectives.count; i++)
		take_row(collectives, rank, &record->collectives.rows[i], now_ns);
}

/* -- public -- */

void model_take_collectives(struct model *model, const struct record *record)
{
	if (!model->collectives && !(model->collectives = calloc(1, sizeof *model->collectives)))
		return;
	switch ((enum record_kind)record->kind) {
	case RECORD_COLLECTIVE_RANK: take_rank(model, model->collectives, record); break;
	case RECORD_COLLECTIVE_GROUP: take_group(model->collectives, record); break;
	case RECORD_COLLECTIVE_OP: take_op(model->collectives, record); break;
	case RECORD_COLLECTIVE_STATE: take_state(model->collectives, record); break;
	default: take_rows(model, model->collectives, record);
	}
}

static void free_group(struct collective_group *group)
{
	free(group->slots);
	free(group->lost);
}

void model_free_collectives(struct model *model)
{
	for (size_t i = 0; model->collectives && i < COLLECTIVE_GROUPS_MAX; i++)
		free_group(&model->collectives->groups[i]);
	free(model->collectives);
}
