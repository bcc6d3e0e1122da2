#include "src/sources/gpu/nvidia/nvidia.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/sources/gpu/nvidia/nvidia_counters.h"
#include "src/sources/gpu/nvidia/nvidia_events.h"
#include "src/sources/gpu/nvidia/nvidia_figures.h"
#include "src/sources/gpu/nvidia/nvidia_gpm.h"
#include "src/sources/gpu/nvidia/nvidia_missing.h"
#include "src/sources/gpu/nvidia/nvidia_names.h"
#include "src/sources/gpu/nvidia/nvidia_private.h"
#include "src/sources/gpu/nvidia/nvidia_processes.h"
#include "src/sources/gpu/nvidia/nvidia_use.h"

/* The pause after a reading has two limits. CPU time: all GPUs' readings of a group stay within that group's share;
 * the first reading of each opens things, is more expensive, and is not counted. Waiting for the driver, which may
 * sleep without using CPU: at most 2 % of the time, by the shorter of the last two waits, because other programs
 * cause waits too. */
enum { WAIT_FACTOR = 50, SLOW_FACTOR = 4 };
#define WAIT_PAUSE_MAX_NS (30 * NS_PER_S)
#define CPU_PAUSE_MAX_NS (60 * NS_PER_S)
#define READ_AGAIN_NS (10 * NS_PER_S)

static const struct {
	int64_t period_ns, share;
	bool of_parts;
	void (*read)(struct nvidia *, struct nvidia_device *, int64_t, struct sample_set *);
} groups[NVIDIA_GROUP_COUNT] = {
#define GROUP_ROW(name, period_ms, share, of_parts) { (period_ms)*NS_PER_MS, share, of_parts, nvidia_read_##name },
	NVIDIA_GROUPS(GROUP_ROW)
#undef GROUP_ROW
};

/* -- shared with the other files -- */

bool nvidia_check(struct nvidia *nvidia, struct nvidia_device *device, int code)
{
	device->has_failed |= code == NVML_GPU_IS_LOST || code == NVML_RESET_REQUIRED;
	if (code == NVML_RESET_REQUIRED && !device->lost[0])
		snprintf(device->lost, sizeof device->lost, "it must be reset");
	nvidia->is_gone |= code == NVML_UNINITIALIZED || code == NVML_DRIVER_NOT_LOADED;
	return code == NVML_OK;
}

void nvidia_emit(
	struct sample_set *out, int64_t now_ns, enum metric metric, const struct nvidia_device *device, double value)
{
	if (isfinite(value))
		sample_set_figure(out, now_ns, metric, device->instance, value);
}

void nvidia_note_missing(struct nvidia_device *device, enum nvidia_wanted wanted, int code)
{
	/* A lost GPU misses everything, which the record GPU reports once. */
	if (code != NVML_GPU_IS_LOST && code != NVML_RESET_REQUIRED && code >= 0 && code <= UINT16_MAX)
		device->codes[wanted] = (uint16_t)code;
}

struct nvidia_device *nvidia_find(const struct nvidia *nvidia, const struct nvml_device *handle)
{
	for (size_t i = 0; i < nvidia->count; i++)
		if (nvidia->devices[i]->handle == handle)
			return nvidia->devices[i];
	return NULL;
}

void nvidia_lose(struct nvidia *nvidia, struct nvidia_device *device, const char *why, uint32_t xid, int64_t now_ns,
	struct sample_set *out)
{
	if (!xid) {
		struct record *event = sample_set_add(out, RECORD_GPU_EVENT, 0, now_ns);
		if (event) {
			event->gpu_event.gpu = device->instance;
			event->gpu_event.text = sample_set_text(out, why, strlen(why));
		}
	}
	snprintf(device->lost, sizeof device->lost, "%s", why);
	device->is_emitted = false;
	device->sample_ns = now_ns + READ_AGAIN_NS;
	memset(device->codes, 0, sizeof device->codes);
	nvidia_emit_device(nvidia, device, now_ns, out);
}

/* -- reading -- */

static bool is_of(const struct nvidia_device *device, enum nvidia_group group)
{
	return !device->whole || groups[group].of_parts;
}

