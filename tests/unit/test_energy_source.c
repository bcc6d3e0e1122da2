#include <check.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/sources/choices.h"
#include "src/sources/energy/energy.h"
#include "src/sources/energy/energy_private.h"
#include "src/sources/energy/energy_rapl.h"
#include "tests/support/fake_proc.h"
#include "tests/support/sets.h"
#include "tests/support/suite.h"

#define POWERCAP "sysfs/class/powercap/"
#define PMU "sysfs/bus/event_source/devices/power/"
#define HWMON "sysfs/class/hwmon/"
#define CPU "sysfs/devices/system/cpu/"
#define NEAR 1e-6

enum { TARGET = 100, EVENTS_MAX = 8, NOBODY = 65534 };

static struct target target;
static struct source_choices choices;
static char sys_root[128];
static struct reason reason;
static struct sample_set set;
static struct fake_proc proc;
static void *state;
static int64_t clock_ns, cost_ns;
static size_t clock_calls;

/* The PMU's events as pipes: the bytes written there are the next count. */
static struct {
	uint32_t type;
	uint64_t config;
	int cpu, into;
} events[EVENTS_MAX];
static size_t event_count;
static int event_refusal;
static bool counts_at_once; /* events opened from now on count 0 */

static int fake_open(uint32_t type, uint64_t config, int cpu)
{
	int ends[2];
	if (event_refusal)
		return -event_refusal;
	if (event_count == EVENTS_MAX || pipe(ends) != 0)
		return -EMFILE;
	events[event_count].type = type;
	events[event_count].config = config;
	events[event_count].cpu = cpu;
	events[event_count++].into = ends[1];
	if (counts_at_once && write(ends[1], &(uint64_t){ 0 }, sizeof(uint64_t)) < 0)
		return -EIO;
	return ends[0];
}

/* Every second call returns a time this much later. */
static int64_t fake_clock(void)
{
	clock_ns += clock_calls++ % 2 ? cost_ns : 0;
	return clock_ns;
}

static const struct energy_calls fake_calls = { fake_open, fake_clock };

static void put(const char *folder, const char *name, const char *text)
{
	char path[256];
	snprintf(path, sizeof path, "%s%s", folder, name);
	fake_proc_put(&proc, path, text);
}

static void put_zone(const char *zone, const char *name, const char *energy, const char *range)
{
	char folder[128];
	snprintf(folder, sizeof folder, POWERCAP "%s/", zone);
	put(folder, "name", name);
	put(folder, "energy_uj", energy);
	put(folder, "max_energy_range_uj", range);
}

static void put_event(const char *name, const char *event, const char *scale)
{
	char path[64];
	put(PMU "events/", name, event);
	snprintf(path, sizeof path, "%s.scale", name);
	put(PMU "events/", path, scale);
}

static void put_pmu(const char *cpumask)
{
	put(PMU, "type", "9\n");
	put(PMU, "cpumask", cpumask);
	put_event("energy-pkg", "event=0x02\n", "2.3283064365386962890625e-10\n");
	put_event("energy-ram", "event=0x03\n", "2.3283064365386962890625e-10\n");
}

static void setup(void)
{
	fake_proc_init(&proc);
	chmod(proc.root, 0755);
	fake_proc_add(&proc, TARGET, 1, "trainer");
	fake_proc_put(&proc, "cpuinfo", "flags : fpu vme hypervisor lahf_lm\n");
	fake_proc_put(&proc, "sys/kernel/perf_event_paranoid", "2\n");
	fake_proc_put(&proc, "sysfs/.keep", "");
	snprintf(sys_root, sizeof sys_root, "%s/sysfs", proc.root);
	choices.sys_root = sys_root;
	event_count = clock_calls = 0;
	event_refusal = 0;
	counts_at_once = false;
	clock_ns = cost_ns = 0;
	state = NULL;
	ck_assert_int_eq(target_open(&target, TARGET, proc.root, &reason), STATUS_OK);
	target.choices = &choices;
}

static void teardown(void)
{
	if (state)
		energy_source.close(state);
	for (size_t i = 0; i < event_count; i++)
		close(events[i].into);
	sample_set_release(&set);
	target_close(&target);
	fake_proc_release(&proc);
}

