#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/sources/gpu/vendor.h"
#include "tests/support/fake_gpus.h"
#include "tests/support/sets.h"
#include "tests/support/suite.h"
#include "tests/support/waiting.h"

static struct fake_gpus gpus;
static struct sample_set set;
static void *state;

static void setup(void) { fake_gpus_open(&gpus, ""); }

static void teardown(void)
{
	if (state)
		nvidia_gpus.close(state);
	sample_set_release(&set);
	fake_gpus_close(&gpus);
}

static void use(const char *kind) { fake_gpus_library(kind, gpus.nvml, sizeof gpus.nvml); }

static void ck_open(void)
{
	struct reason why = { "", "" };
	ck_assert_msg(nvidia_gpus.open(&gpus.target, 0, &state, &why) == STATUS_OK, "%s", why.text);
}

/* Clears the set first. */
static enum status read_at(double seconds)
{
	sample_set_clear(&set);
	return nvidia_gpus.read(state, fake_gpus_at(&gpus, seconds), &set);
}

static void ck_read(double seconds) { ck_assert_int_eq(read_at(seconds), STATUS_OK); }

static void ck_figure(enum metric metric, int32_t instance, double expected)
{
	ck_set_figure(&set, metric, instance, expected, 1e-6);
}

static void ck_absent(enum metric metric, int32_t instance) { ck_set_figure(&set, metric, instance, NAN, 0); }

static void ck_missing(const char *figure, const char *words) { ck_set_missing(&set, figure, words); }

/* The newest row of a GPU, NULL if none was emitted. */
static const struct gpu_row *row_of(int32_t instance)
{
	const struct gpu_row *row = NULL;
	const struct record *record;
	for (size_t i = 0; (record = set_record(&set, RECORD_GPU, i)); i++)
		if (record->gpu->instance == instance)
			row = record->gpu;
	return row;
}

static const struct record *users_of(int32_t gpu)
{
	const struct record *found = NULL, *record;
	for (size_t i = 0; (record = set_record(&set, RECORD_GPU_PROCESSES, i)); i++)
		if (record->gpu_processes.gpu == gpu)
			found = record;
	return found;
}

static const struct gpu_process_row *user_of(int32_t gpu, int32_t pid)
{
	const struct record *users = users_of(gpu);
	for (size_t i = 0; users && i < users->gpu_processes.count; i++)
		if (users->gpu_processes.rows[i].pid == pid)
			return &users->gpu_processes.rows[i];
	return NULL;
}

/* -- what there is -- */

START_TEST(each_gpu_is_described_before_its_first_figure)
{
	ck_open();
	ck_read(0);
	const struct gpu_row *first = row_of(0), *second = row_of(1);
	ck_assert(first && second && set.records[0].kind == RECORD_GPU);
	ck_assert_str_eq(first->vendor, "NVIDIA");
	ck_assert_str_eq(first->name, "H100 80GB HBM3");
	ck_assert_str_eq(first->pci, "000a:1b:00.0");
	ck_assert_str_eq(first->uuid, "GPU-00000000-0000-0000-0000-000000000000");
	ck_assert_str_eq(first->driver, "nvidia 580.82.07");
	ck_assert_int_eq(first->parent, -1);
	ck_assert_ptr_null(first->lost);
	ck_assert_uint_eq(second->index, 1);
	ck_assert_str_eq(second->pci, "000a:2c:00.0");
	ck_read(1);
	ck_assert_uint_eq(set_count(&set, RECORD_GPU), 0);
}
END_TEST

START_TEST(figures_have_their_units)
{
	static const struct {
		enum metric metric;
		double value;
	} expected[] = {
		{ METRIC_GPU_BUSY, 0.9 },
		{ METRIC_GPU_MEMORY_BUSY, 0.4 },
		{ METRIC_GPU_MEMORY, 80 * 0x1p30 },
		{ METRIC_GPU_MEMORY_USED, 20 * 0x1p30 },
		{ METRIC_GPU_MEMORY_RESERVED, 0x1p30 },
		{ METRIC_GPU_CLOCK, 1500e6 },
		{ METRIC_GPU_CLOCK_MEMORY, 2619e6 },
		{ METRIC_GPU_CLOCK_MAX, 1980e6 },
		{ METRIC_GPU_CLOCK_MEMORY_MAX, 2619e6 },
		{ METRIC_GPU_TEMPERATURE, 60 },
		{ METRIC_GPU_TEMPERATURE_MEMORY, 70 },
		{ METRIC_GPU_TEMPERATURE_LIMIT, 87 },
		{ METRIC_GPU_POWER, 300.5 },
		{ METRIC_GPU_POWER_LIMIT, 700 },
		{ METRIC_GPU_ENERGY, 4000 },
		{ METRIC_GPU_THROTTLE, 0 },
		{ METRIC_GPU_THROTTLED_POWER, 5e9 },
		{ METRIC_GPU_THROTTLED_THERMAL, 5e9 },
		{ METRIC_GPU_NVLINK_SENT, 0 },
		{ METRIC_GPU_PCIE_REPLAYS, 5 },
		{ METRIC_GPU_ECC_CORRECTED, 6 },
		{ METRIC_GPU_ECC_UNCORRECTED, 7 },
		{ METRIC_GPU_PCIE_GENERATION, 4 },
		{ METRIC_GPU_PCIE_GENERATION_MAX, 5 },
		{ METRIC_GPU_PCIE_WIDTH, 8 },
		{ METRIC_GPU_PCIE_WIDTH_MAX, 16 },
		{ METRIC_GPU_SM_ACTIVE, 0.5 },
		{ METRIC_GPU_SM_OCCUPANCY, 0.25 },
		{ METRIC_GPU_TENSOR_ACTIVE, 0.125 },
		{ METRIC_GPU_DRAM_ACTIVE, 0.75 },
	};
	ck_open();
	ck_read(0.2);
	for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
		ck_figure(expected[i].metric, 1, expected[i].value);
	ck_assert_double_gt(set_figure(&set, METRIC_GPU_READING, 0), 0);
	ck_assert_uint_eq(set_count(&set, RECORD_MISSING), 0);
}
END_TEST

