#include "src/sources/gpu/nvidia/nvidia_counters.h"

#include <math.h>
#include <string.h>

#include "src/base/clock.h"
#include "src/sources/gpu/nvidia/nvidia.h"
#include "src/sources/gpu/nvidia/nvidia_private.h"

enum { THROTTLE_PARTS = 5 };
/* Bits of nvidia_device.throttle_parts: it was checked; the counters of heat; their sum in an older driver. */
enum { IS_CHECKED = 0x80, HEAT_PARTS = 0x0c, HEAT_WHOLE = 0x10, ALL_PARTS = 0x1f };
/* No link is faster (PCIe 7.0 ×16 has a quarter of it): more means that the counter restarted. */
#define BYTES_PER_S_MAX 4e12
#define TWO_32 4294967296.0

/* Values that are read by fields, those of a group in one call. Several counters of throttled time sum up to one
 * metric and are read together, cheap and expensive ones. */
static const struct counter_row {
	uint32_t id, scope;
	enum metric metric;
	double scale;
	int wrapping; /* enum nvidia_wrapping, −1 = it does not wrap */
	enum nvidia_group group;
} rows[] = {
	{ NVML_FIELD_ENERGY_MJ, 0, METRIC_GPU_ENERGY, 1e-3, -1, NVIDIA_GROUP_energy },
	{ NVML_FIELD_MEMORY_CELSIUS, 0, METRIC_GPU_TEMPERATURE_MEMORY, 1, -1, NVIDIA_GROUP_counters },
	{ NVML_FIELD_PCIE_SENT, 0, METRIC_GPU_PCIE_SENT, 1, NVIDIA_PCIE_SENT, NVIDIA_GROUP_counters },
	{ NVML_FIELD_PCIE_RECEIVED, 0, METRIC_GPU_PCIE_RECEIVED, 1, NVIDIA_PCIE_RECEIVED, NVIDIA_GROUP_counters },
	{ NVML_FIELD_NVLINK_SENT_KIB, NVML_SCOPE_ALL_LINKS, METRIC_GPU_NVLINK_SENT, 1024, NVIDIA_NVLINK_SENT,
		NVIDIA_GROUP_counters },
	{ NVML_FIELD_NVLINK_RECEIVED_KIB, NVML_SCOPE_ALL_LINKS, METRIC_GPU_NVLINK_RECEIVED, 1024, NVIDIA_NVLINK_RECEIVED,
		NVIDIA_GROUP_counters },
	{ NVML_FIELD_PCIE_REPLAYS, 0, METRIC_GPU_PCIE_REPLAYS, 1, -1, NVIDIA_GROUP_errors },
	{ NVML_FIELD_ECC_CORRECTED, 0, METRIC_GPU_ECC_CORRECTED, 1, -1, NVIDIA_GROUP_errors },
	{ NVML_FIELD_ECC_UNCORRECTED, 0, METRIC_GPU_ECC_UNCORRECTED, 1, -1, NVIDIA_GROUP_errors },
	{ NVML_FIELD_THROTTLED_POWER_NS, 0, METRIC_GPU_THROTTLED_POWER, 1, -1, NVIDIA_GROUP_throttled },
	{ NVML_FIELD_THROTTLED_POWER_BRAKE_NS, 0, METRIC_GPU_THROTTLED_POWER, 1, -1, NVIDIA_GROUP_throttled },
	{ NVML_FIELD_THROTTLED_HEAT_SOFTWARE_NS, 0, METRIC_GPU_THROTTLED_THERMAL, 1, -1, NVIDIA_GROUP_throttled },
	{ NVML_FIELD_THROTTLED_HEAT_NS, 0, METRIC_GPU_THROTTLED_THERMAL, 1, -1, NVIDIA_GROUP_throttled },
	/* used if the previous two are missing */
	{ NVML_FIELD_THROTTLED_THERMAL_NS, 0, METRIC_GPU_THROTTLED_THERMAL, 1, -1, NVIDIA_GROUP_throttled },
};
enum { ROW_COUNT = sizeof rows / sizeof *rows, THROTTLE_FIRST = ROW_COUNT - THROTTLE_PARTS };

struct value {
	bool is_there;
	uint64_t number;
	bool has_32_bits;
};

