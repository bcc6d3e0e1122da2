#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/playback/recording.h"
#include "src/playback/recording_late.h"
#include "src/samples/stream_read.h"
#include "src/sources/source.h"
#include "tests/support/suite.h"

/* -- a run whose snapshots and readings have the size that a test asks for -- */

static unsigned emitted_records, read_records;

static enum status open_nothing(struct target *target, void **state, struct reason *why_not)
{
	(void)target;
	(void)why_not;
	*state = &emitted_records;
	return STATUS_OK;
}

static void add_figures(struct sample_set *out, int64_t now_ns, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		sample_set_figure(out, now_ns, METRIC_PROCESS_RESIDENT, (int32_t)i, 1e9 / (i + 3));
}

static enum status read_some(void *state, int64_t now_ns, struct sample_set *out)
{
	(void)state;
	add_figures(out, now_ns, read_records);
	return STATUS_OK;
}

static enum status emit_some(void *state, int64_t now_ns, struct sample_set *out)
{
	(void)state;
	add_figures(out, now_ns, emitted_records);
	return STATUS_OK;
}

static void close_nothing(void *state) { (void)state; }

static const struct source source = {
	.name = "some", .open = open_nothing, .read = read_some, .emit_all = emit_some, .close = close_nothing
};

/* -- */

static char folder[64], path[128];

