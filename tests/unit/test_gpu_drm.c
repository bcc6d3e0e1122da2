#include <check.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/sources/gpu/vendor.h"
#include "tests/support/fake_gpu.h"
#include "tests/support/fake_proc.h"
#include "tests/support/sets.h"
#include "tests/support/suite.h"

#define MIB (1024.0 * 1024.0)

enum { TARGET = 100, STRANGER = 500, FIRST = 20000 };

static struct fake_proc proc, sys, dev;
static struct source_choices choices;
static struct target target;
static struct reason reason;
static struct sample_set set;
static const struct gpu_vendor *vendor;
static void *state;

static void setup(void)
{
	fake_proc_init(&proc);
	fake_proc_init(&sys);
	fake_proc_init(&dev);
	fake_proc_add(&proc, TARGET, 1, "trainer");
	choices.sys_root = sys.root;
	choices.dev_root = dev.root;
	ck_assert_int_eq(target_open(&target, TARGET, proc.root, &reason), STATUS_OK);
	target.choices = &choices;
	state = NULL;
}

static void teardown(void)
{
	if (state)
		vendor->close(state);
	sample_set_release(&set);
	target_close(&target);
	fake_proc_release(&proc);
	fake_proc_release(&sys);
	fake_proc_release(&dev);
}

static void open_vendor(const struct gpu_vendor *which)
{
	vendor = which;
	ck_assert(vendor->is_here(&choices));
	ck_assert_int_eq(vendor->open(&target, FIRST, &state, &reason), STATUS_OK);
}

static void read_at(double at_s)
{
	sample_set_clear(&set);
	target_refresh(&target);
	ck_assert_int_eq(vendor->read(state, (int64_t)(at_s * 1e9), &set), STATUS_OK);
}

/* NAN: absent */
static void ck_figure(enum metric metric, int32_t instance, double wanted)
{
	ck_set_figure(&set, metric, instance, wanted, 1e-9);
}

static void ck_missing(const char *figure, const char *text) { ck_set_missing(&set, figure, text); }

static const struct gpu_row *gpu_row(size_t n)
{
	const struct record *record = set_record(&set, RECORD_GPU, n);
	ck_assert_ptr_nonnull(record);
	return record->gpu;
}

static const struct gpu_process_row *process_row(size_t n)
{
	const struct record *record = set_record(&set, RECORD_GPU_PROCESSES, 0);
	ck_assert_ptr_nonnull(record);
	ck_assert_uint_lt(n, record->gpu_processes.count);
	return &record->gpu_processes.rows[n];
}

#define ck_throttle(...) ck_figure(METRIC_GPU_THROTTLE, FIRST, throttles((const int[]){ __VA_ARGS__, -1 }))
static double throttles(const int *reasons)
{
	unsigned bits = 0;
	for (; *reasons >= 0; reasons++)
		bits |= 1u << *reasons;
	return bits;
}

/* -- AMD -- */

START_TEST(every_figure_of_an_amd_gpu)
{
	fake_gpu_amd(&sys);
	open_vendor(&amd_gpus);
	read_at(1);
	const struct gpu_row *gpu = gpu_row(0);
	ck_assert_int_eq(gpu->instance, FIRST);
	ck_assert_int_eq(gpu->parent, -1);
	ck_assert_str_eq(gpu->vendor, "AMD");
	ck_assert_str_eq(gpu->name, "Radeon PRO W7900");
	ck_assert_str_eq(gpu->uuid, "GPU-4fd3d0e445b9207e");
	ck_assert_str_eq(gpu->pci, "0000:03:00.0");
	ck_assert_str_eq(gpu->driver, "amdgpu");
	ck_assert_ptr_null(gpu->lost);
	const struct {
		enum metric metric;
		double value;
	} wanted[] = {
		{ METRIC_GPU_BUSY, 0.87 },
		{ METRIC_GPU_MEMORY_BUSY, 0.41 },
		{ METRIC_GPU_MEMORY, 48301604864.0 },
		{ METRIC_GPU_MEMORY_USED, 12884901888.0 },
		{ METRIC_GPU_POWER, 241 },
		{ METRIC_GPU_POWER_LIMIT, 300 },
		{ METRIC_GPU_TEMPERATURE, 61 },
		{ METRIC_GPU_TEMPERATURE_MEMORY, 74 },
		{ METRIC_GPU_TEMPERATURE_LIMIT, 100 },
		{ METRIC_GPU_CLOCK, 2.21e9 },
		{ METRIC_GPU_CLOCK_MAX, 2.495e9 },
		{ METRIC_GPU_CLOCK_MEMORY, 1.124e9 },
		{ METRIC_GPU_CLOCK_MEMORY_MAX, 1.124e9 },
		{ METRIC_GPU_PCIE_GENERATION, 4 },
		{ METRIC_GPU_PCIE_GENERATION_MAX, 4 },
		{ METRIC_GPU_PCIE_WIDTH, 8 },
		{ METRIC_GPU_PCIE_WIDTH_MAX, 16 },
		{ METRIC_GPU_PCIE_REPLAYS, 7 },
		{ METRIC_GPU_ECC_CORRECTED, 3 },
		{ METRIC_GPU_ECC_UNCORRECTED, 1 },
		{ METRIC_GPU_ENERGY, NAN },
		{ METRIC_GPU_THROTTLE, NAN },
		{ METRIC_GPU_SM_ACTIVE, NAN },
	};
	for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
		ck_figure(wanted[i].metric, FIRST, wanted[i].value);
	ck_assert(set_figure(&set, METRIC_GPU_READING, FIRST) > 0);
	ck_missing("GPU throttling", "no gpu_metrics");
	ck_assert_ptr_null(set_missing(&set, "GPU power"));
	read_at(2);
	ck_assert_uint_eq(set_count(&set, RECORD_GPU), 0);
	ck_assert_uint_eq(set_count(&set, RECORD_MISSING), 0);
}
END_TEST

