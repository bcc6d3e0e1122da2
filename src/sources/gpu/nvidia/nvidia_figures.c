#include "src/sources/gpu/nvidia/nvidia_figures.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>

#include "src/base/files/file.h"
#include "src/sources/gpu/nvidia/nvidia.h"
#include "src/sources/gpu/nvidia/nvidia_private.h"
#include "src/sources/proc/proc_file.h"

/* Limits of plausible values: larger ones are dropped. */
enum { MEGAHERTZ_MAX = 20000, CELSIUS_MAX = 200, MILLIWATTS_MAX = 20000000, LANES_MAX = 64, GENERATION_MAX = 16 };

static double percent(uint32_t value) { return value <= 100 ? value / 100.0 : (double)NAN; }

static double within(uint32_t value, uint32_t max, double scale) { return value <= max ? value * scale : (double)NAN; }

/* -- at each reading -- */

static void read_utilization(
	struct nvidia *nvidia, struct nvidia_device *device, int64_t now_ns, struct sample_set *out)
{
	struct nvml_utilization use = { NVML_ABSENT_32, NVML_ABSENT_32 };
	int code = nvidia->nvml.utilization ? nvidia->nvml.utilization(device->handle, &use) : NVML_FUNCTION_NOT_FOUND;
	nvidia_note_missing(
		device, NVIDIA_WANTED_UTILISATION, code == NVML_NOT_SUPPORTED && device->has_parts ? NVIDIA_MISSING_MIG : code);
	if (!nvidia_check(nvidia, device, code))
		return;
	nvidia_emit(out, now_ns, METRIC_GPU_BUSY, device, percent(use.gpu));
	nvidia_emit(out, now_ns, METRIC_GPU_MEMORY_BUSY, device, percent(use.memory));
}

struct memory_figures {
	double total, used, reserved;
};

/* Used memory is what is neither free nor reserved, because drivers differ in whether `used` includes the reserved
 * part. */
static int query_memory(const struct nvidia *nvidia, const struct nvidia_device *device, struct memory_figures *figures)
{
	struct nvml_memory_v2 newer = { .version = NVML_VERSION(struct nvml_memory_v2, 2) };
	struct nvml_memory older = { 0 };
	int code = nvidia->nvml.memory_v2 ? nvidia->nvml.memory_v2(device->handle, &newer) : NVML_FUNCTION_NOT_FOUND;
	if (code == NVML_OK) {
		bool adds_up = newer.free <= newer.total && newer.reserved <= newer.total - newer.free;
		*figures = (struct memory_figures){ (double)newer.total,
			(double)(adds_up ? newer.total - newer.free - newer.reserved : newer.used), (double)newer.reserved };
	} else if (nvml_is_unknown(code) && nvidia->nvml.memory) {
		code = nvidia->nvml.memory(device->handle, &older);
		*figures = (struct memory_figures){ (double)older.total, (double)older.used, (double)NAN };
	}
	return code;
}

/* For a GPU without its own memory: the machine's memory. */
static bool machine_memory(const struct nvidia *nvidia, struct memory_figures *figures)
{
	char path[512], text[8192];
	size_t length;
	uint64_t total_kib, available_kib;
	snprintf(path, sizeof path, "%s/meminfo", nvidia->target->proc_root);
	if (file_read(AT_FDCWD, path, text, sizeof text, &length) != STATUS_OK ||
		!proc_field(text, "MemTotal", 0, &total_kib) || !proc_field(text, "MemAvailable", 0, &available_kib) ||
		available_kib > total_kib)
		return false;
	*figures =
		(struct memory_figures){ (double)total_kib * 1024, (double)(total_kib - available_kib) * 1024, (double)NAN };
	return true;
}

static void read_memory(struct nvidia *nvidia, struct nvidia_device *device, int64_t now_ns, struct sample_set *out)
{
	struct memory_figures figures = { (double)NAN, (double)NAN, (double)NAN };
	int code = query_memory(nvidia, device, &figures);
	bool is_good = nvidia_check(nvidia, device, code);
	bool is_unified =
		!device->whole && !device->has_parts && (is_good ? figures.total == 0 : code == NVML_NOT_SUPPORTED);
	if (is_unified && machine_memory(nvidia, &figures)) {
		is_good = true;
		code = NVIDIA_MISSING_UNIFIED;
	}
	nvidia_note_missing(device, NVIDIA_WANTED_MEMORY, code);
	if (!is_good || figures.total >= 0x1p63 || figures.total <= 0)
		return;
	device->memory_total_bytes = figures.total;
	nvidia_emit(out, now_ns, METRIC_GPU_MEMORY, device, figures.total);
	nvidia_emit(
		out, now_ns, METRIC_GPU_MEMORY_USED, device, figures.used <= figures.total ? figures.used : (double)NAN);
	nvidia_emit(out, now_ns, METRIC_GPU_MEMORY_RESERVED, device,
		figures.reserved <= figures.total ? figures.reserved : (double)NAN);
}

