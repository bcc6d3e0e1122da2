/* How often heat throttled the CPUs (of one CPU per package), and their clock (of a few CPUs). */
#include "src/sources/energy/energy_cpu.h"

#include <stdio.h>
#include <string.h>

#include "src/sources/energy/energy.h"
#include "src/sources/energy/energy_private.h"

#define CPU_FOLDER "devices/system/cpu"
#define CLOCK_NS (1900 * NS_PER_MS)

enum { LIST_SIZE = 4096 };

struct cpu_set {
	bool has[CPUS_COUNTED];
	int count;
};

static bool put_cpu(void *context, int cpu)
{
	struct cpu_set *set = context;
	set->count += !set->has[cpu];
	set->has[cpu] = true;
	return true;
}

static bool take_cpu(void *context, int cpu)
{
	struct cpu_set *set = context;
	set->count -= set->has[cpu];
	set->has[cpu] = false;
	return true;
}

static void read_online(const struct energy_reader *reader, struct cpu_set *set)
{
	char text[LIST_SIZE];
	*set = (struct cpu_set){ .count = 0 };
	if (energy_text(reader, text, sizeof text, CPU_FOLDER "/online") == STATUS_OK)
		energy_cpu_list(text, put_cpu, set);
}

/* -- throttling -- */

/* Removes the CPUs of its package from the set; only the CPU itself if the topology is unknown. */
static void remove_package(const struct energy_reader *reader, struct cpu_set *set, int cpu)
{
	static const char *const files[] = { "package_cpus_list", "core_siblings_list" };
	char text[LIST_SIZE];
	take_cpu(set, cpu);
	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		if (energy_text(reader, text, sizeof text, CPU_FOLDER "/cpu%d/topology/%s", cpu, files[i]) != STATUS_OK)
			continue;
		energy_cpu_list(text, take_cpu, set);
		return;
	}
}

static enum status read_count(const struct energy_reader *reader, int cpu, uint64_t *out)
{
	return energy_number(reader, out, CPU_FOLDER "/cpu%d/thermal_throttle/package_throttle_count", cpu);
}

enum status energy_find_throttles(struct energy_reader *reader, struct reason *why_not)
{
	struct cpu_set set;
	uint64_t count;
	if (reader->package_count)
		return STATUS_OK;
	read_online(reader, &set);
	for (int cpu = 0; cpu < CPUS_COUNTED && set.count > 0 && reader->package_count < CPU_PACKAGES_MAX; cpu++) {
		if (!set.has[cpu])
			continue;
		remove_package(reader, &set, cpu);
		if (read_count(reader, cpu, &count) != STATUS_OK)
			break;
		reader->package_cpus[reader->package_count++] = cpu;
	}
	if (reader->package_count)
		return STATUS_OK;
	return reason_set(
		why_not, STATUS_NOT_FOUND, "", "no thermal throttle counts: Linux has them for bare-metal Intel CPUs only");
}

bool energy_read_throttles(struct energy_reader *reader, int64_t now_ns, struct sample_set *out)
{
	double sum = 0;
	uint64_t count;
	for (size_t i = 0; i < reader->package_count; i++) {
		if (read_count(reader, reader->package_cpus[i], &count) != STATUS_OK) {
			/* The CPU went offline: another one of its package has the same count. */
			reader->package_count = 0;
			return true;
		}
		sum += (double)count;
	}
	sample_set_figure(out, now_ns, METRIC_HEAT_CPU_THROTTLES, 0, sum);
	return true;
}

/* -- the clock -- */

static enum status read_clock(const struct energy_reader *reader, int cpu, uint64_t *khz)
{
	return energy_number(reader, khz, CPU_FOLDER "/cpu%d/cpufreq/scaling_cur_freq", cpu);
}

/* Picks a few CPUs, evenly spread. */
enum status energy_find_clocks(struct energy_reader *reader, struct reason *why_not)
{
	struct cpu_set set;
	uint64_t khz;
	if (reader->clock_count)
		return STATUS_OK;
	read_online(reader, &set);
	int step = set.count > CPU_CLOCKS_MAX ? set.count / CPU_CLOCKS_MAX : 1, at = 0;
	for (int cpu = 0; cpu < CPUS_COUNTED && reader->clock_count < CPU_CLOCKS_MAX; cpu++)
		if (set.has[cpu] && at++ % step == 0)
			reader->clock_cpus[reader->clock_count++] = cpu;
	if (reader->clock_count && read_clock(reader, reader->clock_cpus[0], &khz) == STATUS_OK) {
		reader->clock_pace.period_ns = CLOCK_NS;
		return STATUS_OK;
	}
	reader->clock_count = 0;
	return reason_set(
		why_not, STATUS_NOT_FOUND, "", "no CPU clock: the kernel has no cpufreq (common in virtual machines)");
}

bool energy_read_clocks(struct energy_reader *reader, int64_t now_ns, struct sample_set *out)
{
	double sum = 0;
	unsigned known = 0;
	uint64_t khz;
	if (now_ns < reader->clock_pace.next_ns)
		return true;
	int64_t begin_ns = reader->calls->clock_ns();
	for (size_t i = 0; i < reader->clock_count; i++) {
		if (read_clock(reader, reader->clock_cpus[i], &khz) != STATUS_OK || khz == 0)
			continue;
		sum += (double)khz * 1e3;
		known++;
	}
	energy_paced(&reader->clock_pace, now_ns, reader->calls->clock_ns() - begin_ns);
	if (known)
		sample_set_figure(out, now_ns, METRIC_HEAT_CPU_CLOCK, 0, sum / known);
	else
		reader->clock_count = 0;
	return known > 0;
}