/* Reading it would take a second. */
START_TEST(pcie_bw_is_never_opened)
{
	char path[512];
	fake_gpu_amd(&sys);
	int watch = inotify_init1(IN_NONBLOCK);
	snprintf(path, sizeof path, "%s/" FAKE_AMD "/pcie_bw", sys.root);
	ck_assert_int_ge(inotify_add_watch(watch, path, IN_OPEN | IN_ACCESS), 0);
	open_vendor(&amd_gpus);
	for (int i = 0; i < 20; i++)
		read_at(i);
	ck_assert_int_lt(read(watch, path, sizeof path), 0);
	close(watch);
}
END_TEST

static void put_metrics(
	unsigned size, unsigned format, unsigned content, unsigned at, uint64_t value, unsigned bytes_wide)
{
	unsigned char bytes[4096];
	fake_gpu_metrics(bytes, size, format, content);
	memcpy(bytes + at, &value, bytes_wide);
	fake_gpu_write(&sys, FAKE_AMD, "gpu_metrics", bytes, size);
}

START_TEST(throttling_is_decoded_by_the_tables_version)
{
	fake_gpu_amd(&sys);
	open_vendor(&amd_gpus);
	put_metrics(120, 1, 3, 112, 0, 8);
	read_at(1);
	ck_figure(METRIC_GPU_THROTTLE, FIRST, 0);
	put_metrics(120, 1, 3, 112, 1ull << 0 | 1ull << 36, 8);
	read_at(2);
	ck_throttle(GPU_THROTTLE_POWER_CAP, GPU_THROTTLE_HEAT_SOFTWARE);
	put_metrics(128, 2, 2, 120, 1ull << 16 | 1ull << 46, 8);
	read_at(3);
	ck_throttle(GPU_THROTTLE_CURRENT, GPU_THROTTLE_HEAT);
	/* Bits specific to the chip: they only show that there is a reason. */
	put_metrics(96, 1, 1, 68, 1u << 9, 4);
	read_at(4);
	ck_throttle(GPU_THROTTLE_HARDWARE);
	put_metrics(96, 1, 1, 68, 0, 4);
	read_at(5);
	ck_figure(METRIC_GPU_THROTTLE, FIRST, 0);
	/* All ones: not filled in. */
	put_metrics(120, 1, 3, 4, 60, 2);
	read_at(6);
	ck_figure(METRIC_GPU_THROTTLE, FIRST, NAN);
	ck_missing("GPU throttling", "reports no throttling");
}
END_TEST

START_TEST(throttling_of_an_instinct_is_what_grew_between_two_readings)
{
	fake_gpu_amd(&sys);
	open_vendor(&amd_gpus);
	put_metrics(2208, 1, 7, 24, 65536ull * 1000, 8);
	read_at(1);
	ck_figure(METRIC_GPU_THROTTLE, FIRST, NAN);
	ck_figure(METRIC_GPU_ENERGY, FIRST, 1000);
	ck_assert_ptr_null(set_missing(&set, "GPU throttling"));
	read_at(2);
	ck_figure(METRIC_GPU_THROTTLE, FIRST, 0);
	put_metrics(2208, 1, 7, 44 + 4, 5, 4);
	read_at(3);
	ck_throttle(GPU_THROTTLE_POWER_CAP);
}
END_TEST

START_TEST(an_unknown_table_is_refused_by_name)
{
	fake_gpu_amd(&sys);
	open_vendor(&amd_gpus);
	put_metrics(120, 3, 0, 112, 0, 8);
	read_at(1);
	ck_figure(METRIC_GPU_THROTTLE, FIRST, NAN);
	ck_missing("GPU throttling", "does not know this version of gpu_metrics (3.0, 120 bytes)");
	/* Cut short, and longer than it is. */
	fake_gpu_write(&sys, FAKE_AMD, "gpu_metrics", "\x78\0\1\3", 4);
	read_at(2);
	ck_missing("GPU throttling", "could not be parsed");
	fake_gpu_write(&sys, FAKE_AMD, "gpu_metrics", "\x02\0", 2);
	read_at(3);
	ck_figure(METRIC_GPU_THROTTLE, FIRST, NAN);
}
END_TEST

static const char fdinfo_text[] = "drm-driver:\tamdgpu\ndrm-client-id:\t9\ndrm-pdev:\t0000:03:00.0\ndrm-memory-vram:"
								  "\t64 MiB\ndrm-memory-gtt:\t16 MiB\n";

