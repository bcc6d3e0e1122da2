/* intel: GPUs of the drivers i915 and xe: sysfs (Documentation/gpu/i915.rst,
 * Documentation/ABI/testing/sysfs-driver-intel-{i915,xe}-hwmon, xe_gt_freq.c, xe_gt_throttle.c), ioctls for memory,
 * fdinfo for processes. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "src/base/clock.h"
#include "src/sources/gpu/drm/drm_gpus.h"
#include "src/sources/gpu/intel/intel_memory.h"
#include "src/sources/gpu/intel/intel_pmu.h"

enum { PARTS_MAX = 16, TILES_MAX = 4, GTS_MAX = 4 };

#define MEMORY_NS (2 * NS_PER_S)

/* A graphics or media part of the chip (gt), each with its clock. */
struct part {
	char folder[SYS_PATH_SIZE];
};

struct intel {
	bool is_xe, is_integrated;
	unsigned part_count;
	struct part parts[PARTS_MAX];
	char node[SYS_PATH_SIZE];
	double total_bytes; /* from sysfs; NAN = unknown */
	int64_t memory_ns;  /* time of the last query */
	struct intel_memory memory;
	struct intel_pmu pmu; /* i915 */
	struct reason no_pmu;
};

static bool is_intel(const char *driver) { return strcmp(driver, "i915") == 0 || strcmp(driver, "xe") == 0; }

/* -- once -- */

static void add_part(struct intel *intel, const char *folder, const char *name, const char *clock)
{
	char path[SYS_PATH_SIZE];
	double ignored;
	if (intel->part_count < PARTS_MAX && sys_join(path, folder, name) && sys_number(path, clock, &ignored))
		memcpy(intel->parts[intel->part_count++].folder, path, sizeof path);
}

static void find_xe_parts(struct intel *intel, const char *folder)
{
	char name[64];
	for (unsigned tile = 0; tile < TILES_MAX; tile++) {
		double bytes;
		snprintf(name, sizeof name, "tile%u/physical_vram_size_bytes", tile);
		if (sys_number(folder, name, &bytes) && bytes > 0 && bytes < 1e16)
			intel->total_bytes = (isnan(intel->total_bytes) ? 0 : intel->total_bytes) + bytes;
		for (unsigned gt = 0; gt < GTS_MAX; gt++) {
			snprintf(name, sizeof name, "tile%u/gt%u/freq0", tile, gt);
			add_part(intel, folder, name, "act_freq");
		}
	}
}

/* Before Linux 6.0 a card has one part, whose files are in the card's folder. */
static void find_i915_parts(struct intel *intel, const struct drm_device *device)
{
	char name[64];
	for (unsigned gt = 0; gt < GTS_MAX; gt++) {
		snprintf(name, sizeof name, "drm/%.20s/gt/gt%u", device->card, gt);
		add_part(intel, device->folder, name, "rps_act_freq_mhz");
	}
	snprintf(name, sizeof name, "drm/%.20s", device->card);
	if (intel->part_count == 0)
		add_part(intel, device->folder, name, "gt_act_freq_mhz");
}

static void refresh_intel(struct drm_gpus *all, struct drm_gpu *gpu)
{
	struct intel *intel = gpu->own;
	intel_pmu_close(&intel->pmu);
	*intel = (struct intel){ .total_bytes = NAN,
		.memory = { NAN, NAN },
		.memory_ns = INT64_MIN,
		.is_xe = strcmp(gpu->device.driver, "xe") == 0 };
	strcpy(gpu->vendor, "Intel");
	/* The address of every integrated Intel GPU so far. */
	intel->is_integrated = gpu->is_aside = strcmp(gpu->device.pci, "0000:00:02.0") == 0;
	if (!intel->is_xe)
		intel_pmu_open(
			drm_sys_root(all->choices), gpu->device.pci, intel_pmu_system_opener, &intel->pmu, &intel->no_pmu);
	if (!drm_device_node(all->choices, &gpu->device, intel->node))
		intel->node[0] = '\0';
	if (intel->is_xe)
		find_xe_parts(intel, gpu->device.folder);
	else if (gpu->device.card[0])
		find_i915_parts(intel, &gpu->device);
}

