#include <stdio.h>
#include <string.h>

#include "src/sources/gpu/nvidia/nvidia_private.h"

static const char *const names[NVIDIA_WANTED_COUNT] = {
#define NAME_ROW(id, name) [NVIDIA_WANTED_##id] = name,
	NVIDIA_WANTED(NAME_ROW)
#undef NAME_ROW
};

struct lack {
	const char *words, *remedy;
};

static struct lack explain(int code)
{
	switch (code) {
	case NVIDIA_LACK_HIDDEN:
		return (struct lack){ "hidden: they run outside this container", "run the container with --pid=host" };
	case NVIDIA_LACK_UNIFIED: return (struct lack){ "it has none of its own: the machine's is shown", NULL };
	case NVIDIA_LACK_MIG:
		return (struct lack){ "not told while it is split into parts (MIG)", "see the activity of its parts" };
	case NVIDIA_LACK_SLOW:
		return (struct lack){ "its driver answers slowly, so it is asked seldom",
			"enable persistence mode: nvidia-smi -pm 1" };
	case NVIDIA_LACK_OLD_GPU:
		return (struct lack){ "SM and tensor activity are told by GPUs since Hopper (H100)", NULL };
	case NVIDIA_LACK_OLD_DRIVER:
		return (struct lack){ "SM and tensor activity are told by drivers since 520", "a newer driver" };
	case NVML_NO_PERMISSION: return (struct lack){ nvml_words(code), "run as root (sudo)" };
	case NVML_FUNCTION_NOT_FOUND:
	case NVML_VERSION_MISMATCH: return (struct lack){ nvml_words(code), "a newer driver" };
	default: return (struct lack){ nvml_words(code), NULL };
	}
}

/* "GPU 0, 3", "GPU 0 part 2": those that lack it for the reason of the first of them. */
static int describe(const struct nvidia *nvidia, enum nvidia_wanted wanted, char *out, size_t size)
{
	int code = NVML_OK;
	size_t used = 0;
	for (size_t i = 0; i < nvidia->count; i++) {
		const struct nvidia_device *device = nvidia->devices[i];
		int own = device->codes[wanted];
		if (own == NVML_OK || (code != NVML_OK && own != code) || used + 24 > size)
			continue;
		used += (size_t)snprintf(out + used, size - used, "%s%u", code ? ", " : "GPU ",
			device->whole ? device->whole->index : device->index);
		if (device->whole)
			used += (size_t)snprintf(out + used, size - used, " part %u", device->index);
		code = own;
	}
	return code;
}

static unsigned hidden_of(const struct nvidia *nvidia)
{
	unsigned hidden = 0;
	for (size_t i = 0; i < nvidia->count; i++)
		hidden += nvidia->devices[i]->hidden;
	return hidden;
}

void nvidia_emit_missing(struct nvidia *nvidia, int64_t now_ns, struct sample_set *out)
{
	for (enum nvidia_wanted wanted = 0; wanted < NVIDIA_WANTED_COUNT; wanted++) {
		char gpus[80] = "", text[sizeof nvidia->emitted[0]] = "";
		int code = wanted == NVIDIA_WANTED_DEVICE ? nvidia->refused_code : describe(nvidia, wanted, gpus, sizeof gpus);
		struct lack lack = explain(code);
		if (code == NVIDIA_LACK_HIDDEN)
			snprintf(text, sizeof text, "%s: %u %s", gpus, hidden_of(nvidia), lack.words);
		else if (code != NVML_OK && wanted == NVIDIA_WANTED_DEVICE)
			snprintf(text, sizeof text, "%u of NVIDIA's %u: %s", nvidia->refused, nvidia->listed, lack.words);
		else if (code != NVML_OK)
			snprintf(text, sizeof text, "%s: %s", gpus, lack.words);
		if (strcmp(text, nvidia->emitted[wanted]) == 0)
			continue;
		snprintf(nvidia->emitted[wanted], sizeof nvidia->emitted[wanted], "%s", text);
		sample_set_missing(out, now_ns, names[wanted], text[0] ? text : NULL, text[0] ? lack.remedy : NULL);
	}
}
