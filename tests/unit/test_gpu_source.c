#include <check.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/collect/collector.h"
#include "src/sources/gpu/gpu.h"
#include "tests/support/children.h"
#include "tests/support/fake_gpus.h"
#include "tests/support/sets.h"
#include "tests/support/suite.h"
#include "tests/support/waiting.h"

static struct fake_gpus gpus;
static struct sample_set set;
static struct reason reason;
static struct collector *collector;
static char program[512];

static void setup(void)
{
	const char *build = getenv("PMTOP_BUILD");
	fake_gpus_open(&gpus, "");
	snprintf(program, sizeof program, "%s/pmtop", build ? build : "build");
	collector = NULL;
}

static void teardown(void)
{
	sample_set_release(&set);
	fake_gpus_close(&gpus);
}

/* -- the drivers themselves -- */

START_TEST(without_gpus_one_line_names_all_vendors)
{
	void *state;
	gpus.choices.nvml_path = "libnvidia-nothing.so.1";
	ck_assert_int_eq(gpu_direct_source.open(&gpus.target, &state, &reason), STATUS_NOT_FOUND);
	ck_assert_msg(
		strncmp(reason.text, "no NVIDIA driver (libnvidia-nothing.so.1 not found)", 51) == 0, "%s", reason.text);
	ck_assert_ptr_null(strchr(reason.text, '\n'));
	gpus.choices.no_nvml = true;
	ck_assert_int_eq(gpu_direct_source.open(&gpus.target, &state, &reason), STATUS_NOT_FOUND);
	ck_assert_msg(strstr(reason.text, "no GPU driver is loaded (NVIDIA, "), "%s", reason.text);
}
END_TEST

START_TEST(a_failing_vendor_is_reported_before_absent_ones)
{
	void *state;
	fake_gpus_say(&gpus, "fail nvmlInit 18\n");
	ck_assert_int_eq(gpu_direct_source.open(&gpus.target, &state, &reason), STATUS_UNSUPPORTED);
	ck_assert_str_eq(reason.text, "the NVIDIA driver in the kernel and its library have different versions");
}
END_TEST

START_TEST(a_driver_that_goes_away_fails_the_source_with_its_reason)
{
	void *state;
	ck_assert_int_eq(gpu_direct_source.open(&gpus.target, &state, &reason), STATUS_OK);
	ck_assert_int_eq(gpu_direct_source.read(state, fake_gpus_at(&gpus, 0), &set), STATUS_OK);
	ck_assert(set_figure(&set, METRIC_GPU_BUSY, 0) == 0.9);
	fake_gpus_say(&gpus, "fail nvmlDeviceGetUtilizationRates 1\n");
	sample_set_clear(&set);
	ck_assert_int_eq(gpu_direct_source.read(state, fake_gpus_at(&gpus, 1), &set), STATUS_IO);
	gpu_direct_source.explain(state, &reason);
	ck_assert_str_eq(reason.text, "the NVIDIA driver was unloaded or restarted");
	/* It stands for all: none of its own is left. */
	ck_assert_ptr_null(set_missing(&set, "NVIDIA GPUs")->missing.text);
	gpu_direct_source.close(state);
}
END_TEST

/* -- what everybody else reads -- */

START_TEST(nothing_is_started_where_no_gpu_is_expected)
{
	void *state;
	gpus.choices.nvml_path = NULL;
	gpus.choices.program = "/nothing/pmtop";
	ck_assert(!gpu_is_expected(&gpus.choices));
	ck_assert_int_eq(gpu_source.open(&gpus.target, &state, &reason), STATUS_NOT_FOUND);
	ck_assert_msg(strstr(reason.text, "no GPU driver is loaded (NVIDIA, "), "%s", reason.text);
	gpus.choices.no_nvml = true;
	ck_assert_int_eq(gpu_source.open(&gpus.target, &state, &reason), STATUS_NOT_FOUND);
	ck_assert_ptr_nonnull(strstr(reason.remedy, "--no-nvml"));
	gpus.choices.program = NULL;
	ck_assert_int_eq(gpu_source.open(&gpus.target, &state, &reason), STATUS_NOT_FOUND);
	ck_assert_str_eq(reason.text, "this program does not read GPUs");
}
END_TEST

START_TEST(an_ended_run_is_not_read_and_misses_nothing)
{
	void *state;
	struct target ended = { .proc_root = "/proc", .pidfd = -1, .choices = &gpus.choices };
	gpus.choices.program = "/nothing/pmtop";
	ck_assert_int_eq(gpu_source.open(&ended, &state, &reason), STATUS_OK);
	ck_assert_int_eq(gpu_source.read(state, fake_gpus_at(&gpus, 0), &set), STATUS_END);
	ck_assert_uint_eq(set.count, 0);
	gpu_source.close(state);
}
END_TEST

static void ck_start(const struct source *source, struct target *target)
{
	ck_assert_msg(
		collector_start_with(&source, 1, target, 20 * NS_PER_MS, &collector, &reason) == STATUS_OK, "%s", reason.text);
}

