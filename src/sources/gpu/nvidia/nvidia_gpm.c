#include "src/sources/gpu/nvidia/nvidia_gpm.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "src/base/clock.h"
#include "src/sources/gpu/nvidia/nvidia.h"
#include "src/sources/gpu/nvidia/nvidia_counters.h"
#include "src/sources/gpu/nvidia/nvidia_private.h"

/* The driver updates its counts ten times a second. */
#define APART_MIN_NS (110 * NS_PER_MS)
#define MIB 1048576.0

static const struct {
	uint32_t id;
	enum metric metric;
} shares[] = {
	{ NVML_GPM_SM_ACTIVE, METRIC_GPU_SM_ACTIVE },
	{ NVML_GPM_SM_OCCUPANCY, METRIC_GPU_SM_OCCUPANCY },
	{ NVML_GPM_TENSOR_ACTIVE, METRIC_GPU_TENSOR_ACTIVE },
	{ NVML_GPM_DRAM_ACTIVE, METRIC_GPU_DRAM_ACTIVE },
};
/* Rates, for GPUs without such a counter. */
static const struct {
	uint32_t id;
	enum metric metric;
	enum nvidia_wrapping counter;
} rates[] = {
	{ NVML_GPM_PCIE_SENT, METRIC_GPU_PCIE_SENT, NVIDIA_PCIE_SENT },
	{ NVML_GPM_PCIE_RECEIVED, METRIC_GPU_PCIE_RECEIVED, NVIDIA_PCIE_RECEIVED },
	{ NVML_GPM_NVLINK_SENT, METRIC_GPU_NVLINK_SENT, NVIDIA_NVLINK_SENT },
	{ NVML_GPM_NVLINK_RECEIVED, METRIC_GPU_NVLINK_RECEIVED, NVIDIA_NVLINK_RECEIVED },
};
enum { SHARE_COUNT = sizeof shares / sizeof *shares, RATE_COUNT = sizeof rates / sizeof *rates };

static bool is_whole_known(const struct nvml *nvml)
{
	return nvml->gpm_support && nvml->gpm_allocate && nvml->gpm_sample && nvml->gpm_metrics;
}

static int make_ready(struct nvidia *nvidia, struct nvidia_device *device)
{
	const struct nvml *nvml = &nvidia->nvml;
	struct nvml_device *handle = device->whole ? device->whole->handle : device->handle;
	struct nvml_gpm_support support = { .version = NVML_GPM_VERSION };
	if (!is_whole_known(nvml) || (device->whole && !nvml->gpm_sample_of_part))
		return NVIDIA_MISSING_OLD_DRIVER;
	int code = nvml->gpm_support(handle, &support);
	if (code != NVML_OK || !support.is_supported)
		return code == NVML_OK || code == NVML_NOT_SUPPORTED ? NVIDIA_MISSING_OLD_GPU : code;
	if (!nvidia->gpm && !(nvidia->gpm = calloc(1, sizeof *nvidia->gpm)))
		return NVML_NO_DATA;
	for (size_t i = 0; i < 2 && code == NVML_OK; i++)
		code = nvml->gpm_allocate(&device->samples[i]);
	return code;
}

static int take_sample(struct nvidia *nvidia, struct nvidia_device *device, struct nvml_sample *sample)
{
	if (!device->whole)
		return nvidia->nvml.gpm_sample(device->handle, sample);
	return nvidia->nvml.gpm_sample_of_part(device->whole->handle, device->gpu_instance, sample);
}

static int compute(struct nvidia *nvidia, struct nvidia_device *device)
{
	struct nvml_gpm *gpm = nvidia->gpm;
	gpm->version = NVML_GPM_VERSION;
	gpm->count = SHARE_COUNT + RATE_COUNT;
	gpm->from = device->samples[0];
	gpm->to = device->samples[1];
	for (size_t i = 0; i < SHARE_COUNT + RATE_COUNT; i++)
		gpm->values[i] = (struct nvml_gpm_value){
			.id = i < SHARE_COUNT ? shares[i].id : rates[i - SHARE_COUNT].id, .code = NVML_NO_DATA, .value = (double)NAN
		};
	return nvidia->nvml.gpm_metrics(gpm);
}