static struct value value_of(const struct nvml_field *field)
{
	if (field->code != NVML_OK)
		return (struct value){ .is_there = false };
	switch (field->type) {
	case NVML_VALUE_DOUBLE:
		return field->value.number >= 0 && field->value.number < 0x1p63
			? (struct value){ true, (uint64_t)field->value.number, false }
			: (struct value){ .is_there = false };
	case NVML_VALUE_U32: return (struct value){ field->value.u32 != NVML_ABSENT_32, field->value.u32, true };
	case NVML_VALUE_UNSIGNED_LONG:
	case NVML_VALUE_U64: return (struct value){ field->value.u64 != NVML_ABSENT_64, field->value.u64, false };
	case NVML_VALUE_I64: return (struct value){ field->value.i64 >= 0, (uint64_t)field->value.i64, false };
	case NVML_VALUE_I32: return (struct value){ field->value.i32 >= 0, (uint64_t)field->value.i32, false };
	case NVML_VALUE_U16: return (struct value){ true, field->value.u16, false };
	default: return (struct value){ .is_there = false };
	}
}

/* The growth since the first reading. A value below the last one has wrapped at 32 bits if that growth is plausible,
 * otherwise the counter restarted. An H200 receives 4 GiB several times between two readings: GPM's rate says how often
 * a counter of 32 bits has wrapped. */
static double grown(struct nvidia_counter *counter, const struct value *value, double scale, int64_t now_ns)
{
	double before = (double)counter->raw, more = (double)value->number - before,
		   elapsed_s = seconds_between(counter->read_ns, now_ns), possible = BYTES_PER_S_MAX / scale * (elapsed_s + 1),
		   expected = counter->bytes_per_s / scale * elapsed_s;
	if (!counter->is_begun)
		more = 0;
	else if (value->number < counter->raw)
		more = before < TWO_32 && more + TWO_32 <= possible ? more + TWO_32 : (double)value->number;
	if (counter->is_begun && value->has_32_bits && expected > more)
		more += TWO_32 * round((expected - more) / TWO_32);
	if (more <= possible)
		counter->total += more * scale;
	counter->is_begun = true;
	counter->raw = value->number;
	counter->read_ns = now_ns;
	return counter->total;
}

void nvidia_add_rate(struct nvidia_counter *counter, double bytes_per_s, double elapsed_s)
{
	if (bytes_per_s >= 0 && bytes_per_s < BYTES_PER_S_MAX && elapsed_s > 0)
		counter->total += bytes_per_s * elapsed_s;
}

static void emit_row(struct nvidia_device *device, const struct counter_row *row, const struct value *value,
	int64_t now_ns, struct sample_set *out)
{
	enum { CELSIUS_MAX = 200 };
	double number = (double)value->number * row->scale;
	if (row->metric == METRIC_GPU_TEMPERATURE_MEMORY && (number > CELSIUS_MAX || number == 0))
		return;
	if (row->wrapping >= 0)
		number = grown(&device->counters[row->wrapping], value, row->scale, now_ns);
	nvidia_emit(out, now_ns, row->metric, device, number);
}

/* Only the counters of the first reading are summed: one that came or went later would look like throttled time. */
static void emit_throttled(
	struct nvidia_device *device, const struct value *values, int64_t now_ns, struct sample_set *out)
{
	uint8_t has = 0;
	for (size_t i = 0; i < THROTTLE_PARTS; i++)
		has |= (uint8_t)(values[i].is_there << i);
	if (!device->throttle_parts)
		device->throttle_parts = (uint8_t)(IS_CHECKED | (has & HEAT_PARTS ? has & ~HEAT_WHOLE : has));
	uint8_t wanted = device->throttle_parts & ALL_PARTS;
	if ((has & wanted) != wanted)
		return;
	double power = (double)NAN, heat = (double)NAN;
	for (size_t i = 0; i < THROTTLE_PARTS; i++) {
		double *sum = rows[THROTTLE_FIRST + i].metric == METRIC_GPU_THROTTLED_POWER ? &power : &heat;
		if (wanted >> i & 1)
			*sum = (isnan(*sum) ? 0 : *sum) + (double)values[i].number;
	}
	nvidia_emit(out, now_ns, METRIC_GPU_THROTTLED_POWER, device, power);
	nvidia_emit(out, now_ns, METRIC_GPU_THROTTLED_THERMAL, device, heat);
}

static bool is_in_group(const struct nvidia_device *device, size_t row, enum nvidia_group group)
{
	bool is_other_part =
		row >= THROTTLE_FIRST && device->throttle_parts && !(device->throttle_parts >> (row - THROTTLE_FIRST) & 1);
	return rows[row].group == group && !is_other_part;
}

