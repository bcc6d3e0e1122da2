#include <check.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/collect/child.h"
#include "src/collect/collector.h"
#include "src/samples/stream.h"
#include "src/samples/stream_write.h"
#include "src/sources/target/target.h"
#include "tests/support/sets.h"
#include "tests/support/suite.h"
#include "tests/support/waiting.h"

enum { SETS = 30, LARGE_SETS = 20000, FIGURES = 8, BEATS_MIN = 15, READINGS_MIN = 4 };
#define SHORT_NS (300 * NS_PER_MS)
#define LONG_NS (15 * NS_PER_S)

static char folder[64], path[96], script[512];
static struct sample_set set;
static struct target target;
static void *state;
static int64_t longest_ns; /* longest of all readings */
static int64_t start_ns, silence_ns;

/* -- what a child says: an instance in each dictionary, figures in each set -- */

static void write_recording(unsigned sets, uint16_t major)
{
	struct stream_writer writer = { 0 };
	struct stream_header header = { .pid = 4711 };
	struct buffer out = BUFFER_INIT;
	struct sample_set said = SAMPLE_SET_INIT;
	stream_write_header(&writer, &header, &out);
	for (unsigned i = 0; i < sets; i++) {
		sample_set_clear(&said);
		said.time_ns = 1000 + i;
		if (i % 10 == 0) {
			struct record *record = sample_set_add(&said, RECORD_INSTANCE, 0, said.time_ns);
			record->instance.metric = METRIC_DISK_READ;
			record->instance.name = "card0";
		}
		for (int n = 0; n < FIGURES; n++)
			sample_set_figure(&said, said.time_ns, METRIC_DISK_READ, n, i);
		stream_write_set(&writer, i % 10 == 0 ? BLOCK_DICTIONARY : BLOCK_TICK, &said, &out);
	}
	if (major != STREAM_MAJOR) {
		header.incompatible = 8;
		buffer_clear(&out);
		stream_write_header(&writer, &header, &out);
	}
	FILE *file = fopen(path, "w");
	ck_assert_uint_eq(fwrite(out.data, 1, out.length, file), out.length);
	fclose(file);
	buffer_release(&out);
	sample_set_release(&said);
	stream_writer_release(&writer);
}

static void setup(void)
{
	snprintf(folder, sizeof folder, "/tmp/pmtop-child-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(folder));
	snprintf(path, sizeof path, "%s/said.pmtop", folder);
	write_recording(SETS, STREAM_MAJOR);
	target = (struct target){ .proc_root = "/proc", .pid = 0, .pidfd = -1 };
	state = NULL;
	longest_ns = start_ns = 0;
	silence_ns = SHORT_NS;
}

static void teardown(void)
{
	char command[128];
	if (state)
		child_close(state);
	snprintf(command, sizeof command, "rm -r %s", folder);
	ck_assert_int_eq(system(command), 0);
	sample_set_release(&set);
}

static enum status start(const char *what, struct reason *why)
{
	char *words[] = { "sh", "-c", script, NULL };
	struct child_command command = {
		.name = "the test's reader", .words = words, .silence_ns = silence_ns, .start_ns = start_ns
	};
	snprintf(script, sizeof script, "f=%s; %s", path, what);
	return child_open(&command, &target, &state, why);
}

static void ck_start(const char *what)
{
	struct reason why = { "", "" };
	ck_assert_msg(start(what, &why) == STATUS_OK, "%s", why.text);
}

static enum status read_once(void)
{
	int64_t from_ns = clock_monotonic_ns();
	enum status status = child_read(state, from_ns, &set);
	int64_t took_ns = clock_monotonic_ns() - from_ns;
	longest_ns = took_ns > longest_ns ? took_ns : longest_ns;
	return status;
}

/* Reads until the status is neither OK nor AGAIN, or `records` have come. */
static enum status read_on(size_t records)
{
	enum status status = STATUS_OK;
	const int64_t deadline_ns = wait_deadline(20);
	while (set.count < records && (status == STATUS_OK || status == STATUS_AGAIN) && wait_nap(deadline_ns))
		status = read_once();
	return status;
}

static void ck_fails(enum status expected, const char *words)
{
	struct reason why = { "", "" };
	ck_assert_int_eq(read_on(SIZE_MAX), expected);
	child_explain(state, &why);
	ck_assert_msg(strstr(why.text, words), "%s", why.text);
	ck_assert_msg(strstr(why.text, "the test's reader"), "%s", why.text);
}

START_TEST(records_of_a_child_have_their_times_and_come_once)
{
	ck_start("cat $f; sleep 100");
	ck_assert_int_eq(read_on(SETS * FIGURES - 15), STATUS_OK);
	ck_assert_uint_eq(set_count(&set, RECORD_FIGURE), (SETS - 2) * FIGURES);
	ck_assert_uint_eq(set_count(&set, RECORD_INSTANCE), 1);
	ck_assert_str_eq(set_record(&set, RECORD_INSTANCE, 0)->instance.name, "card0");
	ck_assert_int_eq(set_record(&set, RECORD_FIGURE, 0)->time_ns, 1000);
	ck_assert_int_eq(set.records[set.count - 1].time_ns, 1000 + SETS - 1);
	ck_assert(set.records[set.count - 1].figure.value == SETS - 1);
}
END_TEST

/* Runs the test program itself, as pmtop runs a source that may hang. */
START_TEST(another_pmtop_is_merged)
{
	char what[256], program[192];
	snprintf(program, sizeof program, "%s/pmtop", getenv("PMTOP_BUILD") ? getenv("PMTOP_BUILD") : "build");
	if (access(program, X_OK) != 0)
		return;
	int64_t from_ns = clock_monotonic_ns();
	snprintf(what, sizeof what, "exec %s collect -p %d --only=system -d 0.05", program, (int)getpid());
	ck_start(what);
	ck_assert_int_eq(read_on(100), STATUS_OK);
	size_t busy = 0;
	for (size_t i = 0; i < set.count; i++) {
		ck_assert_int_ge(set.records[i].time_ns, from_ns);
		ck_assert_int_le(set.records[i].time_ns, clock_monotonic_ns());
		busy += set.records[i].kind == RECORD_FIGURE && set.records[i].figure.metric == METRIC_SYSTEM_CPU_BUSY;
	}
	ck_assert_uint_ge(busy, 2);
}
END_TEST

START_TEST(nothing_yet_is_no_success)
{
	ck_start("sleep 0.1; cat $f; sleep 100");
	ck_assert_int_eq(read_once(), STATUS_AGAIN);
	ck_assert_int_eq(read_on(1), STATUS_OK);
}
END_TEST

static bool has_no_child(void *context)
{
	siginfo_t info;
	(void)context;
	return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) < 0 && errno == ECHILD;
}

