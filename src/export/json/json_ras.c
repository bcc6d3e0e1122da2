#include "src/export/json/json_ras.h"

#include <math.h>
#include <stdio.h>

#include "src/base/clock.h"
#include "src/explain/ras_words.h"

/* Of a larger job, only ranks that are not running. */
enum { RANKS_MAX = 256, ROWS_MAX = 4096 };

static void write_ranks_in(struct json *json, const char *key, const struct ras_group *group, enum ras_state state)
{
	bool has_any = false;
	for (size_t i = 0; i < group->rank_count; i++)
		has_any |= group->ranks[i].state == state;
	if (!has_any)
		return;
	json_open_array(json, key);
	for (size_t i = 0; i < group->rank_count; i++)
		if (group->ranks[i].state == state)
			json_integer(json, NULL, group->ranks[i].rank);
	json_close_array(json);
}

static void write_behind(struct json *json, const struct ras_group *group, const struct ras_judgement *judgement)
{
	json_open_array(json, "behind");
	for (size_t i = 0; i < judgement->count && i < RAS_NAMED_MAX; i++)
		json_integer(json, NULL, group->ranks[judgement->ranks[i]].rank);
	json_close_array(json);
	json_unsigned(json, "behind_count", judgement->count);
	json_text(json, "collective", ras_op_name(judgement->op));
	json_unsigned(json, "launched_min", judgement->low);
	json_unsigned(json, "launched_max", judgement->high);
}

static void write_communicator(struct json *json, const struct model *model, size_t index)
{
	const struct ras_group *group = &model->ras->groups[index];
	struct ras_judgement judgement;
	char hash[32];
	ras_judge_group(model, index, &judgement);
	snprintf(hash, sizeof hash, "0x%llx", (unsigned long long)group->hash);
	json_open_object(json, NULL);
	json_text(json, "hash", hash);
	json_unsigned(json, "size", group->size);
	json_unsigned(json, "hosts", ras_hosts(group));
	write_ranks_in(json, "dead", group, RAS_DEAD);
	write_ranks_in(json, "unresponsive", group, RAS_UNRESPONSIVE);
	if (judgement.finding == RAS_IS_BEHIND)
		write_behind(json, group, &judgement);
	if (group->equal_answers > 0)
		json_number(json, "still_s", seconds_between(group->still_ns, model->ras->read_ns));
	json_close_object(json);
}

static uint64_t launched_in(const struct ras_group *group, const struct ras_rank *rank)
{
	uint64_t launched = 0;
	for (size_t i = 0; i < group->rank_count; i++) {
		const struct ras_rank *own = &group->ranks[i];
		for (size_t op = 0; own->host == rank->host && own->pid == rank->pid && op < RAS_OP_COUNT; op++)
			launched += own->counts[op];
	}
	return launched;
}

/* By a process, in all communicators. False: there are too many to count. */
static bool count_launched(const struct ras *ras, const struct ras_rank *rank, uint64_t *launched)
{
	size_t rows = 0;
	*launched = 0;
	for (size_t i = 0; i < ras->group_count && rows <= ROWS_MAX; i++)
		if (ras_is_current(ras, &ras->groups[i])) {
			rows += ras->groups[i].rank_count;
			*launched += launched_in(&ras->groups[i], rank);
		}
	return rows <= ROWS_MAX;
}

static void write_rank(struct json *json, const struct ras *ras, const struct ras_rank *rank)
{
	uint64_t launched;
	json_open_object(json, NULL);
	json_integer(json, "rank", rank->rank);
	json_text(json, "host", ras->hosts[rank->host]);
	if (rank->pid > 0)
		json_integer(json, "pid", rank->pid);
	json_text(json, "state", ras_state_name(rank->state));
	if (rank->error)
		json_unsigned(json, "error", rank->error);
	if (rank->state == RAS_RUNNING && count_launched(ras, rank, &launched))
		json_unsigned(json, "launched", launched);
	json_close_object(json);
}

static void write_world(struct json *json, const struct ras *ras)
{
	int world = ras_world(ras);
	const struct ras_group *group = world >= 0 ? &ras->groups[world] : NULL;
	bool has_all = group && group->rank_count <= RANKS_MAX;
	size_t left_out = group ? group->left_out : 0;
	json_open_array(json, "ranks");
	for (size_t i = 0; group && i < group->rank_count; i++) {
		if (has_all || group->ranks[i].state != RAS_RUNNING)
			write_rank(json, ras, &group->ranks[i]);
		else
			left_out++;
	}
	json_close_array(json);
	if (left_out > 0)
		json_unsigned(json, "ranks_left_out", left_out);
}

static void write_judgement(struct json *json, const struct model *model)
{
	static const char *const findings[] = {
		[RAS_FINE] = NULL, [RAS_IS_BEHIND] = "behind", [RAS_NO_ANSWER] = "unresponsive", [RAS_IS_DEAD] = "dead"
	};
	struct ras_judgement judgement;
	char words[COLLECTIVE_WORDS_SIZE];
	ras_judge(model, &judgement);
	if (judgement.finding == RAS_FINE)
		return;
	json_text(json, "finding", findings[judgement.finding]);
	json_bool(json, "is_due", judgement.is_due);
	json_text(json, "message", ras_words(model, &judgement, words));
}

void json_ras(struct json *json, const struct model *model)
{
	const struct ras *ras = model->ras;
	if (!ras || ras->answers == 0)
		return;
	json_open_object(json, "ras");
	json_text(json, "nccl_version", ras->version);
	json_integer(json, "asked_pid", ras->asked_pid);
	json_number(json, "read_age_s", seconds_between(ras->read_ns, model->now_ns));
	json_number(json, "collection_s", ras->collection_s);
	json_unsigned(json, "timeouts", ras->timeouts);
	write_judgement(json, model);
	json_open_array(json, "communicators");
	for (size_t i = 0; i < ras->group_count; i++)
		if (ras_is_current(ras, &ras->groups[i]))
			write_communicator(json, model, i);
	json_close_array(json);
	if (ras->left_out > 0)
		json_unsigned(json, "communicators_left_out", ras->left_out);
	write_world(json, ras);
	json_close_object(json);
}