START_TEST(throttle_reasons_are_named_and_the_vaguer_one_gives_way)
{
	static const struct {
		const char *line;
		uint32_t expected;
	} cases[] = {
		{ "reasons 1\n", 0 },
		{ "reasons 4\n", 1 << GPU_THROTTLE_POWER_CAP },
		{ "reasons 8\n", 1 << GPU_THROTTLE_HARDWARE },
		{ "reasons 72\n", 1 << GPU_THROTTLE_HEAT },
		{ "reasons 136\n", 1 << GPU_THROTTLE_POWER_BRAKE },
		{ "reasons 50\n",
			1 << GPU_THROTTLE_CLOCKS_SET | 1 << GPU_THROTTLE_SYNC_BOOST | 1 << GPU_THROTTLE_HEAT_SOFTWARE },
	};
	ck_open();
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		fake_gpus_say(&gpus, cases[i].line);
		ck_read((double)i);
		ck_figure(METRIC_GPU_THROTTLE, 1, cases[i].expected);
	}
	fake_gpus_say(&gpus, "reasons none\n");
	ck_read(10);
	ck_absent(METRIC_GPU_THROTTLE, 1);
}
END_TEST

START_TEST(unsupported_figures_are_absent_and_named)
{
	fake_gpus_say(&gpus, "busy !3\npower !3\ntemperature !3\nenergy !3\nclock !3\nreasons !3\ngpm 0\npcie_sent !3\n");
	ck_open();
	ck_read(0.2);
	ck_absent(METRIC_GPU_BUSY, 1);
	ck_absent(METRIC_GPU_POWER, 1);
	ck_absent(METRIC_GPU_ENERGY, 1);
	ck_absent(METRIC_GPU_SM_ACTIVE, 1);
	ck_figure(METRIC_GPU_BUSY, 0, 0.9);
	ck_missing("GPU utilisation", "GPU 1: this GPU or its driver does not report it");
	ck_missing("GPU power", "GPU 1");
	ck_missing("GPU temperature", "GPU 1");
	ck_missing("GPU energy", "GPU 1");
	ck_missing("GPU clock", "GPU 1");
	ck_missing("GPU throttle reasons", "GPU 1");
	ck_missing("GPU activity", "Hopper");
	/* Reported once, and withdrawn. */
	ck_read(1);
	ck_assert_uint_eq(set_count(&set, RECORD_MISSING), 0);
	fake_gpus_say(&gpus, "");
	ck_read(2);
	ck_assert_ptr_null(set_missing(&set, "GPU power")->missing.text);
	ck_figure(METRIC_GPU_POWER, 1, 300.5);
}
END_TEST

START_TEST(all_ones_and_what_no_gpu_can_be_is_no_figure)
{
	static const char *const scripts[] = {
		"busy none\nmemory_busy none\nclock none\ntemperature none\npower none\nenergy none\npcie_sent none\nreplays "
		"none\ngeneration none\nwidth none\n",
		"busy 101\nmemory_busy 255\nclock 60000\ntemperature 60000\npower 99999\npcie_sent !999\nreplays "
		"!999\ngeneration 200\nwidth 4000\nenergy !999\n",
	};
	static const enum metric metrics[] = { METRIC_GPU_BUSY, METRIC_GPU_MEMORY_BUSY, METRIC_GPU_CLOCK,
		METRIC_GPU_TEMPERATURE, METRIC_GPU_POWER, METRIC_GPU_ENERGY, METRIC_GPU_PCIE_SENT, METRIC_GPU_PCIE_REPLAYS,
		METRIC_GPU_PCIE_GENERATION, METRIC_GPU_PCIE_WIDTH };
	ck_open();
	for (size_t i = 0; i < 2; i++) {
		fake_gpus_say(&gpus, scripts[i]);
		ck_read(3 * (double)i);
		for (size_t n = 0; n < sizeof metrics / sizeof *metrics; n++)
			ck_absent(metrics[n], 1);
	}
}
END_TEST

