/* amd: GPUs of the driver amdgpu: sysfs first (Linux Documentation/gpu/amdgpu/thermal.rst, driver-misc.rst),
 * libdrm_amdgpu for what is missing there, fdinfo and KFD for processes. The file pcie_bw is never read, because
 * reading it blocks for a second. */
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/files/file.h"
#include "src/sources/gpu/amd/amd_metrics.h"
#include "src/sources/gpu/amd/amd_sensors.h"
#include "src/sources/gpu/amd/kfd.h"
#include "src/sources/gpu/drm/drm_gpus.h"
#include "src/sources/gpu/pids.h"

#define MEMORY_MAX 1e16

struct amd {
	bool has_node;
	struct kfd_node node;
	struct pids pids;
	struct amd_sensors *sensors; /* NULL: not needed, or not available */
	struct reason no_sensors, no_metrics;
	double max_clock, max_memory_clock; /* NAN = unknown */
	bool has_residencies;               /* of the last reading */
	uint32_t residencies[AMD_RESIDENCIES];
};

static bool is_amdgpu(const char *driver) { return strcmp(driver, "amdgpu") == 0; }

/* -- once -- */

/* The largest clock in lines such as "1: 2475Mhz *". */
static double max_of(const char *folder, const char *file)
{
	char text[SYS_TEXT_SIZE];
	double max = NAN;
	if (!sys_text(folder, file, text, sizeof text))
		return NAN;
	for (const char *line = text; line; line = strchr(line, '\n')) {
		unsigned level, clock;
		char unit[4] = "";
		line += *line == '\n';
		if (sscanf(line, "%4u: %6u%3[MmHhz]", &level, &clock, unit) == 3 && strcasecmp(unit, "mhz") == 0 &&
			!(clock * 1e6 <= max))
			max = clock * 1e6;
	}
	return max;
}

static void find_node(struct drm_gpus *all, struct drm_gpu *gpu)
{
	struct kfd_node nodes[KFD_NODES_MAX];
	struct amd *amd = gpu->own;
	size_t count = kfd_nodes(drm_sys_root(all->choices), nodes, KFD_NODES_MAX);
	for (size_t i = 0; i < count; i++) {
		if (nodes[i].minor != gpu->device.minor)
			continue;
		amd->has_node = true;
		amd->node = nodes[i];
		gpu->index = nodes[i].order;
		gpu->is_unified |= nodes[i].has_cpu;
	}
}

/* The UUID in the form that ROCR_VISIBLE_DEVICES uses. */
static void find_uuid(struct drm_gpu *gpu)
{
	const struct amd *amd = gpu->own;
	uint64_t id = 0;
	if (!sys_hex(gpu->device.folder, "unique_id", &id))
		id = amd->has_node ? amd->node.unique_id : 0;
	if (id)
		snprintf(gpu->uuid, sizeof gpu->uuid, "GPU-%016" PRIx64, id);
}

static bool has_all_files(const struct drm_gpu *gpu)
{
	static const char *const files[] = { "gpu_busy_percent", "mem_info_vram_total", "mem_info_vram_used" };
	double value;
	for (size_t i = 0; i < sizeof files / sizeof *files; i++)
		if (!sys_number(gpu->device.folder, files[i], &value))
			return false;
	return gpu->hwmon.chip && gpu->hwmon.has_power && sys_number(gpu->hwmon.folder, "freq1_input", &value);
}

static void refresh_amd(struct drm_gpus *all, struct drm_gpu *gpu)
{
	struct amd *amd = gpu->own;
	char node[SYS_PATH_SIZE];
	strcpy(gpu->vendor, "AMD");
	amd_sensors_close(amd->sensors);
	pids_release(&amd->pids);
	*amd = (struct amd){ .max_clock = max_of(gpu->device.folder, "pp_dpm_sclk"),
		.max_memory_clock = max_of(gpu->device.folder, "pp_dpm_mclk") };
	pids_init(&amd->pids, all->target, "/dev/kfd");
	find_node(all, gpu);
	find_uuid(gpu);
	bool has_name = sys_text(gpu->device.folder, "product_name", gpu->name, sizeof gpu->name),
		 has_all = has_all_files(gpu);
	if ((has_all && has_name) || !drm_device_node(all->choices, &gpu->device, node) ||
		amd_sensors_open(node, &amd->sensors, &amd->no_sensors) != STATUS_OK)
		return;
	gpu->is_unified |= amd_sensors_is_apu(amd->sensors);
	const char *name = amd_sensors_name(amd->sensors);
	if (!has_name && name)
		snprintf(gpu->name, sizeof gpu->name, "%s", name);
	if (!has_all)
		return;
	amd_sensors_close(amd->sensors);
	amd->sensors = NULL;
}

/* -- figures -- */

