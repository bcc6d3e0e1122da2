/* drm: all other drivers with a render or accel node. Their sysfs files offer little (a clock from devfreq, an NPU's
 * counters); the rest comes from fdinfo. */
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "src/base/clock.h"
#include "src/sources/gpu/drm/drm_gpus.h"

/* The NPU's busy time moves in steps, and reading it more than once a second may wake the device needlessly
 * (Documentation/accel/…/ivpu: npu_busy_time_us). */
#define BUSY_OVER_NS NS_PER_S

enum { ENTRIES_MAX = 64 };

struct other {
	char devfreq[SYS_PATH_SIZE]; /* "" = none */
	int64_t busy_at_ns;          /* of the last reading; 0 = none */
	double busy_us, busy_ratio;  /* npu_busy_time_us then; NAN = unknown yet */
};

/* NVIDIA's own driver is read through NVML. */
static bool is_other(const char *driver)
{
	static const char *const others[] = { "amdgpu", "i915", "xe", "nvidia", "nvidia-drm" };
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		if (strcmp(driver, others[i]) == 0)
			return false;
	return true;
}

/* Display drivers of virtual machines and server consoles, which hardly ever compute. */
static bool is_silent(const char *driver)
{
	static const char *const names[] = { "virtio_gpu", "virtio-pci", "vgem", "vkms", "bochs-drm", "qxl", "vmwgfx",
		"ast", "mgag200", "cirrus", "hyperv_drm" };
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strcmp(driver, names[i]) == 0)
			return true;
	return false;
}

static void find_devfreq(const char *folder, char out[SYS_PATH_SIZE])
{
	char all[SYS_PATH_SIZE], path[SYS_PATH_SIZE];
	double ignored;
	struct dirent *entry;
	out[0] = '\0';
	DIR *directory = sys_join(all, folder, "devfreq") ? opendir(all) : NULL;
	for (unsigned i = 0; directory && !out[0] && i < ENTRIES_MAX && (entry = readdir(directory)); i++)
		if (entry->d_name[0] != '.' && sys_join(path, all, entry->d_name) && sys_number(path, "cur_freq", &ignored))
			memcpy(out, path, sizeof path);
	if (directory)
		closedir(directory);
}

/* amdxdna has its name in `vbnv`; a device of the device tree in its compatible string. */
static void find_name(struct drm_gpu *gpu)
{
	char text[SYS_TEXT_SIZE];
	if (sys_text(gpu->device.folder, "vbnv", gpu->name, sizeof gpu->name))
		return;
	if (sys_text(gpu->device.folder, "uevent", text, sizeof text))
		sys_word(text, "OF_COMPATIBLE_0", '=', gpu->name, sizeof gpu->name);
}

static void refresh_other(struct drm_gpus *all, struct drm_gpu *gpu)
{
	struct other *other = gpu->own;
	(void)all;
	*other = (struct other){ .busy_ratio = NAN };
	gpu->is_aside = true;
	gpu->is_silent = is_silent(gpu->device.driver);
	find_name(gpu);
	find_devfreq(gpu->device.folder, other->devfreq);
}

static const struct sys_figure devfreq_figures[] = {
	{ "cur_freq", METRIC_GPU_CLOCK, 1, 1, 2e10 },
	{ "max_freq", METRIC_GPU_CLOCK_MAX, 1, 1, 2e10 },
	{ NULL, 0, 0, 0, 0 },
};

/* intel_vpu */
static const struct sys_figure npu_figures[] = {
	{ "npu_current_frequency_mhz", METRIC_GPU_CLOCK, 1e6, 0, 2e10 },
	{ "npu_max_frequency_mhz", METRIC_GPU_CLOCK_MAX, 1e6, 1, 2e10 },
	{ "npu_memory_utilization", METRIC_GPU_MEMORY_USED, 1, 0, 1e16 },
	{ NULL, 0, 0, 0, 0 },
};

static void emit_npu_busy(struct drm_gpu *gpu, int64_t now_ns, struct sample_set *out)
{
	struct other *other = gpu->own;
	double busy_us;
	if (other->busy_at_ns == 0 || now_ns - other->busy_at_ns >= BUSY_OVER_NS) {
		if (!sys_number(gpu->device.folder, "npu_busy_time_us", &busy_us) || busy_us < 0)
			return;
		bool follows = other->busy_at_ns && busy_us >= other->busy_us;
		double ratio = follows ? (busy_us - other->busy_us) * 1e-6 / seconds_between(other->busy_at_ns, now_ns) : NAN;
		other->busy_ratio = ratio > 1 ? (ratio < 2 ? 1 : NAN) : ratio;
		other->busy_at_ns = now_ns;
		other->busy_us = busy_us;
	}
	if (!isnan(other->busy_ratio))
		sample_set_figure(out, now_ns, METRIC_GPU_BUSY, gpu->instance, other->busy_ratio);
}

static void emit_other(struct drm_gpus *all, struct drm_gpu *gpu, int64_t now_ns, struct sample_set *out)
{
	const struct other *other = gpu->own;
	(void)all;
	if (other->devfreq[0])
		sys_emit_all(other->devfreq, devfreq_figures, gpu->instance, now_ns, out);
	sys_emit_all(gpu->device.folder, npu_figures, gpu->instance, now_ns, out);
	emit_npu_busy(gpu, now_ns, out);
}

/* panfrost and panthor count only with profiling enabled
 * (Documentation/ABI/testing/sysfs-driver-panfrost-profiling). */
static void explain_busy(const struct drm_gpu *gpu, struct reason *out)
{
	const struct other *other = gpu->own;
	double is_on;
	if (other->busy_at_ns)
		return;
	if (sys_number(gpu->device.folder, "profiling", &is_on) && is_on == 0)
		reason_set(out, STATUS_NOT_FOUND, "as root: echo 1 > /sys/class/drm/…/device/profiling",
			"%s does not count busy time: profiling is off", gpu->device.driver);
	else
		reason_set(out, STATUS_UNSUPPORTED, NULL, "%s reports no device-wide utilisation, at most that of processes",
			gpu->device.driver);
}

static void explain_other(const struct drm_gpu *gpu, enum drm_missing missing, struct reason *out)
{
	if (missing == MISSING_BUSY)
		explain_busy(gpu, out);
	else if (missing == MISSING_MEMORY)
		reason_set(out, STATUS_UNSUPPORTED, NULL, "%s reports no device-wide memory, at most that of processes",
			gpu->device.driver);
	else
		reason_set(out, STATUS_UNSUPPORTED, NULL, "the driver %s does not report it", gpu->device.driver);
}

static const struct drm_family other_family = {
	.none = "there is no other DRM device with a render or accel node",
	.own_size = sizeof(struct other),
	.is_mine = is_other,
	.refresh = refresh_other,
	.emit = emit_other,
	.explain = explain_other,
};

static bool is_expected(const char *driver) { return is_other(driver) && !is_silent(driver); }

static bool other_is_here(const struct source_choices *choices) { return drm_devices_are_here(choices, is_expected); }

static enum status other_open(struct target *target, int32_t first_instance, void **state, struct reason *why_not)
{
	return drm_gpus_open(&other_family, target, first_instance, state, why_not);
}

const struct gpu_vendor drm_gpus = {
	.name = "drm", .what = "another maker", .is_here = other_is_here, .open = other_open, DRM_GPUS
};
