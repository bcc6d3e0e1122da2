/* Checks the CPUs' counters, energy meters and temperature sensors: which exist, and which pmtop may read. */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "src/doctor/doctor.h"
#include "src/doctor/doctor_inspect.h"

enum { CAPABILITY_SYS_ADMIN = 21, CAPABILITY_PERFMON = 38 };
#define PERMISSION_REMEDY "sudo setcap cap_perfmon=ep $(command -v pmtop), or sudo sysctl kernel.perf_event_paranoid="

static bool is_privileged(const struct doctor *doctor)
{
	return doctor_has_right(doctor, CAPABILITY_PERFMON) || doctor_has_right(doctor, CAPABILITY_SYS_ADMIN);
}

static bool read_level(const struct doctor *doctor, int *level)
{
	char text[64], *end;
	if (!doctor_read(doctor, text, sizeof text, "/proc/sys/kernel/perf_event_paranoid"))
		return false;
	*level = (int)strtol(text, &end, 10);
	return end != text;
}

/* -- counters -- */

static int ask_kernel(uint32_t type, uint64_t config)
{
	struct perf_event_attr attributes = {
		.type = type, .size = sizeof attributes, .config = config, .disabled = 1, .exclude_kernel = 1, .exclude_hv = 1
	};
	long fd = syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return errno;
	close((int)fd);
	return 0;
}

static int open_counter(const struct doctor *doctor, uint32_t type, uint64_t config)
{
	return doctor->open_counter ? doctor->open_counter(type, config) : ask_kernel(type, config);
}

static void check_level(struct doctor *doctor)
{
	/* What a process without CAP_PERFMON may count up to each level of perf_event_paranoid (the kernel's
	 * Documentation/admin-guide/sysctl/kernel.rst). Debian's and Ubuntu's kernels add levels above 2. */
	static const struct {
		int max;
		enum finding_state state;
		const char *what, *remedy;
	} levels[] = {
		{ 0, FINDING_OK, "processes and whole CPUs, memory traffic and energy", NULL },
		{ 1, FINDING_OK, "your processes, user and kernel mode; no memory traffic, no energy of the machine",
			PERMISSION_REMEDY "0" },
		{ 2, FINDING_OK, "your processes, user mode only; no memory traffic, no energy of the machine",
			PERMISSION_REMEDY "0" },
		{ 99, FINDING_MISSING, "no counters; times, faults and switches are read from /proc", PERMISSION_REMEDY "2" },
	};
	int level;
	doctor_row(doctor, "permission to count", false);
	if (!read_level(doctor, &level)) {
		doctor_say(
			doctor, FINDING_MISSING, "boot a kernel with CONFIG_PERF_EVENTS", "the kernel has no performance counters");
		return;
	}
	if (is_privileged(doctor)) {
		doctor_say(doctor, FINDING_OK, NULL,
			"perf_event_paranoid is %d, but pmtop is root or has CAP_PERFMON: all counters", level);
		return;
	}
	size_t at = 0;
	while (level > levels[at].max && at + 1 < sizeof levels / sizeof *levels)
		at++;
	doctor_say(doctor, levels[at].state, levels[at].remedy, "perf_event_paranoid is %d: %s", level, levels[at].what);
}

/* The meaning of an errno of perf_event_open (perf_event_open(2)). */
static const struct {
	int error;
	const char *why, *remedy;
} refusals[] = {
	{ ENOENT, "this CPU or virtual machine has none",
		"run on the host, or enable them in the hypervisor (QEMU: -cpu host,pmu=on; EC2: a metal instance)" },
	{ EOPNOTSUPP, "this CPU or virtual machine has none",
		"run on the host, or enable them in the hypervisor (QEMU: -cpu host,pmu=on; EC2: a metal instance)" },
	{ EACCES, "no permission", PERMISSION_REMEDY "2" },
	{ EPERM, "no permission",
		"in a container: --cap-add=PERFMON, and a seccomp profile that allows perf_event_open; "
		"else " PERMISSION_REMEDY "2" },
	{ ENOSYS, "the kernel has none, or a seccomp filter blocks them",
		"in a container: --security-opt seccomp=unconfined, or a profile that allows perf_event_open" },
	{ EBUSY, "the NMI watchdog or another profiler uses them all", "sudo sysctl kernel.nmi_watchdog=0" },
	{ EMFILE, "too many open files", "ulimit -n 4096" },
};