static void read_at(double at_s)
{
	if (!state)
		ck_assert_int_eq(energy_open_with(&fake_calls, &target, &state, &reason), STATUS_OK);
	sample_set_clear(&set);
	ck_assert_int_eq(energy_source.read(state, (int64_t)(at_s * 1e9), &set), STATUS_OK);
}

static double joules(int32_t meter) { return set_figure(&set, METRIC_ENERGY_USED, meter); }

static void ck_near(double value, double wanted)
{
	ck_assert_msg(fabs(value - wanted) < NEAR || (isnan(value) && isnan(wanted)), "%.9g, not %.9g", value, wanted);
}

/* The n-th name in this set. */
static const char *name_of(size_t n)
{
	const struct record *record = set_record(&set, RECORD_INSTANCE, n);
	ck_assert_ptr_nonnull(record);
	return record->instance.name;
}

static void ck_missing(const char *figure, const char *text, const char *remedy)
{
	const struct record *missing = ck_set_missing(&set, figure, text);
	ck_assert_msg(strstr(missing->missing.remedy, remedy), "\"%s\" is not in \"%s\"", remedy, missing->missing.remedy);
}

/* -- powercap -- */

START_TEST(packages_dram_and_platform_are_read_but_no_part_of_a_package_and_nothing_twice)
{
	put_zone("intel-rapl:0", "package-0\n", "1000000\n", "262143328850\n");
	put_zone("intel-rapl:0:0", "core\n", "5\n", "262143328850\n");
	put_zone("intel-rapl:0:1", "uncore\n", "5\n", "262143328850\n");
	put_zone("intel-rapl:0:2", "dram\n", "3000000\n", "65712999613\n");
	put_zone("intel-rapl:1", "package-1\n", "7000000\n", "262143328850\n");
	put_zone("intel-rapl:2", "psys\n", "9000000\n", "262143328850\n");
	put_zone("intel-rapl-mmio:0", "package-0\n", "1000000\n", "262143328850\n");
	put_pmu("0\n");
	read_at(1);
	ck_assert_uint_eq(set_count(&set, RECORD_INSTANCE), 4);
	ck_assert_uint_eq(event_count, 0);
	const char *const names[] = { "package 0", "package 1", "platform", "dram 0" };
	for (size_t i = 0; i < 4; i++)
		ck_assert_str_eq(name_of(i), names[i]);
	ck_near(joules(0), 0);
	put_zone("intel-rapl:0", "package-0\n", "151000000\n", "262143328850\n");
	put_zone("intel-rapl:0:2", "dram\n", "15500000\n", "65712999613\n");
	read_at(2);
	ck_assert_uint_eq(set_count(&set, RECORD_INSTANCE), 0);
	ck_near(joules(0), 150);
	ck_near(joules(1), 0);
	ck_near(joules(3), 12.5);
	ck_assert_ptr_null(set_missing(&set, "CPU energy"));
}
END_TEST

START_TEST(a_counter_that_reaches_its_range_goes_on)
{
	put_zone("intel-rapl:0", "package-0\n", "65532600000\n", "65532610987\n");
	read_at(1);
	put_zone("intel-rapl:0", "package-0\n", "99989013\n", "65532610987\n");
	read_at(2);
	ck_near(joules(0), 100);
	put_zone("intel-rapl:0", "package-0\n", "199989013\n", "65532610987\n");
	read_at(3);
	ck_near(joules(0), 200);
}
END_TEST

START_TEST(a_counter_that_restarted_restarts_for_its_reader_too)
{
	/* The counter's whole range within a second is an impossible power. */
	put_zone("intel-rapl:0", "package-0\n", "500000000\n", "262143328850\n");
	read_at(1);
	put_zone("intel-rapl:0", "package-0\n", "600000000\n", "262143328850\n");
	read_at(2);
	ck_near(joules(0), 100);
	put_zone("intel-rapl:0", "package-0\n", "1000\n", "262143328850\n");
	read_at(3);
	ck_near(joules(0), 0);
	put_zone("intel-rapl:0", "package-0\n", "50001000\n", "262143328850\n");
	read_at(4);
	ck_near(joules(0), 50);
	/* It may have wrapped more than once. */
	put_zone("intel-rapl:0", "package-0\n", "60001000\n", "262143328850\n");
	read_at(1000);
	ck_near(joules(0), 0);
}
END_TEST

