#include "src/model/collectives/joined.h"

#include <string.h>

#include "src/model/collectives/collectives.h"
#include "src/model/model.h"

static bool is_join(const struct code_name *name)
{
	static const char file[] = "torch/distributed/algorithms/join.py", function[] = "__exit__";
	size_t file_length = name->file ? strlen(name->file) : 0, length = name->function ? strlen(name->function) : 0;
	return file_length >= sizeof file - 1 && length >= sizeof function - 1 &&
		strcmp(name->file + file_length - (sizeof file - 1), file) == 0 &&
		strcmp(name->function + length - (sizeof function - 1), function) == 0;
}

/* Only functions that were not there before are compared. */
static bool has_join(const struct code *code, struct collectives *all)
{
	size_t from = all->codes_compared < code->code_count ? all->codes_compared : 0;
	for (size_t i = from; !all->has_join && all->codes_compared != code->code_count && i < code->code_count; i++)
		all->has_join = is_join(&code->codes[i]);
	all->codes_compared = code->code_count;
	return all->has_join;
}

static double joined_s(const struct code *code, int group)
{
	double sum_s = 0;
	for (size_t i = 0; i < code->node_count; i++) {
		const struct code_node *node = &code->nodes[i];
		if (node->is_used && (int)node->group == group && is_join(&code->codes[node->code]))
			sum_s += node->all.total_s;
	}
	return sum_s;
}

static void refresh(const struct model *model, struct collective_rank *rank)
{
	struct joined *joined = &rank->joined;
	int group = code_group_of(&model->code, rank->pid);
	double sampled_s = group >= 0 ? model->code.groups[group].seen.total_s : 0;
	if (group < 0 || sampled_s == joined->sampled_s)
		return;
	double sum_s = joined_s(&model->code, group);
	bool is_now = sum_s > joined->joined_s, was = joined_now(rank);
	if (is_now && !was) {
		memmove(&joined->spans[1], &joined->spans[0], (JOINED_SPANS - 1) * sizeof joined->spans[0]);
		joined->spans[0].since_ns = joined->sampled_ns ? joined->sampled_ns : model->now_ns;
		joined->spans[0].until_ns = 0;
	} else if (!is_now && was && joined->outside_ns) {
		joined->spans[0].until_ns = joined->outside_ns;
	}
	/* The time of a sample from before Join may be counted later: one reading is not enough. */
	joined->outside_ns = !is_now && joined_now(rank) ? model->now_ns : 0;
	joined->first_ns = joined->sampled_ns ? joined->first_ns : model->now_ns;
	joined->joined_s = sum_s;
	joined->sampled_s = sampled_s;
	joined->sampled_ns = model->now_ns;
}

bool joined_at(const struct collective_rank *rank, int64_t at_ns)
{
	if (at_ns < rank->joined.first_ns)
		return true;
	for (size_t i = 0; i < JOINED_SPANS && rank->joined.spans[i].since_ns; i++)
		if (at_ns >= rank->joined.spans[i].since_ns)
			return !rank->joined.spans[i].until_ns || at_ns < rank->joined.spans[i].until_ns;
	return false;
}

bool joined_now(const struct collective_rank *rank)
{
	return !rank->is_gone && rank->joined.spans[0].since_ns && !rank->joined.spans[0].until_ns;
}

void model_refresh_joined(struct model *model)
{
	if (!has_join(&model->code, model->collectives))
		return;
	for (size_t i = 0; i < model->collectives->rank_count; i++)
		refresh(model, &model->collectives->ranks[i]);
}
