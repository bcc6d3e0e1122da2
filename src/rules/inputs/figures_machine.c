/* Figures of the machine, of the cgroup and of pmtop itself. */
#include <math.h>
#include <stddef.h>
#include <stdio.h>

#include "src/base/clock.h"
#include "src/rules/inputs/figures.h"

/* -- use of CPUs and disks -- */

static double cpus_of(const struct context *context)
{
	double cpus = context->model->system.now[METRIC_SYSTEM_CPUS];
	return cpus >= 1 ? cpus : NAN;
}

static double sum_tree(const struct context *context, double (*of)(const struct process *process))
{
	double sum = NAN;
	for (size_t i = 0; i < context->model->process_count; i++) {
		const struct process *process = &context->model->processes[i];
		double value = process->is_gone ? NAN : of(process);
		if (!isnan(value))
			sum = (isnan(sum) ? 0 : sum) + value;
	}
	return sum;
}

static double cpu_of(const struct process *process) { return process->cpu_ratio; }
static double disk_of(const struct process *process) { return process->read_bytes_per_s + process->write_bytes_per_s; }

NUMBER(tree_cpu)
{
	double share = sum_tree(context, cpu_of) / cpus_of(context);
	return share > 1 ? 1 : share;
}

NUMBER(tree_cpus) { return sum_tree(context, cpu_of); }
NUMBER(others_cpu)
{
	double own = tree_cpu(context, argument), all = context->model->system.cpu_ratio;
	return isnan(own) || isnan(all) ? NAN : fmax(0, all - own);
}

#define CONTENDED_S 60
#define CONTENDED_FULL_RATIO 0.85
#define CONTENDED_OTHERS_RATIO 0.2

/* Then steps vary by themselves. 0 if the CPUs are not read. */
NUMBER(is_contended)
{
	const struct system *system = &context->model->system;
	double mean = NAN;
	series_mean(
		system->series.cpu_ratio, context->model->now_ns - CONTENDED_S * NS_PER_S, context->model->now_ns + 1, &mean);
	mean = isnan(mean) ? system->cpu_ratio : mean;
	return mean > CONTENDED_FULL_RATIO && others_cpu(context, argument) > CONTENDED_OTHERS_RATIO;
}

NUMBER(tree_disk) { return sum_tree(context, disk_of); }

static const struct device *busiest(const struct context *context)
{
	const struct system *system = &context->model->system;
	const struct device *max = NULL;
	for (size_t i = 0; i < system->disk_count; i++)
		if (!isnan(system->disks[i].busy_ratio) && (!max || system->disks[i].busy_ratio > max->busy_ratio))
			max = &system->disks[i];
	return max;
}

NUMBER(disk_busy) { return busiest(context) ? busiest(context)->busy_ratio : NAN; }
NUMBER(disk_read) { return busiest(context) ? busiest(context)->read_bytes_per_s : NAN; }
NUMBER(disk_written) { return busiest(context) ? busiest(context)->write_bytes_per_s : NAN; }
NUMBER(disk_read_latency) { return busiest(context) ? busiest(context)->read_latency_s : NAN; }
NUMBER(disk_write_latency) { return busiest(context) ? busiest(context)->write_latency_s : NAN; }
TEXT(disk_name) { figure_shorten(out, busiest(context) ? busiest(context)->name : ""); }

/* -- networks -- */

/* The interface with the most traffic. */
static const struct device *busiest_network(const struct context *context)
{
	const struct system *system = &context->model->system;
	const struct device *max = NULL;
	double most = -1;
	for (size_t i = 0; i < system->network_count; i++) {
		double rate = system->networks[i].read_bytes_per_s + system->networks[i].write_bytes_per_s;
		if (rate > most) {
			most = rate;
			max = &system->networks[i];
		}
	}
	return max;
}

NUMBER(network_received) { return busiest_network(context) ? busiest_network(context)->read_bytes_per_s : NAN; }
NUMBER(network_sent) { return busiest_network(context) ? busiest_network(context)->write_bytes_per_s : NAN; }
TEXT(network_name) { figure_shorten(out, busiest_network(context) ? busiest_network(context)->name : ""); }

/* -- the cgroup: page cache, which can be reclaimed at once, does not count as used -- */

NUMBER(cgroup_held)
{
	const double *now = context->model->system.now;
	double shared = now[METRIC_CGROUP_MEMORY_SHARED];
	return now[METRIC_CGROUP_MEMORY] - now[METRIC_CGROUP_MEMORY_FILE] + (isnan(shared) ? 0 : shared);
}

NUMBER(cgroup_held_share)
{
	double limit = context->model->system.now[METRIC_CGROUP_MEMORY_LIMIT];
	return limit > 0 ? cgroup_held(context, argument) / limit : NAN;
}

#define MACHINE(name, form, member, what, lacks) MEMBER_ROW(name, form, system.member, what, lacks)
#define METRIC_OF(name, form, id, what, lacks) MACHINE(name, form, now[METRIC_##id], what, lacks)
#define MADE(name, form, function, what, lacks) NUMBER_ROW(name, form, MODEL, function, what, lacks)

static const char no_reading[] = "not read yet, or the kernel does not provide it (pmtop doctor)";
static const char no_cgroup[] = "its cgroup does not provide it";
static const char no_limit[] = "its cgroup has no such limit";
static const char no_disk[] = "no disk was read";
static const char no_network[] = "no network interface was read";