START_TEST(garbage_is_not_read)
{
	static const char *const garbage[] = { "", "\n", "-5\n", "12 apples\n", "99999999999999999999999\n", "\xff\xfe",
		"nan\n" };
	put_zone("intel-rapl:0", "package-0\n", "1000000\n", "262143328850\n");
	read_at(1);
	ck_near(joules(0), 0);
	for (size_t i = 0; i < sizeof garbage / sizeof *garbage; i++) {
		put_zone("intel-rapl:0", "package-0\n", garbage[i], "262143328850\n");
		read_at(2 + (double)i);
		ck_near(joules(0), NAN);
	}
	put_zone("intel-rapl:0", "package-0\n", "901000000\n", "262143328850\n");
	read_at(10);
	ck_near(joules(0), 900);
	ck_assert_ptr_nonnull(set_missing(&set, "CPU energy"));
	ck_assert_ptr_null(set_missing(&set, "CPU energy")->missing.text);
}
END_TEST

START_TEST(hostile_zones_do_no_harm)
{
	char zone[64];
	for (int i = 0; i < 80; i++) {
		snprintf(zone, sizeof zone, "intel-rapl:%d", i);
		put_zone(zone,
			i % 3 ? "package-0123456789012345678901234567890123456789012345678901234567890123456789\n"
				  : "package-\x1b[2J\n",
			"1\n", "1\n");
	}
	put_zone("intel-rapl:0:0:0:0", "dram\n", "1\n", "0\n");
	put_zone("intel-rapl:", "dram\n", "1\n", "x\n");
	put_zone("intel-rapl:90", "\n", "1\n", "0\n");
	read_at(1);
	ck_assert_uint_le(set_count(&set, RECORD_INSTANCE), RAPL_METERS_MAX);
	for (size_t i = 0; i < set_count(&set, RECORD_INSTANCE); i++)
		ck_assert_ptr_null(strchr(name_of(i), '\x1b'));
	read_at(2);
}
END_TEST

/* -- rights -- */

static void deny(const char *name)
{
	char path[256];
	snprintf(path, sizeof path, "%s/%s", proc.root, name);
	ck_assert_int_eq(chmod(path, 0), 0);
}

static bool become_nobody(void) { return geteuid() != 0 || seteuid(NOBODY) == 0; }

START_TEST(energy_uj_of_root_is_reported_with_a_remedy)
{
	put_zone("intel-rapl:0", "package-0\n", "1000000\n", "262143328850\n");
	deny(POWERCAP "intel-rapl:0/energy_uj");
	ck_assert(become_nobody());
	read_at(1);
	ck_missing("CPU energy", "readable by root only", "chmod a+r");
	ck_assert_uint_eq(set_count(&set, RECORD_INSTANCE), 0);
	/* It is searched for again, but not reported again. */
	read_at(2);
	ck_assert_ptr_null(set_missing(&set, "CPU energy"));
	if (getuid() == 0)
		ck_assert_int_eq(seteuid(0), 0);
	deny(POWERCAP "intel-rapl:0/energy_uj");
	put_zone("intel-rapl:0", "package-0\n", "1000000\n", "262143328850\n");
	chmod(proc.root, 0755);
	char path[256];
	snprintf(path, sizeof path, "%s/" POWERCAP "intel-rapl:0/energy_uj", proc.root);
	chmod(path, 0444);
	read_at(40);
	ck_assert_str_eq(name_of(0), "package 0");
	ck_assert_ptr_null(set_missing(&set, "CPU energy")->missing.text);
}
END_TEST

START_TEST(without_powercap_the_pmu_is_read)
{
	put_zone("intel-rapl:0", "package-0\n", "1000000\n", "262143328850\n");
	put_pmu("0\n");
	deny(POWERCAP "intel-rapl:0/energy_uj");
	ck_assert(become_nobody());
	counts_at_once = true;
	read_at(1);
	ck_assert_uint_eq(event_count, 2);
	ck_assert_uint_eq(events[0].type, 9);
	ck_assert_uint_eq(events[0].config, 2);
	ck_assert_ptr_null(set_missing(&set, "CPU energy"));
	if (getuid() == 0)
		ck_assert_int_eq(seteuid(0), 0);
}
END_TEST