START_TEST(more_in_use_than_there_is_is_no_figure)
{
	fake_gpus_say(&gpus, "memory 10Gi\nused 90Gi\n");
	ck_open();
	ck_read(0);
	ck_absent(METRIC_GPU_MEMORY_USED, 1);
	ck_figure(METRIC_GPU_MEMORY, 1, 10 * 0x1p30);
}
END_TEST

START_TEST(a_gpu_without_memory_of_its_own_shows_the_machines)
{
	fake_proc_put(&gpus.proc, "meminfo", "MemTotal:       1000 kB\nMemFree:        100 kB\nMemAvailable:   400 kB\n");
	fake_gpus_say(&gpus, "memory !3\n");
	ck_open();
	ck_read(0);
	ck_figure(METRIC_GPU_MEMORY, 1, 1000 * 1024);
	ck_figure(METRIC_GPU_MEMORY_USED, 1, 600 * 1024);
	ck_missing("GPU memory", "GPU 1: unified memory");
}
END_TEST

/* -- drivers of other times -- */

START_TEST(an_old_driver_is_asked_by_its_older_calls)
{
	use("old");
	fake_proc_add(&gpus.proc, 200, 1, "other");
	fake_gpus_say(&gpus, "process 100 compute 3Gi 40\nprocess 200 graphics 1Gi\n");
	ck_open();
	ck_read(0);
	ck_figure(METRIC_GPU_BUSY, 0, 0.9);
	ck_figure(METRIC_GPU_MEMORY_USED, 0, 21 * 0x1p30); /* the older call counts what is reserved as used */
	ck_absent(METRIC_GPU_MEMORY_RESERVED, 0);
	ck_figure(METRIC_GPU_TEMPERATURE, 0, 60);
	ck_figure(METRIC_GPU_POWER_LIMIT, 0, 700);
	ck_figure(METRIC_GPU_ENERGY, 0, 4000);
	ck_figure(METRIC_GPU_THROTTLE, 0, 0);
	ck_figure(METRIC_GPU_ECC_UNCORRECTED, 0, 7);
	ck_figure(METRIC_GPU_PCIE_REPLAYS, 0, 5);
	ck_assert(user_of(1, 100)->memory_bytes == 3 * 0x1p30);
	ck_assert(user_of(1, 100)->busy_ratio == 0.4);
	ck_assert(user_of(1, 200)->memory_bytes == 0x1p30 && user_of(1, 200)->kind == GPU_PROCESS_GRAPHICS);
	ck_missing("GPU activity", "need driver 520");
	ck_assert_ptr_nonnull(row_of(1));
	ck_assert_str_eq(row_of(1)->pci, "000a:2c:00.0");
}
END_TEST

START_TEST(lists_of_32_bytes_are_distinguished_from_those_of_24)
{
	for (int pid = 201; pid <= 203; pid++)
		fake_proc_add(&gpus.proc, pid, 1, "other");
	fake_gpus_say(&gpus, "process 201 compute 1Gi\nprocess 202 compute 2Gi 70\nprocess 203 compute 3Gi\n");
	static const char *const kinds[] = { "r535", "" };
	for (size_t i = 0; i < 2; i++) {
		use(kinds[i]);
		ck_open();
		ck_read(0);
		ck_assert_uint_eq(users_of(1)->gpu_processes.count, 3);
		for (int pid = 201; pid <= 203; pid++)
			ck_assert(user_of(1, pid) && user_of(1, pid)->memory_bytes == (pid - 200) * 0x1p30);
		ck_assert(user_of(1, 202)->busy_ratio == 0.7 && user_of(1, 201)->busy_ratio == 0);
		ck_assert_str_eq(user_of(1, 201)->command, "other");
		nvidia_gpus.close(state);
		state = NULL;
	}
}
END_TEST

START_TEST(a_library_with_next_to_nothing_gives_gpus_without_figures)
{
	use("bare");
	ck_open();
	ck_read(0);
	ck_assert_str_eq(row_of(0)->name, "GPU");
	ck_assert_str_eq(row_of(0)->driver, "nvidia");
	for (size_t i = 0; i < set.count; i++)
		ck_assert(set.records[i].kind != RECORD_FIGURE || set.records[i].figure.metric == METRIC_GPU_READING);
	ck_missing("GPU utilisation", "GPU 0, 1: this driver is too old to report it");
	ck_missing("GPU processes", "too old");
}
END_TEST

/* -- what does not start -- */

static struct reason ck_refused(enum status expected)
{
	struct reason why = { "", "" };
	enum status status = nvidia_gpus.open(&gpus.target, 0, &state, &why);
	ck_assert_msg(status == expected, "%d: %s", status, why.text);
	state = NULL;
	return why;
}