static const struct sys_figure amd_figures[] = {
	{ "gpu_busy_percent", METRIC_GPU_BUSY, 0.01, 0, 1 },
	{ "mem_busy_percent", METRIC_GPU_MEMORY_BUSY, 0.01, 0, 1 },
	{ "pcie_replay_count", METRIC_GPU_PCIE_REPLAYS, 1, 0, 1e15 },
	{ NULL, 0, 0, 0, 0 },
};

static bool read_bytes(const struct drm_gpu *gpu, const char *file, double *out)
{
	return sys_number(gpu->device.folder, file, out) && *out >= 0 && *out <= MEMORY_MAX;
}

/* An APU's VRAM is a part of memory that the firmware reserved; it also computes in the machine's memory. */
static void emit_memory(const struct drm_gpu *gpu, int64_t now_ns, struct sample_set *out)
{
	double total, used, more, more_used;
	if (!read_bytes(gpu, "mem_info_vram_total", &total) || !read_bytes(gpu, "mem_info_vram_used", &used) ||
		total <= 0 || used > total)
		return;
	if (gpu->is_unified && read_bytes(gpu, "mem_info_gtt_total", &more) &&
		read_bytes(gpu, "mem_info_gtt_used", &more_used) && more_used <= more) {
		total += more;
		used += more_used;
	}
	sample_set_figure(out, now_ns, METRIC_GPU_MEMORY, gpu->instance, total);
	sample_set_figure(out, now_ns, METRIC_GPU_MEMORY_USED, gpu->instance, used);
}

/* Parses "ue: 0\nce: 3": uncorrected and corrected memory errors. */
static void emit_errors(const struct drm_gpu *gpu, int64_t now_ns, struct sample_set *out)
{
	static const struct {
		const char *key;
		enum metric metric;
	} rows[] = { { "ue", METRIC_GPU_ECC_UNCORRECTED }, { "ce", METRIC_GPU_ECC_CORRECTED } };
	char text[256], word[32], *end;
	if (!sys_text(gpu->device.folder, "ras/umc_err_count", text, sizeof text))
		return;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		if (!sys_word(text, rows[i].key, ':', word, sizeof word) || word[0] < '0' || word[0] > '9')
			continue;
		double count = strtod(word, &end);
		if (!*end)
			sample_set_figure(out, now_ns, rows[i].metric, gpu->instance, count);
	}
}

static uint32_t grown(struct amd *amd, const struct amd_metrics *metrics)
{
	uint32_t reasons = 0;
	for (unsigned i = 0; i < AMD_RESIDENCIES; i++)
		if (metrics->residencies[i] != amd->residencies[i])
			reasons |= amd_metrics_residency_reason(i);
	return reasons;
}

static void emit_metrics(const struct drm_gpu *gpu, int64_t now_ns, struct sample_set *out)
{
	char path[SYS_PATH_SIZE];
	static const char missing[] = "the driver has no gpu_metrics for this chip";
	unsigned char bytes[AMD_METRICS_SIZE];
	struct amd *amd = gpu->own;
	struct amd_metrics metrics;
	size_t length;
	if (!sys_join(path, gpu->device.folder, "gpu_metrics") ||
		file_read(AT_FDCWD, path, (char *)bytes, sizeof bytes, &length) != STATUS_OK) {
		reason_set(&amd->no_metrics, STATUS_NOT_FOUND, NULL, "%s", missing);
		return;
	}
	if (amd_metrics_parse(bytes, length, &metrics, &amd->no_metrics) != STATUS_OK)
		return;
	if (metrics.has_throttle)
		sample_set_figure(out, now_ns, METRIC_GPU_THROTTLE, gpu->instance, metrics.throttle);
	else if (metrics.has_residencies && amd->has_residencies)
		sample_set_figure(out, now_ns, METRIC_GPU_THROTTLE, gpu->instance, grown(amd, &metrics));
	else if (!metrics.has_residencies)
		reason_set(&amd->no_metrics, STATUS_NOT_FOUND, NULL, "the driver reports no throttling for this chip");
	amd->has_residencies = metrics.has_residencies;
	memcpy(amd->residencies, metrics.residencies, sizeof amd->residencies);
	if (!isnan(metrics.energy_j) && !gpu->hwmon.energy[0])
		sample_set_figure(out, now_ns, METRIC_GPU_ENERGY, gpu->instance, metrics.energy_j);
}

static void emit_amd(struct drm_gpus *all, struct drm_gpu *gpu, int64_t now_ns, struct sample_set *out)
{
	const struct amd *amd = gpu->own;
	size_t from = out->count;
	(void)all;
	gpu->is_aside = gpu->is_unified;
	sys_emit_all(gpu->device.folder, amd_figures, gpu->instance, now_ns, out);
	emit_memory(gpu, now_ns, out);
	emit_errors(gpu, now_ns, out);
	emit_metrics(gpu, now_ns, out);
	if (!isnan(amd->max_clock))
		sample_set_figure(out, now_ns, METRIC_GPU_CLOCK_MAX, gpu->instance, amd->max_clock);
	if (!isnan(amd->max_memory_clock))
		sample_set_figure(out, now_ns, METRIC_GPU_CLOCK_MEMORY_MAX, gpu->instance, amd->max_memory_clock);
	if (amd->sensors)
		amd_sensors_emit(amd->sensors, from, gpu->instance, now_ns, out);
	gpu->busy_ratio = NAN;
	for (size_t i = from; i < out->count; i++)
		if (out->records[i].kind == RECORD_FIGURE && out->records[i].figure.metric == METRIC_GPU_BUSY &&
			out->records[i].figure.instance == gpu->instance)
			gpu->busy_ratio = out->records[i].figure.value;
}

