#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "src/explain/explain_flagged.h"
#include "src/rules/rule_book.h"
#include "src/explain/explain.h"
#include "tests/support/counts.h"
#include "tests/support/stage.h"
#include "tests/support/suite.h"

static void play(struct stage *stage, const struct counts *counts, int width, int height)
{
	struct story_options options;
	story_options_default(&options);
	options.epochs = 5;
	options.batches = 1000;
	stage_open(stage, &options, width, height);
	counts_play(counts, stage, 120);
}

static void expect_picture(
	const struct counts *counts, int width, int height, enum charset charset, const char *keys, const char *name)
{
	struct stage stage;
	play(&stage, counts, width, height);
	stage_forget_alerts(&stage);
	stage.canvas.charset = charset;
	stage_type(&stage, keys);
	stage_draw(&stage);
	stage_expect(&stage, name);
	stage_close(&stage);
}

static const struct counts baseline = { .counted_ratio = 0.62 };

START_TEST(counters_at_120_columns)
{
	expect_picture(&baseline, 120, 40, CHARSET_BRAILLE, "9jjjjjj", "counters_120x40");
}
END_TEST
START_TEST(counters_at_80_columns) { expect_picture(&baseline, 80, 24, CHARSET_BRAILLE, "9", "counters_80x24"); }
END_TEST
START_TEST(counters_at_200_columns) { expect_picture(&baseline, 200, 60, CHARSET_BRAILLE, "9j", "counters_200x60"); }
END_TEST
START_TEST(counters_at_40_columns) { expect_picture(&baseline, 40, 10, CHARSET_BRAILLE, "9", "counters_40x10"); }
END_TEST
START_TEST(counters_in_ascii) { expect_picture(&baseline, 80, 24, CHARSET_ASCII, "9", "counters_80x24_ascii"); }
END_TEST

START_TEST(without_the_cpus_own_the_kernels_are_shown_and_why)
{
	const struct counts counts = { .is_software_only = true };
	expect_picture(&counts, 120, 40, CHARSET_BRAILLE, "9", "counters_software_120x40");
}
END_TEST

START_TEST(a_rule_file_changes_what_is_said_of_a_figure)
{
	static const char rules[] =
		"ipc_note:\n"
		"  message: [{if: counters.ipc < 5, severity: warning, say: \"below our target of 5\"}]\n";
	struct stage stage;
	struct reason reason = { 0 };
	play(&stage, &baseline, 120, 40);
	stage_type(&stage, "9");
	ck_assert(stage_shows(&stage, "low: stalled on memory"));
	struct rule_book *book = rule_book_new();
	stage.settings.rules = book;
	ck_assert_int_eq(rule_book_parse(book, "mine.yaml", rules, sizeof rules - 1, &reason), STATUS_OK);
	alerts_update(&stage.alerts, stage.model, &stage.settings);
	stage_draw(&stage);
	ck_assert(stage_shows(&stage, "below our target of 5"));
	ck_assert(!stage_shows(&stage, "low: stalled on memory"));
	stage_close(&stage);
	rule_book_free(book);
}
END_TEST

START_TEST(before_the_first_count_it_says_that_counting_starts)
{
	struct story_options options;
	struct stage stage;
	story_options_default(&options);
	stage_open(&stage, &options, 120, 40);
	stage_play(&stage, 10);
	stage_type(&stage, "9jk+-\r");
	ck_assert(stage_shows(&stage, "pmtop starts the counters"));
	sample_set_clear(&stage.set);
	stage.set.time_ns = stage.model->now_ns;
	sample_set_missing(&stage.set, stage.model->now_ns, "counters", "kernel.perf_event_paranoid is 4",
		"sysctl kernel.perf_event_paranoid=2");
	model_apply(stage.model, &stage.set);
	explain_flagged(stage.model);
	stage_draw(&stage);
	ck_assert(stage_shows(&stage, "Not counted: kernel.perf_event_paranoid is 4."));
	ck_assert(stage_shows(&stage, "Try: sysctl kernel.perf_event_paranoid=2."));
	ck_assert(!stage_shows(&stage, "pmtop starts the counters"));
	stage_close(&stage);
}
END_TEST

START_TEST(the_chosen_event_is_plotted)
{
	struct stage stage;
	int x, y;
	play(&stage, &baseline, 120, 40);
	stage_type(&stage, "9");
	ck_assert(stage_shows(&stage, "CPU time"));
	stage_type(&stage, "jj");
	ck_assert(stage_shows(&stage, "major faults per second"));
	ck_assert(stage_find(&stage, "branch misses", &x, &y));
	ck_assert(stage_find(&stage, "context switches", &x, &y));
	stage_click(&stage, x + 2, y);
	ck_assert(stage_shows(&stage, "context switches per second"));
	stage_close(&stage);
}
END_TEST

START_TEST(what_is_written_is_each_event_of_all_and_of_each_process)
{
	struct buffer csv = BUFFER_INIT;
	struct stage stage;
	play(&stage, &baseline, 80, 24);
	stage_type(&stage, "9");
	ck_assert(screen_write(stage.screen, &csv));
	ck_assert_ptr_eq(
		strstr(csv.data, "pid,event,role,per_s,per_batch,total,counted_ratio\n,task-clock,CPU time,"), csv.data);
	ck_assert_ptr_nonnull(strstr(csv.data, "\n48213,cycles,cycles,"));
	ck_assert_ptr_nonnull(strstr(csv.data, ",0.62\n"));
	buffer_release(&csv);
	stage_close(&stage);
}
END_TEST

START_TEST(no_size_does_harm)
{
	struct story_options options;
	struct stage stage;
	story_options_default(&options);
	stage_open(&stage, &options, 80, 24);
	counts_play(&baseline, &stage, 20);
	stage_type(&stage, "9");
	for (int width = 1; width <= 210; width += width < 45 ? 4 : 11)
		for (int height = 1; height <= 62; height += height < 24 ? 3 : 9) {
			stage_resize(&stage, width, height);
			stage_press(&stage, KEY_ARROW_DOWN);
			stage_press(&stage, KEY_PAGE_UP);
			stage_click(&stage, width / 2, height / 2);
		}
	stage_close(&stage);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("counters");
	TCase *tests = tcase_create("counters");
	tcase_set_timeout(tests, 60);
	tcase_add_test(tests, counters_at_120_columns);
	tcase_add_test(tests, counters_at_80_columns);
	tcase_add_test(tests, counters_at_200_columns);
	tcase_add_test(tests, counters_at_40_columns);
	tcase_add_test(tests, counters_in_ascii);
	tcase_add_test(tests, without_the_cpus_own_the_kernels_are_shown_and_why);
	tcase_add_test(tests, a_rule_file_changes_what_is_said_of_a_figure);
	tcase_add_test(tests, before_the_first_count_it_says_that_counting_starts);
	tcase_add_test(tests, the_chosen_event_is_plotted);
	tcase_add_test(tests, what_is_written_is_each_event_of_all_and_of_each_process);
	tcase_add_test(tests, no_size_does_harm);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