START_TEST(a_library_that_is_not_there_or_not_nvidias_is_named)
{
	gpus.choices.nvml_path = "libnvidia-nothing.so.1";
	struct reason why = ck_refused(STATUS_NOT_FOUND);
	ck_assert_str_eq(why.text, "no NVIDIA driver (libnvidia-nothing.so.1 not found)");
	ck_assert_ptr_nonnull(strstr(why.remedy, "--gpus all"));
	gpus.choices.nvml_path = "libm.so.6";
	ck_assert_str_eq(ck_refused(STATUS_UNSUPPORTED).text, "libm.so.6 is not NVIDIA's management library");
	char path[128];
	snprintf(path, sizeof path, "%s/script", gpus.folder);
	gpus.choices.nvml_path = path;
	ck_assert_ptr_nonnull(strstr(ck_refused(STATUS_IO).text, "cannot be loaded"));
	gpus.choices.no_nvml = true;
	ck_assert_str_eq(ck_refused(STATUS_NOT_FOUND).text, "off (--no-nvml)");
}
END_TEST

START_TEST(a_driver_that_does_not_start_is_reported_with_the_remedy)
{
	fake_proc_put(&gpus.proc, "fake-sys/module/nvidia/version", "570.11\n");
	static const struct {
		const char *script, *text, *remedy;
		enum status status;
	} cases[] = {
		{ "fail nvmlInit 9\n", "the NVIDIA driver is not loaded", "modprobe nvidia", STATUS_NOT_FOUND },
		{ "fail nvmlInit 18\n", "the NVIDIA driver 570.11 in the kernel and its library have different versions",
			"reboot", STATUS_UNSUPPORTED },
		{ "fail nvmlInit 4\n", "no permission to use the NVIDIA driver", "/dev/nvidia", STATUS_DENIED },
		{ "fail nvmlInit 17\n", "this cgroup may not use NVIDIA devices", "--gpus all", STATUS_DENIED },
		{ "fail nvmlInit 999\n", "the NVIDIA driver did not start: an internal driver error", "nvidia-smi", STATUS_IO },
		{ "fail nvmlDeviceGetCount 999\n", "the NVIDIA driver does not list its GPUs: an internal driver error",
			"nvidia-smi", STATUS_IO },
		{ "fail nvmlDeviceGetHandle 4\n", "no permission to use the 2 NVIDIA GPUs", "/dev/nvidia", STATUS_DENIED },
		{ "fail nvmlDeviceGetHandle 15\n", "none of the 2 NVIDIA GPUs can be opened: the GPU has fallen off the bus",
			"nvidia-smi", STATUS_IO },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		fake_gpus_say(&gpus, cases[i].script);
		struct reason why = ck_refused(cases[i].status);
		ck_assert_str_eq(why.text, cases[i].text);
		ck_assert_msg(strstr(why.remedy, cases[i].remedy) != NULL, "%s", why.remedy);
	}
	fake_gpus_say_only(&gpus, "driver 1\n");
	ck_assert_str_eq(ck_refused(STATUS_NOT_FOUND).text, "the NVIDIA driver finds no GPU");
}
END_TEST

START_TEST(the_library_is_searched_in_files_alone)
{
	gpus.choices.nvml_path = NULL;
	ck_assert(!nvidia_gpus.is_here(&gpus.choices));
	fake_proc_put(&gpus.proc, "fake-dev/nvidiactl", "");
	ck_assert(nvidia_gpus.is_here(&gpus.choices));
	gpus.choices.no_nvml = true;
	ck_assert(!nvidia_gpus.is_here(&gpus.choices));
}
END_TEST

START_TEST(one_gpu_that_is_refused_leaves_the_other)
{
	fake_gpus_say(&gpus, "fail nvmlDeviceGetHandle 4 1\n");
	ck_open();
	ck_read(0);
	ck_figure(METRIC_GPU_BUSY, 0, 0.9);
	ck_assert_ptr_null(row_of(1));
	ck_missing("GPUs", "1 of NVIDIA's 2: the driver does not report it to this user");
	ck_assert_ptr_nonnull(set_missing(&set, "GPUs")->missing.remedy);
}
END_TEST

START_TEST(a_refused_query_is_reported_with_a_remedy)
{
	fake_gpus_say(&gpus, "fail nvmlDeviceGetComputeRunningProcesses 4\nfail nvmlGpmSampleGet 4\n");
	ck_open();
	ck_read(0.2);
	ck_missing("GPU processes", "the driver does not report it to this user");
	ck_assert_str_eq(set_missing(&set, "GPU processes")->missing.remedy, "run as root (sudo)");
	ck_missing("GPU activity", "the driver does not report it to this user");
}
END_TEST

/* -- while it runs -- */

/* But that the driver is slow, which it is where others use all CPUs. */
static size_t count_missing(void) { return set_count(&set, RECORD_MISSING) - (set_missing(&set, "GPU pace") != NULL); }