static void say_refusal(struct doctor *doctor, int error)
{
	for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
		if (refusals[i].error != error)
			continue;
		doctor_say(doctor, FINDING_MISSING, refusals[i].remedy, "%s (%s)", refusals[i].why, strerror(error));
		return;
	}
	doctor_say(doctor, FINDING_MISSING, NULL, "%s", strerror(error));
}

static void check_software(struct doctor *doctor)
{
	int error = open_counter(doctor, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK);
	doctor_row(doctor, "software counters", false);
	if (error)
		say_refusal(doctor, error);
	else
		doctor_say(doctor, FINDING_OK, NULL, "CPU time, faults, switches and migrations of each thread");
}

static void check_hardware(struct doctor *doctor)
{
	static const struct {
		uint64_t config;
		const char *name;
	} events[] = {
		{ PERF_COUNT_HW_CPU_CYCLES, "cycles" },
		{ PERF_COUNT_HW_INSTRUCTIONS, "instructions" },
		{ PERF_COUNT_HW_CACHE_MISSES, "cache misses" },
		{ PERF_COUNT_HW_BRANCH_MISSES, "branch misses" },
	};
	char there[160] = "";
	int error = 0;
	for (size_t i = 0; i < sizeof events / sizeof *events; i++) {
		int its = open_counter(doctor, PERF_TYPE_HARDWARE, events[i].config);
		size_t used = strlen(there);
		if (its == 0)
			snprintf(there + used, sizeof there - used, "%s%s", used ? ", " : "", events[i].name);
		else if (!error)
			error = its;
	}
	doctor_row(doctor, "hardware counters", false);
	if (there[0])
		doctor_say(doctor, FINDING_OK, NULL, "%s%s", there, error ? "; the others are not available" : "");
	else
		say_refusal(doctor, error);
}

static void check_traffic(struct doctor *doctor)
{
	/* Intel's memory controllers, AMD's, and Arm's mesh. */
	static const char *const units[] = { "uncore_imc", "amd_umc", "amd_df", "arm_cmn" };
	char names[DOCTOR_NAMES_MAX][DOCTOR_NAME_SIZE];
	const char *unit = NULL;
	int level = 4;
	for (size_t i = 0; i < sizeof units / sizeof *units && !unit; i++)
		if (doctor_names(doctor, "/sys/bus/event_source/devices", units[i], names, DOCTOR_NAMES_MAX))
			unit = units[i];
	doctor_row(doctor, "memory traffic", false);
	if (!unit)
		doctor_say(doctor, FINDING_OFF, NULL, "the CPU's memory controllers have no counters");
	else if (is_privileged(doctor) || (read_level(doctor, &level) && level <= 0))
		doctor_say(doctor, FINDING_OK, NULL, "%s: bytes per socket, of all processes", unit);
	else
		doctor_say(doctor, FINDING_MISSING, PERMISSION_REMEDY "0",
			"%s counts the whole machine: perf_event_paranoid %d does not allow that", unit, level);
}

/* -- energy and temperatures -- */

