#include "src/model/machine/system.h"

#include <stdlib.h>
#include <string.h>

#include "src/model/batch_window/batch_window_notes.h"
#include "src/model/energy/energy.h"
#include "src/model/model_private.h"

/* The minimum of a clock step or a suspend; NTP slews the clock by less than SLEWED_RATIO. */
#define STEP_MIN_S 0.1
#define SLEWED_RATIO 0.002
/* Without new readings: after so long a figure is unknown, a device's rates are unknown, and its row is dropped. */
#define FIGURE_STALE_NS (30 * NS_PER_S)
#define DEVICE_STALE_NS (5 * NS_PER_S)
#define DEVICE_GONE_NS (60 * NS_PER_S)
#define SWEEP_NS NS_PER_S

#define COUNT_SERIES(name) +1
enum { SERIES_COUNT = 0 SYSTEM_SERIES(COUNT_SERIES) };
enum { DEVICE_METRICS = METRIC_DISK_BUSY - METRIC_DISK_READ + 1 };

/* The latest reading of a counter, and its growth per second since the previous one. */
struct counter_past {
	int64_t time_ns;
	double value, per_s;
};

struct device_past {
	struct counter_past counters[DEVICE_METRICS]; /* indexed from the first metric of its family */
	bool is_new_in_set;
};

struct system_past {
	struct counter_past metrics[METRIC_COUNT];
	struct device_past disks[DEVICES_MAX], networks[DEVICES_MAX];
	double clock_offset_ns, suspended_ns; /* before this set; NAN = unknown */
	int64_t clock_read_ns;
	int64_t swept_ns;
	int64_t pushed_ns[SERIES_COUNT]; /* latest point of each series */
	bool is_new_in_set;
};

/* -- init and free -- */

void model_init_system(struct model *model)
{
	struct system *system = &model->system;
	*system = (struct system){ .cpu_ratio = NAN,
		.io_wait_ratio = NAN,
		.stolen_ratio = NAN,
		.memory_ratio = NAN,
		.swap_used_bytes = NAN,
		.swap_in_bytes_per_s = NAN,
		.swap_out_bytes_per_s = NAN,
		.swap_per_s = NAN,
		.pressure_cpu_ratio = NAN,
		.pressure_memory_ratio = NAN,
		.pressure_io_ratio = NAN,
		.shm_ratio = NAN,
		.space_ratio = NAN,
		.clock_step_s = NAN,
		.suspend_s = NAN,
		.throttled_ratio = NAN,
		.cgroup_cpu_ratio = NAN,
		.cgroup_memory_ratio = NAN };
	for (size_t i = 0; i < METRIC_COUNT; i++)
		system->now[i] = NAN;
#define NEW_SERIES(name) system->series.name = series_new();
	SYSTEM_SERIES(NEW_SERIES)
#undef NEW_SERIES
	struct system_past *past = model->priv->system = calloc(1, sizeof *past);
	if (!past)
		return;
	past->clock_offset_ns = past->suspended_ns = NAN;
	for (size_t i = 0; i < METRIC_COUNT; i++)
		past->metrics[i].value = past->metrics[i].per_s = NAN;
}

static void free_device(struct device *device)
{
	series_free(device->series);
	series_free(device->bytes_series);
}

void model_free_system(struct model *model)
{
	struct system *system = &model->system;
#define FREE_SERIES(name) series_free(system->series.name);
	SYSTEM_SERIES(FREE_SERIES)
#undef FREE_SERIES
	for (size_t i = 0; i < system->disk_count; i++)
		free_device(&system->disks[i]);
	for (size_t i = 0; i < system->network_count; i++)
		free_device(&system->networks[i]);
	free(model->priv->system);
}

/* -- devices -- */

struct family {
	enum metric first;
	size_t *count;
	struct device *devices;
	struct device_past *pasts;
};

static bool find_family(struct model *model, enum metric metric, struct family *out)
{
	struct system *system = &model->system;
	struct system_past *past = model->priv->system;
	if (metric >= METRIC_DISK_READ && metric <= METRIC_DISK_BUSY)
		*out = (struct family){ METRIC_DISK_READ, &system->disk_count, system->disks, past->disks };
	else if (metric == METRIC_NETWORK_RECEIVED || metric == METRIC_NETWORK_SENT)
		*out = (struct family){ METRIC_NETWORK_RECEIVED, &system->network_count, system->networks, past->networks };
	else
		return false;
	return true;
}

static void forget_rates(struct device *device)
{
	device->read_bytes_per_s = device->write_bytes_per_s = device->reads_per_s = device->writes_per_s = NAN;
	device->read_latency_s = device->write_latency_s = device->busy_ratio = NAN;
}