START_TEST(without_powercap_and_pmu_both_are_named)
{
	put_zone("intel-rapl:0", "package-0\n", "1000000\n", "262143328850\n");
	put_pmu("0\n");
	event_refusal = EACCES;
	deny(POWERCAP "intel-rapl:0/energy_uj");
	ck_assert(become_nobody());
	read_at(1);
	ck_missing("CPU energy", "perf_event_paranoid is 2, not 0", "cap_perfmon");
	if (getuid() == 0)
		ck_assert_int_eq(seteuid(0), 0);
}
END_TEST

START_TEST(a_denied_pmu_names_the_sysctl)
{
	put_pmu("0\n");
	event_refusal = EACCES;
	read_at(1);
	ck_missing("CPU energy", "no permission for power/energy-pkg/", "kernel.perf_event_paranoid=0");
}
END_TEST

START_TEST(without_meters_each_figure_has_a_reason)
{
	read_at(1);
	ck_missing("CPU energy", "a virtual machine has no RAPL meters", "");
	ck_missing("temperatures", "no temperature sensor", "coretemp");
	ck_missing("CPU throttle counts", "no thermal throttle counts", "");
	ck_missing("CPU clock", "no cpufreq", "");
	ck_assert_uint_eq(set_count(&set, RECORD_FIGURE), 0);
	read_at(2);
	ck_assert_uint_eq(set.count, 0);
	fake_proc_put(&proc, "cpuinfo", "flags : fpu vme\n");
	energy_source.close(state);
	state = NULL;
	read_at(3);
	ck_missing("CPU energy", "no RAPL meter", "modprobe");
	/* A container hides the files, but not the links to them. */
	put(POWERCAP "intel-rapl:0/", ".keep", "");
	energy_source.close(state);
	state = NULL;
	read_at(4);
	ck_missing("CPU energy", "hides", "host");
}
END_TEST

START_TEST(without_a_sys_there_is_no_source)
{
	choices.sys_root = "/nowhere/at/all";
	ck_assert_int_eq(energy_open_with(&fake_calls, &target, &state, &reason), STATUS_NOT_FOUND);
	ck_assert_ptr_nonnull(strstr(reason.text, "/nowhere/at/all"));
	state = NULL;
}
END_TEST

/* -- the PMU -- */

static void count(size_t event, uint64_t value)
{
	ck_assert_int_eq((int)write(events[event].into, &value, sizeof value), (int)sizeof value);
}

START_TEST(events_are_opened_once_a_package_and_scaled)
{
	put_pmu("0,18\n");
	put_event("energy-psys", "event=0x05\n", "2.3283064365386962890625e-10\n");
	put(CPU, "cpu0/topology/physical_package_id", "0\n");
	put(CPU, "cpu18/topology/physical_package_id", "1\n");
	event_count = 0;
	ck_assert_int_eq(energy_open_with(&fake_calls, &target, &state, &reason), STATUS_OK);
	/* Reads of the pipes block until the test writes. */
	ck_assert_int_eq(energy_find_meters(state, &reason), STATUS_OK);
	ck_assert_uint_eq(event_count, 5);
	for (size_t i = 0; i < event_count; i++)
		count(i, UINT64_C(1) << 40);
	read_at(1);
	const char *const names[] = { "package 0", "package 1", "dram 0", "dram 1", "platform" };
	for (size_t i = 0; i < 5; i++)
		ck_assert_str_eq(name_of(i), names[i]);
	ck_assert_int_eq(events[1].cpu, 18);
	ck_assert_uint_eq(events[3].config, 3);
	for (size_t i = 0; i < event_count; i++)
		count(i, (UINT64_C(1) << 40) + ((uint64_t)i << 32));
	read_at(2);
	for (int32_t i = 0; i < 5; i++)
		ck_near(joules(i), i);
}
END_TEST

