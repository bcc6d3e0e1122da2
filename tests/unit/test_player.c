#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/collect/recorder.h"
#include "src/collect/recorder_disk.h"
#include "src/playback/player.h"
#include "src/samples/stream_write.h"
#include "tests/support/suite.h"
#include "tests/support/waiting.h"

static char folder[64], path[128];
static struct sample_set set, back;
static const struct stream_header header = {
	.pid = 4711, .command = "train.py", .monotonic_ns = 1000, .realtime_ns = 5000
};

static void setup(void)
{
	snprintf(folder, sizeof folder, "/tmp/pmtop-player-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(folder));
	snprintf(path, sizeof path, "%s/run.pmtop", folder);
}

static void teardown(void)
{
	char command[128];
	snprintf(command, sizeof command, "rm -r %s", folder);
	ck_assert_int_eq(system(command), 0);
	sample_set_release(&set);
	sample_set_release(&back);
}

/* One set a tenth of a second of recorded time: a run that is opened in the first, and an event in each. */
static void make_set(uint64_t which, bool is_dictionary)
{
	sample_set_clear(&set);
	set.time_ns = NS_PER_S + (int64_t)which * NS_PER_S / 10;
	if (is_dictionary) {
		struct record *record = sample_set_add(&set, RECORD_RUN_OPENED, 3, set.time_ns);
		record->opened.name = record->opened.abi = "run";
		record->opened.uuid = "0123456789abcdef0123456789abcdef";
		struct total_row *total = sample_set_allocate(&set, sizeof *total);
		total->upto = which;
		record = sample_set_add(&set, RECORD_TOTAL, 3, set.time_ns);
		record->total = total;
		return;
	}
	struct record *record = sample_set_add(&set, RECORD_BATCH_BEGIN, 3, set.time_ns);
	record->sequence = which;
	record->batch.index = which;
}

static void write_sets(
	struct stream_writer *writer, struct buffer *out, uint64_t from, uint64_t to, uint64_t lost_from, uint64_t lost_to)
{
	struct buffer lost = BUFFER_INIT;
	for (uint64_t i = from; i < to; i++) {
		struct buffer *target = i >= lost_from && i < lost_to ? &lost : out;
		if (i % 10 == 0) {
			make_set(i, true);
			stream_write_set(writer, BLOCK_DICTIONARY, &set, target);
		}
		make_set(i, false);
		stream_write_set(writer, BLOCK_TICK, &set, target);
	}
	buffer_release(&lost);
}

static void write_file(uint64_t count, uint64_t lost_from, uint64_t lost_to)
{
	struct stream_writer writer = { 0 };
	struct buffer out = BUFFER_INIT;
	stream_write_header(&writer, &header, &out);
	write_sets(&writer, &out, 0, count, lost_from, lost_to);
	FILE *file = fopen(path, "w");
	ck_assert_uint_eq(fwrite(out.data, 1, out.length, file), out.length);
	fclose(file);
	buffer_release(&out);
	stream_writer_release(&writer);
}

static struct player *open_player(const char *name, double speed)
{
	struct player *player = NULL;
	struct reason why = { "", "" };
	ck_assert_msg(player_open(name, speed, &player, &why) == STATUS_OK, "%s", why.text);
	return player;
}

struct account {
	uint64_t events, opened, lost_records, lost;
};

static struct account play(struct player *player)
{
	struct account account = { 0 };
	const int64_t deadline_ns = wait_deadline(60);
	while (!player_has_ended(player)) {
		if (!player_take(player, &back)) {
			ck_assert(wait_nap(deadline_ns));
			continue;
		}
		for (size_t i = 0; i < back.count; i++) {
			account.events += back.records[i].kind == RECORD_BATCH_BEGIN;
			account.opened += back.records[i].kind == RECORD_RUN_OPENED;
			account.lost_records += back.records[i].kind == RECORD_LOST;
			account.lost += back.records[i].kind == RECORD_LOST ? back.records[i].lost.count : 0;
		}
	}
	return account;
}

START_TEST(a_file_is_read_to_its_end_and_opens_its_run_once)
{
	write_file(100, 0, 0);
	struct player *player = open_player(path, 0);
	ck_assert_str_eq(player_header(player)->command, "train.py");
	struct account account = play(player);
	ck_assert_uint_eq(account.events, 100);
	ck_assert_uint_eq(account.opened, 1);
	ck_assert_uint_eq(account.lost_records, 0);
	player_close(player);
}
END_TEST

START_TEST(lost_blocks_become_lost_events)
{
	write_file(100, 35, 47);
	struct player *player = open_player(path, 0);
	struct account account = play(player);
	ck_assert_uint_eq(account.events, 88);
	ck_assert_uint_eq(account.opened, 1);
	/* The first event after the gap shows the loss; the dictionary at 50 adds none. */
	ck_assert_uint_eq(account.lost, 12);
	player_close(player);
}
END_TEST

START_TEST(another_recording_in_the_same_file_is_left_out_and_said)
{
	struct stream_writer writer = { 0 };
	struct stream_header other = header;
	struct buffer out = BUFFER_INIT;
	write_file(30, 0, 0);
	other.pid = 4712;
	other.uuid[0] = 1;
	stream_write_header(&writer, &other, &out);
	write_sets(&writer, &out, 0, 20, 0, 0);
	struct player *player = open_player(path, 0);
	ck_assert_uint_eq(play(player).events, 30);
	ck_assert_str_eq(player_refusal(player), "");
	player_close(player);
	FILE *file = fopen(path, "a");
	ck_assert_uint_eq(fwrite(out.data, 1, out.length, file), out.length);
	fclose(file);
	player = open_player(path, 0);
	ck_assert_uint_eq(play(player).events, 30);
	ck_assert_str_eq(player_refusal(player), "another recording (pid 4712 on ) follows and is left out");
	player_close(player);
	buffer_release(&out);
	stream_writer_release(&writer);
}
END_TEST

START_TEST(speed_is_a_multiple_of_the_recorded_pace)
{
	write_file(20, 0, 0);
	struct player *player = open_player(path, 10);
	int64_t before_ns = clock_monotonic_ns();
	ck_assert_uint_eq(play(player).events, 20);
	/* 1.9 s of recording. */
	ck_assert_int_ge(clock_monotonic_ns() - before_ns, 190 * NS_PER_MS);
	player_close(player);
}
END_TEST

START_TEST(a_file_that_grows_is_followed_to_its_end)
{
	struct recorder *recorder = NULL;
	struct recorder_options options = { 0 };
	struct reason why = { "", "" };
	ck_assert_int_eq(recorder_open(path, &header, &options, &recorder, &why), STATUS_OK);
	make_set(0, true);
	recorder_add(recorder, BLOCK_DICTIONARY, &set);
	struct player *player = open_player(path, 0);
	uint64_t events = 0;
	for (uint64_t i = 0; i < 50; i++) {
		make_set(i, false);
		recorder_add(recorder, BLOCK_TICK, &set);
		const int64_t deadline_ns = wait_deadline(10);
		do {
			while (events == i && player_take(player, &back))
				events += back.records[0].kind == RECORD_BATCH_BEGIN;
		} while (events == i && wait_nap(deadline_ns));
		ck_assert_uint_eq(events, i + 1);
		ck_assert(!player_has_ended(player));
	}
	recorder_close(recorder, NULL);
	ck_assert_uint_eq(play(player).events, 0);
	player_close(player);
}
END_TEST

START_TEST(a_pipe_gives_its_sets_as_they_come)
{
	struct stream_writer writer = { 0 };
	struct buffer out = BUFFER_INIT;
	int ends[2];
	ck_assert_int_eq(pipe(ends), 0);
	ck_assert_int_eq(dup2(ends[0], STDIN_FILENO), STDIN_FILENO);
	stream_write_header(&writer, &header, &out);
	write_sets(&writer, &out, 0, 5, 0, 0);
	ck_assert_int_eq(write(ends[1], out.data, out.length), (ssize_t)out.length);
	struct player *player = open_player("-", 1);
	ck_assert(player_is_pipe(player));
	for (int i = 0; i < 6; i++)
		ck_assert(player_take(player, &back));
	ck_assert(!player_take(player, &back));
	ck_assert_int_eq(player_wait_ms(player), -1);
	ck_assert_int_ge(player_fd(player), 0);
	close(ends[1]);
	ck_assert_uint_eq(play(player).events, 0);
	player_close(player);
	buffer_release(&out);
	stream_writer_release(&writer);
}
END_TEST

START_TEST(files_of_a_rotated_recording_are_one)
{
	struct recorder *recorder = NULL;
	struct recorder_options options = { .file_bytes = 2000 };
	struct reason why = { "", "" };
	char last[160];
	int64_t begin_ns, end_ns;
	ck_assert_int_eq(recorder_open(path, &header, &options, &recorder, &why), STATUS_OK);
	struct player *player = NULL;
	for (uint64_t i = 0; i < 200; i++) {
		if (i % 10 == 0) {
			make_set(i, true);
			recorder_add(recorder, BLOCK_DICTIONARY, &set);
		}
		make_set(i, false);
		recorder_add(recorder, BLOCK_TICK, &set);
	}
	const int64_t deadline_ns = wait_deadline(50);
	while (player_open(path, 0, &player, &why) != STATUS_OK)
		ck_assert_msg(wait_nap(deadline_ns), "%s", why.text);
	struct account early = { 0 };
	while (early.events < 100) {
		if (player_take(player, &back))
			early.events += back.count && back.records[0].kind == RECORD_BATCH_BEGIN;
		else
			ck_assert(wait_nap(deadline_ns));
	}
	ck_assert(player_is_growing(player));
	recorder_close(recorder, NULL);
	recorder_path(path, 3, last, sizeof last);
	ck_assert_int_eq(access(last, R_OK), 0);
	ck_assert(!player_is_growing(player));
	struct account rest = play(player);
	ck_assert_uint_eq(early.events + rest.events, 200);
	ck_assert_uint_eq(rest.lost_records, 0);
	ck_assert_uint_eq(player_losses(player)->blocks, 0);
	ck_assert(player_span(player, &begin_ns, &end_ns));
	ck_assert_int_eq(begin_ns, NS_PER_S);
	ck_assert_int_eq(end_ns, NS_PER_S + 199 * NS_PER_S / 10);
	struct player *again = player_again(player);
	ck_assert_uint_eq(play(again).events, 200);
	player_close(again);
	player_close(player);
}
END_TEST

START_TEST(a_file_that_is_no_recording_is_refused_by_name)
{
	struct player *player = NULL;
	struct reason why = { "", "" };
	FILE *file = fopen(path, "w");
	fputs("no recording at all, but text of some length that says so\n", file);
	fclose(file);
	ck_assert_int_eq(player_open(path, 0, &player, &why), STATUS_DAMAGED);
	ck_assert_ptr_nonnull(strstr(why.text, "is not a recording of pmtop"));
	ck_assert_int_eq(player_open("/no/such/file", 0, &player, &why), STATUS_NOT_FOUND);
	ck_assert_int_eq(player_open(folder, 0, &player, &why), STATUS_INVALID);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("player");
	TCase *tests = tcase_create("player");
	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_set_timeout(tests, 60);
	const TTest *const all[] = {
		a_file_is_read_to_its_end_and_opens_its_run_once,
		lost_blocks_become_lost_events,
		another_recording_in_the_same_file_is_left_out_and_said,
		speed_is_a_multiple_of_the_recorded_pace,
		a_file_that_grows_is_followed_to_its_end,
		a_pipe_gives_its_sets_as_they_come,
		files_of_a_rotated_recording_are_one,
		a_file_that_is_no_recording_is_refused_by_name,
	};
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		tcase_add_test(tests, all[i]);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