START_TEST(a_gpu_that_is_lost_says_so_once_and_the_other_goes_on)
{
	ck_open();
	ck_read(0);
	fake_gpus_say(&gpus, "fail nvmlDeviceGet 15 1\n");
	ck_read(1);
	ck_assert_str_eq(row_of(1)->lost, "it has fallen off the bus");
	ck_assert_str_eq(set_record(&set, RECORD_GPU_EVENT, 0)->gpu_event.text, "it has fallen off the bus");
	ck_assert_int_eq(set_record(&set, RECORD_GPU_EVENT, 0)->gpu_event.gpu, 1);
	ck_assert_uint_eq(count_missing(), 0);
	ck_figure(METRIC_GPU_BUSY, 0, 0.9);
	ck_read(2);
	ck_assert_uint_eq(set_count(&set, RECORD_GPU) + set_count(&set, RECORD_GPU_EVENT), 0);
	ck_absent(METRIC_GPU_BUSY, 1);
	ck_figure(METRIC_GPU_BUSY, 0, 0.9);
	/* The GPU was reset. */
	fake_gpus_say(&gpus, "");
	ck_read(5);
	ck_assert_ptr_null(row_of(1));
	ck_read(12);
	ck_assert_ptr_null(row_of(1)->lost);
	ck_figure(METRIC_GPU_BUSY, 1, 0.9);
}
END_TEST

static bool read_until(enum record_kind kind, size_t count)
{
	const int64_t deadline_ns = wait_deadline(10);
	do
		ck_assert_int_eq(nvidia_gpus.read(state, clock_monotonic_ns(), &set), STATUS_OK);
	while (set_count(&set, kind) < count && wait_nap(deadline_ns));
	return set_count(&set, kind) >= count;
}

START_TEST(xid_errors_have_a_text_and_their_number)
{
	ck_open();
	fake_gpus_say(&gpus, "xid 1 48 0\nxid 2 4711 1\n");
	ck_assert(read_until(RECORD_GPU_EVENT, 2));
	const struct record *known = set_record(&set, RECORD_GPU_EVENT, 0),
						*unknown = set_record(&set, RECORD_GPU_EVENT, 1);
	ck_assert_str_eq(known->gpu_event.text, "double-bit ECC error (XID 48)");
	ck_assert_uint_eq(known->gpu_event.code, 48);
	ck_assert_int_eq(known->gpu_event.gpu, 0);
	ck_assert_str_eq(unknown->gpu_event.text, "XID 4711");
	ck_assert_int_eq(unknown->gpu_event.gpu, 1);
}
END_TEST

START_TEST(xid_79_is_a_lost_gpu)
{
	ck_open();
	fake_gpus_say(&gpus, "xid 1 79 1\n");
	ck_assert(read_until(RECORD_GPU_EVENT, 1));
	ck_assert_str_eq(row_of(1)->lost, "it has fallen off the bus (XID 79)");
	ck_assert_uint_eq(set_count(&set, RECORD_GPU_EVENT), 1);
}
END_TEST

START_TEST(a_driver_that_was_restarted_fails_the_source)
{
	struct reason why = { "", "" };
	ck_open();
	ck_read(0);
	fake_gpus_say(&gpus, "fail nvmlDeviceGetMemoryInfo 1\n");
	ck_assert_int_eq(read_at(1), STATUS_IO);
	nvidia_gpus.explain(state, &why);
	ck_assert_str_eq(why.text, "the NVIDIA driver was unloaded or restarted");
}
END_TEST

/* An H200 received 5 GB/s: its 32-bit counter wrapped more than once between two readings. */
START_TEST(counter_of_32_bits_has_wrapped_as_often_as_gpm_says)
{
	fake_gpus_say(&gpus, "gpm_pcie_received 5000\npcie_received 1000\n");
	ck_open();
	ck_read(0);
	ck_read(2);
	double before = set_figure(&set, METRIC_GPU_PCIE_RECEIVED, 1);
	fake_gpus_say(&gpus, "gpm_pcie_received 5000\npcie_received 2000\n");
	ck_read(4);
	double more = set_figure(&set, METRIC_GPU_PCIE_RECEIVED, 1) - before;
	ck_assert_msg(fabs(more - (1000 + 2 * 0x1p32)) < 1, "%g", more);
}
END_TEST

START_TEST(counters_that_wrap_or_restart_only_grow)
{
	ck_open();
	fake_gpus_say(&gpus, "pcie_sent 4294967000\n");
	ck_read(0);
	ck_figure(METRIC_GPU_PCIE_SENT, 1, 0);
	fake_gpus_say(&gpus, "pcie_sent 4\n");
	ck_read(1);
	ck_figure(METRIC_GPU_PCIE_SENT, 1, 300);
	fake_gpus_say(&gpus, "pcie_sent 1000004\n");
	ck_read(2);
	ck_figure(METRIC_GPU_PCIE_SENT, 1, 1000300);
	/* Above 32 bits it cannot have wrapped there. */
	fake_gpus_say(&gpus, "pcie_sent 900G\n");
	ck_read(3);
	fake_gpus_say(&gpus, "pcie_sent 500\n");
	ck_read(4);
	ck_figure(METRIC_GPU_PCIE_SENT, 1, 900e9 + 1000300 - 1000004 + 500);
	/* An increase beyond any link's rate is ignored. */
	fake_gpus_say(&gpus, "pcie_sent 9000000G\n");
	ck_read(5);
	ck_figure(METRIC_GPU_PCIE_SENT, 1, 900e9 + 1000300 - 1000004 + 500);
}
END_TEST