START_TEST(an_event_whose_cpu_went_offline_is_reopened_from_zero)
{
	put_pmu("0\n");
	ck_assert_int_eq(energy_open_with(&fake_calls, &target, &state, &reason), STATUS_OK);
	ck_assert_int_eq(energy_find_meters(state, &reason), STATUS_OK);
	count(0, UINT64_C(10) << 32);
	count(1, UINT64_C(10) << 32);
	read_at(1);
	close(events[0].into);
	events[0].into = dup(events[1].into);
	count(1, UINT64_C(11) << 32);
	read_at(2);
	ck_near(joules(0), NAN);
	ck_near(joules(1), 1);
	count(1, UINT64_C(12) << 32);
	read_at(3);
	ck_assert_uint_eq(event_count, 2);
	counts_at_once = true;
	count(1, UINT64_C(13) << 32);
	read_at(33);
	ck_assert_uint_eq(event_count, 3);
	ck_near(joules(0), 0);
	count(1, UINT64_C(14) << 32);
	count(2, UINT64_C(7) << 32);
	read_at(34);
	ck_near(joules(0), 7);
}
END_TEST

START_TEST(nonsense_of_a_pmu_is_refused)
{
	static const char *const bad[][2] = {
		{ "event=0x02,umask=0x1\n", "1e-10\n" },
		{ "config=2\n", "1e-10\n" },
		{ "event=\n", "1e-10\n" },
		{ "event=0x02\n", "-1\n" },
		{ "event=0x02\n", "inf\n" },
		{ "event=0x02\n", "5\n" },
		{ "event=0x02\n", "" },
	};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		put(PMU, "type", "9\n");
		put(PMU, "cpumask", "0\n");
		put_event("energy-pkg", bad[i][0], bad[i][1]);
		read_at(1 + 100 * (double)i);
		ck_assert_uint_eq(event_count, 0);
	}
	put_event("energy-pkg", "event=0x02\n", "1e-10\n");
	put(PMU, "cpumask", "9-3,x\n");
	read_at(2000);
	ck_assert_uint_eq(event_count, 0);
}
END_TEST

/* -- heat -- */

static void put_sensor(
	const char *chip, const char *name, unsigned number, const char *label, const char *input, const char *crit)
{
	char folder[64], file[32];
	snprintf(folder, sizeof folder, HWMON "%s/", chip);
	put(folder, "name", name);
	snprintf(file, sizeof file, "temp%u_input", number);
	put(folder, file, input);
	snprintf(file, sizeof file, "temp%u_label", number);
	if (label)
		put(folder, file, label);
	snprintf(file, sizeof file, "temp%u_crit", number);
	if (crit)
		put(folder, file, crit);
}

static double celsius(int32_t sensor) { return set_figure(&set, METRIC_HEAT_TEMPERATURE, sensor); }

START_TEST(cpus_come_first_and_their_cores_are_left_out)
{
	put_sensor("hwmon0", "acpitz\n", 1, NULL, "27800\n", NULL);
	put_sensor("hwmon1", "nvme\n", 1, "Composite\n", "41850\n", "84850\n");
	put_sensor("hwmon1", "nvme\n", 2, "Sensor 1\n", "44850\n", NULL);
	put_sensor("hwmon2", "drivetemp\n", 1, NULL, "33000\n", NULL);
	put_sensor("hwmon10", "coretemp\n", 1, "Package id 1\n", "70000\n", "100000\n");
	put_sensor("hwmon9", "coretemp\n", 1, "Package id 0\n", "71000\n", "100000\n");
	put_sensor("hwmon9", "coretemp\n", 2, "Core 0\n", "69000\n", "100000\n");
	read_at(1);
	const char *const names[] = { "coretemp Package id 0", "coretemp Package id 1", "nvme Composite", "acpitz" };
	ck_assert_uint_eq(set_count(&set, RECORD_INSTANCE), 4);
	for (size_t i = 0; i < 4; i++)
		ck_assert_str_eq(name_of(i), names[i]);
	ck_near(celsius(0), 71);
	ck_near(celsius(1), 70);
	ck_near(celsius(2), 41.85);
	ck_near(celsius(3), 27.8);
	ck_near(set_figure(&set, METRIC_HEAT_LIMIT, 0), 100);
	ck_near(set_figure(&set, METRIC_HEAT_LIMIT, 3), NAN);
	/* Sensors of a disk and of the firmware are not read each second. */
	read_at(2);
	ck_near(celsius(0), 71);
	ck_near(celsius(2), NAN);
	read_at(7);
	ck_near(celsius(2), 41.85);
	ck_near(celsius(3), NAN);
}
END_TEST

