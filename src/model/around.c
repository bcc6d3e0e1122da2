#include "src/model/around.h"

bool model_around(const struct model *model, const struct run *run, const struct batch *batch, struct around *out)
{
	(void)model;
	(void)run;
	(void)batch;
	(void)out;
	return false;
}

const struct around_figure *around_find(const struct around *around, enum metric metric, int32_t instance)
{
	for (size_t i = 0; i < around->figure_count; i++)
		if (around->figures[i].metric == metric && around->figures[i].instance == instance)
			return &around->figures[i];
	return NULL;
}