static int64_t min(int64_t a, int64_t b) { return a < b ? a : b; }

static int64_t cpu_pause(const struct nvidia *nvidia, enum nvidia_group group, int64_t cpu_ns)
{
	int64_t devices = 0;
	for (size_t i = 0; i < nvidia->count; i++)
		devices += is_of(nvidia->devices[i], group);
	return min(cpu_ns * NVIDIA_SHARE_WHOLE / groups[group].share * devices, CPU_PAUSE_MAX_NS);
}

static int64_t wait_pause(struct nvidia_device *device, enum nvidia_group group, int64_t waited_ns, bool is_first)
{
	int64_t counted_ns = is_first ? waited_ns : min(waited_ns, device->waited_ns[group]);
	device->waited_ns[group] = waited_ns;
	return min(counted_ns * WAIT_FACTOR, WAIT_PAUSE_MAX_NS);
}

static int64_t max(int64_t a, int64_t b) { return a > b ? a : b; }

/* The first period differs by GPU, so that expensive groups are not read on all GPUs at once. */
static int64_t period_of(
	const struct nvidia *nvidia, const struct nvidia_device *device, enum nvidia_group group, bool is_first)
{
	int64_t count = (int64_t)nvidia->count, turn = device->index % count + 1;
	return is_first && !device->whole ? groups[group].period_ns * turn / count : groups[group].period_ns;
}

static void read_group(struct nvidia *nvidia, struct nvidia_device *device, enum nvidia_group group, int64_t now_ns,
	struct sample_set *out)
{
	bool is_first = device->next_ns[group] == 0;
	int64_t from_ns = clock_monotonic_ns(), cpu_from_ns = clock_thread_cpu_ns();
	groups[group].read(nvidia, device, now_ns, out);
	int64_t took_ns = clock_monotonic_ns() - from_ns, cpu_ns = is_first ? 0 : clock_thread_cpu_ns() - cpu_from_ns;
	int64_t pause_ns = max(cpu_pause(nvidia, group, cpu_ns), wait_pause(device, group, took_ns, is_first));
	device->reading_ns += (double)took_ns;
	device->next_ns[group] = now_ns + max(pause_ns, period_of(nvidia, device, group, is_first));
	if (group == NVIDIA_GROUP_figures)
		nvidia_note_missing(device, NVIDIA_WANTED_PACE,
			pause_ns > groups[group].period_ns * SLOW_FACTOR ? NVIDIA_MISSING_SLOW : NVML_OK);
}

/* A lost GPU may have been reset: tries it from time to time. */
static bool is_back(struct nvidia *nvidia, struct nvidia_device *device, int64_t now_ns, struct sample_set *out)
{
	char name[NVML_NAME_SIZE];
	if (now_ns < device->sample_ns)
		return false;
	device->sample_ns = now_ns + READ_AGAIN_NS;
	struct nvml_memory memory;
	int code = nvidia->nvml.memory ? nvidia->nvml.memory(device->handle, &memory)
		: nvidia->nvml.name        ? nvidia->nvml.name(device->handle, name, sizeof name)
								   : NVML_OK;
	if (!nvidia_check(nvidia, device, code) && !nvml_is_unknown(code))
		return false;
	device->lost[0] = '\0';
	nvidia_emit_device(nvidia, device, now_ns, out);
	return true;
}

static void read_device(struct nvidia *nvidia, struct nvidia_device *device, int64_t now_ns, struct sample_set *out)
{
	device->has_failed = false;
	if (!device->is_emitted)
		nvidia_emit_device(nvidia, device, now_ns, out);
	if (device->lost[0] && !is_back(nvidia, device, now_ns, out))
		return;
	for (enum nvidia_group group = 0; group < NVIDIA_GROUP_COUNT && !device->has_failed && !nvidia->is_gone; group++)
		if (is_of(device, group) && now_ns >= device->next_ns[group])
			read_group(nvidia, device, group, now_ns, out);
	nvidia_emit(out, now_ns, METRIC_GPU_READING, device, device->reading_ns);
	if (device->has_failed) {
		char why[NVIDIA_LOST_SIZE];
		snprintf(why, sizeof why, "%s", device->lost[0] ? device->lost : "it has fallen off the bus");
		nvidia_lose(nvidia, device, why, 0, now_ns, out);
	}
}