START_TEST(kfd_reports_memory_and_compute_units_of_all)
{
	fake_gpu_amd(&sys);
	fake_gpu_kfd(&sys);
	fake_proc_add(&proc, STRANGER, 1, "stranger");
	fake_proc_puts(&proc, STRANGER, "comm", "stranger\n");
	fake_gpu_open(&proc, TARGET, 5, "/dev/dri/renderD128", fdinfo_text);
	fake_gpu_put(&sys, "class/kfd/kfd/proc/100", "vram_42700", "1073741824\n");
	fake_gpu_put(&sys, "class/kfd/kfd/proc/100", "stats_42700/cu_occupancy", "24\n");
	fake_gpu_put(&sys, "class/kfd/kfd/proc/500", "vram_42700", "2097152\n");
	fake_gpu_put(&sys, "class/kfd/kfd/proc/500", "stats_42700/cu_occupancy", "12\n");
	fake_gpu_put(&sys, "class/kfd/kfd/proc/600", "vram_1", "5\n");
	open_vendor(&amd_gpus);
	read_at(1);
	const struct gpu_process_row *own = process_row(0), *other = process_row(1);
	ck_assert_int_eq(own->pid, TARGET);
	ck_assert_double_eq(own->memory_bytes, 1024 * MIB);
	ck_assert_uint_eq(own->kind, GPU_PROCESS_COMPUTE);
	ck_assert_str_eq(own->command, "");
	ck_assert_double_nan(own->busy_ratio);
	ck_assert_int_eq(other->pid, STRANGER);
	ck_assert_str_eq(other->command, "stranger");
	ck_assert_double_eq(other->memory_bytes, 2 * MIB);
	ck_figure(METRIC_GPU_SM_ACTIVE, FIRST, 36.0 / 96);
	ck_assert_uint_eq(set_record(&set, RECORD_GPU_PROCESSES, 0)->gpu_processes.count, 2);
}
END_TEST

START_TEST(the_only_user_of_a_gpu_gets_its_utilization)
{
	fake_gpu_amd(&sys);
	fake_gpu_kfd(&sys);
	fake_gpu_put(&sys, "class/kfd/kfd/proc/100", "vram_42700", "1073741824\n");
	open_vendor(&amd_gpus);
	read_at(1);
	ck_assert_double_eq(process_row(0)->busy_ratio, 0.87);
	ck_figure(METRIC_GPU_SM_ACTIVE, FIRST, NAN);
}
END_TEST

START_TEST(kfd_with_the_hosts_pids_in_a_container_is_reported)
{
	char path[512];
	fake_gpu_amd(&sys);
	fake_gpu_kfd(&sys);
	fake_gpu_put(&sys, "class/kfd/kfd/proc/90210", "vram_42700", "1073741824\n");
	fake_proc_put(&proc, "self/ns/.keep", "");
	snprintf(path, sizeof path, "%s/self/ns/pid", proc.root);
	ck_assert_int_eq(symlink("pid:[4026532000]", path), 0);
	open_vendor(&amd_gpus);
	read_at(1);
	ck_missing("GPU processes", "host's pids");
	ck_assert_ptr_nonnull(strstr(set_missing(&set, "GPU processes")->missing.remedy, "--pid=host"));
}
END_TEST

START_TEST(a_sleeping_gpu_is_not_woken)
{
	char path[512];
	fake_gpu_amd(&sys);
	fake_gpu_put(&sys, FAKE_AMD, "power/runtime_status", "suspended\n");
	int watch = inotify_init1(IN_NONBLOCK);
	static const char *const files[] = { "gpu_busy_percent", "hwmon/hwmon4/temp1_input", "mem_info_vram_used" };
	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		snprintf(path, sizeof path, "%s/" FAKE_AMD "/%s", sys.root, files[i]);
		ck_assert_int_ge(inotify_add_watch(watch, path, IN_OPEN), 0);
	}
	open_vendor(&amd_gpus);
	read_at(1);
	ck_assert_str_eq(gpu_row(0)->name, "device 1002:744c");
	ck_figure(METRIC_GPU_BUSY, FIRST, NAN);
	ck_missing("GPU utilisation", "suspended");
	ck_missing("GPU power", "suspended");
	ck_assert_int_lt(read(watch, path, sizeof path), 0);
	close(watch);
	fake_gpu_put(&sys, FAKE_AMD, "power/runtime_status", "active\n");
	read_at(2);
	ck_assert_str_eq(gpu_row(0)->name, "Radeon PRO W7900");
	ck_figure(METRIC_GPU_BUSY, FIRST, 0.87);
	ck_assert_ptr_null(set_missing(&set, "GPU power")->missing.text);
}
END_TEST

START_TEST(an_unused_gpu_is_not_read_so_that_it_can_suspend)
{
	fake_gpu_amd(&sys);
	fake_gpu_put(&sys, FAKE_AMD, "power/control", "auto\n");
	fake_gpu_put(&sys, FAKE_AMD, "gpu_busy_percent", "0\n");
	open_vendor(&amd_gpus);
	read_at(1);
	read_at(6);
	ck_figure(METRIC_GPU_BUSY, FIRST, 0);
	read_at(12);
	read_at(13);
	ck_figure(METRIC_GPU_BUSY, FIRST, NAN);
	ck_assert_uint_eq(set_count(&set, RECORD_MISSING), 0);
	read_at(28);
	ck_figure(METRIC_GPU_BUSY, FIRST, 0);
	/* Used: as soon as this is seen. */
	fake_gpu_open(&proc, TARGET, 5, "/dev/dri/renderD128", fdinfo_text);
	read_at(37);
	ck_figure(METRIC_GPU_BUSY, FIRST, NAN);
	read_at(37.5);
	ck_figure(METRIC_GPU_BUSY, FIRST, 0);
}
END_TEST

