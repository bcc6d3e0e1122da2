#include "src/model/gpus/gpus_words.h"

#include <stdio.h>
#include <string.h>

#include "src/model/model.h"

const char *gpu_throttle_words(unsigned throttle, char *out, size_t size)
{
	static const char *const words[GPU_THROTTLE_COUNT] = {
#define THROTTLE_WORDS(id, text, name) [GPU_THROTTLE_##id] = text,
		GPU_THROTTLES(THROTTLE_WORDS)
#undef THROTTLE_WORDS
	};
	size_t length = 0;
	if (size)
		*out = '\0';
	for (size_t i = 0; i < GPU_THROTTLE_COUNT && length < size; i++)
		if (throttle >> i & 1)
			length += (size_t)snprintf(out + length, size - length, "%s%s", length ? ", " : "", words[i]);
	return out;
}

bool gpu_is_throttled(unsigned throttle)
{
	return throttle & (GPU_THROTTLED_BY_HEAT | GPU_THROTTLED_BY_POWER | GPU_THROTTLED_BY_HARDWARE);
}

const char *gpu_label(const struct model *model, const struct gpu *gpu, char *out, size_t size)
{
	const struct gpu *whole = gpu->parent >= 0 ? model_gpu(model, gpu->parent) : NULL;
	bool are_several = false;
	for (size_t i = 0; i < model->gpus.count; i++)
		are_several |= strcmp(model->gpus.gpus[i].vendor, gpu->vendor) != 0;
	const char *vendor = are_several ? gpu->vendor : "";
	if (gpu->parent >= 0)
		snprintf(out, size, "%s%sGPU %u.%u", vendor, *vendor ? " " : "", whole ? whole->index : 0, gpu->index);
	else
		snprintf(out, size, "%s%sGPU %u", vendor, *vendor ? " " : "", gpu->index);
	return out;
}

/* -- memory verdicts -- */

static const struct words {
	enum memory_verdict verdict;
	const char *meaning, *next;
} words[] = {
	{ MEMORY_LEAK, "Memory allocated by the framework grows with each batch and is not freed.",
		"Look for tensors kept with their graph: losses summed without .item() or detach(), outputs in lists, "
		"hooks that store activations. "
		"torch.cuda.memory._record_memory_history() shows where live memory was allocated." },
	{ MEMORY_FRAGMENTATION, "The allocator reserves more than was ever in use at once: its free blocks are too small.",
		"Try PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True, or repeating shapes (pad to a few lengths, "
		"drop_last=True)." },
	{ MEMORY_CACHE, "The allocator caches freed blocks, and libraries use work space; memory in use does not grow.",
		"Nothing to do while it fits: the framework frees cached blocks before it runs out." },
	{ MEMORY_GROWING, "The run's GPU memory grows; the cause is not known yet.",
		"Wait for 50 batches. Without import pmtop.torch, watch torch.cuda.memory_allocated() yourself." },
	{ MEMORY_PLATEAU, "Memory use is stable.", "Nothing to do." },
	{ MEMORY_NOT_JUDGED, "Not enough data yet, or the trend is unclear.", "Wait for more batches." },
};

static const struct words *words_of(const struct gpu *gpu)
{
	const struct words *row = words;
	while (row->verdict != MEMORY_NOT_JUDGED && row->verdict != gpu->verdict)
		row++;
	return row;
}

bool gpu_memory_is_growing(const struct gpu *gpu)
{
	return gpu->verdict == MEMORY_GROWING || gpu->verdict == MEMORY_LEAK || gpu->verdict == MEMORY_FRAGMENTATION;
}

const char *gpu_memory_meaning(const struct gpu *gpu) { return words_of(gpu)->meaning; }

const char *gpu_memory_next_step(const struct gpu *gpu) { return words_of(gpu)->next; }
