#include "src/export/json/json_collectives.h"

#include <math.h>

#include "src/explain/collective_words.h"
#include "src/export/json/json_ras.h"

static const struct collective_op *op_of(const struct model *model, const struct collective_judgement *judgement)
{
	return collective_op_of(model->collectives, judgement->op);
}

/* Sequence numbers of the group: what some rank has enqueued, and what all have completed. */
static void write_numbers(struct json *json, const struct model *model, const struct collective_group *group)
{
	int64_t enqueued = -1, completed = INT64_MAX;
	size_t size = 0;
	for (size_t i = 0; i < model->collectives->rank_count; i++) {
		const struct collective_member *member = &group->members[i];
		if (!collective_is_member(model->collectives, group, i))
			continue;
		size++;
		enqueued = member->enqueued > enqueued ? member->enqueued : enqueued;
		completed = member->completed < completed ? member->completed : completed;
	}
	json_unsigned(json, "size", size);
	if (enqueued >= 0)
		json_integer(json, "last_enqueued", enqueued);
	if (size > 0 && completed >= 0)
		json_integer(json, "last_completed", completed);
}

static void write_judgement(struct json *json, const struct model *model, const struct collective_judgement *judgement)
{
	static const char *const findings[] = { [COLLECTIVE_FINE] = NULL,
		[COLLECTIVE_SLOW] = "slow",
		[COLLECTIVE_ENDED] = "ended",
		[COLLECTIVE_BEHIND] = "behind",
		[COLLECTIVE_MISMATCH] = "mismatch" };
	const struct collective_op *op = op_of(model, judgement);
	char words[COLLECTIVE_WORDS_SIZE];
	json_text(json, "finding", findings[judgement->finding]);
	if (judgement->finding == COLLECTIVE_FINE)
		return;
	json_unsigned(json, "sequence", judgement->sequence);
	json_text(json, "collective", op ? op->name : NULL);
	json_text(json, "sizes", op && op->sizes[0] ? op->sizes : NULL);
	json_open_array(json, "behind");
	for (size_t i = 0; i < judgement->behind_count; i++)
		json_integer(json, NULL, model->collectives->ranks[judgement->behind[i]].number);
	json_close_array(json);
	json_number(json, "waited_s", judgement->waited_s);
	json_bool(json, "is_due", judgement->is_due);
	json_text(json, "message", collective_words(model, judgement, words));
}

static void write_group(struct json *json, const struct model *model, size_t index)
{
	const struct collective_group *group = &model->collectives->groups[index];
	struct collective_judgement judgement;
	struct collective_pace pace;
	collectives_judge_group(model, index, &judgement);
	collectives_pace(model, index, &pace);
	json_open_object(json, NULL);
	json_unsigned(json, "id", index + 1);
	json_text(json, "name", group->name);
	json_bool(json, "is_device", group->is_device);
	write_numbers(json, model, group);
	write_judgement(json, model, &judgement);
	json_number(json, "interval_s", pace.interval_s);
	json_number(json, "skew_s", pace.skew_s);
	if (pace.straggler >= 0) {
		json_open_object(json, "straggler");
		json_integer(json, "rank", model->collectives->ranks[pace.straggler].number);
		json_number(json, "waited_ratio", pace.waited_ratio);
		json_number(json, "late_s", pace.late_s);
		json_number(json, "last_ratio", pace.last_ratio);
		json_close_object(json);
	}
	json_close_object(json);
}

static void write_rank(struct json *json, const struct model *model, const struct collective_rank *rank)
{
	const char state[2] = { rank->state, '\0' };
	json_open_object(json, NULL);
	if (rank->number >= 0)
		json_integer(json, "rank", rank->number);
	json_integer(json, "pid", rank->pid);
	json_bool(json, "is_ended", rank->is_gone);
	json_text(json, "state", rank->state ? state : NULL);
	json_number(json, "throttled_ratio", rank->throttle.recent_ratio);
	json_number(json, "read_age_s", rank->read_ns ? (double)(model->now_ns - rank->read_ns) * 1e-9 : (double)NAN);
	json_close_object(json);
}

static void write_recorded(struct json *json, const struct model *model)
{
	json_open_array(json, "groups");
	for (size_t i = 0; i < model->collectives->group_count; i++)
		if (model->collectives->groups[i].is_used)
			write_group(json, model, i);
	json_close_array(json);
	json_open_array(json, "ranks");
	for (size_t i = 0; i < model->collectives->rank_count; i++)
		write_rank(json, model, &model->collectives->ranks[i]);
	json_close_array(json);
}

void json_collectives(struct json *json, const struct model *model)
{
	char words[COLLECTIVE_WORDS_SIZE];
	if (!model->collectives && !model->ras)
		return;
	json_open_object(json, "collectives");
	json_text(json, "message", *collective_words_verdict(model, words) ? words : NULL);
	if (model->collectives)
		write_recorded(json, model);
	json_ras(json, model);
	json_close_object(json);
}