/* A process that ended without a parent may stay a zombie. */
static bool has_ended(void *stat_path)
{
	char line[512] = "";
	FILE *file = fopen(stat_path, "r");
	bool is_running = file && fgets(line, sizeof line, file) && strstr(line, ") Z ") == NULL;
	if (file)
		fclose(file);
	return !is_running;
}

/* The pid that the script wrote is one of a process that it started. */
static void ck_started_is_gone(void)
{
	char name[128];
	int pid = 0;
	snprintf(name, sizeof name, "%s.pid", path);
	FILE *file = fopen(name, "r");
	ck_assert_int_eq(fscanf(file, "%d", &pid), 1);
	fclose(file);
	snprintf(name, sizeof name, "/proc/%d/stat", pid);
	ck_assert_msg(wait_until(has_ended, name, 5), "%s: still running", name);
}

START_TEST(a_hanging_child_is_killed_with_all_that_it_started)
{
	ck_start("cat $f; (trap '' TERM; sleep 1000) & echo $! > $f.pid; sleep 1000");
	ck_fails(STATUS_IO, "sent nothing for 0.3");
	int64_t from_ns = clock_monotonic_ns();
	child_close(state);
	state = NULL;
	ck_assert_int_lt(clock_monotonic_ns() - from_ns, 50 * NS_PER_MS);
	/* Its end is noticed without a blocking wait. */
	ck_assert(wait_until(has_no_child, NULL, 5));
	ck_started_is_gone();
}
END_TEST

START_TEST(the_first_output_has_a_longer_limit)
{
	start_ns = 20 * NS_PER_S;
	ck_start("sleep 0.8; cat $f; sleep 100");
	ck_assert_int_eq(read_on(SETS * FIGURES - 15), STATUS_OK);
	ck_assert_uint_gt(set.count, 0);
	/* From then on it must go on. */
	ck_fails(STATUS_IO, "sent nothing for 0.3");
}
END_TEST