static size_t find_device(const struct family *family, int32_t instance)
{
	size_t at = 0;
	while (at < *family->count && family->devices[at].instance != instance)
		at++;
	return at;
}

static size_t find_or_add_device(const struct family *family, int32_t instance)
{
	size_t at = find_device(family, instance);
	if (at < *family->count || at == DEVICES_MAX)
		return at;
	family->devices[at] = (struct device){ .instance = instance };
	forget_rates(&family->devices[at]);
	family->pasts[at] = (struct device_past){ .is_new_in_set = false };
	for (size_t i = 0; i < DEVICE_METRICS; i++)
		family->pasts[at].counters[i].value = family->pasts[at].counters[i].per_s = NAN;
	return (*family->count)++;
}

static void drop_device(const struct family *family, size_t at)
{
	size_t after = --*family->count - at;
	free_device(&family->devices[at]);
	memmove(&family->devices[at], &family->devices[at + 1], after * sizeof *family->devices);
	memmove(&family->pasts[at], &family->pasts[at + 1], after * sizeof *family->pasts);
}

void model_name_instance(struct model *model, const struct record *record)
{
	struct family family;
	if (model_name_meter(model, record))
		return;
	if (!model->priv->system || !record->instance.name || !find_family(model, record->instance.metric, &family))
		return;
	size_t at = find_or_add_device(&family, record->instance.instance);
	if (at == DEVICES_MAX)
		return;
	family.devices[at].seen_ns = record->time_ns;
	put_text(family.devices[at].name, sizeof family.devices[at].name, record->instance.name);
}

/* Stores a reading. *growth: since the previous one, NAN = unknown. False: the reading is not newer. */
static bool take_counter(struct counter_past *past, const struct record *record, double *growth)
{
	double value = record->figure.value;
	if (record->time_ns <= past->time_ns)
		return false;
	bool is_known = past->time_ns > 0 && value >= past->value;
	*growth = is_known ? value - past->value : NAN;
	past->per_s = *growth * 1e9 / (double)(record->time_ns - past->time_ns);
	past->value = value;
	past->time_ns = record->time_ns;
	return true;
}

static void take_device_figure(struct model *model, const struct family *family, const struct record *record)
{
	size_t at = find_or_add_device(family, record->figure.instance);
	double growth;
	if (at == DEVICES_MAX ||
		!take_counter(&family->pasts[at].counters[record->figure.metric - family->first], record, &growth))
		return;
	family->pasts[at].is_new_in_set = true;
	family->devices[at].seen_ns = record->time_ns;
	model->priv->system->is_new_in_set = true;
	model_note_growth(model, record->figure.metric, record->figure.instance, record->time_ns, growth);
}

/* -- figures -- */

static bool is_of_system(enum metric metric)
{
	return (metric >= METRIC_SYSTEM_CPUS && metric <= METRIC_SYSTEM_SUSPENDED) ||
		(metric >= METRIC_CGROUP_MEMORY && metric <= METRIC_CGROUP_PERIODS);
}

bool model_take_system_figure(struct model *model, const struct record *record)
{
	struct system_past *past = model->priv->system;
	enum metric metric = record->figure.metric;
	struct family family;
	double growth = NAN;
	if (!past)
		return metric >= METRIC_SYSTEM_CPUS;
	if (find_family(model, metric, &family)) {
		take_device_figure(model, &family, record);
		return true;
	}
	if (!is_of_system(metric))
		return false;
	if (!take_counter(&past->metrics[metric], record, &growth))
		return true;
	model->system.now[metric] = record->figure.value;
	past->is_new_in_set = true;
	if (metric_table[metric].kind == KIND_COUNTER)
		model_note_growth(model, metric, 0, record->time_ns, growth);
	return true;
}

/* -- derived figures -- */

static double rate(const struct model *model, enum metric metric) { return model->priv->system->metrics[metric].per_s; }

/* fmin alone would return 1 for NAN. */
static double at_most_1(double ratio) { return isnan(ratio) ? NAN : fmin(ratio, 1); }

static void refresh_cpu(struct model *model)
{
	struct system *system = &model->system;
	double busy = rate(model, METRIC_SYSTEM_CPU_BUSY), io_wait = rate(model, METRIC_SYSTEM_CPU_IO_WAIT),
		   stolen = rate(model, METRIC_SYSTEM_CPU_STOLEN);
	double all = busy + io_wait + stolen + rate(model, METRIC_SYSTEM_CPU_IDLE);
	system->cpu_ratio = all > 0 ? busy / all : NAN;
	system->io_wait_ratio = all > 0 ? io_wait / all : NAN;
	system->stolen_ratio = all > 0 ? stolen / all : NAN;
}

