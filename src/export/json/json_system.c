#include "src/export/json/json_system.h"

#include <math.h>

/* One figure of a group. */
struct row {
	const char *key;
	double value;
};

#define ROWS(rows) rows, sizeof rows / sizeof *rows

static void write_rows(struct json *json, const struct row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++)
		json_number(json, rows[i].key, rows[i].value);
}

/* Omits a group whose figures are all unknown. */
static void write_part(struct json *json, const char *key, const struct row *rows, size_t count)
{
	size_t known = 0;

	for (size_t i = 0; i < count; i++)
		known += isfinite(rows[i].value) ? 1 : 0;
	if (known == 0)
		return;
	json_open_object(json, key);
	write_rows(json, rows, count);
	json_close_object(json);
}

static void write_cpu(struct json *json, const struct system *system)
{
	const struct row rows[] = {
		{ "count", system->now[METRIC_SYSTEM_CPUS] },
		{ "busy_ratio", system->cpu_ratio },
		{ "io_wait_ratio", system->io_wait_ratio },
		{ "stolen_ratio", system->stolen_ratio },
		{ "running", system->now[METRIC_SYSTEM_RUNNING] },
		{ "blocked", system->now[METRIC_SYSTEM_BLOCKED] },
		{ "load", system->now[METRIC_SYSTEM_LOAD] },
	};
	write_part(json, "cpu", ROWS(rows));
}

static void write_pressure(struct json *json, const struct system *system)
{
	const struct row rows[] = {
		{ "cpu_ratio", system->pressure_cpu_ratio },
		{ "memory_ratio", system->pressure_memory_ratio },
		{ "io_ratio", system->pressure_io_ratio },
	};
	write_part(json, "pressure", ROWS(rows));
}

static void write_memory(struct json *json, const struct system *system)
{
	const double *now = system->now;
	const struct row memory[] = {
		{ "total_bytes", now[METRIC_SYSTEM_MEMORY] },
		{ "available_bytes", now[METRIC_SYSTEM_MEMORY_AVAILABLE] },
		{ "used_ratio", system->memory_ratio },
		{ "cached_bytes", now[METRIC_SYSTEM_MEMORY_CACHED] },
		{ "dirty_bytes", now[METRIC_SYSTEM_MEMORY_DIRTY] },
	};
	const struct row swap[] = {
		{ "total_bytes", now[METRIC_SYSTEM_SWAP] },
		{ "used_bytes", system->swap_used_bytes },
		{ "in_bytes_per_s", system->swap_in_bytes_per_s },
		{ "out_bytes_per_s", system->swap_out_bytes_per_s },
	};
	const struct row shm[] = { { "total_bytes", now[METRIC_SYSTEM_SHM] }, { "used_bytes", now[METRIC_SYSTEM_SHM_USED] },
		{ "used_ratio", system->shm_ratio }, { "own_bytes", now[METRIC_SYSTEM_SHM_OWN] } };
	const struct row space[] = { { "total_bytes", now[METRIC_SYSTEM_SPACE] },
		{ "free_bytes", now[METRIC_SYSTEM_SPACE_FREE] }, { "used_ratio", system->space_ratio } };
	write_part(json, "memory", ROWS(memory));
	write_part(json, "swap", ROWS(swap));
	write_part(json, "shm", ROWS(shm));
	write_part(json, "space", ROWS(space));
}

static void write_disks(struct json *json, const struct system *system)
{
	json_open_array(json, "disks");
	for (size_t i = 0; i < system->disk_count; i++) {
		const struct device *disk = &system->disks[i];
		const struct row rows[] = {
			{ "busy_ratio", disk->busy_ratio },
			{ "read_bytes_per_s", disk->read_bytes_per_s },
			{ "write_bytes_per_s", disk->write_bytes_per_s },
			{ "reads_per_s", disk->reads_per_s },
			{ "writes_per_s", disk->writes_per_s },
			{ "read_latency_s", disk->read_latency_s },
			{ "write_latency_s", disk->write_latency_s },
		};
		json_open_object(json, NULL);
		json_text(json, "name", disk->name);
		write_rows(json, ROWS(rows));
		json_close_object(json);
	}
	json_close_array(json);
}

static void write_networks(struct json *json, const struct system *system)
{
	json_open_array(json, "networks");
	for (size_t i = 0; i < system->network_count; i++) {
		const struct device *network = &system->networks[i];
		json_open_object(json, NULL);
		json_text(json, "name", network->name);
		json_number(json, "received_bytes_per_s", network->read_bytes_per_s);
		json_number(json, "sent_bytes_per_s", network->write_bytes_per_s);
		json_close_object(json);
	}
	json_close_array(json);
}

static void write_cgroup(struct json *json, const struct system *system)
{
	const double *now = system->now;
	const struct row rows[] = {
		{ "memory_bytes", now[METRIC_CGROUP_MEMORY] },
		{ "memory_limit_bytes", now[METRIC_CGROUP_MEMORY_LIMIT] },
		{ "memory_ratio", system->cgroup_memory_ratio },
		{ "anonymous_bytes", now[METRIC_CGROUP_MEMORY_ANONYMOUS] },
		{ "file_bytes", now[METRIC_CGROUP_MEMORY_FILE] },
		{ "shared_bytes", now[METRIC_CGROUP_MEMORY_SHARED] },
		{ "members_outside", now[METRIC_CGROUP_MEMBERS_OUTSIDE] },
		{ "oom_kills", now[METRIC_CGROUP_OOM_KILLS] },
		{ "cpu_ratio", system->cgroup_cpu_ratio },
		{ "cpu_limit", now[METRIC_CGROUP_CPU_LIMIT] },
		{ "throttled_ratio", system->throttled_ratio },
	};
	write_part(json, "cgroup", ROWS(rows));
}

void json_system(struct json *json, const struct model *model)
{
	const struct system *system = &model->system;

	if (!(system->now[METRIC_SYSTEM_CPUS] > 0 || system->now[METRIC_SYSTEM_MEMORY] > 0))
		return;
	json_open_object(json, "system");
	write_cpu(json, system);
	write_pressure(json, system);
	write_memory(json, system);
	write_disks(json, system);
	write_networks(json, system);
	write_cgroup(json, system);
	json_number(json, "clock_step_s", system->clock_step_s);
	json_number(json, "suspend_s", system->suspend_s);
	json_close_object(json);
}
