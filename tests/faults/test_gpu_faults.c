/* Fault 53 of tests/README.md: NVIDIA's library is missing, hangs, fails, crashes or lies. Other sources keep their
 * sampling interval. */
#include <check.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/collect/collector.h"
#include "src/sources/source.h"
#include "tests/support/children.h"
#include "tests/support/fake_gpus.h"
#include "tests/support/sets.h"
#include "tests/support/suite.h"
#include "tests/support/waiting.h"
#include "ui/views/gpu/gpu_processes.h"

#define PERIOD_NS (20 * NS_PER_MS)
#define SILENCE_NS (1 * NS_PER_S) /* a sanitized reader begins slowly on a busy machine */

static struct fake_gpus gpus;
static struct target target;
static struct child watched;
static struct collector *collector;
static struct sample_set set;
static struct reason reason;
static char program[512];
static int own_turns;
static int64_t last_ns, longest_ns; /* between two readings of our own source */

static void wait_body(void *argument, int in, int out)
{
	(void)argument;
	child_ready(out);
	child_wait(in);
}

static void setup(void)
{
	const char *build = getenv("PMTOP_BUILD");
	fake_gpus_open(&gpus, "");
	snprintf(program, sizeof program, "%s/pmtop", build ? build : "build");
	setenv("PMTOP_NVML", gpus.nvml, 1);
	gpus.choices.program = program;
	gpus.choices.gpu_silence_ns = SILENCE_NS;
	watched = child_start(wait_body, NULL);
	child_await(&watched);
	ck_assert_int_eq(target_open(&target, watched.pid, "/proc", &reason), STATUS_OK);
	target.choices = &gpus.choices;
	last_ns = longest_ns = 0;
}

static void teardown(void)
{
	collector_stop(collector);
	child_kill(&watched);
	sample_set_release(&set);
	fake_gpus_close(&gpus);
}

/* A source that every reading includes, like the region source. */
static enum status open_own(struct target *whose, void **state, struct reason *why_not)
{
	(void)whose, (void)why_not;
	*state = &own_turns;
	return STATUS_OK;
}

static enum status read_own(void *state, int64_t now_ns, struct sample_set *out)
{
	sample_set_figure(out, now_ns, METRIC_SYSTEM_RUNNING, 0, ++*(int *)state);
	return STATUS_OK;
}

static void close_own(void *state) { (void)state; }

static const struct source own_source = { .name = "own", .open = open_own, .read = read_own, .close = close_own };

static void ck_start(void)
{
	static const struct source *const sources[] = { &own_source, &gpu_source };
	ck_assert_msg(
		collector_start_with(sources, 2, &target, PERIOD_NS, &collector, &reason) == STATUS_OK, "%s", reason.text);
}

static bool take(void)
{
	struct pollfd waiting = { .fd = collector_fd(collector), .events = POLLIN };
	poll(&waiting, 1, 1000);
	if (!collector_take(collector, &set))
		return false;
	ck_assert(!isnan(set_figure(&set, METRIC_SYSTEM_RUNNING, 0)));
	longest_ns = last_ns && set.time_ns - last_ns > longest_ns ? set.time_ns - last_ns : longest_ns;
	last_ns = set.time_ns;
	return true;
}

/* A busy machine may delay a thread; a hanging driver would delay it far longer than this. */
#define PAUSE_MAX_NS (SILENCE_NS / 2)

static const struct record *ck_missing(void)
{
	for (int64_t until_ns = clock_monotonic_ns() + 10 * NS_PER_S; clock_monotonic_ns() < until_ns;) {
		const struct record *missing = take() ? set_missing(&set, "gpu") : NULL;
		if (missing && missing->missing.text)
			return missing;
	}
	ck_abort_msg("nothing is said to be missing");
	return NULL;
}

static void ck_figures(void)
{
	for (int64_t until_ns = clock_monotonic_ns() + 15 * NS_PER_S; clock_monotonic_ns() < until_ns;)
		if (take() && set_figure(&set, METRIC_GPU_BUSY, 1) == 0.9)
			return;
	ck_abort_msg("no figures came");
}