START_TEST(without_counters_the_measured_rates_are_summed_up)
{
	fake_gpus_say(&gpus,
		"pcie_sent !3\npcie_received !3\nnvlink_sent !3\nnvlink_received !3\n"
		"gpm_pcie_sent 100\ngpm_pcie_received 200\ngpm_nvlink_sent 0\ngpm_nvlink_received 0\n");
	ck_open();
	ck_read(0.2);
	double before = set_figure(&set, METRIC_GPU_PCIE_RECEIVED, 1);
	ck_read(2.2);
	double more = set_figure(&set, METRIC_GPU_PCIE_RECEIVED, 1) - before;
	ck_assert_msg(fabs(more - 2 * 200 * 0x1p20) < 0.01 * 0x1p20, "%g", more);
	ck_absent(METRIC_GPU_NVLINK_SENT, 1);
}
END_TEST

START_TEST(time_throttled_by_an_older_driver_is_its_one_counter)
{
	fake_gpus_say(&gpus, "throttled_heat !3\nthrottled_heat_software !3\nthrottled_brake !3\nthrottled_thermal 9\n");
	ck_open();
	ck_read(0);
	ck_figure(METRIC_GPU_THROTTLED_THERMAL, 1, 9e9);
	ck_figure(METRIC_GPU_THROTTLED_POWER, 1, 4e9);
	/* A newer sample would look like elapsed time. */
	fake_gpus_say(&gpus, "throttled_thermal 10\nthrottled_brake !3\n");
	ck_read(2);
	ck_figure(METRIC_GPU_THROTTLED_THERMAL, 1, 10e9);
}
END_TEST

/* -- processes -- */

START_TEST(the_targets_own_and_others_are_users)
{
	fake_proc_add(&gpus.proc, 200, 1, "other");
	fake_gpus_say(&gpus,
		"process 100 compute 3Gi 40\nprocess 100 graphics 3Gi\nprocess 200 mps none\nprocess 77777 compute 1Gi\n");
	ck_open();
	ck_read(0);
	ck_assert_uint_eq(users_of(0)->gpu_processes.count, 0);
	ck_assert_uint_eq(users_of(1)->gpu_processes.count, 2);
	const struct gpu_process_row *own = user_of(1, 100), *other = user_of(1, 200);
	ck_assert(own->kind == (GPU_PROCESS_COMPUTE | GPU_PROCESS_GRAPHICS) && own->memory_bytes == 3 * 0x1p30 &&
		own->busy_ratio == 0.4);
	ck_assert_str_eq(own->command, "");
	ck_assert_str_eq(other->command, "other");
	ck_assert(isnan(other->memory_bytes) && other->busy_ratio == 0);
	ck_missing("GPU memory of processes", "GPU 1");
}
END_TEST

START_TEST(junk_samples_of_use_are_left_out)
{
	fake_gpus_say(&gpus,
		"process 100 compute 3Gi 40\nsample 100 250 0\nsample 100 60 0.5\nsample 100 90 60\nsample 100 5 -90\nsample "
		"4711 50 0\nsample 0 50 0\n");
	ck_open();
	ck_read(0);
	/* 40 now and 60 half a second ago; 250 %, a sample a minute old and one of the future do not count. */
	ck_assert_double_eq_tol(user_of(1, 100)->busy_ratio, 0.5, 1e-9);
	ck_assert_uint_eq(users_of(1)->gpu_processes.count, 1);
	/* No new samples: idle. */
	fake_gpus_say(&gpus, "process 100 compute 3Gi\nsample 100 60 30\n");
	ck_read(3);
	ck_assert(user_of(1, 100)->busy_ratio == 0);
	fake_gpus_say(&gpus, "process 100 compute 3Gi\nfail nvmlDeviceGetProcessesUtilizationInfo 3\n");
	ck_read(6);
	ck_assert(isnan(user_of(1, 100)->busy_ratio));
}
END_TEST

START_TEST(more_processes_than_were_expected_are_all_read)
{
	enum { MANY = 150 };
	static char script[MANY * 40];
	size_t used = 0;
	for (int i = 0; i < MANY; i++) {
		fake_proc_add(&gpus.proc, 1000 + i, 1, "rank");
		used += (size_t)snprintf(script + used, sizeof script - used, "process %d compute %dM 1\n", 1000 + i, i + 1);
	}
	fake_gpus_say(&gpus, script);
	ck_open();
	ck_read(0);
	ck_assert_uint_eq(users_of(1)->gpu_processes.count, MANY);
	ck_assert(user_of(1, 1000 + MANY - 1)->memory_bytes == MANY * 1e6);
}
END_TEST

static void put_inside(void)
{
	char path[128];
	fake_proc_put(&gpus.proc, "self/ns/none", "");
	snprintf(path, sizeof path, "%s/self/ns/pid", gpus.proc.root);
	ck_assert_int_eq(symlink("pid:[4026532222]", path), 0);
}

static void put_device(int pid)
{
	char path[128];
	snprintf(path, sizeof path, "%d/fd/none", pid);
	fake_proc_put(&gpus.proc, path, "");
	snprintf(path, sizeof path, "%s/%d/fd/7", gpus.proc.root, pid);
	ck_assert_int_eq(symlink("/dev/nvidia0", path), 0);
}