static const struct figure rows[] = {
	METRIC_OF("system.cpus", COUNT, SYSTEM_CPUS, "online CPUs", no_reading),
	MACHINE("system.cpu_ratio", PERCENT, cpu_ratio, "utilization of all CPUs of the machine", no_reading),
	MADE("system.run_cpu_ratio", PERCENT, tree_cpu, "share of all CPUs used by the process and its children",
		no_reading),
	MADE("system.run_cpus", NUMBER, tree_cpus, "the same, in CPUs", no_reading),
	MADE("system.others_cpu_ratio", PERCENT, others_cpu, "share of all CPUs used by other programs", no_reading),
	MADE("system.is_contended", COUNT, is_contended,
		"1: the CPUs were over 85 % busy in the last minute, and other programs use over 20 %; else 0", NULL),
	MACHINE("system.io_wait_ratio", PERCENT, io_wait_ratio,
		"I/O wait: share of the CPUs' time idle while waiting for a disk", no_reading),
	MACHINE("system.stolen_ratio", PERCENT, stolen_ratio, "steal time: share that the hypervisor gave to other guests",
		no_reading),
	MACHINE("system.memory_ratio", PERCENT, memory_ratio, "used share of the machine's memory", no_reading),
	METRIC_OF("system.memory_bytes", BYTES, SYSTEM_MEMORY, "the machine's memory", no_reading),
	METRIC_OF("system.memory_available_bytes", BYTES, SYSTEM_MEMORY_AVAILABLE, "available memory", no_reading),
	MACHINE("system.swap_used_bytes", BYTES, swap_used_bytes, "in swap", no_reading),
	MACHINE("system.swap_in_bytes_per_s", BYTES_PER_S, swap_in_bytes_per_s, "read back from swap", no_reading),
	MACHINE("system.swap_bytes_per_s", BYTES_PER_S, swap_per_s, "to and from swap", no_reading),
	MACHINE("system.pressure_cpu_ratio", PERCENT, pressure_cpu_ratio,
		"CPU pressure (PSI some): share of time in which a task waited for a CPU", no_reading),
	MACHINE("system.pressure_memory_ratio", PERCENT, pressure_memory_ratio, "memory pressure (PSI some)", no_reading),
	MACHINE("system.pressure_io_ratio", PERCENT, pressure_io_ratio, "I/O pressure (PSI some)", no_reading),
	MACHINE("system.shm_ratio", PERCENT, shm_ratio, "used share of /dev/shm", no_reading),
	METRIC_OF("system.shm_bytes", BYTES, SYSTEM_SHM, "size of /dev/shm", no_reading),
	METRIC_OF("system.shm_used_bytes", BYTES, SYSTEM_SHM_USED, "used bytes of /dev/shm", no_reading),
	MACHINE("system.space_ratio", PERCENT, space_ratio, "used share of the file system of the working directory",
		no_reading),
	METRIC_OF("system.space_free_bytes", BYTES, SYSTEM_SPACE_FREE, "free bytes there", no_reading),
	MADE("disk.busy_ratio", PERCENT, disk_busy, "share of time in which the busiest disk had a request in flight",
		no_disk),
	MADE("disk.read_bytes_per_s", BYTES_PER_S, disk_read, "read from it", no_disk),
	MADE("disk.write_bytes_per_s", BYTES_PER_S, disk_written, "written to it", no_disk),
	MADE("disk.read_latency_s", SECONDS, disk_read_latency, "mean latency of a read", no_disk),
	MADE("disk.write_latency_s", SECONDS, disk_write_latency, "mean latency of a write", no_disk),
	{ "disk.name", FORM_TEXT, RULE_OF_MODEL, NULL, disk_name, 0, "that disk", no_disk },
	MADE("network.received_bytes_per_s", BYTES_PER_S, network_received,
		"received by the network interface with the most traffic", no_network),
	MADE("network.sent_bytes_per_s", BYTES_PER_S, network_sent, "sent by it", no_network),
	{ "network.name", FORM_TEXT, RULE_OF_MODEL, NULL, network_name, 0, "that interface", no_network },
	MADE("disk.run_bytes_per_s", BYTES_PER_S, tree_disk, "disk reads and writes of the process and its children",
		"not read yet"),
	MACHINE("cgroup.throttled_ratio", PERCENT, throttled_ratio,
		"share of time in which the cgroup was throttled by its CPU quota", no_limit),
	METRIC_OF("cgroup.cpu_limit", NUMBER, CGROUP_CPU_LIMIT, "its quota, in CPUs", no_limit),
	MACHINE("cgroup.cpus", NUMBER, cgroup_cpu_ratio, "CPUs used by the cgroup", no_cgroup),
	METRIC_OF("cgroup.memory_bytes", BYTES, CGROUP_MEMORY, "its memory, including page cache", no_cgroup),
	METRIC_OF("cgroup.memory_limit_bytes", BYTES, CGROUP_MEMORY_LIMIT, "its memory limit", no_limit),
	MADE("cgroup.held_bytes", BYTES, cgroup_held, "its memory without page cache", no_cgroup),
	MADE("cgroup.held_ratio", PERCENT, cgroup_held_share, "the same ÷ the limit", no_limit),
	{ "pmtop.cpu_ratio", FORM_PERCENT, RULE_OF_MODEL, NULL, NULL, offsetof(struct model, self.cpu_ratio),
		"CPU time of pmtop itself: 100 % is one CPU", NULL },
	{ "pmtop.memory_bytes", FORM_BYTES, RULE_OF_MODEL, NULL, NULL, offsetof(struct model, self.memory_bytes),
		"resident memory of pmtop itself", NULL },
};

const struct figure_part machine_figures = { rows, sizeof rows / sizeof *rows };