/* -- processes -- */

/* fdinfo may count the same memory, so the larger of both is used, not their sum. */
static void add_user(struct drm_gpu *gpu, const struct kfd_user *user, int32_t pid, int64_t now_ns, bool is_alone)
{
	struct amd *amd = gpu->own;
	struct gpu_process_row *row = drm_gpu_row(gpu, pid);
	if (!row)
		return;
	row->kind |= GPU_PROCESS_COMPUTE;
	if (user->vram_bytes > 0 && !(row->memory_bytes >= user->vram_bytes))
		row->memory_bytes = user->vram_bytes;
	/* A single user causes all of the GPU's utilisation. */
	if (is_alone && !isnan(gpu->busy_ratio) && !(row->busy_ratio >= gpu->busy_ratio))
		row->busy_ratio = gpu->busy_ratio;
	else if (!is_alone && !(row->busy_ratio > 0))
		row->busy_ratio = NAN;
	pids_command(&amd->pids, pid, now_ns, gpu->commands[row - gpu->rows], DRM_COMMAND_SIZE);
}

static void emit_users(struct drm_gpus *all, struct drm_gpu *gpu, int64_t now_ns, struct sample_set *out)
{
	struct kfd_user users[KFD_USERS_MAX];
	struct amd *amd = gpu->own;
	double busy = NAN;
	size_t hidden = 0;
	if (!amd->has_node)
		return;
	size_t count = kfd_users(drm_sys_root(all->choices), amd->node.gpu_id, users, KFD_USERS_MAX);
	for (size_t i = 0; i < count; i++) {
		int32_t pid;
		enum pid_status status = pids_find(&amd->pids, users[i].pid, now_ns, &pid);
		busy = isnan(users[i].units_busy) ? busy : isnan(busy) ? users[i].units_busy : busy + users[i].units_busy;
		hidden += status == PID_HIDDEN;
		if (status == PID_KNOWN)
			add_user(gpu, &users[i], pid, now_ns, count == 1);
	}
	if (!isnan(busy) && amd->node.units > 0 && busy <= amd->node.units)
		sample_set_figure(out, now_ns, METRIC_GPU_SM_ACTIVE, gpu->instance, busy / amd->node.units);
	if (hidden > 0)
		reason_set(&all->hidden, STATUS_NOT_FOUND, "start the container with --pid=host, or run pmtop on the host",
			"KFD reports the host's pids, which this container cannot resolve");
}

/* -- what is missing -- */

static void explain_amd(const struct drm_gpu *gpu, enum drm_missing missing, struct reason *out)
{
	const struct amd *amd = gpu->own;
	if (missing == MISSING_THROTTLE) {
		*out = amd->no_metrics;
		/* Residencies need two readings, and this was the first. */
		if (!amd->no_metrics.text[0] && !amd->has_residencies)
			reason_set(out, STATUS_NOT_FOUND, NULL, "the driver has no gpu_metrics for this chip");
	} else if (!amd->sensors && amd->no_sensors.text[0]) {
		reason_set(out, STATUS_NOT_FOUND, amd->no_sensors.remedy, "amdgpu has no file for it, and %.120s",
			amd->no_sensors.text);
	} else {
		reason_set(out, STATUS_NOT_FOUND, NULL, "amdgpu does not report it for this chip");
	}
}

static void close_amd(struct drm_gpu *gpu)
{
	struct amd *amd = gpu->own;
	amd_sensors_close(amd->sensors);
	pids_release(&amd->pids);
}

/* -- the vendor -- */

static const struct drm_family amd_family = {
	.none = "there is no device of the driver amdgpu in /sys/class/drm",
	.own_size = sizeof(struct amd),
	.is_mine = is_amdgpu,
	.refresh = refresh_amd,
	.emit = emit_amd,
	.emit_processes = emit_users,
	.explain = explain_amd,
	.close = close_amd,
};

static bool amd_is_here(const struct source_choices *choices) { return drm_devices_are_here(choices, is_amdgpu); }

static enum status amd_open(struct target *target, int32_t first_instance, void **state, struct reason *why_not)
{
	return drm_gpus_open(&amd_family, target, first_instance, state, why_not);
}

const struct gpu_vendor amd_gpus = { .name = "amd", .what = "AMD", .is_here = amd_is_here, .open = amd_open, DRM_GPUS };
