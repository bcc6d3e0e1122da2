/* pmtop doctor's checks of GPUs, counters and meters below a fake root: each thing that can be missing, and its remedy.
 */
#include <check.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* libcheck has a macro of that name. */
#undef fail
#include "src/doctor/doctor.h"

static char root[64];
static struct doctor doctor;
static struct settings settings;
static int hardware_error, software_error;

/* -- a made-up machine -- */

static void make_folders(char *path)
{
	for (char *slash = path + strlen(root) + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		mkdir(path, 0755);
		*slash = '/';
	}
}

static void put(const char *name, const char *text)
{
	char path[300];
	snprintf(path, sizeof path, "%s/%s", root, name);
	make_folders(path);
	FILE *file = fopen(path, "w");
	ck_assert_ptr_nonnull(file);
	fputs(text, file);
	fclose(file);
}

static void link_to(const char *name, const char *target)
{
	char path[300];
	snprintf(path, sizeof path, "%s/%s", root, name);
	make_folders(path);
	ck_assert_int_eq(symlink(target, path), 0);
}

static int open_made_up(uint32_t type, uint64_t config)
{
	(void)config;
	return type == PERF_TYPE_SOFTWARE ? software_error : hardware_error;
}

static void set_up(void)
{
	snprintf(root, sizeof root, "/tmp/pmtop-doctor-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(root));
	settings_default(&settings);
	doctor = (struct doctor){
		.settings = &settings, .root = root, .nvml_path = "libpmtop-no-such.so.1", .open_counter = open_made_up
	};
	hardware_error = software_error = 0;
}

static void tear_down(void)
{
	char command[100];
	snprintf(command, sizeof command, "rm -rf %s", root);
	ck_assert_int_eq(system(command), 0);
}

static void has_rights(const char *rights)
{
	char text[64];
	snprintf(text, sizeof text, "Name:\tpmtop\nCapEff:\t%s\n", rights);
	put("proc/self/status", text);
}

static const struct finding *find(const char *name)
{
	for (size_t i = 0; i < doctor.count; i++)
		if (strcmp(doctor.findings[i].name, name) == 0)
			return &doctor.findings[i];
	return NULL;
}

static void expect(const char *name, enum finding_state state, const char *text, const char *remedy)
{
	const struct finding *row = find(name);
	ck_assert_msg(row != NULL, "no row %s", name);
	ck_assert_msg(row->state == state && strstr(row->reason.text, text) && strstr(row->reason.remedy, remedy),
		"%s: %d, %s → %s", name, (int)row->state, row->reason.text, row->reason.remedy);
	ck_assert(!row->is_essential);
}

/* -- GPUs -- */

START_TEST(nothing_here_is_no_fault)
{
	doctor_check_nvidia(&doctor);
	doctor_check_other_gpus(&doctor);
	expect("NVIDIA driver", FINDING_OFF, "no NVIDIA GPU", "");
	expect("NVIDIA library", FINDING_OFF, "not needed", "");
	expect("AMD, Intel, others", FINDING_OFF, "no render node", "");
	ck_assert_ptr_null(find("GPU processes"));
}
END_TEST

static void put_card(const char *vendor, const char *driver)
{
	put("sys/bus/pci/devices/0000:01:00.0/class", "0x030200\n");
	put("sys/bus/pci/devices/0000:01:00.0/vendor", vendor);
	if (driver)
		link_to("sys/bus/pci/devices/0000:01:00.0/driver", driver);
}

START_TEST(a_card_without_its_driver_is_named)
{
	put_card("0x10de\n", NULL);
	doctor_check_nvidia(&doctor);
	doctor_check_other_gpus(&doctor);
	expect("NVIDIA driver", FINDING_MISSING, "0000:01:00.0", "modprobe nvidia");
}
END_TEST

START_TEST(a_card_with_another_driver_is_named)
{
	put_card("0x10de\n", "../../../bus/pci/drivers/nouveau");
	doctor_check_nvidia(&doctor);
	doctor_check_other_gpus(&doctor);
	expect("NVIDIA driver", FINDING_MISSING, "uses the driver nouveau", "install NVIDIA's driver");
}
END_TEST

START_TEST(another_makers_card_is_not_nvidias)
{
	put_card("0x1002\n", NULL);
	doctor_check_nvidia(&doctor);
	doctor_check_other_gpus(&doctor);
	expect("NVIDIA driver", FINDING_OFF, "no NVIDIA GPU", "");
}
END_TEST

static void put_driver(void)
{
	put("proc/driver/nvidia/version",
		"NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.82.07  Wed Aug 27 19:06:54 UTC 2025\nGCC version: 12\n");
}

START_TEST(driver_without_devices_and_library)
{
	put_driver();
	doctor_check_nvidia(&doctor);
	doctor_check_other_gpus(&doctor);
	expect("NVIDIA driver", FINDING_OK, "580.82.07", "");
	expect("NVIDIA devices", FINDING_MISSING, "no /dev/nvidiactl", "--gpus all");
	expect("NVIDIA library", FINDING_MISSING, "no libnvidia-ml.so.1", "--gpus all");
}
END_TEST

START_TEST(devices_are_counted)
{
	put_driver();
	put("dev/nvidiactl", "");
	put("dev/nvidia-uvm", "");
	doctor_check_nvidia(&doctor);
	doctor_check_other_gpus(&doctor);
	expect("NVIDIA devices", FINDING_MISSING, "no /dev/nvidia0", "nvidia-smi -L");
	put("dev/nvidia0", "");
	put("dev/nvidia1", "");
	doctor.count = 0;
	doctor_check_nvidia(&doctor);
	doctor_check_other_gpus(&doctor);
	expect("NVIDIA devices", FINDING_OK, "2 GPUs", "");
}
END_TEST

START_TEST(nvml_may_be_left_closed)
{
	put_driver();
	settings.nvml = false;
	doctor_check_nvidia(&doctor);
	doctor_check_other_gpus(&doctor);
	expect("NVIDIA library", FINDING_OFF, "turned off", "--no-nvml");
}
END_TEST

START_TEST(a_library_that_is_not_nvidias_is_refused)
{
	doctor.nvml_path = "libc.so.6";
	put_driver();
	doctor_check_nvidia(&doctor);
	doctor_check_other_gpus(&doctor);
	expect("NVIDIA library", FINDING_MISSING, "is not NVIDIA's library", "libnvidia-ml1");
}
END_TEST

START_TEST(parts_of_gpus_need_a_right)
{
	put_driver();
	put("proc/driver/nvidia/capabilities/gpu0/mig/gi1/access", "");
	put("proc/driver/nvidia/capabilities/gpu0/mig/gi2/access", "");
	put("proc/driver/nvidia/capabilities/mig/monitor", "DeviceFileMinor: 2\nDeviceFileMode: 256\n");
	doctor_check_nvidia(&doctor);
	doctor_check_other_gpus(&doctor);
	expect("MIG", FINDING_MISSING, "2 instances", "NVIDIA_MIG_MONITOR_DEVICES");
	put("dev/nvidia-caps/nvidia-cap2", "");
	doctor.count = 0;
	doctor_check_nvidia(&doctor);
	doctor_check_other_gpus(&doctor);
	expect("MIG", FINDING_OK, "2 instances", "");
}
END_TEST

START_TEST(pids_in_a_container_are_reported)
{
	put_driver();
	link_to("proc/self/ns/pid", "pid:[4026531836]");
	doctor_check_nvidia(&doctor);
	doctor_check_other_gpus(&doctor);
	expect("GPU processes", FINDING_OK, "", "");
	char path[128];
	snprintf(path, sizeof path, "%s/proc/self/ns/pid", root);
	unlink(path);
	link_to("proc/self/ns/pid", "pid:[4026532999]");
	doctor.count = 0;
	doctor_check_nvidia(&doctor);
	doctor_check_other_gpus(&doctor);
	expect("GPU processes", FINDING_MISSING, "CUDA_VISIBLE_DEVICES", "--pid=host");
}
END_TEST

static void put_node(const char *node, const char *driver)
{
	char path[128], target[128];
	snprintf(path, sizeof path, "sys/devices/card-of-%s/uevent", node);
	put(path, "");
	snprintf(path, sizeof path, "sys/class/drm/%s/device", node);
	snprintf(target, sizeof target, "../../../devices/card-of-%s", node);
	link_to(path, target);
	snprintf(path, sizeof path, "sys/devices/card-of-%s/driver", node);
	snprintf(target, sizeof target, "../../bus/pci/drivers/%s", driver);
	link_to(path, target);
}

START_TEST(render_nodes_are_reported_with_their_drivers)
{
	put_node("renderD128", "amdgpu");
	put_node("renderD129", "xe");
	put_node("renderD130", "nvidia");
	put("dev/dri/renderD128", "");
	has_rights("0000000000000000");
	doctor_check_nvidia(&doctor);
	doctor_check_other_gpus(&doctor);
	expect("renderD128", FINDING_OK, "amdgpu (AMD) card-of-renderD128", "");
	expect("renderD129", FINDING_MISSING, "no /dev/dri/renderD129", "--device=/dev/dri");
	ck_assert_ptr_null(find("renderD130"));
	expect("KFD", FINDING_MISSING, "ROCm", "CONFIG_HSA_AMD");
	expect("Intel, whole device", FINDING_OFF, "CAP_PERFMON", "setcap");
	ck_assert_ptr_nonnull(find("libdrm"));
	ck_assert_ptr_nonnull(find("libdrm_amdgpu"));
	has_rights("000000c000000000");
	put("sys/class/kfd/kfd/topology/generation_id", "1\n");
	put("sys/class/kfd/kfd/proc/1/pasid", "1\n");
	doctor.count = 0;
	doctor_check_nvidia(&doctor);
	doctor_check_other_gpus(&doctor);
	expect("Intel, whole device", FINDING_OK, "CAP_PERFMON", "");
	expect("KFD", FINDING_OK, "ROCm", "");
}
END_TEST

START_TEST(a_node_that_may_not_be_opened_names_its_group)
{
	char path[128];
	put_node("renderD128", "i915");
	put("dev/dri/renderD128", "");
	snprintf(path, sizeof path, "%s/dev/dri/renderD128", root);
	chmod(path, 0);
	if (access(path, R_OK) == 0 && (setegid(65534) != 0 || seteuid(65534) != 0))
		return;
	chmod(root, 0755);
	doctor_check_nvidia(&doctor);
	doctor_check_other_gpus(&doctor);
	bool is_other = geteuid() == 65534;
	if (is_other)
		ck_assert(seteuid(0) == 0 && setegid(0) == 0);
	if (!is_other)
		expect("renderD128", FINDING_MISSING, "cannot open /dev/dri/", "usermod -aG render");
}
END_TEST

/* -- counters -- */

static const struct {
	const char *level, *rights;
	enum finding_state state;
	const char *text, *remedy;
} levels[] = {
	{ "-1\n", "0", FINDING_OK, "is -1: processes and whole CPUs", "" },
	{ "1\n", "0", FINDING_OK, "user and kernel mode", "perf_event_paranoid=0" },
	{ "2\n", "0", FINDING_OK, "user mode only", "perf_event_paranoid=0" },
	{ "3\n", "0", FINDING_MISSING, "no counters", "perf_event_paranoid=2" },
	{ "4\n", "0", FINDING_MISSING, "is 4: no counter", "cap_perfmon=ep" },
	{ "4\n", "0000004000000000", FINDING_OK, "all counters", "" },
};

START_TEST(each_level_says_what_still_works)
{
	put("proc/sys/kernel/perf_event_paranoid", levels[_i].level);
	has_rights(levels[_i].rights);
	doctor_check_counters(&doctor);
	expect("permission to count", levels[_i].state, levels[_i].text, levels[_i].remedy);
}
END_TEST

static const struct {
	int error;
	const char *text, *remedy;
} refusals[] = {
	{ ENOENT, "has none", "pmu=on" },
	{ EACCES, "no permission", "setcap" },
	{ EPERM, "no permission", "seccomp" },
	{ ENOSYS, "seccomp", "seccomp" },
	{ EBUSY, "NMI watchdog", "nmi_watchdog=0" },
	{ EMFILE, "open files", "ulimit" },
	{ EIO, "", "" },
};

START_TEST(each_refusal_has_its_remedy)
{
	hardware_error = refusals[_i].error;
	doctor_check_counters(&doctor);
	expect("hardware counters", FINDING_MISSING, refusals[_i].text, refusals[_i].remedy);
	expect("software counters", FINDING_OK, "CPU time", "");
}
END_TEST

START_TEST(counters_that_open_are_named)
{
	doctor_check_counters(&doctor);
	expect("hardware counters", FINDING_OK, "cycles, instructions, cache misses", "");
	expect("permission to count", FINDING_MISSING, "no performance counters", "CONFIG_PERF_EVENTS");
}
END_TEST

START_TEST(memory_traffic_needs_a_level)
{
	put("sys/bus/event_source/devices/uncore_imc_0/type", "12\n");
	put("proc/sys/kernel/perf_event_paranoid", "2\n");
	doctor_check_counters(&doctor);
	expect("memory traffic", FINDING_MISSING, "uncore_imc", "perf_event_paranoid=0");
	put("proc/sys/kernel/perf_event_paranoid", "0\n");
	doctor.count = 0;
	doctor_check_counters(&doctor);
	expect("memory traffic", FINDING_OK, "uncore_imc", "");
}
END_TEST

/* -- energy and temperatures -- */

START_TEST(missing_energy_meters_are_reported_with_a_remedy)
{
	doctor_check_counters(&doctor);
	expect("CPU energy", FINDING_MISSING, "no RAPL", "run on the host");
	expect("temperatures", FINDING_MISSING, "no temperature", "coretemp");
	expect("CPU clock", FINDING_MISSING, "no cpufreq", "CONFIG_CPU_FREQ");
}
END_TEST

START_TEST(meters_are_counted)
{
	put("sys/class/powercap/intel-rapl:0/energy_uj", "123\n");
	put("sys/class/powercap/intel-rapl:0/name", "package-0\n");
	put("sys/class/hwmon/hwmon0/name", "coretemp\n");
	put("sys/class/hwmon/hwmon0/temp1_input", "47000\n");
	put("sys/class/hwmon/hwmon0/temp1_crit", "100000\n");
	put("sys/class/hwmon/hwmon1/name", "nvme\x1b[31m\n");
	put("sys/class/hwmon/hwmon1/temp1_input", "40000\n");
	put("sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", "3100000\n");
	doctor_check_counters(&doctor);
	expect("CPU energy", FINDING_OK, "1 meter, the first package-0", "");
	expect("temperatures", FINDING_OK, "2 sensors: coretemp, nvme", "");
	ck_assert_ptr_null(strchr(find("temperatures")->reason.text, 033));
	expect("CPU clock", FINDING_OK, "of each CPU; no counts", "");
}
END_TEST

START_TEST(energy_by_perf_needs_a_level)
{
	put("sys/bus/event_source/devices/power/type", "9\n");
	put("proc/sys/kernel/perf_event_paranoid", "1\n");
	doctor_check_counters(&doctor);
	expect("CPU energy", FINDING_MISSING, "perf_event_paranoid 1", "perf_event_paranoid=0");
	has_rights("0000000000200000");
	doctor.count = 0;
	doctor_check_counters(&doctor);
	expect("CPU energy", FINDING_OK, "power/energy-pkg/", "");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("doctor_hardware");
	TCase *tests = tcase_create("doctor_hardware");
	SRunner *runner = srunner_create(suite);
	tcase_add_checked_fixture(tests, set_up, tear_down);
	tcase_add_test(tests, nothing_here_is_no_fault);
	tcase_add_test(tests, a_card_without_its_driver_is_named);
	tcase_add_test(tests, a_card_with_another_driver_is_named);
	tcase_add_test(tests, another_makers_card_is_not_nvidias);
	tcase_add_test(tests, driver_without_devices_and_library);
	tcase_add_test(tests, devices_are_counted);
	tcase_add_test(tests, nvml_may_be_left_closed);
	tcase_add_test(tests, a_library_that_is_not_nvidias_is_refused);
	tcase_add_test(tests, parts_of_gpus_need_a_right);
	tcase_add_test(tests, pids_in_a_container_are_reported);
	tcase_add_test(tests, render_nodes_are_reported_with_their_drivers);
	tcase_add_test(tests, a_node_that_may_not_be_opened_names_its_group);
	tcase_add_loop_test(tests, each_level_says_what_still_works, 0, sizeof levels / sizeof *levels);
	tcase_add_loop_test(tests, each_refusal_has_its_remedy, 0, sizeof refusals / sizeof *refusals);
	tcase_add_test(tests, counters_that_open_are_named);
	tcase_add_test(tests, memory_traffic_needs_a_level);
	tcase_add_test(tests, missing_energy_meters_are_reported_with_a_remedy);
	tcase_add_test(tests, meters_are_counted);
	tcase_add_test(tests, energy_by_perf_needs_a_level);
	suite_add_tcase(suite, tests);
	srunner_run_all(runner, CK_ENV);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