/* False: nothing to read, or the call failed. */
static bool query_rows(
	struct nvidia *nvidia, struct nvidia_device *device, enum nvidia_group group, struct value values[ROW_COUNT])
{
	struct nvml_field fields[ROW_COUNT];
	size_t queried[ROW_COUNT];
	int count = 0;
	memset(values, 0, ROW_COUNT * sizeof *values);
	for (size_t i = 0; i < ROW_COUNT; i++) {
		if (!is_in_group(device, i, group))
			continue;
		queried[count] = i;
		fields[count++] = (struct nvml_field){ .id = rows[i].id, .scope = rows[i].scope, .code = NVML_NO_DATA };
	}
	if (!nvidia->nvml.fields || !count ||
		!nvidia_check(nvidia, device, nvidia->nvml.fields(device->handle, count, fields)))
		return false;
	for (int i = 0; i < count; i++) {
		nvidia_check(nvidia, device, fields[i].code);
		/* Skips an answer to another field. */
		if (fields[i].id == rows[queried[i]].id)
			values[queried[i]] = value_of(&fields[i]);
	}
	return true;
}

static void read_rows(struct nvidia *nvidia, struct nvidia_device *device, enum nvidia_group group, int64_t now_ns,
	struct sample_set *out)
{
	struct value values[ROW_COUNT];
	query_rows(nvidia, device, group, values);
	for (size_t i = 0; i < ROW_COUNT; i++)
		if (values[i].is_there)
			emit_row(device, &rows[i], &values[i], now_ns, out);
}

static bool has_emitted(const struct sample_set *out, size_t from, enum metric metric)
{
	for (; from < out->count; from++)
		if (out->records[from].kind == RECORD_FIGURE && out->records[from].figure.metric == metric)
			return true;
	return false;
}

void nvidia_read_counters(struct nvidia *nvidia, struct nvidia_device *device, int64_t now_ns, struct sample_set *out)
{
	size_t from = out->count;
	read_rows(nvidia, device, NVIDIA_GROUP_counters, now_ns, out);
	device->has_pcie_field = has_emitted(out, from, METRIC_GPU_PCIE_SENT);
	device->has_nvlink_field = has_emitted(out, from, METRIC_GPU_NVLINK_SENT);
}

void nvidia_read_throttled(struct nvidia *nvidia, struct nvidia_device *device, int64_t now_ns, struct sample_set *out)
{
	struct value values[ROW_COUNT];
	if (query_rows(nvidia, device, NVIDIA_GROUP_throttled, values) && !device->has_failed)
		emit_throttled(device, values + THROTTLE_FIRST, now_ns, out);
}

/* Uses a separate call if the driver does not know the field. */
void nvidia_read_energy(struct nvidia *nvidia, struct nvidia_device *device, int64_t now_ns, struct sample_set *out)
{
	unsigned long long millijoules = NVML_ABSENT_64;
	size_t from = out->count;
	int code = NVML_OK;
	read_rows(nvidia, device, NVIDIA_GROUP_energy, now_ns, out);
	if (device->has_failed)
		return;
	if (!has_emitted(out, from, METRIC_GPU_ENERGY)) {
		code = nvidia->nvml.energy ? nvidia->nvml.energy(device->handle, &millijoules) : NVML_FUNCTION_NOT_FOUND;
		if (nvidia_check(nvidia, device, code) && millijoules != NVML_ABSENT_64)
			nvidia_emit(out, now_ns, METRIC_GPU_ENERGY, device, (double)millijoules * 1e-3);
	}
	nvidia_note_missing(device, NVIDIA_WANTED_ENERGY, code);
}

/* For a driver without fields. */
static void read_older_errors(
	struct nvidia *nvidia, struct nvidia_device *device, int64_t now_ns, struct sample_set *out)
{
	static const struct {
		enum nvml_ecc kind;
		enum metric metric;
	} kinds[] = {
		{ NVML_ECC_CORRECTED, METRIC_GPU_ECC_CORRECTED },
		{ NVML_ECC_UNCORRECTED, METRIC_GPU_ECC_UNCORRECTED },
	};
	const struct nvml *nvml = &nvidia->nvml;
	unsigned long long number = NVML_ABSENT_64;
	uint32_t replays = NVML_ABSENT_32;
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds && nvml->ecc_errors; i++)
		if (nvidia_check(
				nvidia, device, nvml->ecc_errors(device->handle, kinds[i].kind, NVML_ECC_SINCE_LOADED, &number)) &&
			number != NVML_ABSENT_64)
			nvidia_emit(out, now_ns, kinds[i].metric, device, (double)number);
	if (nvml->replays && nvidia_check(nvidia, device, nvml->replays(device->handle, &replays)) &&
		replays != NVML_ABSENT_32)
		nvidia_emit(out, now_ns, METRIC_GPU_PCIE_REPLAYS, device, replays);
}

void nvidia_read_errors(struct nvidia *nvidia, struct nvidia_device *device, int64_t now_ns, struct sample_set *out)
{
	if (nvidia->nvml.fields)
		read_rows(nvidia, device, NVIDIA_GROUP_errors, now_ns, out);
	else
		read_older_errors(nvidia, device, now_ns, out);
}