static void check_energy(struct doctor *doctor)
{
	char names[DOCTOR_NAMES_MAX][DOCTOR_NAME_SIZE], name[64];
	size_t zones = doctor_names(doctor, "/sys/class/powercap", "intel-rapl:", names, DOCTOR_NAMES_MAX);
	int level = 4, why_not = zones ? doctor_access(doctor, R_OK, "/sys/class/powercap/%s/energy_uj", names[0]) : ENOENT;
	bool has_perf = doctor_access(doctor, F_OK, "/sys/bus/event_source/devices/power") == 0;
	doctor_row(doctor, "CPU energy", false);
	if (why_not == 0 && doctor_read(doctor, name, sizeof name, "/sys/class/powercap/%s/name", names[0]))
		doctor_say(doctor, FINDING_OK, NULL, "RAPL by powercap: %zu meter%s, the first %.30s", zones,
			zones > 1 ? "s" : "", name);
	else if (has_perf && (is_privileged(doctor) || (read_level(doctor, &level) && level <= 0)))
		doctor_say(doctor, FINDING_OK, NULL, "RAPL by the perf event power/energy-pkg/");
	else if (zones)
		doctor_say(doctor, FINDING_MISSING,
			"sudo chmod -R a+r /sys/class/powercap/intel-rapl:*/ (until the next boot; use a udev rule to keep it), "
			"or " PERMISSION_REMEDY "0",
			"cannot read RAPL: %s", strerror(why_not));
	else if (has_perf)
		doctor_say(doctor, FINDING_MISSING, PERMISSION_REMEDY "0",
			"RAPL counts the whole machine: perf_event_paranoid %d does not allow that", level);
	else
		doctor_say(doctor, FINDING_MISSING, "run on the host, or sudo modprobe intel_rapl_msr",
			"no RAPL, neither in /sys/class/powercap nor as a perf event (virtual machines have none)");
}

static void check_heat(struct doctor *doctor)
{
	char monitors[DOCTOR_NAMES_MAX][DOCTOR_NAME_SIZE], inputs[DOCTOR_NAMES_MAX][DOCTOR_NAME_SIZE], name[64],
		folder[160], list[120] = "";
	size_t count = doctor_names(doctor, "/sys/class/hwmon", "hwmon", monitors, DOCTOR_NAMES_MAX), sensors = 0;
	for (size_t i = 0; i < count && i < DOCTOR_NAMES_MAX; i++) {
		snprintf(folder, sizeof folder, "/sys/class/hwmon/%s", monitors[i]);
		size_t its = doctor_names(doctor, folder, "temp", inputs, DOCTOR_NAMES_MAX), used = strlen(list), have = 0;
		for (size_t k = 0; k < its && k < DOCTOR_NAMES_MAX; k++)
			have += strstr(inputs[k], "_input") != NULL;
		if (have && used + 24 < sizeof list && doctor_read(doctor, name, sizeof name, "%s/name", folder))
			snprintf(list + used, sizeof list - used, "%s%.20s", used ? ", " : "", name);
		sensors += have;
	}
	doctor_row(doctor, "temperatures", false);
	if (sensors)
		doctor_say(doctor, FINDING_OK, NULL, "%zu sensor%s: %s", sensors, sensors > 1 ? "s" : "", list);
	else
		doctor_say(doctor, FINDING_MISSING, "run on the host, or sudo modprobe coretemp (Intel), k10temp (AMD)",
			"no temperature in /sys/class/hwmon (virtual machines have none)");
}

static void check_clock(struct doctor *doctor)
{
	char text[64];
	bool has_clock = doctor_read(doctor, text, sizeof text, "/sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq");
	bool has_throttles =
		doctor_access(doctor, R_OK, "/sys/devices/system/cpu/cpu0/thermal_throttle/package_throttle_count") == 0;
	doctor_row(doctor, "CPU clock", false);
	if (has_clock)
		doctor_say(doctor, FINDING_OK, NULL, "of each CPU%s",
			has_throttles ? ", with counts of thermal throttling" : "; no counts of thermal throttling");
	else
		doctor_say(doctor, FINDING_MISSING, "run on the host, or a kernel with CONFIG_CPU_FREQ",
			"no cpufreq: pmtop knows the clock only if it counts cycles");
}

void doctor_check_counters(struct doctor *doctor)
{
	doctor->group = "counters";
	check_level(doctor);
	check_software(doctor);
	check_hardware(doctor);
	doctor_row(doctor, "libpfm4", false);
	doctor_say_library(doctor, "libpfm.so.4", "libpfm4",
		"no FLOPs, and no events of pmtop.yaml; cycles, instructions and misses work");
	check_traffic(doctor);
	doctor->group = "energy and temperatures";
	check_energy(doctor);
	check_heat(doctor);
	check_clock(doctor);
}