/* -- figures -- */

struct clock_files {
	const char *now, *max;
};
static const struct clock_files xe_clocks = { "act_freq", "rp0_freq" };
static const struct clock_files i915_clocks = { "rps_act_freq_mhz", "rps_RP0_freq_mhz" };
static const struct clock_files old_clocks = { "gt_act_freq_mhz", "gt_RP0_freq_mhz" };

/* The clock of the fastest part: a media part is idle while the other computes. */
static double fastest(const struct intel *intel, bool at_most)
{
	double max = NAN, mhz;
	for (unsigned i = 0; i < intel->part_count; i++) {
		const char *folder = intel->parts[i].folder;
		const struct clock_files *files = intel->is_xe ? &xe_clocks
			: strstr(folder, "/gt/")                   ? &i915_clocks
													   : &old_clocks;
		if (sys_number(folder, at_most ? files->max : files->now, &mhz) && mhz >= 0 && mhz <= 20000 && !(mhz <= max))
			max = mhz;
	}
	return max * 1e6;
}

static const struct {
	const char *name;
	uint8_t reason;
} throttles[] = {
	{ "pl1", GPU_THROTTLE_POWER_CAP },
	{ "pl2", GPU_THROTTLE_POWER_CAP },
	{ "psys_pl1", GPU_THROTTLE_POWER_CAP },
	{ "psys_pl2", GPU_THROTTLE_POWER_CAP },
	{ "pl4", GPU_THROTTLE_CURRENT },
	{ "iccmax", GPU_THROTTLE_CURRENT },
	{ "vr_tdc", GPU_THROTTLE_CURRENT },
	{ "fastvmode", GPU_THROTTLE_CURRENT },
	{ "thermal", GPU_THROTTLE_HEAT_SOFTWARE },
	{ "soc_thermal", GPU_THROTTLE_HEAT_SOFTWARE },
	{ "mem_thermal", GPU_THROTTLE_HEAT_SOFTWARE },
	{ "soc_avg_thermal", GPU_THROTTLE_HEAT_SOFTWARE },
	{ "ratl", GPU_THROTTLE_HEAT_SOFTWARE },
	{ "vr_thermal", GPU_THROTTLE_HEAT_SOFTWARE },
	{ "prochot", GPU_THROTTLE_HEAT },
	{ "vr_thermalert", GPU_THROTTLE_HEAT },
	{ "psys_crit", GPU_THROTTLE_POWER_BRAKE },
};

/* False: the driver does not report it. */
static bool read_throttle(const struct part *part, bool is_xe, uint32_t *reasons)
{
	char name[64];
	double value;
	uint32_t found = 0;
	const char *prefix = is_xe ? "throttle/reason_" : "throttle_reason_";
	if (!sys_number(part->folder, is_xe ? "throttle/status" : "throttle_reason_status", &value))
		return false;
	for (size_t i = 0; value > 0 && i < sizeof throttles / sizeof *throttles; i++) {
		double is_so;
		snprintf(name, sizeof name, "%s%s", prefix, throttles[i].name);
		if (sys_number(part->folder, name, &is_so) && is_so > 0)
			found |= 1u << throttles[i].reason;
	}
	*reasons |= value > 0 && !found ? 1u << GPU_THROTTLE_HARDWARE : found;
	return true;
}

static void emit_throttle(const struct intel *intel, int32_t instance, int64_t now_ns, struct sample_set *out)
{
	uint32_t reasons = 0;
	bool is_emitted = false;
	for (unsigned i = 0; i < intel->part_count; i++)
		is_emitted |= read_throttle(&intel->parts[i], intel->is_xe, &reasons);
	if (is_emitted)
		sample_set_figure(out, now_ns, METRIC_GPU_THROTTLE, instance, reasons);
}

