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
		[GPU_THROTTLE_POWER_CAP] = "power_cap",
		[GPU_THROTTLE_POWER_BRAKE] = "power_brake",
		[GPU_THROTTLE_CURRENT] = "current_limit",
		[GPU_THROTTLE_HARDWARE] = "hardware_slowdown",
		[GPU_THROTTLE_HEAT] = "thermal_slowdown",
		[GPU_THROTTLE_HEAT_SOFTWARE] = "thermal_limit",
		[GPU_THROTTLE_SYNC_BOOST] = "sync_boost",
		[GPU_THROTTLE_CLOCKS_SET] = "clocks_set",
	};
	return names[throttle];
}
