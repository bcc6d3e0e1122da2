#include "src/model/collectives/ras_judge.h"

#include <math.h>
#include <string.h>

#include "src/base/clock.h"
#include "src/model/code/code_samples.h"
#include "src/model/model.h"

enum { BEHIND_MAX = 64 };

/* A communicator that has launched fewer is at its beginning: it waits for compilations and workers. */
enum { FIRST_LAUNCHES = 10 };
/* As in collectives_judge.c: work of one rank for which the others wait as planned. */
static const double first_patience_s = 60, healthy_ratio = 0.2, healthy_patience_s = 600;
static const double patience_min_s = 30, still_ratio = 1.5, answer_age_s = 60;

static bool is_old(const struct model *model)
{
	return !model->ras || seconds_between(model->ras->read_ns, model->now_ns) > answer_age_s;
}

/* -- one communicator -- */

static void add_rank(struct ras_judgement *out, size_t rank)
{
	if (out->count < RAS_NAMED_MAX)
		out->ranks[out->count] = rank;
	out->count++;
}

static bool find_missing(const struct ras_group *group, enum ras_state state, struct ras_judgement *out)
{
	for (size_t i = 0; i < group->rank_count; i++)
		if (group->ranks[i].state == state) {
			add_rank(out, i);
			out->is_due |= state == RAS_DEAD || group->ranks[i].was_unresponsive;
		}
	return out->count > 0;
}

/* How many ranks launched fewer of an operation than others; 0 = all launched the same number. */
static size_t count_behind(const struct ras_group *group, size_t op, uint64_t *low, uint64_t *high)
{
	size_t behind = 0;
	*low = UINT64_MAX;
	*high = 0;
	for (size_t i = 0; i < group->rank_count; i++) {
		if (group->ranks[i].state != RAS_RUNNING)
			continue;
		*low = group->ranks[i].counts[op] < *low ? group->ranks[i].counts[op] : *low;
		*high = group->ranks[i].counts[op] > *high ? group->ranks[i].counts[op] : *high;
	}
	for (size_t i = 0; i < group->rank_count; i++)
		behind += group->ranks[i].state == RAS_RUNNING && group->ranks[i].counts[op] < *high;
	return behind;
}

/* Whether the rank writes a checkpoint or compiles: known of this machine's ranks only. */
static bool is_healthy(const struct model *model, const struct ras_group *group, size_t rank)
{
	struct phase_sums sums = { .samples = 0 };
	if ((int)group->ranks[rank].host != model->ras->own_host || group->ranks[rank].pid <= 0)
		return false;
	model_sum_phases(model, group->ranks[rank].pid, group->still_ns, model->ras->read_ns, &sums);
	unsigned healthy = sums.counts[CODE_PHASE_CHECKPOINT] + sums.counts[CODE_PHASE_COMPILE];
	return sums.samples > 0 && healthy >= healthy_ratio * sums.samples;
}

/* Of several operations, the one that the fewest ranks have not launched. */
static bool find_behind(const struct model *model, const struct ras_group *group, struct ras_judgement *out)
{
	size_t fewest = 0;
	for (size_t op = 0; op < RAS_OP_COUNT; op++) {
		uint64_t low, high;
		size_t behind = group->equal_answers > 0 ? count_behind(group, op, &low, &high) : 0;
		if (behind == 0 || (fewest && behind >= fewest))
			continue;
		fewest = behind;
		out->op = (enum ras_op)op;
		out->low = low;
		out->high = high;
	}
	for (size_t i = 0; fewest && i < group->rank_count; i++)
		if (group->ranks[i].state == RAS_RUNNING && group->ranks[i].counts[out->op] < out->high)
			add_rank(out, i);
	out->still_s = seconds_between(group->still_ns, model->ras->read_ns);
	out->patience_s = fmax(patience_min_s, still_ratio * group->longest_still_s);
	if (fewest && out->high < FIRST_LAUNCHES)
		out->patience_s = fmax(out->patience_s, first_patience_s);
	if (fewest && is_healthy(model, group, out->ranks[0]))
		out->patience_s = fmax(out->patience_s, healthy_patience_s);
	out->is_due = fewest && out->still_s >= out->patience_s;
	return fewest > 0;
}