START_TEST(pids_of_the_host_are_hidden_and_never_taken_for_ours)
{
	put_inside();
	fake_proc_add(&gpus.proc, 200, 1, "shell");
	fake_gpus_say(&gpus, "process 200 compute 1Gi 10\nprocess 48213 compute 2Gi 20\n");
	ck_open();
	ck_read(0);
	/* 200 is a local process without an open GPU: the driver means another pid namespace. */
	ck_assert_uint_eq(users_of(1)->gpu_processes.count, 1);
	ck_assert(user_of(1, 0)->memory_bytes == 3 * 0x1p30);
	ck_missing("GPU processes", "GPU 1: 2 hidden: they run outside this container");
	ck_assert_str_eq(set_missing(&set, "GPU processes")->missing.remedy, "run the container with --pid=host");
	fake_gpus_say(&gpus, "");
	ck_read(3);
	ck_assert_ptr_null(set_missing(&set, "GPU processes")->missing.text);
}
END_TEST

START_TEST(inside_a_container_a_process_with_the_device_open_is_known)
{
	put_inside();
	put_device(FAKE_TARGET);
	fake_gpus_say(&gpus, "process 100 compute 1Gi 10\n");
	ck_open();
	ck_read(0);
	ck_assert(user_of(1, 100)->memory_bytes == 0x1p30);
	ck_assert_uint_eq(set_count(&set, RECORD_MISSING), 0);
}
END_TEST

START_TEST(a_process_is_known_by_the_number_it_has_further_in)
{
	fake_proc_puts(&gpus.proc, FAKE_TARGET, "status", "Name:\ttrain.py\nNSpid:\t100\t17\nVmRSS:\t1 kB\n");
	fake_gpus_say(&gpus, "process 17 compute 1Gi 10\n");
	ck_open();
	ck_read(0);
	ck_assert(user_of(1, 100)->memory_bytes == 0x1p30);
}
END_TEST

START_TEST(facts_about_a_process_are_cached)
{
	fake_proc_add(&gpus.proc, 200, 1, "first");
	fake_gpus_say(&gpus, "process 200 compute 1Gi\n");
	ck_open();
	ck_read(0);
	ck_assert_str_eq(user_of(1, 200)->command, "first");
	fake_proc_puts(&gpus.proc, 200, "comm", "second\n");
	fake_proc_puts(&gpus.proc, 200, "cmdline", "second");
	ck_read(4);
	ck_assert_str_eq(user_of(1, 200)->command, "first");
	ck_read(14);
	ck_assert_str_eq(user_of(1, 200)->command, "second");
	fake_proc_end(&gpus.proc, 200);
	ck_read(17);
	ck_assert_uint_eq(users_of(1)->gpu_processes.count, 0);
}
END_TEST

START_TEST(a_members_numbers_are_read_once_and_those_of_a_new_one_are_found)
{
	fake_proc_puts(&gpus.proc, FAKE_TARGET, "status", "Name:\ttrain.py\nNSpid:\t100\t17\n");
	fake_gpus_say(&gpus, "process 17 compute 1Gi 10\nprocess 18 compute 2Gi 10\n");
	ck_open();
	ck_read(0);
	ck_assert_uint_eq(users_of(1)->gpu_processes.count, 1);
	fake_proc_puts(&gpus.proc, FAKE_TARGET, "status", "Name:\ttrain.py\nNSpid:\t100\t99\n");
	fake_proc_add(&gpus.proc, 101, FAKE_TARGET, "worker");
	fake_proc_puts(&gpus.proc, 101, "status", "Name:\tworker\nNSpid:\t101\t18\n");
	fake_proc_puts(&gpus.proc, FAKE_TARGET, "task/100/children", "101 ");
	ck_assert_int_eq(target_refresh(&gpus.target), STATUS_OK);
	ck_read(3);
	ck_assert(user_of(1, 100)->memory_bytes == 0x1p30);
	ck_assert(user_of(1, 101)->memory_bytes == 2 * 0x1p30);
}
END_TEST

START_TEST(a_process_newer_than_the_last_sample_is_not_idle)
{
	/* Utilization is slow to read: it is read less often than the list of processes. */
	fake_gpus_say(&gpus, "burn nvmlDeviceGetProcessesUtilizationInfo 4000\nprocess 100 compute 1Gi 40\n");
	fake_proc_add(&gpus.proc, 200, 1, "other");
	ck_open();
	ck_read(0);
	ck_read(2);
	ck_assert(user_of(1, 100)->busy_ratio == 0.4);
	fake_gpus_say(&gpus, "process 100 compute 1Gi 40\nprocess 200 compute 1Gi 5\n");
	ck_read(4);
	ck_assert(user_of(1, 100)->busy_ratio == 0.4);
	ck_assert(isnan(user_of(1, 200)->busy_ratio));
}
END_TEST

/* -- parts -- */

