#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/clock.h"
#include "src/explain/explain.h"
#include "src/explain/explain_flagged.h"
#include "src/trace/snapshot/snapshot_digest.h"
#include "tests/support/stage.h"
#include "tests/support/suite.h"

static void play(struct stage *stage, double leak_bytes, int width, int height)
{
	struct story_options options;
	story_options_default(&options);
	options.epochs = 5;
	options.batches = 300;
	options.leak_bytes = leak_bytes;
	stage_open(stage, &options, width, height);
	stage_play(stage, 150);
	stage_type(stage, "4");
}

static void expect_picture(double leak_bytes, int width, int height, enum charset charset, const char *name)
{
	struct stage stage;
	play(&stage, leak_bytes, width, height);
	stage.canvas.charset = charset;
	stage_draw(&stage);
	stage_expect(&stage, name);
	stage_close(&stage);
}

START_TEST(a_leak_is_drawn_and_named) { expect_picture(1e6, 120, 40, CHARSET_BRAILLE, "memory_leak_120x40"); }
END_TEST
START_TEST(a_leak_at_80_columns) { expect_picture(1e6, 80, 24, CHARSET_BRAILLE, "memory_leak_80x24"); }
END_TEST
START_TEST(a_leak_at_200_columns) { expect_picture(1e6, 200, 60, CHARSET_BRAILLE, "memory_leak_200x60"); }
END_TEST
START_TEST(a_plateau_in_ascii) { expect_picture(0, 120, 40, CHARSET_ASCII, "memory_plateau_120x40_ascii"); }
END_TEST

START_TEST(zoom_changes_the_time_that_is_shown_and_stops_at_both_ends)
{
	struct stage stage;
	struct buffer wide = BUFFER_INIT, near = BUFFER_INIT;
	const char *first;
	play(&stage, 1e6, 120, 40);
	stage_type(&stage, "---");
	ck_assert(screen_write(stage.screen, &wide));
	stage_type(&stage, "+++++++++++");
	ck_assert(screen_write(stage.screen, &near));
	first = strchr(near.data, '\n') + 1;
	ck_assert_int_ge(strtoll(first, NULL, 10), INT64_C(1795183200) * NS_PER_S + 134 * NS_PER_S);
	ck_assert_int_lt(strtoll(strchr(wide.data, '\n') + 1, NULL, 10), INT64_C(1795183200) * NS_PER_S + 2 * NS_PER_S);
	buffer_release(&wide);
	buffer_release(&near);
	stage_close(&stage);
}
END_TEST

static bool is_selected(const struct stage *stage, const char *text)
{
	int x, y;
	return stage_find(stage, text, &x, &y) && stage->canvas.cells[y * stage->canvas.width + x].role == ROLE_SELECTED;
}

START_TEST(processes_can_be_walked_and_searched)
{
	struct stage stage;
	play(&stage, 0, 120, 40);
	ck_assert(is_selected(&stage, "  48213 train.py (main)"));
	stage_press(&stage, KEY_ARROW_DOWN);
	ck_assert(!is_selected(&stage, "  48213 train.py (main)"));
	stage_type(&stage, "/nothing like it\r");
	ck_assert(stage_shows(&stage, "no process matches"));
	stage_press(&stage, KEY_TO_HOME);
	ck_assert(is_selected(&stage, "  48213 train.py (main)"));
	stage_close(&stage);
}
END_TEST

/* A worker that waits for the disk; and a figure that was never read. */
START_TEST(a_state_is_in_words_and_the_unknown_is_a_dash)
{
	struct sample_set *set;
	struct stage stage;
	int64_t now_ns;
	play(&stage, 0, 120, 40);
	set = &stage.set;
	now_ns = stage.model->now_ns + NS_PER_S;
	sample_set_clear(set);
	set->time_ns = now_ns;
	set->source = "process";
	struct record *record = sample_set_add(set, RECORD_PROCESS_SEEN, 0, now_ns);

	record->process.pid = 60000;
	record->process.parent = 48213;
	record->process.start_ticks = 1;
	record->process.command = sample_set_text(set, "stuck", 5);
	sample_set_figure(set, now_ns, METRIC_PROCESS_STATE, 60000, 'D');
	model_apply(stage.model, set);
	explain_flagged(stage.model);
	stage_draw(&stage);
	ck_assert(stage_shows(&stage, "waits for disk"));
	stage_expect(&stage, "memory_waiting_worker_120x40");
	stage_close(&stage);
}
END_TEST

static const struct snapshot_digest_row lines[] = {
	{ "train.py:42 step", "train.py:80 main", { 3200000000, 12 }, 2100000000, false },
	{ "models/resnet.py:21 forward", "train.py:42 step < train.py:80 main", { 1500000000, 204 }, -20000000, false },
	{ "(no Python stack recorded)", "", { 90000000, 3 }, 0, false },
	{ "train.py:44 load", "train.py:80 main", { 0, 0 }, -64000000, false },
};

