/* Parts (MIG) and what the hardware counts (GPM): since Ampere and Hopper. */
#include <stdlib.h>
#include <time.h>

#include "tests/fake_nvml/fake.h"

#ifndef FAKE_OLD
EXPORT int nvmlDeviceGetMigMode(struct nvml_device *device, unsigned *now, unsigned *pending)
{
	BEGIN(device);
	int code = fake_give32(device, FAKE_mig, 1, now);
	*pending = *now;
	return code;
}

EXPORT int nvmlDeviceGetMaxMigDeviceCount(struct nvml_device *device, unsigned *out)
{
	BEGIN(device);
	*out = FAKE_PARTS;
	return 0;
}

EXPORT int nvmlDeviceGetMigDeviceHandleByIndex(struct nvml_device *device, unsigned index, struct nvml_device **out)
{
	BEGIN(device);
	if (index >= FAKE_PARTS || !script.devices[device->gpu][1 + index].is_there)
		return NVML_NOT_FOUND;
	fake_handles[device->gpu][1 + index] = (struct nvml_device){ device->gpu, 1 + index };
	*out = &fake_handles[device->gpu][1 + index];
	return 0;
}

EXPORT int nvmlDeviceGetGpuInstanceId(struct nvml_device *device, unsigned *out)
{
	BEGIN(device);
	*out = fake_of(device)->instance;
	return 0;
}

EXPORT int nvmlDeviceGetAttributes_v2(struct nvml_device *device, struct nvml_attributes *out)
{
	double slices, memory;
	BEGIN(device);
	if (fake_figure(device, FAKE_slices, &slices) || fake_figure(device, FAKE_memory, &memory))
		return NVML_NOT_SUPPORTED;
	*out = (struct nvml_attributes){
		.gpu_slices = (uint32_t)slices, .compute_slices = (uint32_t)slices, .memory_mib = (uint64_t)(memory / 0x1p20)
	};
	return 0;
}

/* What a sample is of; only the newest two matter. */
static const struct nvml_device *sampled;

EXPORT int nvmlGpmQueryDeviceSupport(struct nvml_device *device, struct nvml_gpm_support *out)
{
	double value;
	BEGIN(device);
	if (out->version != 1)
		return NVML_VERSION_MISMATCH;
	out->is_supported = fake_figure(device, FAKE_gpm, &value) == 0 && value > 0;
	return 0;
}

EXPORT int nvmlGpmSampleAlloc(struct nvml_sample **out)
{
	*out = calloc(1, sizeof **out);
	return 0;
}

EXPORT int nvmlGpmSampleFree(struct nvml_sample *sample)
{
	free(sample);
	return 0;
}

static int take_sample(const struct nvml_device *device, struct nvml_sample *sample)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	sample->taken_s = (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
	sampled = device;
	return 0;
}

EXPORT int nvmlGpmSampleGet(struct nvml_device *device, struct nvml_sample *sample)
{
	BEGIN(device);
	return take_sample(device, sample);
}

EXPORT int nvmlGpmMigSampleGet(struct nvml_device *device, unsigned instance, struct nvml_sample *sample)
{
	BEGIN(device);
	for (unsigned i = 1; i <= FAKE_PARTS; i++)
		if (script.devices[device->gpu][i].is_there && script.devices[device->gpu][i].instance == instance)
			return take_sample(&fake_handles[device->gpu][i], sample);
	return NVML_INVALID;
}

EXPORT int nvmlGpmMetricsGet(struct nvml_gpm *ask)
{
	static const struct {
		unsigned id;
		enum fake_figure which;
	} table[] = {
		{ 2, FAKE_sm },
		{ 3, FAKE_occupancy },
		{ 5, FAKE_tensor },
		{ 10, FAKE_dram },
		{ 20, FAKE_gpm_pcie_sent },
		{ 21, FAKE_gpm_pcie_received },
		{ 60, FAKE_gpm_nvlink_received },
		{ 61, FAKE_gpm_nvlink_sent },
	};
	BEGIN(NULL);
	if (ask->version != 1 || ask->count > NVML_GPM_METRICS_MAX ||
		(script.time_s < 0 && ask->to->taken_s - ask->from->taken_s < 0.1))
		return NVML_INVALID;
	for (unsigned i = 0; i < ask->count; i++) {
		ask->values[i].code = NVML_NOT_SUPPORTED;
		for (size_t n = 0; n < sizeof table / sizeof *table; n++)
			if (table[n].id == ask->values[i].id)
				ask->values[i].code = fake_figure(sampled, table[n].which, &ask->values[i].value);
	}
	/* Drivers write to the end of the array that their version has. */
	ask->values[NVML_GPM_METRICS_MAX - 1].code = NVML_NOT_SUPPORTED;
	return 0;
}
#endif