static void ck_words(const struct record *missing, const char *words)
{
	ck_assert_msg(strstr(missing->missing.text, words) != NULL, "%s", missing->missing.text);
}

START_TEST(a_driver_that_hangs_at_the_start_delays_nothing_and_is_tried_again)
{
	fake_gpus_say(&gpus, "hang nvmlInit\n");
	ck_start();
	ck_words(ck_missing(), "the GPU reader sent nothing for");
	fake_gpus_say(&gpus, "");
	ck_figures();
	ck_assert_msg(longest_ns < PAUSE_MAX_NS, "%g ms", (double)longest_ns / 1e6);
}
END_TEST

START_TEST(a_driver_that_hangs_while_it_is_read_is_killed_and_tried_again)
{
	ck_start();
	ck_figures();
	fake_gpus_say(&gpus, "hang nvmlDeviceGetUtilizationRates\n");
	ck_words(ck_missing(), "the GPU reader sent nothing for");
	fake_gpus_say(&gpus, "");
	ck_figures();
	ck_assert_msg(longest_ns < PAUSE_MAX_NS, "%g ms", (double)longest_ns / 1e6);
}
END_TEST

START_TEST(a_driver_that_crashes_takes_its_reader_alone)
{
	ck_start();
	ck_figures();
	fake_gpus_say(&gpus, "crash nvmlDeviceGetMemoryInfo\n");
	ck_words(ck_missing(), "the GPU reader was killed by signal 6");
	fake_gpus_say(&gpus, "");
	ck_figures();
}
END_TEST

START_TEST(a_missing_library_is_named_and_the_rest_goes_on)
{
	setenv("PMTOP_NVML", "libnvidia-nothing.so.1", 1);
	ck_start();
	const struct record *missing = ck_missing();
	ck_words(missing, "no NVIDIA driver (libnvidia-nothing.so.1 not found)");
	ck_assert_ptr_nonnull(strstr(missing->missing.remedy, "install the NVIDIA driver"));
	for (int i = 0; i < 5; i++)
		ck_assert(take());
}
END_TEST

START_TEST(a_driver_that_fails_says_how)
{
	fake_gpus_say(&gpus, "fail nvmlInit 18\n");
	ck_start();
	ck_words(ck_missing(), "have different versions");
}
END_TEST

/* The driver gives impossible values for every figure. */
START_TEST(a_driver_that_lies_gives_no_figure)
{
	fake_gpus_say_only(&gpus,
		"driver \033[31m1\n"
		"time 1\n"
		"gpu \033]52;c;x\a\n"
		"uuid \302\233\n"
		"pci ffffffff:fff:ff\n"
		"busy 4000\nmemory_busy 101\nmemory none\nused none\nclock none\nclock_memory 99999\ntemperature 999\npower "
		"4000000\nenergy none\nreasons none\n"
		"pcie_sent none\nreplays none\necc_corrected none\ngpm 1\nsm 4000\ntensor 300\noccupancy none\ngeneration "
		"99\nwidth 1000\n"
		"process 0 compute none 900\nprocess 4294967295 compute none 101\nsample 4294967295 4000000000 -1000\n");
	ck_start();
	bool is_emitted = false;
	for (int i = 0; i < 100; i++) {
		if (!take())
			continue;
		for (size_t n = 0; n < set.count; n++) {
			const struct record *record = &set.records[n];
			bool is_gpus = record->kind == RECORD_FIGURE && record->figure.metric >= METRIC_GPU_FIRST &&
				record->figure.metric <= METRIC_GPU_LAST;
			ck_assert_msg(!is_gpus || record->figure.metric == METRIC_GPU_READING, "%s is %g",
				metric_table[record->figure.metric].name, record->figure.value);
			ck_assert(record->kind != RECORD_GPU_PROCESSES || record->gpu_processes.count == 0);
			if (record->kind != RECORD_GPU)
				continue;
			is_emitted = true;
			ck_assert(!strchr(record->gpu->name, '\033') && !strchr(record->gpu->driver, '\033') &&
				!strchr(record->gpu->uuid, '\302'));
			ck_assert_str_eq(record->gpu->pci, "");
		}
	}
	ck_assert(is_emitted);
}
END_TEST