START_TEST(the_reason_is_how_it_ended)
{
	silence_ns = LONG_NS; /* none of these is silent, but a busy machine may be slow */
	ck_start("cat $f; exit 7");
	ck_fails(STATUS_IO, "ended with status 7");
	ck_assert_uint_ge(set.count, SETS * FIGURES - 16);
	child_close(state);
	ck_start("kill -SEGV $$");
	ck_fails(STATUS_IO, "killed by signal 11");
	child_close(state);
	ck_start("echo sh: no such command; exit 127");
	ck_fails(STATUS_IO, "ended with status 127, and its output is not a pmtop stream");
	child_close(state);
	ck_start("sleep 1000 > /dev/null & echo $! > $f.pid; exit 1");
	ck_fails(STATUS_IO, "ended with status 1");
	ck_started_is_gone();
	child_close(state);
	ck_start("exec >&-; sleep 100");
	ck_fails(STATUS_IO, "closed its output");
}
END_TEST

START_TEST(a_command_that_cannot_be_started_is_reported)
{
	char *words[] = { "/no/such/program", NULL };
	struct child_command command = { .name = "the test's reader", .words = words };
	struct reason why = { "", "" };
	ck_assert_int_eq(child_open(&command, &target, &state, &why), STATUS_IO);
	ck_assert_str_eq(why.text, "the test's reader (/no/such/program) was not started: No such file or directory");
	ck_assert_ptr_null(state);
}
END_TEST

START_TEST(nonsense_and_other_versions_are_refused_by_name)
{
	ck_start("yes");
	ck_fails(STATUS_DAMAGED, "is not a pmtop stream");
	child_close(state);
	ck_start("cat /dev/zero");
	ck_fails(STATUS_DAMAGED, "is not a pmtop stream");
	child_close(state);
	write_recording(SETS, 9);
	ck_start("cat $f; sleep 100");
	ck_fails(STATUS_UNSUPPORTED, "with features unknown here");
}
END_TEST

START_TEST(a_flood_waits_in_its_pipe)
{
	write_recording(LARGE_SETS, STREAM_MAJOR);
	ck_start("cat $f; sleep 100");
	size_t max = 0;
	const int64_t deadline_ns = wait_deadline(60);
	for (size_t figures = 0; figures < (size_t)LARGE_SETS * FIGURES - LARGE_SETS / 10 * FIGURES;) {
		ck_assert(wait_nap(deadline_ns));
		sample_set_clear(&set);
		enum status status = read_once();
		ck_assert(status == STATUS_OK || status == STATUS_AGAIN);
		figures += set_count(&set, RECORD_FIGURE);
		max = set.count > max ? set.count : max;
	}
	/* 256 KiB at a reading; a figure has at least 6 bytes. */
	ck_assert_uint_le(max, 50000);
	ck_assert_msg(longest_ns < 100 * NS_PER_MS, "%lld ns", (long long)longest_ns);
}
END_TEST

START_TEST(when_the_target_has_ended_so_may_it)
{
	struct reason why = { "", "" };
	ck_start("cat $f");
	target.has_ended = true;
	ck_assert_int_eq(read_on(SIZE_MAX), STATUS_END);
	ck_assert_uint_gt(set.count, SETS);
	child_close(state);
	state = NULL;
	ck_assert_int_eq(start("cat $f", &why), STATUS_END);
}
END_TEST

START_TEST(a_child_that_outlives_the_target_is_soon_killed)
{
	ck_start("while :; do cat $f; sleep 0.1; done");
	target.has_ended = true;
	int64_t from_ns = clock_monotonic_ns();
	ck_assert_int_eq(read_on(SIZE_MAX), STATUS_END);
	ck_assert_int_lt(clock_monotonic_ns() - from_ns, 5 * NS_PER_S);
}
END_TEST

/* -- in the collector: beside another source -- */

static const char *said;
static atomic_int opens, beats;
static atomic_int late_beats;
static size_t readings; /* that had figures */

static enum status open_merged(struct target *of, void **out, struct reason *why_not)
{
	char *words[] = { "sh", "-c", script, NULL };
	struct child_command command = { .name = "the test's reader", .words = words, .silence_ns = SHORT_NS };
	atomic_fetch_add(&opens, 1);
	snprintf(script, sizeof script, "f=%s; %s", path, said);
	return child_open(&command, of, out, why_not);
}

static enum status open_heart(struct target *of, void **out, struct reason *why_not)
{
	(void)of, (void)why_not;
	*out = &late_beats;
	return STATUS_OK;
}

static enum status beat(void *heart, int64_t now_ns, struct sample_set *out)
{
	static int64_t last_ns;
	(void)heart, (void)out;
	(void)now_ns;
	int64_t at_ns = clock_thread_cpu_ns();
	/* Measures CPU time, so that other programs do not count. A blocked read would take no CPU time, so beats are
	 * counted, too. One reading of the flood takes about 20 ms on a slow host; all of it at once takes nine times that.
	 */
	if (beats++ && at_ns - last_ns >= 50 * NS_PER_MS)
		late_beats++;
	last_ns = at_ns;
	return STATUS_OK;
}

