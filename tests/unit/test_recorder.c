#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/collect/recorder.h"
#include "src/collect/recorder_disk.h"
#include "src/samples/stream_read.h"
#include "tests/support/suite.h"
#include "tests/support/waiting.h"

/* -- the disk: the recorder's write() is this one -- */

static atomic_int refuses_with;
static _Atomic int64_t takes_bytes = INT64_MAX;
static bool is_stalled, has_stalled; /* under stall_lock */
static pthread_mutex_t stall_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t stall_changed = PTHREAD_COND_INITIALIZER;

static void stall(bool is_so)
{
	pthread_mutex_lock(&stall_lock);
	is_stalled = is_so;
	pthread_cond_broadcast(&stall_changed);
	pthread_mutex_unlock(&stall_lock);
}

/* Waits until a write() is stalled. */
static void await_stalled_write(void)
{
	pthread_mutex_lock(&stall_lock);
	while (!has_stalled)
		pthread_cond_wait(&stall_changed, &stall_lock);
	pthread_mutex_unlock(&stall_lock);
}

static void wait_while_stalled(void)
{
	pthread_mutex_lock(&stall_lock);
	while (is_stalled) {
		has_stalled = true;
		pthread_cond_broadcast(&stall_changed);
		pthread_cond_wait(&stall_changed, &stall_lock);
	}
	pthread_mutex_unlock(&stall_lock);
}

ssize_t write(int fd, const void *bytes, size_t length)
{
	if (fd > STDERR_FILENO) {
		wait_while_stalled();
		if (atomic_load(&takes_bytes) <= 0 && atomic_load(&refuses_with)) {
			errno = atomic_load(&refuses_with);
			return -1;
		}
		if ((int64_t)length > atomic_load(&takes_bytes))
			length = (size_t)atomic_load(&takes_bytes);
		if (atomic_load(&takes_bytes) != INT64_MAX)
			atomic_fetch_sub(&takes_bytes, (int64_t)length);
	}
	return syscall(SYS_write, fd, bytes, length);
}

/* -- and its clock: by so much it was set meanwhile -- */

static _Atomic int64_t set_by_ns;

int clock_gettime(clockid_t clock, struct timespec *out)
{
	int result = (int)syscall(SYS_clock_gettime, clock, out);
	if (clock == CLOCK_REALTIME)
		out->tv_sec += atomic_load(&set_by_ns) / NS_PER_S;
	return result;
}

static char folder[64], path[128];
static struct stream_header header = { .pid = 4711, .command = "train.py" };
static struct recorder_options options;
static struct sample_set set;