static void setup(void)
{
	snprintf(folder, sizeof folder, "/tmp/pmtop-recording-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(folder));
	snprintf(path, sizeof path, "%s/run.pmtop", folder);
}

static void teardown(void)
{
	char command[128];
	snprintf(command, sizeof command, "rm -r %s", folder);
	ck_assert_int_eq(system(command), 0);
}

struct account {
	unsigned dictionaries;
	uint64_t dictionary_bytes, all_bytes, max_apart_ns;
};

/* A collector's sets, half a second apart; a requested snapshot comes at once, as from the sampler. */
static struct account record_sets(unsigned sets, unsigned records, unsigned snapshot_records)
{
	struct recording recording = { 0 };
	struct recording_subject subject = { 4711, 1, "train.py" };
	struct recorder_options options = { 0 };
	struct reason why;
	struct target target = { .proc_root = "/proc", .pidfd = -1 };
	struct collector *collector = NULL;
	static const struct source *const sources[] = { &source };
	ck_assert_int_eq(collector_start_with(sources, 1, &target, 60 * NS_PER_S, &collector, &why), STATUS_OK);
	ck_assert_int_eq(recording_begin(&recording, path, &subject, &options, &why), STATUS_OK);
	struct account account = { 0 };
	struct sample_set set = SAMPLE_SET_INIT;
	int64_t emitted_ns = 0;
	for (unsigned i = 0; i < sets; i++) {
		bool was_asked = recording.is_asked;
		for (int turn = i > 0 && was_asked ? 0 : 1; turn < 2; turn++) {
			bool emits_all = i == 0 || turn == 0;
			sample_set_clear(&set);
			set.time_ns = NS_PER_S + (int64_t)i * NS_PER_S / 2;
			add_figures(&set, set.time_ns, emits_all ? snapshot_records : records);
			recording_note(&recording, collector, &set, emits_all);
			if (!emits_all || i == 0)
				continue;
			account.dictionaries++;
			account.dictionary_bytes += recording.emitted_bytes;
			account.max_apart_ns = emitted_ns && (uint64_t)(set.time_ns - emitted_ns) > account.max_apart_ns
				? (uint64_t)(set.time_ns - emitted_ns)
				: account.max_apart_ns;
			emitted_ns = set.time_ns;
		}
	}
	recording_end(&recording);
	account.all_bytes = recording.state.bytes;
	sample_set_release(&set);
	collector_stop(collector);
	return account;
}

START_TEST(dictionaries_come_each_second_where_much_is_written)
{
	struct account account = record_sets(120, 500, 50);
	ck_assert_uint_ge(account.dictionaries, 38);
	ck_assert_uint_le(account.dictionaries, 60);
	ck_assert_uint_lt(account.dictionary_bytes * 5, account.all_bytes);
}
END_TEST

START_TEST(dictionaries_stay_a_fifth_where_little_is_written)
{
	struct account account = record_sets(600, 20, 500);
	ck_assert_uint_ge(account.dictionaries, 5);
	ck_assert_uint_lt(account.dictionary_bytes * 4, account.all_bytes);
	ck_assert_uint_le(account.max_apart_ns, (uint64_t)(61 * NS_PER_S));
}
END_TEST

START_TEST(dictionaries_come_each_minute_at_least)
{
	struct account account = record_sets(600, 1, 2000);
	ck_assert_uint_ge(account.dictionaries, 4);
	ck_assert_uint_le(account.max_apart_ns, (uint64_t)(61 * NS_PER_S));
}
END_TEST

START_TEST(late_history_is_coarser_with_the_same_sums)
{
	enum { ROWS = 1000 };
	struct sample_set all = SAMPLE_SET_INIT, late = SAMPLE_SET_INIT;
	struct history_row *rows = sample_set_allocate(&all, ROWS * sizeof *rows);
	for (uint64_t i = 0; i < ROWS; i++)
		rows[i] =
			(struct history_row){ i * 4, 4, 0.4 + (double)i, 0.05 + (double)i, 0.2 + (double)i, (int64_t)i * 100 };
	struct record *record = sample_set_add(&all, RECORD_HISTORY, 3, 77);
	record->history.rows = rows;
	record->history.count = ROWS;
	add_figures(&all, 77, 5);
	ck_assert(recording_late(&all, &late));
	ck_assert_uint_eq(late.count, all.count);
	const struct record *history = &late.records[0];
	ck_assert_uint_eq(history->run, 3);
	ck_assert_uint_ge(history->history.count, LATE_BINS_MIN);
	ck_assert_uint_le(history->history.count, 2 * LATE_BINS_MIN + 1);
	uint64_t count = 0;
	double sum_s = 0, least_s = INFINITY, most_s = 0;
	for (size_t i = 0; i < history->history.count; i++) {
		const struct history_row *row = &history->history.rows[i];
		ck_assert_uint_eq(row->first, count);
		count += row->count;
		sum_s += row->sum_s;
		least_s = fmin(least_s, row->min_s);
		most_s = fmax(most_s, row->max_s);
	}
	ck_assert_uint_eq(count, ROWS * 4);
	ck_assert_uint_eq(history->history.rows[0].count, 4);
	ck_assert_double_eq_tol(sum_s, ROWS * 0.4 + ROWS * (ROWS - 1) / 2.0, 1e-6);
	ck_assert_double_eq(least_s, 0.05);
	ck_assert_double_eq(most_s, 999.2);
	sample_set_release(&late);
	sample_set_release(&all);
}
END_TEST

START_TEST(made_name_is_safe_and_says_who)
{
	char name[256];
	recording_name("res net/50; rm -rf $HOME", 4711, 0, name, sizeof name);
	ck_assert_ptr_nonnull(strstr(name, "pmtop-res-net-50--rm--rf--HOME-4711-19"));
	ck_assert_str_eq(name + strlen(name) - 6, ".pmtop");
	recording_name("", 1, 0, name, sizeof name);
	ck_assert_ptr_nonnull(strstr(name, "pmtop-run-1-"));
}
END_TEST

START_TEST(flag_comes_between_the_sets)
{
	struct recording recording = { 0 };
	struct recording_subject subject = { 4711, 1, "train.py" };
	struct recorder_options options = { 0 };
	struct reason why;
	struct target target = { .proc_root = "/proc", .pidfd = -1 };
	struct collector *collector = NULL;
	static const struct source *const sources[] = { &source };
	struct sample_set set = { .time_ns = 500 };
	ck_assert_int_eq(collector_start_with(sources, 1, &target, 60 * NS_PER_S, &collector, &why), STATUS_OK);
	ck_assert_int_eq(recording_begin(&recording, path, &subject, &options, &why), STATUS_OK);
	recording_flag(&recording, 3, 0, 1, true); /* before its first set: nothing to flag */
	recording_note(&recording, collector, &set, true);
	recording_flag(&recording, 3, 2, 624, true);
	recording_end(&recording);
	ck_assert_str_eq(recording.path, path);

	struct stream_reader *reader = stream_reader_new();
	static char bytes[65536];
	FILE *file = fopen(path, "r");
	size_t length = fread(bytes, 1, sizeof bytes, file);
	fclose(file);
	stream_reader_feed(reader, bytes, length);
	stream_reader_finish(reader);
	unsigned flags = 0;
	bool has_gap;
	for (enum stream_event event; (event = stream_reader_next(reader, &set, &has_gap)) != STREAM_END;) {
		if (event != STREAM_TICK)
			continue;
		ck_assert_uint_eq(set.count, 1);
		ck_assert_int_eq(set.time_ns, 500);
		ck_assert_int_eq(set.records[0].kind, RECORD_FLAG);
		ck_assert_uint_eq(set.records[0].run, 3);
		ck_assert_uint_eq(set.records[0].flag.mode, 2);
		ck_assert_uint_eq(set.records[0].flag.ordinal, 624);
		ck_assert(set.records[0].flag.is_flagged);
		flags++;
	}
	ck_assert_uint_eq(flags, 1);
	stream_reader_free(reader);
	sample_set_release(&set);
	collector_stop(collector);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("recording");
	TCase *tests = tcase_create("recording");
	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_set_timeout(tests, 60);
	const TTest *const all[] = {
		dictionaries_come_each_second_where_much_is_written,
		dictionaries_stay_a_fifth_where_little_is_written,
		dictionaries_come_each_minute_at_least,
		late_history_is_coarser_with_the_same_sums,
		made_name_is_safe_and_says_who,
		flag_comes_between_the_sets,
	};
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		tcase_add_test(tests, all[i]);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