static void move(const char *from, const char *to)
{
	char old[512], new[512];
	snprintf(old, sizeof old, "%s/%s", sys.root, from);
	snprintf(new, sizeof new, "%s/%s", sys.root, to);
	ck_assert_int_eq(rename(old, new), 0);
}

START_TEST(a_gpu_that_goes_is_lost_until_it_is_back)
{
	fake_gpu_amd(&sys);
	open_vendor(&amd_gpus);
	read_at(1);
	move(FAKE_AMD, "gone");
	read_at(2);
	ck_assert_ptr_nonnull(gpu_row(0)->lost);
	ck_figure(METRIC_GPU_BUSY, FIRST, NAN);
	ck_assert_ptr_null(set_missing(&set, "GPU power"));
	read_at(3);
	ck_assert_uint_eq(set_count(&set, RECORD_GPU), 0);
	move("gone", FAKE_AMD);
	read_at(4);
	ck_assert_ptr_null(gpu_row(0)->lost);
	ck_figure(METRIC_GPU_BUSY, FIRST, 0.87);
}
END_TEST

START_TEST(a_snapshot_has_every_gpu)
{
	fake_gpu_amd(&sys);
	fake_gpu_open(&proc, TARGET, 5, "/dev/dri/renderD128", fdinfo_text);
	open_vendor(&amd_gpus);
	read_at(1);
	sample_set_clear(&set);
	vendor->emit_all(state, 5, &set);
	ck_assert_str_eq(gpu_row(0)->name, "Radeon PRO W7900");
	ck_assert_int_eq(process_row(0)->pid, TARGET);
	ck_assert_double_eq(process_row(0)->memory_bytes, 64 * MIB);
}
END_TEST

/* -- the link -- */

#define ROOT_PORT "devices/pci0000:00/0000:00:01.0"
#define SWITCH ROOT_PORT "/0000:01:00.0"
#define CHIP SWITCH "/0000:02:00.0/0000:03:00.0"

static void put_link(
	const char *folder, const char *class, const char *vendor_id, const char *speed, const char *lanes, const char *max)
{
	fake_gpu_put(&sys, folder, "class", class);
	fake_gpu_put(&sys, folder, "vendor", vendor_id);
	fake_gpu_put(&sys, folder, "current_link_speed", speed);
	fake_gpu_put(&sys, folder, "current_link_width", lanes);
	fake_gpu_put(&sys, folder, "max_link_speed", max);
	fake_gpu_put(&sys, folder, "max_link_width", "16\n");
}

START_TEST(behind_a_cards_own_switch_its_link_to_the_machine_counts)
{
	fake_gpu_add(&sys, CHIP, "amdgpu", "renderD128", "1002:73bf");
	put_link(ROOT_PORT, "0x060400\n", "0x1022\n", "8.0 GT/s PCIe\n", "4\n", "8.0 GT/s PCIe\n");
	put_link(SWITCH, "0x060400\n", "0x1002\n", "8.0 GT/s PCIe\n", "4\n", "16.0 GT/s PCIe\n");
	put_link(SWITCH "/0000:02:00.0", "0x060400\n", "0x1002\n", "16.0 GT/s PCIe\n", "16\n", "16.0 GT/s PCIe\n");
	put_link(CHIP, "0x030000\n", "0x1002\n", "16.0 GT/s PCIe\n", "16\n", "16.0 GT/s PCIe\n");
	open_vendor(&amd_gpus);
	read_at(1);
	ck_figure(METRIC_GPU_PCIE_GENERATION, FIRST, 3);
	ck_figure(METRIC_GPU_PCIE_GENERATION_MAX, FIRST, 3);
	ck_figure(METRIC_GPU_PCIE_WIDTH, FIRST, 4);
	ck_figure(METRIC_GPU_PCIE_WIDTH_MAX, FIRST, 16);
}
END_TEST

START_TEST(a_switch_of_somebody_else_is_the_machines)
{
	fake_gpu_add(&sys, CHIP, "amdgpu", "renderD128", "1002:73bf");
	put_link(ROOT_PORT, "0x060400\n", "0x8086\n", "32.0 GT/s PCIe\n", "16\n", "32.0 GT/s PCIe\n");
	put_link(SWITCH, "0x060400\n", "0x10b5\n", "32.0 GT/s PCIe\n", "16\n", "32.0 GT/s PCIe\n");
	put_link(SWITCH "/0000:02:00.0", "0x060400\n", "0x10b5\n", "16.0 GT/s PCIe\n", "8\n", "32.0 GT/s PCIe\n");
	put_link(CHIP, "0x030000\n", "0x1002\n", "16.0 GT/s PCIe\n", "8\n", "16.0 GT/s PCIe\n");
	open_vendor(&amd_gpus);
	read_at(1);
	ck_figure(METRIC_GPU_PCIE_GENERATION, FIRST, 4);
	ck_figure(METRIC_GPU_PCIE_WIDTH, FIRST, 8);
}
END_TEST

/* -- Intel -- */

static void put_energy(const char *microjoules)
{
	fake_gpu_put(&sys, FAKE_I915, "hwmon/hwmon3/energy1_input", microjoules);
}

