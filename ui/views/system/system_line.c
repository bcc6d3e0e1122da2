/* The machine in lines: one in the overview, five in a small system view; and the figures that warnings mark. */
#include "ui/views/system/system_line.h"

#include <math.h>
#include <string.h>

#include "ui/core/layout.h"
#include "ui/views/overview/panels.h"
#include "ui/views/system/system_energy.h"
#include "ui/views/system/system_panels.h"
#include "ui/widgets/parts.h"

bool system_is_known(const struct model *model)
{
	return model->system.now[METRIC_SYSTEM_CPUS] > 0 || model->system.now[METRIC_SYSTEM_MEMORY] > 0;
}

double system_run_ratio(const struct model *model)
{
	double sum = NAN;
	for (size_t i = 0; i < model->process_count; i++)
		if (!model->processes[i].is_gone && !isnan(model->processes[i].cpu_ratio))
			sum = (isnan(sum) ? 0 : sum) + model->processes[i].cpu_ratio;
	return model->system.now[METRIC_SYSTEM_CPUS] > 0 ? sum / model->system.now[METRIC_SYSTEM_CPUS] : NAN;
}

const struct missing *system_missing(const struct model *model, const char *about)
{
	for (size_t i = 0; i < model->missing_count; i++)
		if (parts_matches(model->missing[i].figure, about))
			return &model->missing[i];
	return NULL;
}

const struct device *system_busiest(const struct system *system)
{
	const struct device *busiest = NULL;
	for (size_t i = 0; i < system->disk_count; i++)
		if (!isnan(system->disks[i].busy_ratio) && (!busiest || system->disks[i].busy_ratio > busiest->busy_ratio))
			busiest = &system->disks[i];
	return busiest;
}

/* -- which figures a warning is about -- */

static const struct {
	const char *rule;
	enum system_mark mark;
} marked[] = {
	{ "busy_machine", MARK_CPU },
	{ "cpu_bound", MARK_CPU },
	{ "io_wait", MARK_IO_WAIT },
	{ "machine_memory", MARK_MEMORY },
	{ "machine_memory_others", MARK_MEMORY },
	{ "swapping", MARK_SWAP },
	{ "busy_disk", MARK_DISK },
	{ "throttled", MARK_THROTTLED },
	{ "shm_full", MARK_SHM },
	{ "disk_full", MARK_SPACE },
	{ "container_memory", MARK_CGROUP_MEMORY },
};

static const struct alert *alert_of(const struct scene *scene, enum system_mark mark)
{
	for (size_t i = 0; i < scene->alerts->count && scene->alerts->list[i].is_raised; i++)
		for (size_t k = 0; k < sizeof marked / sizeof marked[0]; k++)
			if (marked[k].mark == mark && strcmp(marked[k].rule, scene->alerts->list[i].rule) == 0)
				return &scene->alerts->list[i];
	return NULL;
}

enum role system_mark_role(const struct scene *scene, enum system_mark mark)
{
	const struct alert *alert = alert_of(scene, mark);
	return alert ? parts_severity_role(alert->severity) : ROLE_NORMAL;
}

const char *system_mark_sign(const struct scene *scene, enum system_mark mark)
{
	const struct alert *alert = alert_of(scene, mark);
	return !alert ? "" : alert->severity == SEVERITY_INFO ? " •" : " ⚠";
}

/* -- pieces -- */

static void add_ratio(
	const struct scene *scene, struct line *line, int rank, enum system_mark mark, const char *name, double ratio)
{
	char text[NUMBER_SIZE];
	if (!isnan(ratio))
		line_add(line, rank, system_mark_role(scene, mark), "%s %s%s", name, format_percent(text, ratio),
			system_mark_sign(scene, mark));
}

static void add_cpu(const struct scene *scene, struct line *line)
{
	double run = system_run_ratio(scene->model);
	char all[NUMBER_SIZE], own[NUMBER_SIZE];
	if (isnan(scene->model->system.cpu_ratio))
		return;
	format_percent(all, scene->model->system.cpu_ratio);
	if (isnan(run))
		line_add(line, 0, system_mark_role(scene, MARK_CPU), "all CPUs %s%s", all, system_mark_sign(scene, MARK_CPU));
	else
		line_add(line, 0, system_mark_role(scene, MARK_CPU), "all CPUs %s (run %s)%s", all, format_percent(own, run),
			system_mark_sign(scene, MARK_CPU));
}

/* The slower direction's latency: the one that delays its user. */
static void add_disk(const struct scene *scene, struct line *line, int rank)
{
	const struct device *disk = system_busiest(&scene->model->system);
	char text[NUMBER_SIZE];
	double wait_s = disk == NULL                                                       ? NAN
		: disk->read_latency_s > disk->write_latency_s || isnan(disk->write_latency_s) ? disk->read_latency_s
																					   : disk->write_latency_s;
	if (!disk)
		return;
	line_add(line, rank, system_mark_role(scene, MARK_DISK), "disk %s %s busy%s", disk->name,
		format_percent(text, disk->busy_ratio), system_mark_sign(scene, MARK_DISK));
	if (!isnan(wait_s))
		line_add(line, rank + 2, ROLE_NORMAL, "latency %s", format_seconds(text, wait_s));
}