static double value_of(const struct nvml_gpm *gpm, size_t at, uint32_t id)
{
	const struct nvml_gpm_value *value = &gpm->values[at];
	return value->id == id && value->code == NVML_OK && value->value >= 0 ? value->value : (double)NAN;
}

static void emit(
	const struct nvidia *nvidia, struct nvidia_device *device, double elapsed_s, int64_t now_ns, struct sample_set *out)
{
	/* Rounding may give slightly more than 100 %. */
	enum { PERCENT_MAX = 105 };
	for (size_t i = 0; i < SHARE_COUNT; i++) {
		double percent = value_of(nvidia->gpm, i, shares[i].id);
		if (percent <= PERCENT_MAX)
			nvidia_emit(out, now_ns, shares[i].metric, device, fmin(percent / 100, 1));
	}
	for (size_t i = 0; i < RATE_COUNT && !device->whole; i++) {
		struct nvidia_counter *counter = &device->counters[rates[i].counter];
		double mib_per_s = value_of(nvidia->gpm, SHARE_COUNT + i, rates[i].id);
		bool is_link = rates[i].counter == NVIDIA_NVLINK_SENT || rates[i].counter == NVIDIA_NVLINK_RECEIVED;
		counter->bytes_per_s = mib_per_s * MIB;
		if (isnan(mib_per_s) || (is_link ? device->has_nvlink_field : device->has_pcie_field))
			continue;
		nvidia_add_rate(counter, counter->bytes_per_s, elapsed_s);
		/* A GPU without NVLink also returns zero. */
		if (!is_link || counter->total > 0)
			nvidia_emit(out, now_ns, rates[i].metric, device, counter->total);
	}
}

static bool is_ready(struct nvidia *nvidia, struct nvidia_device *device)
{
	if (device->is_gpm_known)
		return device->has_gpm;
	device->is_gpm_known = true;
	int code = make_ready(nvidia, device);
	device->has_gpm = code == NVML_OK;
	nvidia_note_missing(device, NVIDIA_WANTED_ACTIVITY, code);
	return nvidia_check(nvidia, device, code);
}

void nvidia_begin_gpm(struct nvidia *nvidia)
{
	const struct timespec age = { .tv_nsec = APART_MIN_NS };
	bool is_any = false;
	for (size_t i = 0; i < nvidia->count; i++) {
		struct nvidia_device *device = nvidia->devices[i];
		if (!is_ready(nvidia, device) || take_sample(nvidia, device, device->samples[0]) != NVML_OK)
			continue;
		device->sampled_ns = clock_monotonic_ns();
		device->is_sample_old = is_any = true;
	}
	if (is_any)
		nanosleep(&age, NULL);
}

void nvidia_read_gpm(struct nvidia *nvidia, struct nvidia_device *device, int64_t now_ns, struct sample_set *out)
{
	if (!is_ready(nvidia, device))
		return;
	int64_t elapsed_ns = device->sampled_ns ? now_ns - device->sampled_ns : 0;
	/* The first reading's now_ns is from before nvidia_begin_gpm. */
	if (device->sampled_ns && elapsed_ns < APART_MIN_NS && !device->is_sample_old)
		return;
	device->is_sample_old = false;
	int code = take_sample(nvidia, device, device->samples[device->sampled_ns ? 1 : 0]);
	if (code == NVML_OK && device->sampled_ns) {
		code = compute(nvidia, device);
		if (code == NVML_OK)
			emit(nvidia, device, seconds_between(device->sampled_ns, now_ns), now_ns, out);
		struct nvml_sample *older = device->samples[0];
		device->samples[0] = device->samples[1];
		device->samples[1] = older;
	}
	nvidia_note_missing(
		device, NVIDIA_WANTED_ACTIVITY, code == NVML_NOT_FOUND || code == NVML_NO_DATA ? NVML_OK : code);
	/* A refusal is final; after other errors it is tried again. */
	device->has_gpm = code != NVML_NOT_SUPPORTED && code != NVML_NO_PERMISSION;
	if (nvidia_check(nvidia, device, code))
		device->sampled_ns = now_ns;
	else
		device->sampled_ns = 0;
}