void ras_judge_group(const struct model *model, size_t index, struct ras_judgement *out)
{
	*out = (struct ras_judgement){ .group = index, .still_s = NAN, .patience_s = NAN };
	if (is_old(model) || index >= model->ras->group_count || !ras_is_current(model->ras, &model->ras->groups[index]))
		return;
	const struct ras_group *group = &model->ras->groups[index];
	if (find_missing(group, RAS_DEAD, out))
		out->finding = RAS_IS_DEAD;
	else if (find_missing(group, RAS_UNRESPONSIVE, out))
		out->finding = RAS_NO_ANSWER;
	else if (find_behind(model, group, out))
		out->finding = RAS_IS_BEHIND;
}

/* -- all of them -- */

static bool is_same_process(const struct ras_rank *a, const struct ras_rank *b)
{
	return a->pid > 0 && a->pid == b->pid && a->host == b->host && a->gpu == b->gpu;
}

/* Communicators in which ranks are behind; of more, the first. */
struct behind {
	size_t count;
	struct ras_judgement list[BEHIND_MAX];
};

/* Whether the first rank behind waits itself: in another communicator that stands still, others are behind it. */
static bool is_waiting(const struct ras *ras, const struct behind *behind, const struct ras_judgement *judgement)
{
	const struct ras_rank *first = &ras->groups[judgement->group].ranks[judgement->ranks[0]];
	for (size_t i = 0; i < behind->count; i++) {
		const struct ras_judgement *other = &behind->list[i];
		const struct ras_group *group = &ras->groups[other->group];
		for (size_t k = 0; other->group != judgement->group && k < group->rank_count; k++)
			if (is_same_process(first, &group->ranks[k]) && group->ranks[k].counts[other->op] == other->high)
				return true;
	}
	return false;
}

/* Whether `a` matters more than `b`; of equal ones, the larger communicator does. */
static bool is_worse(const struct ras *ras, const struct ras_judgement *a, const struct ras_judgement *b)
{
	if (a->finding != b->finding)
		return a->finding > b->finding;
	if (a->is_due != b->is_due)
		return a->is_due;
	return ras->groups[a->group].size > ras->groups[b->group].size;
}

void ras_judge(const struct model *model, struct ras_judgement *out)
{
	struct behind behind = { 0 };
	*out = (struct ras_judgement){ .still_s = NAN, .patience_s = NAN };
	for (size_t i = 0; model->ras && i < model->ras->group_count; i++) {
		struct ras_judgement judgement;
		ras_judge_group(model, i, &judgement);
		if (judgement.finding == RAS_IS_BEHIND && behind.count < BEHIND_MAX)
			behind.list[behind.count++] = judgement;
		else if (judgement.finding > RAS_IS_BEHIND && is_worse(model->ras, &judgement, out))
			*out = judgement;
	}
	/* Two rounds: if all of them wait (a deadlock across communicators), the worst is named all the same. */
	for (int round = 0; round < 2 && out->finding == RAS_FINE; round++)
		for (size_t i = 0; i < behind.count; i++)
			if ((round || !is_waiting(model->ras, &behind, &behind.list[i])) &&
				(out->finding == RAS_FINE || is_worse(model->ras, &behind.list[i], out)))
				*out = behind.list[i];
}

int ras_world(const struct ras *ras)
{
	int found = -1;
	for (size_t i = 0; ras && i < ras->group_count; i++)
		if (ras_is_current(ras, &ras->groups[i]) && (found < 0 || ras->groups[i].size > ras->groups[found].size))
			found = (int)i;
	return found;
}

long ras_number(const struct ras *ras, const struct ras_rank *rank)
{
	int world = ras_world(ras);
	for (size_t i = 0; world >= 0 && i < ras->groups[world].rank_count; i++)
		if (&ras->groups[world].ranks[i] == rank || is_same_process(&ras->groups[world].ranks[i], rank))
			return ras->groups[world].ranks[i].rank;
	return -1;
}

size_t ras_hosts(const struct ras_group *group)
{
	bool is_seen[RAS_HOSTS_MAX] = { false };
	size_t count = 0;
	for (size_t i = 0; i < group->rank_count; i++) {
		count += !is_seen[group->ranks[i].host];
		is_seen[group->ranks[i].host] = true;
	}
	return count;
}