static int query_clock(int (*call)(struct nvml_device *, unsigned, unsigned *), const struct nvidia_device *device,
	enum nvml_clock clock, uint32_t *out)
{
	int code = call ? call(device->handle, clock, out) : NVML_FUNCTION_NOT_FOUND;
	return code != NVML_OK && call && clock == NVML_CLOCK_SM && nvml_is_unknown(code)
		? call(device->handle, NVML_CLOCK_GRAPHICS, out)
		: code;
}

static void read_clocks(struct nvidia *nvidia, struct nvidia_device *device, int64_t now_ns, struct sample_set *out)
{
	uint32_t clock = NVML_ABSENT_32, memory = NVML_ABSENT_32;
	int code = query_clock(nvidia->nvml.clock, device, NVML_CLOCK_SM, &clock);
	nvidia_note_missing(device, NVIDIA_WANTED_CLOCK, code);
	if (nvidia_check(nvidia, device, code))
		nvidia_emit(out, now_ns, METRIC_GPU_CLOCK, device, within(clock, MEGAHERTZ_MAX, 1e6));
	if (nvidia_check(nvidia, device, query_clock(nvidia->nvml.clock, device, NVML_CLOCK_MEMORY, &memory)))
		nvidia_emit(out, now_ns, METRIC_GPU_CLOCK_MEMORY, device, within(memory, MEGAHERTZ_MAX, 1e6));
}

static void read_temperature(
	struct nvidia *nvidia, struct nvidia_device *device, int64_t now_ns, struct sample_set *out)
{
	struct nvml_temperature newer = { .version = NVML_VERSION(struct nvml_temperature, 1), .sensor = NVML_SENSOR_GPU };
	uint32_t celsius = NVML_ABSENT_32;
	int code =
		nvidia->nvml.temperature_v1 ? nvidia->nvml.temperature_v1(device->handle, &newer) : NVML_FUNCTION_NOT_FOUND;
	if (code == NVML_OK)
		celsius = newer.celsius >= 0 ? (uint32_t)newer.celsius : NVML_ABSENT_32;
	else if (nvml_is_unknown(code) && nvidia->nvml.temperature)
		code = nvidia->nvml.temperature(device->handle, NVML_SENSOR_GPU, &celsius);
	nvidia_note_missing(device, NVIDIA_WANTED_TEMPERATURE, code);
	if (nvidia_check(nvidia, device, code))
		nvidia_emit(out, now_ns, METRIC_GPU_TEMPERATURE, device, within(celsius, CELSIUS_MAX, 1));
}

static void read_power(struct nvidia *nvidia, struct nvidia_device *device, int64_t now_ns, struct sample_set *out)
{
	uint32_t milliwatts = NVML_ABSENT_32;
	int code = nvidia->nvml.power ? nvidia->nvml.power(device->handle, &milliwatts) : NVML_FUNCTION_NOT_FOUND;
	if (nvml_is_unknown(code) && nvidia->nvml.fields) {
		struct nvml_field field = { .id = NVML_FIELD_POWER_MW };
		if (nvidia->nvml.fields(device->handle, 1, &field) == NVML_OK && field.code == NVML_OK &&
			field.type == NVML_VALUE_U32) {
			milliwatts = field.value.u32;
			code = NVML_OK;
		}
	}
	nvidia_note_missing(device, NVIDIA_WANTED_POWER, code);
	if (nvidia_check(nvidia, device, code))
		nvidia_emit(out, now_ns, METRIC_GPU_POWER, device, within(milliwatts, MILLIWATTS_MAX, 1e-3));
}

static uint32_t throttle_of(uint64_t reasons)
{
	static const struct {
		uint32_t reason, throttle;
	} table[] = {
		{ NVML_REASON_CLOCKS_SET, 1u << GPU_THROTTLE_CLOCKS_SET },
		{ NVML_REASON_POWER_CAP, 1u << GPU_THROTTLE_POWER_CAP },
		{ NVML_REASON_SYNC_BOOST, 1u << GPU_THROTTLE_SYNC_BOOST },
		{ NVML_REASON_HEAT_SOFTWARE, 1u << GPU_THROTTLE_HEAT_SOFTWARE },
		{ NVML_REASON_HEAT, 1u << GPU_THROTTLE_HEAT },
		{ NVML_REASON_POWER_BRAKE, 1u << GPU_THROTTLE_POWER_BRAKE },
	};
	uint32_t throttle = 0;
	for (size_t i = 0; i < sizeof table / sizeof *table; i++)
		throttle |= reasons & table[i].reason ? table[i].throttle : 0;
	/* The hardware reason accompanies heat and power brake, which are more specific. */
	if ((reasons & NVML_REASON_HARDWARE) && !(reasons & (NVML_REASON_HEAT | NVML_REASON_POWER_BRAKE)))
		throttle |= 1u << GPU_THROTTLE_HARDWARE;
	return throttle;
}

static void read_throttle(struct nvidia *nvidia, struct nvidia_device *device, int64_t now_ns, struct sample_set *out)
{
	unsigned long long reasons = NVML_ABSENT_64;
	int code = nvidia->nvml.reasons ? nvidia->nvml.reasons(device->handle, &reasons) : NVML_FUNCTION_NOT_FOUND;
	nvidia_note_missing(device, NVIDIA_WANTED_THROTTLE, code);
	if (nvidia_check(nvidia, device, code) && reasons != NVML_ABSENT_64)
		nvidia_emit(out, now_ns, METRIC_GPU_THROTTLE, device, throttle_of(reasons));
}

