#include "src/model/ranks/rank_places.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/text.h"
#include "src/model/ranks/ranks.h"

long rank_world_size(const struct run *run) { return text_count(run->world); }

long rank_number(const struct run *run)
{
	return run->is_used && rank_world_size(run) > 1 ? text_count(run->rank) : -1;
}

bool ranks_are_of_one_run(const struct run *a, const struct run *b)
{
	const char *a_id = run_meta(a, "run_id"), *b_id = run_meta(b, "run_id");
	if (rank_number(a) < 0 || rank_number(b) < 0 || !a_id != !b_id)
		return false;
	return a_id ? strcmp(a_id, b_id) == 0 : strcmp(a->name, b->name) == 0 && strcmp(a->world, b->world) == 0;
}

int ranks_any(const struct model *model)
{
	for (unsigned i = 0; i < model->run_count; i++)
		if (rank_number(&model->runs[i]) >= 0)
			return (int)i;
	return -1;
}

/* The first rank of the same run, in the order found. */
static unsigned leader_of(const struct model *model, unsigned run)
{
	unsigned leader = 0;
	while (leader < run && !ranks_are_of_one_run(&model->runs[leader], &model->runs[run]))
		leader++;
	return leader;
}

struct slot {
	unsigned leader, run;
	long number;
};

static int compare_slots(const void *left, const void *right)
{
	const struct slot *a = left, *b = right;
	if (a->leader != b->leader)
		return a->leader < b->leader ? -1 : 1;
	return a->number != b->number ? (a->number < b->number ? -1 : 1) : (a->run > b->run) - (a->run < b->run);
}

unsigned ranks_order(const struct model *model, unsigned order[MODEL_RUNS_MAX])
{
	struct slot slots[MODEL_RUNS_MAX];
	unsigned count = 0;
	for (unsigned i = 0; i < model->run_count && i < MODEL_RUNS_MAX; i++)
		if (model->runs[i].is_used)
			slots[count++] = (struct slot){ leader_of(model, i), i, rank_number(&model->runs[i]) };
	if (count)
		qsort(slots, count, sizeof *slots, compare_slots);
	for (unsigned i = 0; i < count; i++)
		order[i] = slots[i].run;
	return count;
}

/* Steps of a loop in which no training was seen: a launcher's, or a script's that starts one training after another. */
static bool is_guess(const struct run *run) { return run->is_counted && !run_inferred(run).is_certain; }

/* Which of two runs to show. After the target's end, other ranks that are still live are not preferred. */
static bool is_better(const struct model *model, unsigned one, unsigned other)
{
	const struct run *a = &model->runs[one], *b = &model->runs[other];
	bool a_lives = a->is_live && !model->target_ended, b_lives = b->is_live && !model->target_ended;
	bool a_own = model->has_target && a->pid == model->target_pid,
		 b_own = model->has_target && b->pid == model->target_pid;
	if (a->is_counted != b->is_counted && run_has_content(a) != run_has_content(b))
		return run_has_content(a);
	if (is_guess(a) != is_guess(b))
		return is_guess(b);
	if (a_lives != b_lives)
		return a_lives;
	if (a_own != b_own)
		return a_own;
	if (ranks_are_of_one_run(a, b) && rank_number(a) != rank_number(b))
		return rank_number(a) < rank_number(b);
	return a_lives ? one < other : one > other;
}

int ranks_first(
	const struct model *model, bool (*accepts)(const struct run *run, const void *argument), const void *argument)
{
	int best = -1;
	for (unsigned i = 0; i < model->run_count; i++)
		if (model->runs[i].is_used && (!accepts || accepts(&model->runs[i], argument)) &&
			(best < 0 || is_better(model, i, (unsigned)best)))
			best = (int)i;
	return best;
}