static struct snapshot_digest *make_digest(const struct stage *stage)
{
	struct snapshot_digest *digest = calloc(1, sizeof *digest);
	int64_t realtime_ns = INT64_C(1795183200) * NS_PER_S + stage->model->now_ns - stage->begin_ns;
	*digest = (struct snapshot_digest){ .path = "/home/u/host_48213.1795183300000000000.snapshot.pickle",
		.taken_ns = realtime_ns - 40 * NS_PER_S,
		.before_ns = realtime_ns - 640 * NS_PER_S,
		.has_before = true,
		.has_history = true,
		.is_partial = true,
		.sum = { .requested = 4790000000,
			.rounding = 10000000,
			.reserved = 6000000000,
			.split_bytes = 700000000,
			.whole_bytes = 500000000 },
		.now = { .bytes = 4790000000, .count = 4 },
		.peak = { .bytes = 5500000000, .count = 3 },
		.peak_live = 5500000000,
		.peak_reserved = 6000000000,
		.peak_before_s = 2.5 };
	memcpy(digest->now.rows, lines, sizeof lines);
	memcpy(digest->peak.rows, lines, 3 * sizeof *lines);
	return digest;
}

START_TEST(the_newest_snapshot_is_a_page_of_this_view)
{
	static const struct {
		int width, height;
		const char *name;
	} sizes[] = { { 80, 24, "memory_snapshot_80x24" }, { 120, 40, "memory_snapshot_120x40" },
		{ 200, 60, "memory_snapshot_200x60" } };
	struct stage stage;
	play(&stage, 0, 80, 24);
	struct snapshot_digest *digest = make_digest(&stage);
	ck_assert_int_eq(stage_type(&stage, "T"), WISH_TRACE);
	screen_set_snapshot(stage.screen, digest);
	stage_draw(&stage);
	ck_assert(stage_shows(&stage, "T: snapshot of"));
	stage_type(&stage, "2");
	screen_toggle_snapshot(stage.screen);
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		stage_resize(&stage, sizes[i].width, sizes[i].height);
		stage_draw(&stage);
		stage_expect(&stage, sizes[i].name);
	}
	free(digest);
	stage_close(&stage);
}
END_TEST

START_TEST(lines_of_a_snapshot_are_sorted_written_and_left)
{
	struct stage stage;
	struct buffer csv = BUFFER_INIT;
	int x, at = 0, other = 0;
	play(&stage, 0, 120, 40);
	struct snapshot_digest *digest = make_digest(&stage);
	screen_set_snapshot(stage.screen, digest);
	screen_toggle_snapshot(stage.screen);
	stage_type(&stage, ">>>"); /* by growth */
	ck_assert(stage_find(&stage, "(no Python stack recorded)", &x, &at));
	ck_assert(stage_find(&stage, "models/resnet.py:21 forward", &x, &other));
	ck_assert_int_lt(at, other);
	ck_assert(screen_write(stage.screen, &csv));
	ck_assert_ptr_nonnull(strstr(csv.data, "\ntrain.py:42 step,3200000000,12,2100000000,train.py:80 main\n"));
	digest->has_before = digest->has_history = false;
	stage_draw(&stage);
	ck_assert(!stage_shows(&stage, "GROWTH"));
	ck_assert(stage_shows(&stage, "the program recorded no history"));
	stage_press(&stage, KEY_ESC);
	ck_assert(stage_shows(&stage, "Processes"));
	buffer_release(&csv);
	free(digest);
	stage_close(&stage);
}
END_TEST

START_TEST(before_anything_is_read_it_says_so)
{
	struct story_options options;
	struct stage stage;
	story_options_default(&options);
	stage_open(&stage, &options, 80, 24);
	stage_type(&stage, "4+-n");
	ck_assert(stage_shows(&stage, "pmtop has read nothing about the process yet"));
	stage_close(&stage);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("memory");
	TCase *tests = tcase_create("memory");
	tcase_set_timeout(tests, 60);
	tcase_add_test(tests, a_leak_is_drawn_and_named);
	tcase_add_test(tests, a_leak_at_80_columns);
	tcase_add_test(tests, a_leak_at_200_columns);
	tcase_add_test(tests, a_plateau_in_ascii);
	tcase_add_test(tests, zoom_changes_the_time_that_is_shown_and_stops_at_both_ends);
	tcase_add_test(tests, processes_can_be_walked_and_searched);
	tcase_add_test(tests, a_state_is_in_words_and_the_unknown_is_a_dash);
	tcase_add_test(tests, the_newest_snapshot_is_a_page_of_this_view);
	tcase_add_test(tests, lines_of_a_snapshot_are_sorted_written_and_left);
	tcase_add_test(tests, before_anything_is_read_it_says_so);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