static enum status read_nvidia(void *state, int64_t now_ns, struct sample_set *out)
{
	struct nvidia *nvidia = state;
	for (size_t i = 0; i < nvidia->count && !nvidia->is_gone; i++)
		read_device(nvidia, nvidia->devices[i], now_ns, out);
	if (nvidia->is_gone)
		return reason_set(&nvidia->why, STATUS_IO, NULL, "the NVIDIA driver was unloaded or restarted");
	nvidia_events_take(nvidia, now_ns, out);
	nvidia_emit_missing(nvidia, now_ns, out);
	return STATUS_OK;
}

static void explain_nvidia(const void *state, struct reason *out) { *out = ((const struct nvidia *)state)->why; }

/* -- opening -- */

static bool is_file(const char *root, const char *baseline, const char *name)
{
	char path[512];
	snprintf(path, sizeof path, "%s/%s", root ? root : baseline, name);
	return access(path, F_OK) == 0;
}

static bool is_nvidia_here(const struct source_choices *choices)
{
	/* The last two: WSL and Tegra. */
	static const char *const devices[] = { "nvidiactl", "nvidia0", "dxg", "nvgpu" };
	if (choices->no_nvml)
		return false;
	bool is_here = choices->nvml_path || is_file(choices->sys_root, "/sys", "module/nvidia/version");
	for (size_t i = 0; i < sizeof devices / sizeof *devices && !is_here; i++)
		is_here = is_file(choices->dev_root, "/dev", devices[i]);
	return is_here;
}

static void close_nvidia(void *state)
{
	struct nvidia *nvidia = state;
	bool is_free = nvidia_events_close(nvidia->events);
	while (nvidia->count)
		nvidia_device_free(nvidia, nvidia->devices[--nvidia->count]);
	if (is_free)
		nvml_close(&nvidia->nvml);
	free(nvidia->gpm);
	free(nvidia->room);
	free(nvidia->use_room);
	pids_release(&nvidia->pids);
	free(nvidia);
}

static void read_driver(struct nvidia *nvidia)
{
	char version[48] = "";
	if (nvidia->nvml.driver_version && nvidia->nvml.driver_version(version, sizeof version) != NVML_OK)
		version[0] = '\0';
	version[sizeof version - 1] = '\0';
	snprintf(nvidia->driver, sizeof nvidia->driver, "nvidia%s%s", version[0] ? " " : "", version);
}

static enum status open_nvidia(struct target *target, int32_t first_instance, void **state, struct reason *why_not)
{
	const struct source_choices *choices = source_choices(target);
	if (choices->no_nvml)
		return reason_set(why_not, STATUS_NOT_FOUND, NULL, "off (--no-nvml)");
	struct nvidia *nvidia = calloc(1, sizeof *nvidia);
	if (!nvidia)
		return reason_set(why_not, STATUS_NO_MEMORY, NULL, "out of memory");
	enum status status = nvml_open(&nvidia->nvml, choices->nvml_path, choices->sys_root, why_not);
	if (status != STATUS_OK) {
		free(nvidia);
		return status;
	}
	nvidia->target = target;
	nvidia->choices = choices;
	nvidia->first_instance = first_instance;
	pids_init(&nvidia->pids, target, "/dev/nvidia");
	read_driver(nvidia);
	status = nvidia_find_gpus(nvidia, why_not);
	if (status != STATUS_OK) {
		close_nvidia(nvidia);
		return status;
	}
	nvidia->events = nvidia_events_open(nvidia);
	nvidia_begin_gpm(nvidia);
	*state = nvidia;
	return STATUS_OK;
}

const struct gpu_vendor nvidia_gpus = {
	.name = "nvidia",
	.what = "NVIDIA",
	.is_here = is_nvidia_here,
	.open = open_nvidia,
	.read = read_nvidia,
	.explain = explain_nvidia,
	.close = close_nvidia,
};