static void add_swap(const struct scene *scene, struct line *line, int rank)
{
	const struct system *system = &scene->model->system;
	char text[NUMBER_SIZE];
	if (system->swap_per_s > 0)
		line_add(line, rank, ROLE_WARNING, "swaps %s/s%s", format_bytes(text, system->swap_per_s),
			system_mark_sign(scene, MARK_SWAP));
}

static void add_throttled(const struct scene *scene, struct line *line, int rank)
{
	if (scene->model->system.throttled_ratio > 0)
		add_ratio(scene, line, rank, MARK_THROTTLED, "quota throttled", scene->model->system.throttled_ratio);
}

void panel_system_line(const struct scene *scene, struct canvas *canvas, struct rect row)
{
	const struct system *system = &scene->model->system;
	struct line line;
	line_start(&line, " · ");
	add_cpu(scene, &line);
	add_ratio(scene, &line, 2, MARK_IO_WAIT, "iowait", system->io_wait_ratio);
	add_ratio(scene, &line, 1, MARK_MEMORY, "mem", system->memory_ratio);
	add_swap(scene, &line, 1);
	add_disk(scene, &line, 3);
	add_throttled(scene, &line, 1);
	line_add(&line, 4, ROLE_KEY, "[6] details");
	line_draw(&line, canvas, row.x, row.y, row.width);
}

/* -- five lines for the whole machine -- */

static void cpu_line(const struct scene *scene, struct line *line)
{
	const struct system *system = &scene->model->system;
	char text[NUMBER_SIZE];
	add_cpu(scene, line);
	add_ratio(scene, line, 1, MARK_IO_WAIT, "I/O wait", system->io_wait_ratio);
	add_ratio(scene, line, 3, MARK_CPU, "steal", system->stolen_ratio);
	if (!isnan(system->now[METRIC_SYSTEM_LOAD]))
		line_add(line, 2, ROLE_NORMAL, "load %s", format_rate(text, system->now[METRIC_SYSTEM_LOAD]));
	add_throttled(scene, line, 0);
}

static void pressure_line(const struct scene *scene, struct line *line)
{
	const struct system *system = &scene->model->system;
	const struct missing *missing = system_missing(scene->model, "pressure");
	if (isnan(system->pressure_cpu_ratio) && isnan(system->pressure_io_ratio)) {
		line_add(line, 0, ROLE_DIM, "pressure –");
		if (missing)
			line_add(line, 1, ROLE_DIM, "%s", missing->text);
		return;
	}
	add_ratio(scene, line, 0, MARK_NONE, "pressure: CPU", system->pressure_cpu_ratio);
	add_ratio(scene, line, 0, MARK_NONE, "memory", system->pressure_memory_ratio);
	add_ratio(scene, line, 0, MARK_NONE, "I/O", system->pressure_io_ratio);
}

static void memory_line(const struct scene *scene, struct line *line)
{
	const struct system *system = &scene->model->system;
	char text[NUMBER_SIZE], limit[NUMBER_SIZE];
	if (!isnan(system->memory_ratio))
		line_add(line, 0, system_mark_role(scene, MARK_MEMORY), "memory %s of %s%s",
			format_percent(text, system->memory_ratio), format_bytes(limit, system->now[METRIC_SYSTEM_MEMORY]),
			system_mark_sign(scene, MARK_MEMORY));
	if (!isnan(system->cgroup_memory_ratio))
		line_add(line, 1, system_mark_role(scene, MARK_CGROUP_MEMORY), "cgroup %s of %s%s",
			format_percent(text, system->cgroup_memory_ratio),
			format_bytes(limit, system->now[METRIC_CGROUP_MEMORY_LIMIT]), system_mark_sign(scene, MARK_CGROUP_MEMORY));
	add_swap(scene, line, 1);
	add_ratio(scene, line, 2, MARK_SHM, "/dev/shm", system->shm_ratio);
	add_ratio(scene, line, 3, MARK_SPACE, "space", system->space_ratio);
}

static void device_line(const struct scene *scene, struct line *line)
{
	const struct system *system = &scene->model->system;
	const struct device *disk = system_busiest(system);
	char in[NUMBER_SIZE], out[NUMBER_SIZE];
	add_disk(scene, line, 0);
	if (disk && !isnan(disk->read_bytes_per_s))
		line_add(line, 1, ROLE_NORMAL, "reads %s/s", format_bytes(in, disk->read_bytes_per_s));
	if (disk && !isnan(disk->write_bytes_per_s))
		line_add(line, 3, ROLE_NORMAL, "writes %s/s", format_bytes(out, disk->write_bytes_per_s));
	for (size_t i = 0; i < system->network_count; i++) {
		const struct device *network = &system->networks[i];

		if (network->read_bytes_per_s > 0 || network->write_bytes_per_s > 0)
			line_add(line, 2, ROLE_NORMAL, "%s in %s/s, out %s/s", network->name,
				format_bytes(in, network->read_bytes_per_s), format_bytes(out, network->write_bytes_per_s));
	}
}

int system_lines(const struct scene *scene, struct canvas *canvas, struct rect rect)
{
	static void (*const lines[SYSTEM_LINES])(const struct scene *, struct line *) = { cpu_line, memory_line,
		device_line, pressure_line, system_energy_line };
	int used = 0;
	for (int i = 0; i < SYSTEM_LINES && used < rect.height; i++) {
		struct line line;

		line_start(&line, " · ");
		lines[i](scene, &line);
		if (line.count > 0)
			line_draw(&line, canvas, rect.x, rect.y + used++, rect.width);
	}
	return used;
}