static void refresh_memory(struct model *model)
{
	struct system *system = &model->system;
	const double *now = system->now;
	system->memory_ratio = 1 - now[METRIC_SYSTEM_MEMORY_AVAILABLE] / now[METRIC_SYSTEM_MEMORY];
	system->swap_used_bytes = now[METRIC_SYSTEM_SWAP] - now[METRIC_SYSTEM_SWAP_FREE];
	system->swap_in_bytes_per_s = rate(model, METRIC_SYSTEM_SWAP_IN);
	system->swap_out_bytes_per_s = rate(model, METRIC_SYSTEM_SWAP_OUT);
	system->swap_per_s = system->swap_in_bytes_per_s + system->swap_out_bytes_per_s;
	system->shm_ratio = now[METRIC_SYSTEM_SHM_USED] / now[METRIC_SYSTEM_SHM];
	system->space_ratio = 1 - now[METRIC_SYSTEM_SPACE_FREE] / now[METRIC_SYSTEM_SPACE];
}

static void refresh_pressures(struct model *model)
{
	struct system *system = &model->system;
	system->pressure_cpu_ratio = at_most_1(rate(model, METRIC_SYSTEM_PRESSURE_CPU) * 1e-9);
	system->pressure_memory_ratio = at_most_1(rate(model, METRIC_SYSTEM_PRESSURE_MEMORY) * 1e-9);
	system->pressure_io_ratio = at_most_1(rate(model, METRIC_SYSTEM_PRESSURE_IO) * 1e-9);
}

static void refresh_cgroup(struct model *model)
{
	struct system *system = &model->system;
	const double *now = system->now;
	/* With a limit below one CPU, one thread still waits all the time. */
	double cpus = isnan(now[METRIC_CGROUP_CPU_LIMIT]) ? 1 : fmax(now[METRIC_CGROUP_CPU_LIMIT], 1);
	system->throttled_ratio = at_most_1(rate(model, METRIC_CGROUP_THROTTLED) * 1e-9 / cpus);
	system->cgroup_cpu_ratio = rate(model, METRIC_CGROUP_CPU) * 1e-9;
	system->cgroup_memory_ratio = now[METRIC_CGROUP_MEMORY] / now[METRIC_CGROUP_MEMORY_LIMIT];
	system->owns_cgroup = now[METRIC_CGROUP_MEMBERS_OUTSIDE] == 0;
}

/* A suspend advances CLOCK_REALTIME and CLOCK_BOOTTIME against CLOCK_MONOTONIC; a step of the clock advances only
 * CLOCK_REALTIME. */
static void refresh_clock(struct model *model)
{
	struct system *system = &model->system;
	struct system_past *past = model->priv->system;
	int64_t time_ns = past->metrics[METRIC_SYSTEM_CLOCK_OFFSET].time_ns;
	double offset_ns = system->now[METRIC_SYSTEM_CLOCK_OFFSET], suspended_ns = system->now[METRIC_SYSTEM_SUSPENDED];
	if (time_ns <= past->clock_read_ns || isnan(offset_ns) || isnan(suspended_ns))
		return;
	double suspended_s = (suspended_ns - past->suspended_ns) * 1e-9;
	double stepped_s = (offset_ns - past->clock_offset_ns) * 1e-9 - suspended_s;
	double slewed_s = (double)(time_ns - past->clock_read_ns) * 1e-9 * SLEWED_RATIO;
	bool has_before = past->clock_read_ns > 0;
	if (has_before && suspended_s > STEP_MIN_S) {
		system->suspend_s = suspended_s;
		system->suspend_ns = time_ns;
		model_note_moment(model, WINDOW_SUSPENDED, past->clock_read_ns, time_ns, 0, suspended_s, "");
	}
	if (has_before && fabs(stepped_s) > STEP_MIN_S + slewed_s) {
		system->clock_step_s = stepped_s;
		system->clock_step_ns = time_ns;
		model_note_moment(model, WINDOW_CLOCK_STEPPED, past->clock_read_ns, time_ns, 0, stepped_s, "");
	}
	past->clock_offset_ns = offset_ns;
	past->suspended_ns = suspended_ns;
	past->clock_read_ns = time_ns;
}

