#include "src/sources/gpu/nvidia/nvidia_names.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/sources/gpu/nvidia/nvidia.h"
#include "src/sources/gpu/nvidia/nvidia_private.h"

#define MAKER "NVIDIA "

static void read_name(struct nvidia *nvidia, struct nvidia_device *device)
{
	const struct nvml *nvml = &nvidia->nvml;
	char name[NVML_NAME_SIZE] = "";
	if (!nvml->name || nvml->name(device->handle, name, sizeof name) != NVML_OK)
		name[0] = '\0';
	name[sizeof name - 1] = '\0';
	/* A part's name: "NVIDIA H100 80GB HBM3 MIG 1g.10gb"; older drivers return only the GPU's. */
	const char *part = device->whole ? strstr(name, "MIG ") : NULL, *own = part ? part + strlen("MIG ") : name;
	struct nvml_attributes attributes;
	if (device->whole && !part && nvml->attributes && nvml->attributes(device->handle, &attributes) == NVML_OK &&
		attributes.memory_mib < UINT32_MAX)
		snprintf(device->name, sizeof device->name, "%ug.%ugb", attributes.compute_slices,
			(unsigned)((attributes.memory_mib + 1023) / 1024));
	else
		snprintf(device->name, sizeof device->name, "%s",
			strncmp(own, MAKER, strlen(MAKER)) == 0 ? own + strlen(MAKER)
				: own[0]                            ? own
													: "GPU");
}

static void read_address(struct nvidia *nvidia, struct nvidia_device *device)
{
	const struct nvml *nvml = &nvidia->nvml;
	struct nvml_pci pci = { .domain = 0 };
	if (!nvml->uuid || nvml->uuid(device->handle, device->uuid, sizeof device->uuid) != NVML_OK)
		device->uuid[0] = '\0';
	device->uuid[sizeof device->uuid - 1] = '\0';
	if (device->whole)
		snprintf(device->pci, sizeof device->pci, "%s", device->whole->pci);
	else if (nvml->pci && nvml->pci(device->handle, &pci) == NVML_OK && pci.bus <= 0xff && pci.device <= 0x1f)
		snprintf(device->pci, sizeof device->pci, "%04x:%02x:%02x.0", pci.domain, pci.bus, pci.device);
}

static struct nvidia_device *add_device(
	struct nvidia *nvidia, struct nvml_device *handle, struct nvidia_device *whole, uint32_t index)
{
	struct nvidia_device *device = nvidia->count < NVIDIA_DEVICES_MAX ? calloc(1, sizeof *device) : NULL;
	if (!device)
		return NULL;
	device->handle = handle;
	device->whole = whole;
	device->index = index;
	device->memory_total_bytes = device->power_limit_w = (double)NAN;
	device->limits = (struct nvidia_limits){ (double)NAN, (double)NAN, (double)NAN };
	device->instance =
		nvidia->first_instance + (int32_t)(whole ? NVIDIA_PARTS_FROM + NVIDIA_PARTS_MAX * whole->index + index : index);
	device->gpu_instance = UINT32_MAX;
	if (whole && (!nvidia->nvml.gpu_instance || nvidia->nvml.gpu_instance(handle, &device->gpu_instance) != NVML_OK))
		device->gpu_instance = UINT32_MAX;
	read_name(nvidia, device);
	read_address(nvidia, device);
	nvidia->devices[nvidia->count++] = device;
	return device;
}

void nvidia_device_free(struct nvidia *nvidia, struct nvidia_device *device)
{
	for (size_t i = 0; i < sizeof device->samples / sizeof *device->samples; i++)
		if (device->samples[i] && nvidia->nvml.gpm_free)
			nvidia->nvml.gpm_free(device->samples[i]);
	for (size_t i = 0; i < NVIDIA_LISTS; i++)
		free(device->lists[i].users);
	free(device->uses);
	free(device);
}

enum status nvidia_find_gpus(struct nvidia *nvidia, struct reason *why_not)
{
	unsigned count = 0;
	int code = nvidia->nvml.device_count(&count);
	if (code != NVML_OK)
		return reason_set(why_not, STATUS_IO, "run nvidia-smi for details",
			"the NVIDIA driver does not list its GPUs: %s", nvml_words(code));
	for (unsigned i = 0; i < count && i < NVIDIA_GPUS_MAX; i++) {
		struct nvml_device *handle = NULL;
		code = nvidia->nvml.device(i, &handle);
		if (code == NVML_OK)
			add_device(nvidia, handle, NULL, i);
		else if (nvidia->refused++ == 0)
			nvidia->refused_code = code;
	}
	nvidia->listed = count;
	if (nvidia->count)
		return STATUS_OK;
	int refused = nvidia->refused_code;
	if (refused == NVML_NO_PERMISSION || refused == NVML_BLOCKED)
		return reason_set(why_not, STATUS_DENIED, "ls -l /dev/nvidia*: join their group, or run as root",
			"no permission to use the %u NVIDIA GPUs", count);
	if (refused)
		return reason_set(why_not, STATUS_IO, "run nvidia-smi for details",
			"none of the %u NVIDIA GPUs can be opened: %s", count, nvml_words(refused));
	return reason_set(why_not, STATUS_NOT_FOUND, "in a container: --gpus all", "the NVIDIA driver finds no GPU");
}