static void emit_memory(
	struct intel *intel, const char *driver, int32_t instance, int64_t now_ns, struct sample_set *out)
{
	if (!intel->is_integrated && intel->node[0] &&
		(intel->memory_ns == INT64_MIN || now_ns - intel->memory_ns >= MEMORY_NS)) {
		intel->memory_ns = now_ns;
		if (!intel_memory_query(driver, intel->node, &intel->memory))
			intel->memory = (struct intel_memory){ NAN, NAN };
	}
	double total = isnan(intel->memory.total_bytes) ? intel->total_bytes : intel->memory.total_bytes;
	if (!isnan(total))
		sample_set_figure(out, now_ns, METRIC_GPU_MEMORY, instance, total);
	if (!isnan(intel->memory.used_bytes))
		sample_set_figure(out, now_ns, METRIC_GPU_MEMORY_USED, instance, intel->memory.used_bytes);
}

static void emit_intel(struct drm_gpus *all, struct drm_gpu *gpu, int64_t now_ns, struct sample_set *out)
{
	struct intel *intel = gpu->own;
	double clock = fastest(intel, false), max = fastest(intel, true);
	(void)all;
	if (!isnan(clock))
		sample_set_figure(out, now_ns, METRIC_GPU_CLOCK, gpu->instance, clock);
	if (!isnan(max))
		sample_set_figure(out, now_ns, METRIC_GPU_CLOCK_MAX, gpu->instance, max);
	emit_throttle(intel, gpu->instance, now_ns, out);
	emit_memory(intel, gpu->device.driver, gpu->instance, now_ns, out);
	double busy = intel_pmu_read(&intel->pmu, now_ns);
	if (!isnan(busy))
		sample_set_figure(out, now_ns, METRIC_GPU_BUSY, gpu->instance, busy);
}

/* -- what is missing -- */

static const char perfmon[] = "setcap cap_perfmon=ep $(command -v pmtop), or run pmtop as root";

static void explain_power(const struct drm_gpu *gpu, struct reason *out)
{
	const struct intel *intel = gpu->own;
	if (intel->is_integrated)
		reason_set(out, STATUS_NOT_FOUND, "use the package's energy (RAPL)",
			"an integrated GPU's power is part of the CPU package's");
	else if (!gpu->hwmon.energy[0])
		reason_set(out, STATUS_NOT_FOUND, NULL,
			"%s has no energy counter for this chip, or this kernel is older than 6.2", gpu->device.driver);
	/* Otherwise power needs two readings, and there was only one so far. */
}

static void explain_intel(const struct drm_gpu *gpu, enum drm_missing missing, struct reason *out)
{
	const struct intel *intel = gpu->own;
	const char *driver = gpu->device.driver;
	switch (missing) {
	case MISSING_BUSY:
		if (intel->is_xe)
			reason_set(
				out, STATUS_UNSUPPORTED, NULL, "xe reports no device-wide utilisation; that of processes is known");
		else
			*out = intel->no_pmu;
		break;
	case MISSING_MEMORY:
		if (intel->is_integrated)
			reason_set(out, STATUS_NOT_FOUND, NULL, "an integrated GPU uses the machine's memory");
		else
			reason_set(out, STATUS_DENIED, perfmon, "%s reports used memory only with CAP_PERFMON", driver);
		break;
	case MISSING_POWER: explain_power(gpu, out); break;
	default:
		reason_set(
			out, STATUS_NOT_FOUND, NULL, "%s does not report it for this chip, or the kernel is too old", driver);
	}
}

static void close_intel(struct drm_gpu *gpu) { intel_pmu_close(&((struct intel *)gpu->own)->pmu); }

/* -- the vendor -- */

static const struct drm_family intel_family = {
	.none = "there is no device of the drivers i915 and xe in /sys/class/drm",
	.own_size = sizeof(struct intel),
	.is_mine = is_intel,
	.refresh = refresh_intel,
	.emit = emit_intel,
	.explain = explain_intel,
	.close = close_intel,
};

static bool intel_is_here(const struct source_choices *choices) { return drm_devices_are_here(choices, is_intel); }

static enum status intel_open(struct target *target, int32_t first_instance, void **state, struct reason *why_not)
{
	return drm_gpus_open(&intel_family, target, first_instance, state, why_not);
}

const struct gpu_vendor intel_gpus = {
	.name = "intel", .what = "Intel", .is_here = intel_is_here, .open = intel_open, DRM_GPUS
};
