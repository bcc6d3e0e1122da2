#include "src/sources/gpu/nvidia/nvidia_missing.h"

#include <stdio.h>
#include <string.h>

#include "src/sources/gpu/nvidia/nvidia_private.h"

static const char *const names[NVIDIA_WANTED_COUNT] = {
#define NAME_ROW(id, name) [NVIDIA_WANTED_##id] = name,
	NVIDIA_WANTED(NAME_ROW)
#undef NAME_ROW
};

struct missing {
	const char *words, *remedy;
};

static struct missing explain(int code)
{
	switch (code) {
	case NVIDIA_MISSING_HIDDEN:
		return (struct missing){ "hidden: they run outside this container", "run the container with --pid=host" };
	case NVIDIA_MISSING_UNIFIED: return (struct missing){ "unified memory: shows the machine's memory", NULL };
	case NVIDIA_MISSING_MIG: return (struct missing){ "not reported in MIG mode", "see its MIG instances" };
	case NVIDIA_MISSING_SLOW:
		return (struct missing){ "the driver is slow, so pmtop reads it less often",
			"enable persistence mode: nvidia-smi -pm 1" };
	case NVIDIA_MISSING_OLD_GPU:
		return (struct missing){ "SM and tensor activity need a Hopper GPU (H100) or newer", NULL };
	case NVIDIA_MISSING_OLD_DRIVER:
		return (struct missing){ "SM and tensor activity need driver 520 or newer", "install a newer driver" };
	case NVML_NO_PERMISSION: return (struct missing){ nvml_words(code), "run as root (sudo)" };
	case NVML_FUNCTION_NOT_FOUND:
	case NVML_VERSION_MISMATCH: return (struct missing){ nvml_words(code), "install a newer driver" };
	default: return (struct missing){ nvml_words(code), NULL };
	}
}

/* "GPU 0, 3", "GPU 0 part 2": all devices that miss it for the same reason as the first one. */
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
		struct missing missing = explain(code);
		if (code == NVIDIA_MISSING_HIDDEN)
			snprintf(text, sizeof text, "%s: %u %s", gpus, hidden_of(nvidia), missing.words);
		else if (code != NVML_OK && wanted == NVIDIA_WANTED_DEVICE)
			snprintf(text, sizeof text, "%u of NVIDIA's %u: %s", nvidia->refused, nvidia->listed, missing.words);
		else if (code != NVML_OK)
			snprintf(text, sizeof text, "%s: %s", gpus, missing.words);
		if (strcmp(text, nvidia->emitted[wanted]) == 0)
			continue;
		snprintf(nvidia->emitted[wanted], sizeof nvidia->emitted[wanted], "%s", text);
		sample_set_missing(out, now_ns, names[wanted], text[0] ? text : NULL, text[0] ? missing.remedy : NULL);
	}
}