void nvidia_read_figures(struct nvidia *nvidia, struct nvidia_device *device, int64_t now_ns, struct sample_set *out)
{
	static void (*const readers[])(struct nvidia *, struct nvidia_device *, int64_t, struct sample_set *) = {
		read_memory,
		read_utilization,
		read_clocks,
		read_temperature,
		read_power,
		read_throttle,
	};
	/* A part has only its memory to itself, the rest is its GPU's. */
	size_t count = device->whole ? 1 : sizeof readers / sizeof *readers;
	for (size_t i = 0; i < count && !device->has_failed; i++)
		readers[i](nvidia, device, now_ns, out);
}

/* -- what rarely changes -- */

static double query_one(struct nvidia *nvidia, struct nvidia_device *device,
	int (*call)(struct nvml_device *, unsigned *), uint32_t max, double scale)
{
	uint32_t value = NVML_ABSENT_32;
	bool is_emitted =
		call && !device->has_failed && nvidia_check(nvidia, device, call(device->handle, &value)) && value;
	return is_emitted ? within(value, max, scale) : (double)NAN;
}

static double clock_max(struct nvidia *nvidia, struct nvidia_device *device, enum nvml_clock clock)
{
	uint32_t megahertz = NVML_ABSENT_32;
	int code = device->has_failed ? NVML_NO_DATA : query_clock(nvidia->nvml.clock_max, device, clock, &megahertz);
	return nvidia_check(nvidia, device, code) ? within(megahertz, MEGAHERTZ_MAX, 1e6) : (double)NAN;
}

static double celsius_max(struct nvidia *nvidia, struct nvidia_device *device)
{
	static const enum nvml_threshold thresholds[] = { NVML_THRESHOLD_GPU_MAX, NVML_THRESHOLD_SLOWDOWN };
	for (size_t i = 0; i < sizeof thresholds / sizeof *thresholds && nvidia->nvml.threshold && !device->has_failed;
		 i++) {
		uint32_t celsius = NVML_ABSENT_32;
		if (nvidia_check(nvidia, device, nvidia->nvml.threshold(device->handle, thresholds[i], &celsius)) &&
			celsius > 0 && celsius <= CELSIUS_MAX)
			return celsius;
	}
	return (double)NAN;
}

void nvidia_read_limits(struct nvidia *nvidia, struct nvidia_device *device, int64_t now_ns, struct sample_set *out)
{
	(void)now_ns, (void)out;
	device->limits.clock_hz = clock_max(nvidia, device, NVML_CLOCK_SM);
	device->limits.clock_memory_hz = clock_max(nvidia, device, NVML_CLOCK_MEMORY);
	device->limits.celsius = celsius_max(nvidia, device);
}

/* Emitted repeatedly, because a recording may have started since. */
static void emit_limits(const struct nvidia_device *device, int64_t now_ns, struct sample_set *out)
{
	nvidia_emit(out, now_ns, METRIC_GPU_CLOCK_MAX, device, device->limits.clock_hz);
	nvidia_emit(out, now_ns, METRIC_GPU_CLOCK_MEMORY_MAX, device, device->limits.clock_memory_hz);
	nvidia_emit(out, now_ns, METRIC_GPU_TEMPERATURE_LIMIT, device, device->limits.celsius);
}

/* A change of the power limit suggests that other settings changed too. */
static void note_power_limit(struct nvidia_device *device, double watts)
{
	if (watts > device->power_limit_w || watts < device->power_limit_w)
		device->next_ns[NVIDIA_GROUP_limits] = 0;
	device->power_limit_w = watts;
}

void nvidia_read_settings(struct nvidia *nvidia, struct nvidia_device *device, int64_t now_ns, struct sample_set *out)
{
	const struct nvml *nvml = &nvidia->nvml;
	emit_limits(device, now_ns, out);
	double watts = query_one(nvidia, device, nvml->power_limit, MILLIWATTS_MAX, 1e-3);
	nvidia_emit(out, now_ns, METRIC_GPU_POWER_LIMIT, device, watts);
	note_power_limit(device, watts);
	nvidia_emit(out, now_ns, METRIC_GPU_PCIE_GENERATION, device,
		query_one(nvidia, device, nvml->generation, GENERATION_MAX, 1));
	nvidia_emit(out, now_ns, METRIC_GPU_PCIE_GENERATION_MAX, device,
		query_one(nvidia, device, nvml->generation_max, GENERATION_MAX, 1));
	nvidia_emit(out, now_ns, METRIC_GPU_PCIE_WIDTH, device, query_one(nvidia, device, nvml->width, LANES_MAX, 1));
	nvidia_emit(
		out, now_ns, METRIC_GPU_PCIE_WIDTH_MAX, device, query_one(nvidia, device, nvml->width_max, LANES_MAX, 1));
}
