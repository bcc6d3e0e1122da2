#include "tests/support/machine.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "src/base/clock.h"

void machine_forget(struct system *system)
{
	double *const figures[] = {
		&system->cpu_ratio,
		&system->io_wait_ratio,
		&system->stolen_ratio,
		&system->memory_ratio,
		&system->swap_used_bytes,
		&system->swap_in_bytes_per_s,
		&system->swap_out_bytes_per_s,
		&system->swap_per_s,
		&system->pressure_cpu_ratio,
		&system->pressure_memory_ratio,
		&system->pressure_io_ratio,
		&system->shm_ratio,
		&system->space_ratio,
		&system->clock_step_s,
		&system->suspend_s,
		&system->throttled_ratio,
		&system->cgroup_cpu_ratio,
		&system->cgroup_memory_ratio,
	};

	for (size_t i = 0; i < sizeof figures / sizeof figures[0]; i++)
		*figures[i] = NAN;
	for (size_t i = 0; i < METRIC_COUNT; i++)
		system->now[i] = NAN;
	system->disk_count = system->network_count = 0;
	system->clock_step_ns = system->suspend_ns = 0;
	system->owns_cgroup = false;
}

static void fill_history(struct series **series, int64_t now_ns, double min, double max, double turns)
{
	enum { POINTS = 600 };
	const int64_t step_ns = NS_PER_S / 2;

	series_free(*series);
	*series = series_new();
	for (int i = 0; i <= POINTS; i++) {
		double at = (double)i / POINTS, wave = 0.5 + 0.5 * sin(at * turns * 6.283);

		series_push(*series, now_ns - (POINTS - i) * step_ns, min + (max - min) * wave);
	}
}

static struct device *add_device(struct device *devices, size_t *count, const char *name)
{
	struct device *device = &devices[*count];

	*device = (struct device){
		.instance = (int32_t)(*count)++,
		.read_bytes_per_s = NAN,
		.write_bytes_per_s = NAN,
		.reads_per_s = NAN,
		.writes_per_s = NAN,
		.read_latency_s = NAN,
		.write_latency_s = NAN,
		.busy_ratio = NAN,
	};
	snprintf(device->name, sizeof device->name, "%s", name);
	return device;
}

struct device *machine_add_disk(struct system *system, const char *name)
{
	return add_device(system->disks, &system->disk_count, name);
}

static void fill_devices(struct system *system, int64_t now_ns)
{
	struct device *idle = machine_add_disk(system, "sda"), *disk = machine_add_disk(system, "nvme0n1");
	struct device *network = add_device(system->networks, &system->network_count, "eth0");

	idle->busy_ratio = idle->read_bytes_per_s = idle->write_bytes_per_s = idle->reads_per_s = idle->writes_per_s = 0;
	disk->busy_ratio = 0.85;
	disk->read_bytes_per_s = 121e6;
	disk->write_bytes_per_s = 3.1e6;
	disk->reads_per_s = 940;
	disk->writes_per_s = 21;
	disk->read_latency_s = 0.012;
	disk->write_latency_s = 0.0008;
	disk->seen_ns = idle->seen_ns = network->seen_ns = now_ns;
	network->read_bytes_per_s = 1.25e6;
	network->write_bytes_per_s = 310e3;
	fill_history(&disk->series, now_ns, 0.4, 0.9, 9);
}

static void fill_cgroup(struct system *system)
{
	double *now = system->now;

	now[METRIC_CGROUP_MEMORY] = 3.1e9;
	now[METRIC_CGROUP_MEMORY_LIMIT] = 4e9;
	now[METRIC_CGROUP_MEMORY_ANONYMOUS] = 2.4e9;
	now[METRIC_CGROUP_MEMORY_FILE] = 0.6e9;
	now[METRIC_CGROUP_MEMORY_SHARED] = 0.1e9;
	now[METRIC_CGROUP_MEMBERS_OUTSIDE] = 0;
	now[METRIC_CGROUP_OOM_KILLS] = 0;
	now[METRIC_CGROUP_CPU_LIMIT] = 3.2;
	system->cgroup_cpu_ratio = 3;
	system->cgroup_memory_ratio = 0.775;
	system->throttled_ratio = 0.08;
	system->owns_cgroup = true;
}

void machine_release(struct model *model)
{
#define FREE_SERIES(name) \
	series_free(model->system.series.name); \
	model->system.series.name = NULL;
	SYSTEM_SERIES(FREE_SERIES)
#undef FREE_SERIES
	for (size_t i = 0; i < DEVICES_MAX; i++) {
		series_free(model->system.disks[i].series);
		series_free(model->system.disks[i].bytes_series);
		series_free(model->system.networks[i].series);
		model->system.disks[i].series = model->system.disks[i].bytes_series = model->system.networks[i].series = NULL;
	}
}

void machine_fill(struct model *model)
{
	struct system *system = &model->system;
	double *now = system->now;

	machine_release(model);
	machine_forget(system);
	now[METRIC_SYSTEM_CPUS] = 4;
	now[METRIC_SYSTEM_RUNNING] = 5;
	now[METRIC_SYSTEM_BLOCKED] = 1;
	now[METRIC_SYSTEM_LOAD] = 2.31;
	now[METRIC_SYSTEM_MEMORY] = 31.3e9;
	now[METRIC_SYSTEM_MEMORY_AVAILABLE] = 18.5e9;
	now[METRIC_SYSTEM_MEMORY_CACHED] = 4.2e9;
	now[METRIC_SYSTEM_MEMORY_DIRTY] = 12e6;
	now[METRIC_SYSTEM_SWAP] = 2e9;
	now[METRIC_SYSTEM_SWAP_FREE] = 1.8e9;
	now[METRIC_SYSTEM_SHM] = 15.6e9;
	now[METRIC_SYSTEM_SHM_USED] = 1.9e9;
	now[METRIC_SYSTEM_SPACE] = 500e9;
	now[METRIC_SYSTEM_SPACE_FREE] = 145e9;
	system->cpu_ratio = 0.92;
	system->io_wait_ratio = 0.03;
	system->stolen_ratio = 0;
	system->memory_ratio = 0.409;
	system->swap_used_bytes = 0.2e9;
	system->swap_in_bytes_per_s = 0;
	system->swap_out_bytes_per_s = 0;
	system->swap_per_s = 0;
	system->pressure_cpu_ratio = 0.12;
	system->pressure_memory_ratio = 0.004;
	system->pressure_io_ratio = 0.08;
	system->shm_ratio = 0.122;
	system->space_ratio = 0.71;
	fill_cgroup(system);
	fill_devices(system, model->now_ns);
	fill_history(&system->series.cpu_ratio, model->now_ns, 0.35, 0.95, 7);
	fill_history(&system->series.io_wait_ratio, model->now_ns, 0, 0.12, 11);
	fill_history(&system->series.memory_ratio, model->now_ns, 0.38, 0.41, 1);
	fill_history(&system->series.pressure_cpu_ratio, model->now_ns, 0.02, 0.21, 5);
	fill_history(&system->series.pressure_memory_ratio, model->now_ns, 0, 0.004, 3);
	fill_history(&system->series.pressure_io_ratio, model->now_ns, 0, 0.1, 8);
	fill_history(&system->series.throttled_ratio, model->now_ns, 0, 0.1, 6);
}