START_TEST(every_figure_of_a_card_with_i915)
{
	fake_gpu_i915(&sys);
	open_vendor(&intel_gpus);
	read_at(1);
	ck_assert_str_eq(gpu_row(0)->vendor, "Intel");
	ck_figure(METRIC_GPU_CLOCK, FIRST, 2.05e9);
	ck_figure(METRIC_GPU_CLOCK_MAX, FIRST, 2.4e9);
	ck_figure(METRIC_GPU_THROTTLE, FIRST, 0);
	ck_figure(METRIC_GPU_ENERGY, FIRST, 5000);
	ck_figure(METRIC_GPU_POWER_LIMIT, FIRST, 190);
	ck_figure(METRIC_GPU_POWER, FIRST, NAN);
	ck_assert_ptr_null(set_missing(&set, "GPU power"));
	ck_missing("GPU utilisation", "no perf counters");
	ck_missing("GPU memory", "CAP_PERFMON");
	ck_assert_ptr_nonnull(strstr(set_missing(&set, "GPU memory")->missing.remedy, "setcap cap_perfmon=ep"));
	put_energy("5300000000\n");
	read_at(3);
	ck_figure(METRIC_GPU_POWER, FIRST, 150);
	/* The counter was reset: no rate. */
	put_energy("100\n");
	read_at(4);
	ck_figure(METRIC_GPU_POWER, FIRST, NAN);
}
END_TEST

START_TEST(i915_says_why_it_is_slow)
{
	fake_gpu_i915(&sys);
	open_vendor(&intel_gpus);
	fake_gpu_put(&sys, FAKE_I915, "drm/card1/gt/gt0/throttle_reason_status", "1\n");
	fake_gpu_put(&sys, FAKE_I915, "drm/card1/gt/gt0/throttle_reason_pl4", "1\n");
	fake_gpu_put(&sys, FAKE_I915, "drm/card1/gt/gt0/throttle_reason_prochot", "1\n");
	read_at(1);
	ck_throttle(GPU_THROTTLE_CURRENT, GPU_THROTTLE_HEAT);
	fake_gpu_put(&sys, FAKE_I915, "drm/card1/gt/gt0/throttle_reason_pl4", "0\n");
	fake_gpu_put(&sys, FAKE_I915, "drm/card1/gt/gt0/throttle_reason_prochot", "0\n");
	read_at(2);
	ck_throttle(GPU_THROTTLE_HARDWARE);
}
END_TEST

START_TEST(every_figure_of_a_card_with_xe)
{
	fake_gpu_xe(&sys);
	open_vendor(&intel_gpus);
	read_at(1);
	ck_figure(METRIC_GPU_CLOCK, FIRST, 2.85e9);
	ck_figure(METRIC_GPU_CLOCK_MAX, FIRST, 2.9e9);
	ck_throttle(GPU_THROTTLE_POWER_CAP, GPU_THROTTLE_HEAT_SOFTWARE);
	ck_figure(METRIC_GPU_MEMORY, FIRST, 12884901888.0);
	ck_figure(METRIC_GPU_MEMORY_USED, FIRST, NAN);
	ck_figure(METRIC_GPU_TEMPERATURE, FIRST, 55);
	ck_figure(METRIC_GPU_TEMPERATURE_MEMORY, FIRST, 62);
	ck_figure(METRIC_GPU_POWER_LIMIT, FIRST, 150);
	ck_figure(METRIC_GPU_ENERGY, FIRST, 1);
}
END_TEST

START_TEST(an_xe_process_by_cycles)
{
	fake_gpu_xe(&sys);
	open_vendor(&intel_gpus);
	for (int i = 0; i < 2; i++) {
		char text[512];
		snprintf(text, sizeof text,
			"drm-driver:\txe\ndrm-client-id:\t3\ndrm-pdev:\t0000:09:00.0\ndrm-total-vram0:\t23992 "
			"KiB\ndrm-resident-vram0:\t1 MiB\n"
			"drm-total-gtt:\t192 "
			"KiB\ndrm-cycles-rcs:\t0\ndrm-total-cycles-rcs:\t%d\ndrm-cycles-ccs:\t%d\ndrm-total-cycles-ccs:\t%d\ndrm-"
			"engine-capacity-ccs:\t4\n",
			1000 + 1000 * i, 100 + 800 * i, 1000 + 1000 * i);
		fake_gpu_open(&proc, TARGET, 7, "/dev/dri/renderD130", text);
		read_at(1 + 3 * i);
	}
	ck_assert_double_eq(process_row(0)->memory_bytes, MIB);
	ck_assert_double_eq_tol(process_row(0)->busy_ratio, 0.2, 1e-9);
	ck_assert_uint_eq(process_row(0)->kind, GPU_PROCESS_COMPUTE);
}
END_TEST

#define INTEGRATED "devices/pci0000:00/0000:00:02.0"

START_TEST(an_integrated_gpu_has_the_machines_memory_and_power)
{
	fake_gpu_add(&sys, INTEGRATED, "i915", "renderD128 card0", "8086:9a49");
	fake_gpu_put(&sys, INTEGRATED, "drm/card0/gt_act_freq_mhz", "0\n");
	fake_gpu_put(&sys, INTEGRATED, "drm/card0/gt_RP0_freq_mhz", "1350\n");
	fake_gpu_open(&proc, TARGET, 7, "/dev/dri/renderD128",
		"drm-driver:\ti915\ndrm-client-id:\t7\ndrm-pdev:\t0000:00:02.0\ndrm-total-system0:\t80 MiB\n"
		"drm-resident-system0:\t64 MiB\ndrm-engine-render:\t9288864723 ns\n");
	open_vendor(&intel_gpus);
	read_at(1);
	ck_figure(METRIC_GPU_CLOCK, FIRST, 0);
	ck_figure(METRIC_GPU_CLOCK_MAX, FIRST, 1.35e9);
	ck_missing("GPU memory", "integrated");
	ck_missing("GPU power", "integrated");
	ck_assert_double_eq(process_row(0)->memory_bytes, 64 * MIB);
}
END_TEST