/* -- the whole program -- */

static double once_s(const char *view)
{
	char command[1024];
	int64_t from_ns = clock_monotonic_ns();
	snprintf(command, sizeof command, "HOME=%s %s --once --view=%s -p %d > %s/screen 2>&1", gpus.folder, program, view,
		(int)watched.pid, gpus.folder);
	ck_assert_int_eq(system(command), 0);
	return seconds_between(from_ns, clock_monotonic_ns());
}

START_TEST(a_first_picture_does_not_wait_for_a_hanging_driver)
{
	collector = NULL;
	fake_gpus_say(&gpus, "hang nvmlInit\n");
	double seconds = once_s("system");
	ck_assert_msg(seconds > 1.9 && seconds < 8, "%g s", seconds);
	/* pmtop waits no longer than a slow driver needs. */
	fake_gpus_say(&gpus, "slow nvmlInit 400\n");
	seconds = once_s("system");
	ck_assert_msg(seconds > 0.4 && seconds < 5, "%g s", seconds);
}
END_TEST

/* Replaces *pid by that of its child that has loaded the driver. A thread of it may have started it, and others. */
static bool has_reader(void *pid)
{
	char command[160], text[64] = "";
	snprintf(command, sizeof command,
		"for child in $(cat /proc/%d/task/*/children); do grep -q libnvidia-ml /proc/$child/maps && echo $child; done",
		(int)*(pid_t *)pid);
	FILE *children = popen(command, "r");
	bool is_there = children && fgets(text, sizeof text, children) && atoi(text) > 0;
	if (children)
		pclose(children);
	if (is_there)
		*(pid_t *)pid = (pid_t)atoi(text);
	return is_there;
}

static bool has_ended(void *pid)
{
	char name[64], state = 0;
	snprintf(name, sizeof name, "/proc/%d/stat", (int)*(pid_t *)pid);
	FILE *file = fopen(name, "r");
	bool is_running = file && fscanf(file, "%*d (%*[^)]) %c", &state) == 1 && state != 'Z';
	if (file)
		fclose(file);
	return !is_running;
}

/* The end of the pipe ends the reader: a killed pmtop cannot stop it. */
START_TEST(a_reader_that_hangs_ends_when_its_pmtop_was_killed)
{
	collector = NULL;
	fake_gpus_say(&gpus, "hang nvmlDeviceGetUtilizationRates\n");
	pid_t pid = fork();
	if (pid == 0) {
		char number[16], output[96];
		snprintf(number, sizeof number, "%d", (int)watched.pid);
		snprintf(output, sizeof output, "%s/lines", gpus.folder);
		if (freopen(output, "w", stdout))
			execl(program, program, "-b", "-d", "0.1", "-p", number, (char *)NULL);
		_exit(99);
	}
	pid_t reader = pid;
	ck_assert_msg(wait_until(has_reader, &reader, 20), "no child has loaded the driver");
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	ck_assert_msg(wait_until(has_ended, &reader, 5), "the reader is still running");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("GPU faults");
	TCase *cases = tcase_create("driver faults");
	tcase_add_checked_fixture(cases, setup, teardown);
	tcase_add_test(cases, a_driver_that_hangs_at_the_start_delays_nothing_and_is_tried_again);
	tcase_add_test(cases, a_driver_that_hangs_while_it_is_read_is_killed_and_tried_again);
	tcase_add_test(cases, a_driver_that_crashes_takes_its_reader_alone);
	tcase_add_test(cases, a_missing_library_is_named_and_the_rest_goes_on);
	tcase_add_test(cases, a_driver_that_fails_says_how);
	tcase_add_test(cases, a_driver_that_lies_gives_no_figure);
	tcase_add_test(cases, a_first_picture_does_not_wait_for_a_hanging_driver);
	tcase_add_test(cases, a_reader_that_hangs_ends_when_its_pmtop_was_killed);
	tcase_set_timeout(cases, 60);
	suite_add_tcase(suite, cases);
	return suite_run(suite);
}
