#include "tests/support/model_parts.h"

#include <check.h>
#include <math.h>
#include <string.h>

struct model *model_new_default(void)
{
	struct model_options options;
	model_options_default(&options);
	struct model *model = model_new(&options);
	ck_assert_ptr_nonnull(model);
	return model;
}

void story_play(struct story *story, struct model *model)
{
	struct sample_set set = SAMPLE_SET_INIT;
	while (story_next(story, &set))
		model_apply(model, &set);
	sample_set_release(&set);
}

void model_set_unknown(struct model *model)
{
	struct system *system = &model->system;
	model->memory = (struct memory){ .growth_bytes = NAN, .slope_per_batch = NAN, .tree_rss_bytes = NAN };
	for (size_t i = 0; i < METRIC_COUNT; i++)
		system->now[i] = NAN;
	system->cpu_ratio = system->io_wait_ratio = system->memory_ratio = system->swap_per_s = system->shm_ratio = NAN;
	system->throttled_ratio = system->space_ratio = NAN;
}

double batch_phase_s(const struct batch *batch, uint32_t name, uint32_t parent)
{
	for (unsigned i = 0; i < batch->phase_count; i++)
		if (batch->phases[i].name == name && batch->phases[i].parent == parent)
			return (double)batch->phases[i].seconds;
	return NAN;
}

double batch_outermost_s(const struct batch *batch)
{
	double sum = 0;
	for (unsigned i = 0; i < batch->phase_count; i++)
		sum += batch->phases[i].parent == NAME_NONE ? (double)batch->phases[i].seconds : 0;
	return sum;
}

const struct operation *run_operation(const struct run *run, uint32_t mode, uint32_t name)
{
	for (size_t i = 0; i < run->operation_count; i++)
		if (run->operations[i].mode == mode && run->operations[i].name == name)
			return &run->operations[i];
	ck_abort_msg("no operation %u in mode %u", name, mode);
}

const struct alert *alerts_find_raised(const struct alerts *alerts, const char *rule)
{
	for (size_t i = 0; i < alerts->count; i++)
		if (alerts->list[i].is_raised && strcmp(alerts->list[i].rule, rule) == 0)
			return &alerts->list[i];
	return NULL;
}