START_TEST(an_unused_integrated_gpu_has_no_missing_figures)
{
	fake_gpu_add(&sys, INTEGRATED, "i915", "renderD128 card0", "8086:9a49");
	open_vendor(&intel_gpus);
	read_at(1);
	ck_assert_uint_eq(set_count(&set, RECORD_GPU), 1);
	ck_assert_uint_eq(set_count(&set, RECORD_MISSING), 0);
}
END_TEST

START_TEST(missing_figures_name_their_gpu)
{
	fake_gpu_i915(&sys);
	fake_gpu_xe(&sys);
	open_vendor(&intel_gpus);
	read_at(1);
	ck_assert_uint_eq(set_count(&set, RECORD_GPU), 2);
	ck_assert_str_eq(gpu_row(1)->pci, "0000:09:00.0");
	ck_assert_int_eq(gpu_row(1)->instance, FIRST + 1);
	ck_missing("GPU temperature", "GPU 0000:05:00.0: i915 does not report it");
}
END_TEST

/* -- others -- */

START_TEST(panfrost_by_devfreq_and_fdinfo)
{
	fake_gpu_panfrost(&sys);
	fake_gpu_open(&proc, TARGET, 4, "/dev/dri/renderD131",
		"drm-driver:\tpanfrost\ndrm-client-id:\t14\ndrm-engine-fragment:\t1846584880 ns\n"
		"drm-cycles-fragment:\t1424359409\ndrm-maxfreq-fragment:\t799999987 Hz\ndrm-total-memory:\t290 "
		"MiB\ndrm-resident-memory:\t265 MiB\n");
	open_vendor(&drm_gpus);
	read_at(1);
	ck_assert_str_eq(gpu_row(0)->vendor, "panfrost");
	ck_assert_str_eq(gpu_row(0)->name, "arm,mali-t860");
	ck_assert_str_eq(gpu_row(0)->pci, "");
	ck_figure(METRIC_GPU_CLOCK, FIRST, 4e8);
	ck_figure(METRIC_GPU_CLOCK_MAX, FIRST, 8e8);
	ck_missing("GPU utilisation", "profiling is off");
	ck_assert_double_eq(process_row(0)->memory_bytes, 265 * MIB);
	ck_assert_uint_eq(process_row(0)->kind, GPU_PROCESS_GRAPHICS);
}
END_TEST

START_TEST(an_npu_on_an_accel_node)
{
	fake_gpu_npu(&sys);
	open_vendor(&drm_gpus);
	for (int i = 0; i < 2; i++) {
		char text[256];
		snprintf(text, sizeof text,
			"drm-driver:\tamdxdna_accel_driver\ndrm-client-id:\t1\ndrm-pdev:\t0000:c4:00.1\ndrm-engine-npu-amdxdna:\t%"
			"d ns\n"
			"drm-total-memory:\t2048 KiB\n",
			500000000 * i);
		fake_gpu_open(&proc, TARGET, 4, "/dev/accel/accel0", text);
		read_at(1 + 2 * i);
	}
	ck_assert_double_eq(process_row(0)->memory_bytes, 2 * MIB);
	ck_assert_double_eq_tol(process_row(0)->busy_ratio, 0.25, 1e-9);
	sample_set_clear(&set);
	vendor->emit_all(state, 1, &set);
	ck_assert_str_eq(gpu_row(0)->name, "RyzenAI-npu4");
}
END_TEST

START_TEST(an_intel_npu_by_its_counter)
{
	fake_gpu_add(&sys, FAKE_NPU, "intel_vpu", "accel0", "8086:7d1d");
	fake_gpu_put(&sys, FAKE_NPU, "npu_busy_time_us", "1000000\n");
	fake_gpu_put(&sys, FAKE_NPU, "npu_current_frequency_mhz", "1400\n");
	fake_gpu_put(&sys, FAKE_NPU, "npu_memory_utilization", "4096\n");
	open_vendor(&drm_gpus);
	read_at(1);
	ck_figure(METRIC_GPU_BUSY, FIRST, NAN);
	ck_figure(METRIC_GPU_MEMORY_USED, FIRST, 4096);
	fake_gpu_put(&sys, FAKE_NPU, "npu_busy_time_us", "1500000\n");
	read_at(3);
	ck_figure(METRIC_GPU_BUSY, FIRST, 0.25);
	ck_figure(METRIC_GPU_CLOCK, FIRST, 1.4e9);
}
END_TEST

START_TEST(a_console_is_no_gpu_and_a_virtual_one_only_once_it_is_used)
{
	fake_gpu_add(&sys, "devices/pci0000:00/0000:00:09.0", "ast", "card0", "1a03:2000");
	ck_assert(!drm_gpus.is_here(&choices));
	ck_assert_int_eq(drm_gpus.open(&target, FIRST, &state, &reason), STATUS_NOT_FOUND);
	fake_gpu_add(&sys, "devices/pci0000:00/0000:00:0a.0", "virtio_gpu", "card1 renderD128", "1af4:1050");
	ck_assert(!drm_gpus.is_here(&choices));
	vendor = &drm_gpus;
	ck_assert_int_eq(vendor->open(&target, FIRST, &state, &reason), STATUS_OK);
	read_at(1);
	ck_assert_uint_eq(set.count, 0);
	fake_gpu_open(&proc, TARGET, 4, "/dev/dri/renderD128",
		"drm-driver:\tvirtio_gpu\ndrm-client-id:\t1\ndrm-pdev:\t0000:00:0a.0\n");
	read_at(4);
	read_at(7);
	ck_assert_str_eq(gpu_row(0)->vendor, "virtio_gpu");
}
END_TEST