START_TEST(amd_dies_are_read_and_equal_sensors_are_numbered)
{
	put_sensor("hwmon0", "k10temp\n", 1, "Tctl\n", "80000\n", NULL);
	put_sensor("hwmon0", "k10temp\n", 2, "Tdie\n", "60000\n", NULL);
	put_sensor("hwmon0", "k10temp\n", 3, "Tccd1\n", "61000\n", NULL);
	put_sensor("hwmon1", "k10temp\n", 1, "Tctl\n", "55000\n", NULL);
	put_sensor("hwmon2", "k10temp\n", 1, "Tctl\n", "56000\n", NULL);
	read_at(1);
	ck_assert_uint_eq(set_count(&set, RECORD_INSTANCE), 3);
	ck_assert_str_eq(name_of(0), "k10temp Tdie");
	ck_assert_str_eq(name_of(1), "k10temp Tctl");
	ck_assert_str_eq(name_of(2), "k10temp Tctl 2");
	ck_near(celsius(0), 60);
}
END_TEST

START_TEST(a_slow_sensor_is_read_seldom)
{
	put_sensor("hwmon0", "coretemp\n", 1, "Package id 0\n", "50000\n", NULL);
	cost_ns = 50 * NS_PER_MS;
	read_at(1);
	ck_near(celsius(0), 50);
	read_at(2);
	ck_near(celsius(0), NAN);
	read_at(5.9);
	ck_near(celsius(0), NAN);
	read_at(6.1);
	ck_near(celsius(0), 50);
	cost_ns = 100 * NS_PER_S;
	read_at(12);
	read_at(31);
	ck_near(celsius(0), NAN);
	read_at(33);
	ck_near(celsius(0), 50);
}
END_TEST

START_TEST(a_temperature_that_cannot_be_is_none)
{
	static const char *const bad[] = { "", "300000\n", "-273000\n", "warm\n", "12 34\n" };
	put_sensor("hwmon0", "coretemp\n", 1, "Package id 0\n", "50000\n", "0\n");
	read_at(1);
	ck_near(set_figure(&set, METRIC_HEAT_LIMIT, 0), NAN);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		put_sensor("hwmon0", "coretemp\n", 1, "Package id 0\n", bad[i], "0\n");
		read_at(2 + (double)i);
		ck_near(celsius(0), NAN);
	}
	put_sensor("hwmon0", "coretemp\n", 1, "Package id 0\n", "-5000\n", "0\n");
	read_at(20);
	ck_near(celsius(0), -5);
}
END_TEST

START_TEST(unknown_chips_are_left_alone_and_many_are_bounded)
{
	char chip[16];
	put_sensor("hwmon0", "nct6775\n", 1, "SYSTIN\n", "-60000\n", NULL);
	read_at(1);
	ck_missing("temperatures", "none of a CPU", "sensors-detect");
	for (unsigned i = 1; i < 40; i++)
		for (unsigned k = 1; k < 6; k++) {
			snprintf(chip, sizeof chip, "hwmon%u", i);
			put_sensor(chip, "cpu_thermal\n", k,
				"a label that is very long, longer than any that there is, and then some\n", "40000\n", NULL);
		}
	read_at(60);
	ck_assert_uint_eq(set_count(&set, RECORD_INSTANCE), HEAT_READ_MAX);
	ck_assert_ptr_null(set_missing(&set, "temperatures")->missing.text);
}
END_TEST

/* -- throttling, clock -- */

START_TEST(throttling_is_counted_once_a_package)
{
	put(CPU, "online", "0-3\n");
	put(CPU, "cpu0/topology/package_cpus_list", "0,2\n");
	put(CPU, "cpu1/topology/core_siblings_list", "1,3\n");
	for (int i = 0; i < 4; i++) {
		char file[64];
		snprintf(file, sizeof file, "cpu%d/thermal_throttle/package_throttle_count", i);
		put(CPU, file, i % 2 ? "7\n" : "5\n");
	}
	read_at(1);
	ck_near(set_figure(&set, METRIC_HEAT_CPU_THROTTLES, 0), 12);
	put(CPU, "cpu1/thermal_throttle/package_throttle_count", "9\n");
	read_at(2);
	ck_near(set_figure(&set, METRIC_HEAT_CPU_THROTTLES, 0), 14);
	put(CPU, "cpu1/thermal_throttle/package_throttle_count", "gone\n");
	read_at(3);
	ck_near(set_figure(&set, METRIC_HEAT_CPU_THROTTLES, 0), NAN);
}
END_TEST