/* Takes sets until one of them has a record of this kind. */
static void ck_comes(enum record_kind kind, bool is_snapshot)
{
	for (int64_t until_ns = clock_monotonic_ns() + 10 * NS_PER_S; clock_monotonic_ns() < until_ns;) {
		struct pollfd waiting = { .fd = collector_fd(collector), .events = POLLIN };
		poll(&waiting, 1, 1000);
		if (collector_take(collector, &set) && set.is_snapshot == is_snapshot && set_count(&set, kind))
			return;
	}
	ck_abort_msg("no %s", record_kind_name(kind));
}

START_TEST(a_snapshot_has_gpus_and_their_users)
{
	fake_gpus_say(&gpus, "process 100 compute 3Gi 40\n");
	ck_start(&gpu_direct_source, &gpus.target);
	ck_comes(RECORD_GPU_PROCESSES, false);
	collector_want_snapshot(collector);
	ck_comes(RECORD_GPU, true);
	ck_assert_uint_eq(set_count(&set, RECORD_GPU), 2);
	ck_assert_uint_eq(set_count(&set, RECORD_GPU_PROCESSES), 2);
	ck_assert_str_eq(set_record(&set, RECORD_GPU, 1)->gpu->name, "H100 80GB HBM3");
	const struct record *users = set_record(&set, RECORD_GPU_PROCESSES, 1);
	ck_assert(users->gpu_processes.gpu == 1 && users->gpu_processes.count == 1);
	ck_assert(users->gpu_processes.rows[0].pid == 100 && users->gpu_processes.rows[0].memory_bytes == 3 * 0x1p30);
	ck_assert_int_eq(set_record(&set, RECORD_GPU, 1)->time_ns, set.time_ns);
	collector_stop(collector);
}
END_TEST

static void wait_body(void *argument, int in, int out)
{
	(void)argument;
	child_ready(out);
	child_wait(in);
}

static bool has_started(void *context)
{
	(void)context;
	return !collector_is_starting(collector);
}

static bool has_ended(void *context)
{
	(void)context;
	collector_take(collector, &set);
	return collector_has_ended(collector);
}

START_TEST(a_child_emits_the_same_and_its_start_is_awaited)
{
	struct target target;
	struct child child = child_start(wait_body, NULL);
	child_await(&child);
	ck_assert_int_eq(target_open(&target, child.pid, "/proc", &reason), STATUS_OK);
	target.choices = &gpus.choices;
	gpus.choices.program = program;
	setenv("PMTOP_NVML", gpus.nvml, 1);
	fake_gpus_say(&gpus, "process watched compute 3Gi 40\n");
	ck_start(&gpu_source, &target);
	ck_assert(collector_is_starting(collector));
	ck_comes(RECORD_GPU, false);
	/* The sampler's thread notes it after it has delivered the set. */
	ck_assert(wait_until(has_started, NULL, 5));
	ck_assert(set_figure(&set, METRIC_GPU_SM_ACTIVE, 1) == 0.5);
	/* Its overhead is emitted beside pmtop's own. */
	ck_assert(set_figure(&set, METRIC_SELF_CPU, 1) > 0 && set_figure(&set, METRIC_SELF_RESIDENT, 1) > 1e6);
	const struct record *users = set_record(&set, RECORD_GPU_PROCESSES, 1);
	ck_assert(users->gpu_processes.count == 1 && users->gpu_processes.rows[0].pid == child.pid);
	collector_want_snapshot(collector);
	ck_comes(RECORD_GPU_PROCESSES, true);
	/* It ends with the target. */
	child_kill(&child);
	ck_assert(wait_until(has_ended, NULL, 10));
	collector_stop(collector);
}
END_TEST

START_TEST(a_childs_own_reason_wins)
{
	struct target target;
	struct child child = child_start(wait_body, NULL);
	child_await(&child);
	ck_assert_int_eq(target_open(&target, child.pid, "/proc", &reason), STATUS_OK);
	target.choices = &gpus.choices;
	gpus.choices.program = program;
	setenv("PMTOP_NVML", gpus.nvml, 1);
	fake_gpus_say(&gpus, "fail nvmlInit 9\n");
	ck_start(&gpu_source, &target);
	ck_comes(RECORD_MISSING, false);
	ck_assert_str_eq(set_missing(&set, "gpu")->missing.text, "the NVIDIA driver is not loaded");
	fake_gpus_say(&gpus, "");
	ck_comes(RECORD_GPU, false);
	ck_assert_ptr_null(set_missing(&set, "gpu")->missing.text);
	collector_stop(collector);
	child_kill(&child);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("GPUs of all vendors");
	TCase *cases = tcase_create("gpu");
	tcase_add_checked_fixture(cases, setup, teardown);
	tcase_add_test(cases, without_gpus_one_line_names_all_vendors);
	tcase_add_test(cases, a_failing_vendor_is_reported_before_absent_ones);
	tcase_add_test(cases, a_driver_that_goes_away_fails_the_source_with_its_reason);
	tcase_add_test(cases, nothing_is_started_where_no_gpu_is_expected);
	tcase_add_test(cases, an_ended_run_is_not_read_and_misses_nothing);
	tcase_add_test(cases, a_snapshot_has_gpus_and_their_users);
	tcase_add_test(cases, a_child_emits_the_same_and_its_start_is_awaited);
	tcase_add_test(cases, a_childs_own_reason_wins);
	tcase_set_timeout(cases, 40);
	suite_add_tcase(suite, cases);
	return suite_run(suite);
}