void nvidia_emit_device(struct nvidia *nvidia, struct nvidia_device *device, int64_t now_ns, struct sample_set *out)
{
	struct record *record = sample_set_add(out, RECORD_GPU, 0, now_ns);
	struct gpu_row *row = record ? sample_set_allocate(out, sizeof *row) : NULL;
	if (!row) {
		if (record)
			out->count--;
		return;
	}
	*row = (struct gpu_row){
		.instance = device->instance,
		.parent = device->whole ? device->whole->instance : -1,
		.index = device->index,
		.vendor = "NVIDIA",
		.name = sample_set_text(out, device->name, strlen(device->name)),
		.uuid = sample_set_text(out, device->uuid, strlen(device->uuid)),
		.pci = sample_set_text(out, device->pci, strlen(device->pci)),
		.driver = sample_set_text(out, nvidia->driver, strlen(nvidia->driver)),
		.lost = device->lost[0] ? sample_set_text(out, device->lost, strlen(device->lost)) : NULL,
	};
	record->gpu = row;
	device->is_emitted = true;
}

/* -- parts (MIG) -- */

static struct nvidia_device *find_part(const struct nvidia *nvidia, const struct nvidia_device *whole, uint32_t index)
{
	for (size_t i = 0; i < nvidia->count; i++)
		if (nvidia->devices[i]->whole == whole && nvidia->devices[i]->index == index)
			return nvidia->devices[i];
	return NULL;
}

static void end_part(struct nvidia *nvidia, struct nvidia_device *part, int64_t now_ns, struct sample_set *out)
{
	size_t at = 0;
	while (nvidia->devices[at] != part)
		at++;
	snprintf(part->lost, sizeof part->lost, "this MIG instance was removed");
	nvidia_emit_device(nvidia, part, now_ns, out);
	nvidia_device_free(nvidia, part);
	nvidia->count--;
	memmove(&nvidia->devices[at], &nvidia->devices[at + 1], (nvidia->count - at) * sizeof *nvidia->devices);
}

static bool is_same_part(const struct nvidia *nvidia, const struct nvidia_device *part, struct nvml_device *handle)
{
	char uuid[NVML_NAME_SIZE] = "";
	if (part->handle != handle)
		return false;
	if (!nvidia->nvml.uuid || nvidia->nvml.uuid(handle, uuid, sizeof uuid) != NVML_OK)
		return true;
	uuid[sizeof uuid - 1] = '\0';
	return strcmp(uuid, part->uuid) == 0;
}

void nvidia_read_parts(struct nvidia *nvidia, struct nvidia_device *device, int64_t now_ns, struct sample_set *out)
{
	const struct nvml *nvml = &nvidia->nvml;
	unsigned is_on = 0, pending = 0, max = 0;
	bool knows = nvml->mig_mode && nvml->parts_max && nvml->part;
	if (!knows || !nvidia_check(nvidia, device, nvml->mig_mode(device->handle, &is_on, &pending)))
		is_on = 0;
	if (is_on && !nvidia_check(nvidia, device, nvml->parts_max(device->handle, &max)))
		max = 0;
	if (device->has_parts != (is_on != 0))
		device->next_ns[NVIDIA_GROUP_limits] = 0;
	device->has_parts = is_on != 0;
	for (unsigned i = 0; i < NVIDIA_PARTS_MAX && !device->has_failed; i++) {
		struct nvml_device *handle = NULL;
		struct nvidia_device *part = find_part(nvidia, device, i);
		bool is_there = i < max && nvml->part(device->handle, i, &handle) == NVML_OK && handle;
		if (part && (!is_there || !is_same_part(nvidia, part, handle))) {
			end_part(nvidia, part, now_ns, out);
			part = NULL;
		}
		if (is_there && !part && (part = add_device(nvidia, handle, device, i)))
			nvidia_emit_device(nvidia, part, now_ns, out);
	}
}