START_TEST(the_clock_is_the_mean_of_a_few_and_read_seldom)
{
	put(CPU, "online", "0-63\n");
	for (int i = 0; i < 64; i++) {
		char file[64];
		snprintf(file, sizeof file, "cpu%d/cpufreq/scaling_cur_freq", i);
		put(CPU, file, i < 32 ? "3000000\n" : "2000000\n");
	}
	read_at(1);
	ck_near(set_figure(&set, METRIC_HEAT_CPU_CLOCK, 0), 2.5e9);
	read_at(2);
	ck_near(set_figure(&set, METRIC_HEAT_CPU_CLOCK, 0), NAN);
	read_at(3);
	ck_near(set_figure(&set, METRIC_HEAT_CPU_CLOCK, 0), 2.5e9);
	put(CPU, "cpu0/cpufreq/scaling_cur_freq", "<unknown>\n");
	read_at(5);
	ck_near(set_figure(&set, METRIC_HEAT_CPU_CLOCK, 0), (3 * 3e9 + 4 * 2e9) / 7);
}
END_TEST

START_TEST(lists_of_cpus_that_make_no_sense_end_where_they_do)
{
	static const char *const lists[] = { "", "-\n", "a\n", "0-\n", "4-2\n", "0-999999999999\n",
		"18446744073709551615-3\n", "1,,2\n", "0;1\n" };
	for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
		put(CPU, "online", lists[i]);
		put(CPU, "cpu0/thermal_throttle/package_throttle_count", "1\n");
		read_at(1 + 100 * (double)i);
	}
}
END_TEST

START_TEST(the_source_ends_with_its_target_after_a_last_reading)
{
	put_zone("intel-rapl:0", "package-0\n", "1000000\n", "262143328850\n");
	put_sensor("hwmon0", "coretemp\n", 1, "Package id 0\n", "50000\n", NULL);
	read_at(1);
	put_zone("intel-rapl:0", "package-0\n", "31000000\n", "262143328850\n");
	target.has_ended = true;
	sample_set_clear(&set);
	ck_assert_int_eq(energy_source.read(state, 2 * NS_PER_S, &set), STATUS_END);
	ck_near(joules(0), 30);
	ck_near(celsius(0), NAN);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("energy_source");
	TCase *tests = tcase_create("energy_source");
	tcase_set_timeout(tests, 60);
	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, packages_dram_and_platform_are_read_but_no_part_of_a_package_and_nothing_twice);
	tcase_add_test(tests, a_counter_that_reaches_its_range_goes_on);
	tcase_add_test(tests, a_counter_that_restarted_restarts_for_its_reader_too);
	tcase_add_test(tests, garbage_is_not_read);
	tcase_add_test(tests, hostile_zones_do_no_harm);
	tcase_add_test(tests, energy_uj_of_root_is_reported_with_a_remedy);
	tcase_add_test(tests, without_powercap_the_pmu_is_read);
	tcase_add_test(tests, without_powercap_and_pmu_both_are_named);
	tcase_add_test(tests, a_denied_pmu_names_the_sysctl);
	tcase_add_test(tests, without_meters_each_figure_has_a_reason);
	tcase_add_test(tests, without_a_sys_there_is_no_source);
	tcase_add_test(tests, events_are_opened_once_a_package_and_scaled);
	tcase_add_test(tests, an_event_whose_cpu_went_offline_is_reopened_from_zero);
	tcase_add_test(tests, nonsense_of_a_pmu_is_refused);
	tcase_add_test(tests, cpus_come_first_and_their_cores_are_left_out);
	tcase_add_test(tests, amd_dies_are_read_and_equal_sensors_are_numbered);
	tcase_add_test(tests, a_slow_sensor_is_read_seldom);
	tcase_add_test(tests, a_temperature_that_cannot_be_is_none);
	tcase_add_test(tests, unknown_chips_are_left_alone_and_many_are_bounded);
	tcase_add_test(tests, throttling_is_counted_once_a_package);
	tcase_add_test(tests, the_clock_is_the_mean_of_a_few_and_read_seldom);
	tcase_add_test(tests, lists_of_cpus_that_make_no_sense_end_where_they_do);
	tcase_add_test(tests, the_source_ends_with_its_target_after_a_last_reading);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