static void refresh_device(struct device *device, const struct device_past *past, bool is_disk)
{
	const struct counter_past *counters = past->counters;
	device->read_bytes_per_s = counters[0].per_s;
	device->write_bytes_per_s = counters[1].per_s;
	double bytes_per_s = device->read_bytes_per_s + device->write_bytes_per_s, figure = bytes_per_s;
	if (is_disk) {
		device->reads_per_s = counters[METRIC_DISK_READS - METRIC_DISK_READ].per_s;
		device->writes_per_s = counters[METRIC_DISK_WRITES - METRIC_DISK_READ].per_s;
		double read_time = counters[METRIC_DISK_READ_TIME - METRIC_DISK_READ].per_s * 1e-9;
		double write_time = counters[METRIC_DISK_WRITE_TIME - METRIC_DISK_READ].per_s * 1e-9;
		device->read_latency_s = device->reads_per_s > 0 ? read_time / device->reads_per_s : NAN;
		device->write_latency_s = device->writes_per_s > 0 ? write_time / device->writes_per_s : NAN;
		device->busy_ratio = figure = at_most_1(counters[METRIC_DISK_BUSY - METRIC_DISK_READ].per_s * 1e-9);
	}
	/* A device that is never used needs no history. */
	if (!device->series && figure > 0)
		device->series = series_new();
	if (is_disk && !device->bytes_series && bytes_per_s > 0)
		device->bytes_series = series_new();
	series_push(device->series, device->seen_ns, figure);
	series_push(device->bytes_series, device->seen_ns, bytes_per_s);
}

static void refresh_devices(struct model *model, enum metric metric)
{
	struct family family;
	if (!find_family(model, metric, &family))
		return;
	for (size_t i = 0; i < *family.count; i++) {
		if (family.pasts[i].is_new_in_set)
			refresh_device(&family.devices[i], &family.pasts[i], family.first == METRIC_DISK_READ);
		family.pasts[i].is_new_in_set = false;
	}
}

static void forget_stale_devices(struct model *model, enum metric metric)
{
	struct family family;
	if (!find_family(model, metric, &family))
		return;
	for (size_t i = *family.count; i-- > 0;) {
		int64_t age_ns = model->now_ns - family.devices[i].seen_ns;
		if (age_ns > DEVICE_STALE_NS)
			forget_rates(&family.devices[i]);
		if (age_ns > DEVICE_GONE_NS)
			drop_device(&family, i);
	}
}

static void forget_stale(struct model *model)
{
	struct system_past *past = model->priv->system;
	if (model->now_ns < past->swept_ns + SWEEP_NS)
		return;
	past->swept_ns = model->now_ns;
	for (size_t i = 0; i < METRIC_COUNT; i++) {
		if (isnan(model->system.now[i]) || model->now_ns - past->metrics[i].time_ns <= FIGURE_STALE_NS)
			continue;
		model->system.now[i] = past->metrics[i].per_s = NAN;
		past->is_new_in_set = true;
	}
	forget_stale_devices(model, METRIC_DISK_READ);
	forget_stale_devices(model, METRIC_NETWORK_RECEIVED);
}

static void push_series(struct model *model)
{
	struct system *system = &model->system;
	const struct {
		struct series *series;
		enum metric metric;
		double value;
	} rows[SERIES_COUNT] = {
		{ system->series.cpu_ratio, METRIC_SYSTEM_CPU_BUSY, system->cpu_ratio },
		{ system->series.io_wait_ratio, METRIC_SYSTEM_CPU_IO_WAIT, system->io_wait_ratio },
		{ system->series.memory_ratio, METRIC_SYSTEM_MEMORY_AVAILABLE, system->memory_ratio },
		{ system->series.swap_per_s, METRIC_SYSTEM_SWAP_OUT, system->swap_per_s },
		{ system->series.pressure_cpu_ratio, METRIC_SYSTEM_PRESSURE_CPU, system->pressure_cpu_ratio },
		{ system->series.pressure_memory_ratio, METRIC_SYSTEM_PRESSURE_MEMORY, system->pressure_memory_ratio },
		{ system->series.pressure_io_ratio, METRIC_SYSTEM_PRESSURE_IO, system->pressure_io_ratio },
		{ system->series.throttled_ratio, METRIC_CGROUP_THROTTLED, system->throttled_ratio },
	};
	struct system_past *past = model->priv->system;
	for (size_t i = 0; i < SERIES_COUNT; i++) {
		int64_t time_ns = past->metrics[rows[i].metric].time_ns;
		if (time_ns > past->pushed_ns[i] && !isnan(rows[i].value))
			series_push(rows[i].series, time_ns, rows[i].value);
		past->pushed_ns[i] = time_ns;
	}
}

void model_refresh_system(struct model *model)
{
	struct system_past *past = model->priv->system;
	/* After the target's end the last figures stay on the screen. */
	if (!past || model->target_ended)
		return;
	forget_stale(model);
	if (!past->is_new_in_set)
		return;
	past->is_new_in_set = false;
	refresh_cpu(model);
	refresh_memory(model);
	refresh_pressures(model);
	refresh_cgroup(model);
	refresh_clock(model);
	refresh_devices(model, METRIC_DISK_READ);
	refresh_devices(model, METRIC_NETWORK_RECEIVED);
	push_series(model);
}
