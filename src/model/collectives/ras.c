#include "src/model/collectives/ras.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/clock.h"
#include "src/base/text.h"
#include "src/model/model_private.h"

static void take_text(char out[RAS_TEXT_SIZE], const char *text)
{
	text_clean(out, RAS_TEXT_SIZE, text ? text : "", text ? strlen(text) : 0);
}

/* Ranks of one host are neighbours. If the table is full, its last entry. */
static uint32_t host_of(struct ras *ras, const char *text)
{
	char clean[RAS_TEXT_SIZE];
	take_text(clean, text);
	for (size_t i = ras->host_count; i-- > 0;)
		if (strcmp(ras->hosts[i], clean) == 0)
			return (uint32_t)i;
	if (ras->host_count == RAS_HOSTS_MAX)
		return RAS_HOSTS_MAX - 1;
	memcpy(ras->hosts[ras->host_count], clean, sizeof clean);
	return (uint32_t)ras->host_count++;
}

static bool begin(struct model *model)
{
	struct ras *ras = calloc(1, sizeof *ras);
	if (!ras)
		return false;
	ras->groups = calloc(RAS_MODEL_GROUPS_MAX, sizeof *ras->groups);
	ras->hosts = calloc(RAS_HOSTS_MAX, sizeof *ras->hosts);
	ras->own_host = -1;
	model->ras = ras;
	return ras->groups && ras->hosts;
}

/* -- an answer -- */

static void remove_old_groups(struct ras *ras)
{
	size_t retained = 0;
	for (size_t i = 0; i < ras->group_count; i++) {
		if (ras_is_current(ras, &ras->groups[i]))
			ras->groups[retained++] = ras->groups[i];
		else
			free(ras->groups[i].ranks);
	}
	ras->group_count = retained;
}

static void take_answer(struct ras *ras, const struct record *record)
{
	int64_t now_ns = bounded_time(record->time_ns);
	ras->is_repeat = ras->answers > 0 && now_ns <= ras->read_ns;
	if (ras->is_repeat)
		return;
	remove_old_groups(ras);
	ras->answers++;
	ras->read_ns = now_ns;
	ras->asked_pid = record->ras.pid;
	ras->own_host = record->ras.host && *record->ras.host ? (int)host_of(ras, record->ras.host) : -1;
	ras->collection_s = record->ras.collection_s;
	ras->timeouts = record->ras.timeouts;
	ras->left_out = record->ras.left_out;
	take_text(ras->version, record->ras.version);
}

/* -- a communicator -- */

/* Two communicators may have the same hash: the second of an answer is another group. */
static struct ras_group *group_of(struct ras *ras, const struct record *record)
{
	for (size_t i = 0; i < ras->group_count; i++)
		if (ras->groups[i].hash == record->ras_group.hash && ras->groups[i].size == record->ras_group.size &&
			!ras_is_current(ras, &ras->groups[i]))
			return &ras->groups[i];
	if (ras->group_count == RAS_MODEL_GROUPS_MAX)
		return NULL;
	struct ras_group *group = &ras->groups[ras->group_count++];
	*group = (struct ras_group){ .hash = record->ras_group.hash, .size = record->ras_group.size };
	return group;
}

static struct ras_rank rank_of(struct ras *ras, const struct ras_row *row)
{
	struct ras_rank rank = { .rank = row->rank,
		.pid = row->pid,
		.gpu = row->gpu,
		.host = host_of(ras, row->host),
		.error = row->error,
		.state = row->state < RAS_STATES ? (enum ras_state)row->state : RAS_RUNNING };
	memcpy(rank.counts, row->counts, sizeof rank.counts);
	return rank;
}

/* Ranks that are missing have no counts. */
static bool is_still(const struct ras_group *group, const struct ras_rank *ranks, size_t count)
{
	bool is_equal = group->rank_count == count;
	for (size_t i = 0; is_equal && i < count; i++) {
		const struct ras_rank *old = &group->ranks[i], *new = &ranks[i];
		bool has_counts = old->state == RAS_RUNNING && new->state == RAS_RUNNING;
		is_equal = old->rank == new->rank && (!has_counts || memcmp(old->counts, new->counts, sizeof old->counts) == 0);
	}
	return is_equal;
}

static void note_movement(struct ras_group *group, const struct ras_rank *ranks, size_t count, int64_t now_ns)
{
	if (group->rank_count > 0 && is_still(group, ranks, count)) {
		group->equal_answers++;
		return;
	}
	double still_s = group->equal_answers > 0 ? seconds_between(group->still_ns, now_ns) : 0;
	group->longest_still_s = still_s > group->longest_still_s ? still_s : group->longest_still_s;
	group->equal_answers = 0;
	group->still_ns = now_ns;
}

static void take_group(struct ras *ras, const struct record *record)
{
	size_t count = record->ras_group.rows ? record->ras_group.count : 0;
	if (ras->is_repeat || ras->answers == 0)
		return;
	count = count < RAS_MODEL_RANKS_MAX ? count : RAS_MODEL_RANKS_MAX;
	struct ras_rank *ranks = calloc(count + 1, sizeof *ranks);
	struct ras_group *group = ranks ? group_of(ras, record) : NULL;
	if (!group) {
		free(ranks);
		return;
	}
	for (size_t i = 0; i < count; i++) {
		ranks[i] = rank_of(ras, &record->ras_group.rows[i]);
		ranks[i].was_unresponsive =
			i < group->rank_count && group->ranks[i].rank == ranks[i].rank && group->ranks[i].state == RAS_UNRESPONSIVE;
	}
	note_movement(group, ranks, count, ras->read_ns);
	free(group->ranks);
	group->ranks = ranks;
	group->rank_count = count;
	group->left_out = record->ras_group.left_out;
	group->answer = ras->answers;
}

/* -- within src/model -- */

void model_take_ras(struct model *model, const struct record *record)
{
	if (!model->ras && !begin(model)) {
		model_free_ras(model);
		return;
	}
	if (record->kind == RECORD_RAS)
		take_answer(model->ras, record);
	else
		take_group(model->ras, record);
}

void model_free_ras(struct model *model)
{
	struct ras *ras = model->ras;
	for (size_t i = 0; ras && i < ras->group_count; i++)
		free(ras->groups[i].ranks);
	if (ras) {
		free(ras->groups);
		free(ras->hosts);
	}
	free(ras);
	model->ras = NULL;
}