#define PARTS \
	"mig 1\nbusy !3\nsm 99\n" \
	"part NVIDIA H100 80GB HBM3 MIG 3g.40gb\ninstance 2\nmemory 40Gi\nused 10Gi\nprocess 100 compute 9Gi\nsm 30\n" \
	"part NVIDIA H100 80GB HBM3\ninstance 9\nmemory 10Gi\nused 1Gi\nslices 1\nsm 20\n"

START_TEST(parts_are_devices_with_their_own_memory_and_processes)
{
	fake_gpus_say(&gpus, PARTS);
	ck_open();
	ck_read(0.2);
	const struct gpu_row *first = row_of(116), *second = row_of(117);
	ck_assert(first && second && first->parent == 1 && second->index == 1);
	ck_assert_str_eq(first->name, "3g.40gb");
	ck_assert_str_eq(second->name, "1g.10gb");
	ck_assert_str_eq(first->uuid, "MIG-00000001-0001-0000-0000-000000000000");
	ck_assert_str_eq(first->pci, row_of(1)->pci);
	ck_figure(METRIC_GPU_MEMORY, 116, 40 * 0x1p30);
	ck_figure(METRIC_GPU_MEMORY_USED, 117, 0x1p30);
	ck_assert(user_of(116, 100)->memory_bytes == 9 * 0x1p30 && isnan(user_of(116, 100)->busy_ratio));
	ck_assert_ptr_null(users_of(1));
	ck_missing("GPU utilisation", "GPU 1: not reported in MIG mode");
	ck_figure(METRIC_GPU_POWER, 1, 300.5);
	ck_absent(METRIC_GPU_POWER, 116);
	ck_read(1.3);
	ck_figure(METRIC_GPU_SM_ACTIVE, 116, 0.3);
}
END_TEST

START_TEST(a_part_that_is_removed_says_so_and_a_new_one_is_found)
{
	fake_gpus_say(&gpus, PARTS);
	ck_open();
	ck_read(0);
	fake_gpus_say(&gpus,
		"mig 1\nbusy !3\npart NVIDIA H100 80GB HBM3 MIG 7g.80gb\nuuid MIG-new\ninstance 0\nmemory 80Gi\nused 0\n");
	ck_read(11);
	const struct record *emitted = set_record(&set, RECORD_GPU, 0);
	ck_assert_str_eq(emitted->gpu->lost, "this MIG instance was removed");
	ck_assert_str_eq(row_of(116)->name, "7g.80gb");
	ck_assert_ptr_null(row_of(116)->lost);
	ck_assert_str_eq(row_of(117)->lost, "this MIG instance was removed");
	ck_figure(METRIC_GPU_MEMORY, 116, 80 * 0x1p30);
	ck_absent(METRIC_GPU_MEMORY, 117);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		each_gpu_is_described_before_its_first_figure,
		figures_have_their_units,
		throttle_reasons_are_named_and_the_vaguer_one_gives_way,
		unsupported_figures_are_absent_and_named,
		all_ones_and_what_no_gpu_can_be_is_no_figure,
		more_in_use_than_there_is_is_no_figure,
		a_gpu_without_memory_of_its_own_shows_the_machines,
		an_old_driver_is_asked_by_its_older_calls,
		lists_of_32_bytes_are_distinguished_from_those_of_24,
		a_library_with_next_to_nothing_gives_gpus_without_figures,
		a_library_that_is_not_there_or_not_nvidias_is_named,
		a_driver_that_does_not_start_is_reported_with_the_remedy,
		the_library_is_searched_in_files_alone,
		one_gpu_that_is_refused_leaves_the_other,
		a_refused_query_is_reported_with_a_remedy,
		a_gpu_that_is_lost_says_so_once_and_the_other_goes_on,
		xid_errors_have_a_text_and_their_number,
		xid_79_is_a_lost_gpu,
		a_driver_that_was_restarted_fails_the_source,
		counter_of_32_bits_has_wrapped_as_often_as_gpm_says,
		counters_that_wrap_or_restart_only_grow,
		without_counters_the_measured_rates_are_summed_up,
		time_throttled_by_an_older_driver_is_its_one_counter,
		the_targets_own_and_others_are_users,
		junk_samples_of_use_are_left_out,
		more_processes_than_were_expected_are_all_read,
		pids_of_the_host_are_hidden_and_never_taken_for_ours,
		inside_a_container_a_process_with_the_device_open_is_known,
		a_process_is_known_by_the_number_it_has_further_in,
		facts_about_a_process_are_cached,
		a_members_numbers_are_read_once_and_those_of_a_new_one_are_found,
		a_process_newer_than_the_last_sample_is_not_idle,
		parts_are_devices_with_their_own_memory_and_processes,
		a_part_that_is_removed_says_so_and_a_new_one_is_found,
	};
	Suite *suite = suite_create("NVIDIA's GPUs");
	TCase *cases = tcase_create("fake library");
	tcase_add_checked_fixture(cases, setup, teardown);
	for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
		tcase_add_test(cases, tests[i]);
	tcase_set_timeout(cases, 20);
	suite_add_tcase(suite, cases);
	return suite_run(suite);
}