static void setup(void)
{
	snprintf(folder, sizeof folder, "/tmp/pmtop-recorder-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(folder));
	snprintf(path, sizeof path, "%s/run.pmtop", folder);
	options = (struct recorder_options){ 0 };
}

static void teardown(void)
{
	char command[128];
	snprintf(command, sizeof command, "rm -r %s", folder);
	ck_assert_int_eq(system(command), 0);
	sample_set_release(&set);
}

static struct recorder *open_recorder(void)
{
	struct recorder *recorder = NULL;
	struct reason why = { "", "" };
	ck_assert_msg(recorder_open(path, &header, &options, &recorder, &why) == STATUS_OK, "%s", why.text);
	return recorder;
}

/* Set number `which`, a second after the one before; every fourth is a dictionary. */
static void add(struct recorder *recorder, uint64_t which, size_t figures)
{
	sample_set_clear(&set);
	set.time_ns = (int64_t)(which + 1) * NS_PER_S;
	for (size_t i = 0; i < figures; i++)
		sample_set_figure(&set, set.time_ns, METRIC_PROCESS_RESIDENT, (int32_t)i, (double)which);
	recorder_add(recorder, which % 4 == 0 ? BLOCK_DICTIONARY : BLOCK_TICK, &set);
}

struct account {
	uint64_t sets, headers, gaps;
	bool is_indexed;
	double first, last;
	int64_t date_ns;
	struct stream_losses losses;
};

static struct account read_file(const char *name)
{
	struct account account = { .first = -1 };
	struct stream_reader *reader = stream_reader_new();
	struct sample_set in = SAMPLE_SET_INIT;
	char buffer[65536];
	ssize_t length;
	int fd = open(name, O_RDONLY);
	ck_assert_int_ge(fd, 0);
	while ((length = read(fd, buffer, sizeof buffer)) > 0)
		stream_reader_feed(reader, buffer, (size_t)length);
	close(fd);
	stream_reader_finish(reader);
	enum stream_event event;
	bool has_gap;
	while ((event = stream_reader_next(reader, &in, &has_gap)) != STREAM_END && event != STREAM_REFUSED) {
		account.headers += event == STREAM_HEADED;
		account.is_indexed |= event == STREAM_INDEXED;
		if (event != STREAM_TICK && event != STREAM_DICTIONARY)
			continue;
		account.sets++;
		account.gaps += has_gap;
		account.last = in.records[0].figure.value;
		account.first = account.first < 0 ? account.last : account.first;
	}
	account.losses = *stream_reader_losses(reader);
	const struct stream_header *newest = stream_reader_header(reader);
	account.date_ns = newest ? newest->realtime_ns - newest->monotonic_ns : 0;
	sample_set_release(&in);
	stream_reader_free(reader);
	return account;
}

START_TEST(every_added_set_is_in_the_file)
{
	struct recorder *recorder = open_recorder();
	struct recorder_state state;
	for (uint64_t i = 0; i < 200; i++)
		add(recorder, i, 10);
	recorder_close(recorder, &state);
	ck_assert_uint_eq(state.dropped, 0);
	ck_assert_int_eq(state.stopped_ns, 0);
	struct account account = read_file(path);
	ck_assert_uint_eq(account.sets, 200);
	ck_assert(account.is_indexed);
	ck_assert_uint_eq(account.losses.bytes + account.losses.blocks, 0);
}
END_TEST

START_TEST(an_existing_file_is_not_overwritten)
{
	struct recorder *second = NULL, *recorder = open_recorder();
	struct reason why = { "", "" };
	ck_assert_int_eq(recorder_open(path, &header, &options, &second, &why), STATUS_INVALID);
	ck_assert_ptr_nonnull(strstr(why.text, "is being recorded by another pmtop"));
	recorder_close(recorder, NULL);
	ck_assert_int_eq(recorder_open(path, &header, &options, &second, &why), STATUS_INVALID);
	ck_assert_ptr_nonnull(strstr(why.text, "already exists"));
	snprintf(path, sizeof path, "%s/no/such/folder", folder);
	ck_assert_int_ne(recorder_open(path, &header, &options, &second, &why), STATUS_OK);
	ck_assert_ptr_nonnull(strstr(why.text, "No such file or directory"));
}
END_TEST

START_TEST(a_full_disk_ends_the_recording_behind_a_whole_block)
{
	struct recorder *recorder = open_recorder();
	struct recorder_state state = { 0 };
	atomic_store(&refuses_with, ENOSPC);
	atomic_store(&takes_bytes, 14000);
	for (uint64_t i = 0; i < 200; i++)
		add(recorder, i, 10);
	recorder_close(recorder, &state);
	ck_assert_int_ne(state.stopped_ns, 0);
	ck_assert_str_eq(state.why, "no space left on device; complete up to then");
	ck_assert_int_eq(state.error, ENOSPC);
	struct account account = read_file(path);
	ck_assert_uint_gt(account.sets, 5);
	ck_assert_uint_lt(account.sets, 200);
	ck_assert_uint_eq(account.losses.bytes, 0);
	ck_assert_int_eq((int)account.last, (int)account.sets - 1);
	struct stat file;
	stat(path, &file);
	ck_assert_uint_eq((uint64_t)file.st_size, state.bytes);
}
END_TEST

START_TEST(a_file_that_is_removed_ends_the_recording)
{
	struct recorder *recorder = open_recorder();
	struct recorder_state state = { 0 };
	unlink(path);
	for (uint64_t i = 0; i < 200; i++)
		add(recorder, i, 10);
	recorder_close(recorder, &state);
	ck_assert_int_ne(state.stopped_ns, 0);
	ck_assert_str_eq(state.why, "file removed; nothing was recorded");
}
END_TEST

START_TEST(a_stalled_disk_costs_sets_that_are_counted_and_no_time)
{
	struct recorder_state state;
	options.queue_bytes = 20000;
	struct recorder *recorder = open_recorder();
	stall(true);
	for (uint64_t i = 0; i < 500; i++)
		add(recorder, i, 10);
	recorder_read(recorder, &state);
	ck_assert_uint_gt(state.dropped, 100);
	await_stalled_write();
	stall(false);
	const int64_t deadline_ns = wait_deadline(20);
	uint64_t dropped, added = 500;
	do {
		dropped = state.dropped;
		add(recorder, added++, 10);
		recorder_read(recorder, &state);
	} while (state.dropped > dropped && wait_nap(deadline_ns));
	ck_assert_uint_eq(state.dropped, dropped);
	recorder_close(recorder, &state);
	struct account account = read_file(path);
	ck_assert_uint_eq(account.losses.bytes, 0);
	ck_assert_uint_ge(account.gaps, 1);
	ck_assert_uint_ge(account.losses.blocks, 100);
}
END_TEST

START_TEST(a_disk_that_hangs_for_good_does_not_keep_pmtop)
{
	struct recorder_state state;
	struct recorder *recorder = open_recorder();
	stall(true);
	add(recorder, 0, 10);
	int64_t before_ns = clock_monotonic_ns();
	recorder_close(recorder, &state);
	ck_assert_int_lt(clock_monotonic_ns() - before_ns, 30 * NS_PER_S);
	ck_assert_str_eq(state.why, "the disk does not answer; complete up to then");
}
END_TEST

START_TEST(a_file_of_the_set_size_is_followed_by_another)
{
	struct recorder_state state;
	char name[160];
	uint64_t sets = 0;
	double next = 0;
	options.file_bytes = 20000;
	struct recorder *recorder = open_recorder();
	for (uint64_t i = 0; i < 1000; i++)
		add(recorder, i, 10);
	recorder_close(recorder, &state);
	ck_assert_uint_gt(state.files, 2);
	for (unsigned i = 0; i < state.files; i++) {
		if (i == 0)
			snprintf(name, sizeof name, "%s/run.pmtop", folder);
		else
			snprintf(name, sizeof name, "%s/run.%u.pmtop", folder, i);
		struct account account = read_file(name);
		ck_assert(account.is_indexed);
		ck_assert_uint_eq(account.headers, 1);
		ck_assert_double_eq(account.first, next);
		next = account.last + 1;
		sets += account.sets;
	}
	ck_assert_uint_eq(sets, 1000);
}
END_TEST

static uint64_t bytes_of_all(void)
{
	char command[160];
	unsigned long long bytes = 0;
	snprintf(command, sizeof command, "cat %s/* | wc -c", folder);
	FILE *pipe = popen(command, "r");
	ck_assert_int_eq(fscanf(pipe, "%llu", &bytes), 1);
	pclose(pipe);
	return bytes;
}

START_TEST(the_size_asked_for_bounds_all_files_together)
{
	struct recorder_state state;
	char name[160];
	options.max_bytes = 50000;
	options.file_bytes = 15000;
	struct recorder *recorder = open_recorder();
	for (uint64_t i = 0; i < 5000; i++)
		add(recorder, i, 10);
	recorder_close(recorder, &state);
	ck_assert_int_ne(state.stopped_ns, 0);
	ck_assert_int_eq(state.error, 0);
	ck_assert_str_eq(state.why, "size limit reached; complete up to then");
	ck_assert_uint_eq(bytes_of_all(), state.bytes);
	ck_assert_uint_le(state.bytes, 50000);
	ck_assert_uint_gt(state.bytes, 45000);
	ck_assert_uint_eq(state.dropped, 0);
	recorder_path(path, state.files - 1, name, sizeof name);
	struct account account = read_file(name);
	ck_assert(account.is_indexed);
	ck_assert_uint_eq(account.losses.bytes, 0);
}
END_TEST

START_TEST(a_size_that_holds_nothing_says_so)
{
	struct recorder_state state;
	options.max_bytes = 100;
	struct recorder *recorder = open_recorder();
	add(recorder, 0, 10);
	recorder_close(recorder, &state);
	ck_assert_str_eq(state.why, "size limit reached; nothing was recorded");
}
END_TEST

START_TEST(a_disk_that_fails_ends_the_recording_behind_a_whole_block)
{
	struct recorder_state state = { 0 };
	struct recorder *recorder = open_recorder();
	atomic_store(&refuses_with, EIO);
	atomic_store(&takes_bytes, 14000);
	for (uint64_t i = 0; i < 200; i++)
		add(recorder, i, 10);
	recorder_close(recorder, &state);
	ck_assert_str_eq(state.why, "input/output error; complete up to then");
	struct account account = read_file(path);
	ck_assert_uint_gt(account.sets, 5);
	ck_assert_uint_eq(account.losses.bytes, 0);
	ck_assert_uint_eq(bytes_of_all(), state.bytes);
}
END_TEST

START_TEST(another_file_steps_over_what_was_put_in_its_place)
{
	struct recorder_state state;
	struct reason why;
	struct recorder *recorder = NULL;
	char second[160];
	options.file_bytes = 20000;
	recorder_path(path, 1, second, sizeof second);
	fclose(fopen(second, "w"));
	ck_assert_int_eq(recorder_open(path, &header, &options, &recorder, &why), STATUS_INVALID);
	ck_assert_ptr_nonnull(strstr(why.text, "run.1.pmtop already exists"));
	unlink(second);
	recorder = open_recorder();
	fclose(fopen(second, "w"));
	for (uint64_t i = 0; i < 300; i++)
		add(recorder, i, 10);
	recorder_close(recorder, &state);
	ck_assert_int_eq(state.stopped_ns, 0);
	recorder_path(path, 2, second, sizeof second);
	ck_assert_uint_gt(read_file(second).sets, 0);
}
END_TEST

/* Fault 37. */
START_TEST(a_clock_that_was_set_dates_what_follows)
{
	header.monotonic_ns = clock_monotonic_ns();
	header.realtime_ns = clock_realtime_ns();
	int64_t date_ns = header.realtime_ns - header.monotonic_ns;
	struct recorder *recorder = open_recorder();
	for (uint64_t i = 0; i < 8; i++)
		add(recorder, i, 10);
	atomic_store(&set_by_ns, -3600 * NS_PER_S);
	for (uint64_t i = 8; i < 16; i++)
		add(recorder, i, 10);
	recorder_close(recorder, NULL);
	struct account account = read_file(path);
	ck_assert_uint_eq(account.sets, 16);
	ck_assert_uint_eq(account.headers, 1);
	ck_assert_int_lt(llabs(account.date_ns - (date_ns - 3600 * NS_PER_S)), NS_PER_S);
}
END_TEST

static uint64_t drain(int fd, struct stream_reader *reader)
{
	char buffer[65536];
	ssize_t length;
	uint64_t bytes = 0;
	while ((length = read(fd, buffer, sizeof buffer)) > 0) {
		stream_reader_feed(reader, buffer, (size_t)length);
		bytes += (uint64_t)length;
	}
	return bytes;
}

/* A pipe that is not read for a while: sets beyond the queue are counted, and the rest arrives complete. */
START_TEST(a_reader_that_stalls_costs_sets_that_are_counted)
{
	int ends[2];
	struct recorder_state state;
	struct recorder *recorder = NULL;
	struct reason why;
	options.queue_bytes = 100000;
	ck_assert_int_eq(pipe(ends), 0);
	ck_assert_int_eq(recorder_open_fd(ends[1], &header, &options, &recorder, &why), STATUS_OK);
	for (uint64_t i = 0; i < 3000; i++)
		add(recorder, i, 10);
	recorder_read(recorder, &state);
	ck_assert_uint_gt(state.dropped, 100);
	ck_assert(!recorder_wait(recorder, 0));
	recorder_finish(recorder);
	struct stream_reader *reader = stream_reader_new();
	uint64_t bytes = drain(ends[0], reader), sets = 0;
	ck_assert(recorder_wait(recorder, 10000));
	recorder_close(recorder, &state);
	stream_reader_finish(reader);
	enum stream_event event;
	bool has_gap;
	while ((event = stream_reader_next(reader, &set, &has_gap)) != STREAM_END)
		sets += event == STREAM_TICK || event == STREAM_DICTIONARY;
	ck_assert_uint_eq(sets + state.dropped, 3000);
	ck_assert_uint_eq(bytes, state.bytes);
	ck_assert_uint_eq(stream_reader_losses(reader)->bytes, 0);
	stream_reader_free(reader);
	close(ends[0]);
}
END_TEST

START_TEST(a_reader_that_is_gone_ends_it)
{
	int ends[2];
	struct recorder_state state = { 0 };
	struct recorder *recorder = NULL;
	struct reason why;
	signal(SIGPIPE, SIG_IGN);
	ck_assert_int_eq(pipe(ends), 0);
	ck_assert_int_eq(recorder_open_fd(ends[1], &header, &options, &recorder, &why), STATUS_OK);
	close(ends[0]);
	const int64_t deadline_ns = wait_deadline(20);
	uint64_t added = 0;
	do {
		add(recorder, added++, 10);
		recorder_read(recorder, &state);
	} while (!state.stopped_ns && wait_nap(deadline_ns));
	ck_assert_int_eq(state.error, EPIPE);
	recorder_close(recorder, NULL);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("recorder");
	TCase *tests = tcase_create("recorder");
	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_set_timeout(tests, 60);
	const TTest *const all[] = {
		every_added_set_is_in_the_file,
		an_existing_file_is_not_overwritten,
		a_full_disk_ends_the_recording_behind_a_whole_block,
		a_file_that_is_removed_ends_the_recording,
		a_stalled_disk_costs_sets_that_are_counted_and_no_time,
		a_disk_that_hangs_for_good_does_not_keep_pmtop,
		a_file_of_the_set_size_is_followed_by_another,
		the_size_asked_for_bounds_all_files_together,
		a_size_that_holds_nothing_says_so,
		a_disk_that_fails_ends_the_recording_behind_a_whole_block,
		another_file_steps_over_what_was_put_in_its_place,
		a_clock_that_was_set_dates_what_follows,
		a_reader_that_stalls_costs_sets_that_are_counted,
		a_reader_that_is_gone_ends_it,
	};
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		tcase_add_test(tests, all[i]);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
