#include "src/export/figures/gpu_figures.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

const char *gpu_column(const struct model *model, const struct gpu *gpu, char *out, size_t size)
{
	const struct gpu *whole = gpu->parent >= 0 ? model_gpu(model, gpu->parent) : NULL;
	char vendor[sizeof gpu->vendor + 1] = "";
	if (strcmp(gpu->vendor, model->gpus.gpus[0].vendor) != 0) {
		size_t length = 0;
		for (; gpu->vendor[length]; length++)
			vendor[length] = (char)tolower((unsigned char)gpu->vendor[length]);
		memcpy(vendor + length, ".", 2);
	}
	if (gpu->parent >= 0)
		snprintf(out, size, "%sgpu%u.%u", vendor, whole ? whole->index : 0, gpu->index);
	else
		snprintf(out, size, "%sgpu%u", vendor, gpu->index);
	return out;
}

const char *gpu_throttle_name(enum gpu_throttle throttle)
{
	static const char *const names[GPU_THROTTLE_COUNT] = {
#define THROTTLE_NAME(id, text, name) [GPU_THROTTLE_##id] = name,
		GPU_THROTTLES(THROTTLE_NAME)
#undef THROTTLE_NAME
	};
	return names[throttle];
}