START_TEST(a_missing_driver_is_reported_as_not_found)
{
	const struct gpu_vendor *const all[] = { &amd_gpus, &intel_gpus, &drm_gpus };
	for (size_t i = 0; i < 3; i++) {
		ck_assert(!all[i]->is_here(&choices));
		ck_assert_int_eq(all[i]->open(&target, FIRST, &state, &reason), STATUS_NOT_FOUND);
		ck_assert_ptr_nonnull(strstr(reason.text, "there is no"));
	}
	fake_gpu_add(&sys, FAKE_AMD, "nvidia", "card0 renderD128", "10de:2684");
	ck_assert(!drm_gpus.is_here(&choices));
}
END_TEST

/* -- hostile -- */

static const char *const amd_files[] = {
	"product_name",
	"unique_id",
	"gpu_busy_percent",
	"mem_busy_percent",
	"mem_info_vram_total",
	"mem_info_vram_used",
	"pp_dpm_sclk",
	"pp_dpm_mclk",
	"pcie_replay_count",
	"ras/umc_err_count",
	"current_link_speed",
	"max_link_speed",
	"current_link_width",
	"max_link_width",
	"gpu_metrics",
	"hwmon/hwmon4/temp1_input",
	"hwmon/hwmon4/temp1_label",
	"hwmon/hwmon4/power1_average",
	"hwmon/hwmon4/power1_cap",
	"hwmon/hwmon4/freq1_input",
	"uevent",
};

/* Two other sensors work. */
static const enum metric garbled[] = {
	METRIC_GPU_BUSY,
	METRIC_GPU_MEMORY_BUSY,
	METRIC_GPU_MEMORY,
	METRIC_GPU_MEMORY_USED,
	METRIC_GPU_POWER,
	METRIC_GPU_POWER_LIMIT,
	METRIC_GPU_ENERGY,
	METRIC_GPU_CLOCK,
	METRIC_GPU_THROTTLE,
	METRIC_GPU_PCIE_REPLAYS,
	METRIC_GPU_PCIE_GENERATION,
	METRIC_GPU_PCIE_WIDTH,
	METRIC_GPU_ECC_CORRECTED,
	METRIC_GPU_ECC_UNCORRECTED,
};

/* Before the vendor opens, and while it reads. */
static void read_with(const void *bytes, size_t length, bool is_early)
{
	fake_gpu_amd(&sys);
	if (!is_early)
		open_vendor(&amd_gpus);
	for (size_t i = 0; i < sizeof amd_files / sizeof *amd_files; i++)
		fake_gpu_write(&sys, FAKE_AMD, amd_files[i], bytes, length);
	if (is_early)
		open_vendor(&amd_gpus);
	read_at(1);
	for (size_t i = 0; i < sizeof garbled / sizeof *garbled; i++)
		ck_figure(garbled[i], FIRST, NAN);
	if (is_early)
		ck_figure(METRIC_GPU_PCIE_GENERATION_MAX, FIRST, NAN);
}

static const struct {
	const char *bytes;
	size_t length;
} garbage[] = {
#define BYTES(text) \
	{ \
		text, sizeof text - 1 \
	}
	BYTES(""),
	BYTES("\n"),
	BYTES("\0\0\0\0"),
	BYTES("-1\n"),
	BYTES("99999999999999999999999999\n"),
	BYTES("9223372036854775807\n"),
	BYTES("-9223372036854775808\n"),
	BYTES("12 34\n"),
	BYTES("1e3\n"),
	BYTES("nan\n"),
	BYTES("0x\n"),
	BYTES("\x1b]0;pwned\a\n"),
	BYTES("50\0\n"),
	BYTES("%s%n%s%n\n"),
	BYTES(" : \n:\n=\n*\n"),
	BYTES("\xff\xfe\xfd\n"),
	BYTES("1: 99999999999Mhz *\n"),
};

START_TEST(garbage_in_sysfs_becomes_no_figure) { read_with(garbage[_i / 2].bytes, garbage[_i / 2].length, _i % 2); }
END_TEST

START_TEST(endless_files_and_folders_for_files_are_no_figure)
{
	static char noise[1 << 20];
	char path[512];
	memset(noise, '7', sizeof noise);
	fake_gpu_amd(&sys);
	for (size_t i = 0; i < sizeof amd_files / sizeof *amd_files - 1; i++) {
		snprintf(path, sizeof path, "%s/" FAKE_AMD "/%s", sys.root, amd_files[i]);
		unlink(path);
		if (i % 2)
			ck_assert_int_eq(mkdir(path, 0755), 0);
		else
			fake_gpu_write(&sys, FAKE_AMD, amd_files[i], noise, sizeof noise);
	}
	snprintf(path, sizeof path, "%s/class/drm/renderD129", sys.root);
	ck_assert_int_eq(symlink("renderD129", path), 0);
	fake_proc_put(&sys, "class/drm/renderD99999999999999999999/device/uevent", "DRIVER=amdgpu\n");
	fake_proc_put(&sys, "class/drm/card0-DP-1/device/uevent", "DRIVER=amdgpu\n");
	fake_proc_put(&sys, "class/drm/renderDx/device/uevent", "DRIVER=amdgpu\n");
	open_vendor(&amd_gpus);
	read_at(1);
	ck_assert_uint_eq(set_count(&set, RECORD_GPU), 1);
	ck_figure(METRIC_GPU_BUSY, FIRST, NAN);
	ck_figure(METRIC_GPU_MEMORY, FIRST, NAN);
}
END_TEST