static void close_nothing(void *heart) { (void)heart; }

static const struct source merged_source = { .name = "merged", .open = open_merged, CHILD_SOURCE };
static const struct source heart_source = { .name = "heart", .open = open_heart, .read = beat, .close = close_nothing };
static const struct source *const both[] = { &merged_source, &heart_source };

/* How many figures came in so much time, or more until both were read some times, and the last reason. */
static size_t collect(const char *what, int64_t period_ns, int64_t for_ns, char reason[224], bool *was_withdrawn)
{
	struct collector *collector;
	struct reason why = { "", "" };
	size_t figures = 0;
	said = what;
	reason[0] = '\0';
	*was_withdrawn = false;
	opens = beats = late_beats = 0;
	readings = 0;
	ck_assert_int_eq(target_open(&target, getpid(), "/proc", &why), STATUS_OK);
	ck_assert_int_eq(collector_start_with(both, 2, &target, period_ns, &collector, &why), STATUS_OK);
	int64_t from_ns = clock_monotonic_ns(), passed_ns;
	while ((passed_ns = clock_monotonic_ns() - from_ns) < for_ns || (beats < BEATS_MIN && passed_ns < 20 * NS_PER_S)) {
		struct pollfd ready = { .fd = collector_fd(collector), .events = POLLIN };
		if (poll(&ready, 1, 20) != 1 || !collector_take(collector, &set))
			continue;
		figures += set_count(&set, RECORD_FIGURE);
		readings += set_count(&set, RECORD_FIGURE) > 0;
		for (size_t i = 0; i < set_count(&set, RECORD_MISSING); i++) {
			const struct record *record = set_record(&set, RECORD_MISSING, i);
			ck_assert_str_eq(record->missing.figure, "merged");
			*was_withdrawn |= !record->missing.text;
			snprintf(reason, 224, "%s", record->missing.text ? record->missing.text : reason);
		}
	}
	collector_stop(collector);
	return figures;
}

START_TEST(a_failed_child_is_reported_and_restarted_with_back_off)
{
	char why[224];
	bool was_withdrawn;
	collect("exit 3", 20 * NS_PER_MS, 1600 * NS_PER_MS, why, &was_withdrawn);
	ck_assert_str_eq(why, "the test's reader ended with status 3");
	ck_assert_int_eq(opens, 2);
	/* It failed every time. */
	ck_assert(!was_withdrawn);
}
END_TEST

START_TEST(the_other_source_keeps_its_pace_beside_one_that_hangs_or_floods)
{
	static const char *const cases[] = { "cat $f; sleep 100", "sleep 100", "yes", "cat $f; while :; do cat $f; done" };
	char why[224];
	bool was_withdrawn;
	write_recording(LARGE_SETS, STREAM_MAJOR);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		size_t figures = collect(cases[i], 10 * NS_PER_MS, 300 * NS_PER_MS, why, &was_withdrawn);
		if (getenv("CHILD_SAY"))
			fprintf(stderr, "%-36s %6zu figures in %zu readings, %2d beats, %d late\n", cases[i], figures, readings,
				(int)beats, (int)late_beats);
		ck_assert_int_ge(beats, BEATS_MIN);
		/* Its CPU's clock may count one interruption by the host. A flood that is read at once is late once, too, but
		 * is one reading. */
		ck_assert_int_le(late_beats, 1);
		ck_assert(figures == 0 || readings >= READINGS_MIN);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("child");
	TCase *tests = tcase_create("child");
	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_set_timeout(tests, 60);
	const TTest *const all[] = {
		records_of_a_child_have_their_times_and_come_once,
		another_pmtop_is_merged,
		nothing_yet_is_no_success,
		a_hanging_child_is_killed_with_all_that_it_started,
		the_first_output_has_a_longer_limit,
		the_reason_is_how_it_ended,
		a_command_that_cannot_be_started_is_reported,
		nonsense_and_other_versions_are_refused_by_name,
		a_flood_waits_in_its_pipe,
		when_the_target_has_ended_so_may_it,
		a_child_that_outlives_the_target_is_soon_killed,
		a_failed_child_is_reported_and_restarted_with_back_off,
		the_other_source_keeps_its_pace_beside_one_that_hangs_or_floods,
	};
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		tcase_add_test(tests, all[i]);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