START_TEST(a_hundred_devices_are_taken_up_to_a_bound_and_texts_are_cleaned)
{
	for (int i = 0; i < 100; i++) {
		char folder[128], nodes[32];
		snprintf(folder, sizeof folder, "devices/pci0000:%02x/0000:%02x:00.0", i, i);
		snprintf(nodes, sizeof nodes, "renderD%d", 128 + i);
		fake_gpu_add(&sys, folder, "amdgpu", nodes, "1002:744c");
		fake_gpu_put(&sys, folder, "product_name", "Bad\x1b[31m\x07name\n");
	}
	open_vendor(&amd_gpus);
	read_at(1);
	ck_assert_uint_eq(set_count(&set, RECORD_GPU), 32);
	ck_assert_str_eq(gpu_row(0)->name, "Bad^[[31m^Gname");
}
END_TEST

START_TEST(kfd_of_garbage_is_nothing)
{
	fake_gpu_amd(&sys);
	fake_gpu_put(&sys, "class/kfd/kfd/topology/nodes/1", "gpu_id", "99999999999999999999\n");
	fake_gpu_put(&sys, "class/kfd/kfd/topology/nodes/2", "gpu_id", "7\n");
	fake_gpu_put(&sys, "class/kfd/kfd/topology/nodes/2", "properties",
		"simd_count 18446744073709551615\nsimd_per_cu 1\ndrm_render_minor 128\n");
	fake_gpu_put(&sys, "class/kfd/kfd/topology/nodes/-3", "gpu_id", "8\n");
	fake_gpu_put(&sys, "class/kfd/kfd/proc/100", "vram_7", "-5\n");
	fake_gpu_put(&sys, "class/kfd/kfd/proc/abc", "vram_7", "5\n");
	fake_gpu_put(&sys, "class/kfd/kfd/proc/101", "stats_7/cu_occupancy", "999999999\n");
	open_vendor(&amd_gpus);
	read_at(1);
	ck_figure(METRIC_GPU_SM_ACTIVE, FIRST, NAN);
	ck_assert_uint_eq(set_record(&set, RECORD_GPU_PROCESSES, 0)->gpu_processes.count, 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("gpu drm");
	TCase *all = tcase_create("all");
	tcase_add_checked_fixture(all, setup, teardown);
	tcase_set_timeout(all, 30);
	tcase_add_test(all, every_figure_of_an_amd_gpu);
	tcase_add_test(all, pcie_bw_is_never_opened);
	tcase_add_test(all, throttling_is_decoded_by_the_tables_version);
	tcase_add_test(all, throttling_of_an_instinct_is_what_grew_between_two_readings);
	tcase_add_test(all, an_unknown_table_is_refused_by_name);
	tcase_add_test(all, kfd_reports_memory_and_compute_units_of_all);
	tcase_add_test(all, the_only_user_of_a_gpu_gets_its_utilization);
	tcase_add_test(all, kfd_with_the_hosts_pids_in_a_container_is_reported);
	tcase_add_test(all, a_sleeping_gpu_is_not_woken);
	tcase_add_test(all, an_unused_gpu_is_not_read_so_that_it_can_suspend);
	tcase_add_test(all, a_gpu_that_goes_is_lost_until_it_is_back);
	tcase_add_test(all, a_snapshot_has_every_gpu);
	tcase_add_test(all, behind_a_cards_own_switch_its_link_to_the_machine_counts);
	tcase_add_test(all, a_switch_of_somebody_else_is_the_machines);
	tcase_add_test(all, every_figure_of_a_card_with_i915);
	tcase_add_test(all, i915_says_why_it_is_slow);
	tcase_add_test(all, every_figure_of_a_card_with_xe);
	tcase_add_test(all, an_xe_process_by_cycles);
	tcase_add_test(all, an_integrated_gpu_has_the_machines_memory_and_power);
	tcase_add_test(all, an_unused_integrated_gpu_has_no_missing_figures);
	tcase_add_test(all, missing_figures_name_their_gpu);
	tcase_add_test(all, panfrost_by_devfreq_and_fdinfo);
	tcase_add_test(all, an_npu_on_an_accel_node);
	tcase_add_test(all, an_intel_npu_by_its_counter);
	tcase_add_test(all, a_console_is_no_gpu_and_a_virtual_one_only_once_it_is_used);
	tcase_add_test(all, a_missing_driver_is_reported_as_not_found);
	tcase_add_loop_test(all, garbage_in_sysfs_becomes_no_figure, 0, 2 * (int)(sizeof garbage / sizeof *garbage));
	tcase_add_test(all, endless_files_and_folders_for_files_are_no_figure);
	tcase_add_test(all, a_hundred_devices_are_taken_up_to_a_bound_and_texts_are_cleaned);
	tcase_add_test(all, kfd_of_garbage_is_nothing);
	suite_add_tcase(suite, all);
	return suite_run(suite);
}
