#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/clock.h"
#include "tests/support/stage.h"

static void play(struct stage *stage, int width, int height)
{
	struct story_options options;

	story_options_default(&options);
	options.leak_bytes = 1e6;
	stage_open(stage, &options, width, height);
	stage_play(stage, 60);
}

static void expect_picture(int width, int height, enum charset charset, const char *keys, const char *name)
{
	struct stage stage;

	play(&stage, width, height);
	stage.canvas.charset = charset;
	stage_type(&stage, keys);
	stage_draw(&stage);
	stage_expect(&stage, name);
	stage_close(&stage);
}

START_TEST(a_warning_is_shown_with_its_meaning_and_what_to_try) { expect_picture(120, 40, CHARSET_BRAILLE, "8j", "warnings_120x40"); } END_TEST
START_TEST(warnings_at_80_columns) { expect_picture(80, 24, CHARSET_BRAILLE, "8", "warnings_80x24"); } END_TEST
START_TEST(warnings_in_ascii) { expect_picture(80, 24, CHARSET_ASCII, "8", "warnings_80x24_ascii"); } END_TEST
START_TEST(help_lists_every_key) { expect_picture(120, 40, CHARSET_BRAILLE, "?", "help_120x40"); } END_TEST
START_TEST(help_scrolls_where_it_does_not_fit) { expect_picture(80, 24, CHARSET_BRAILLE, "?jjjjjjjjjjjjjj", "help_scrolled_80x24"); } END_TEST
START_TEST(a_view_without_a_source_says_what_else_helps) { expect_picture(80, 24, CHARSET_BRAILLE, "5", "gpu_80x24"); } END_TEST

START_TEST(without_a_warning_it_says_what_is_watched_for)
{
	struct story_options options;
	struct stage stage;

	story_options_default(&options);
	stage_open(&stage, &options, 80, 24);
	stage_play(&stage, 0.1);
	stage_type(&stage, "8j");
	ck_assert(stage_shows(&stage, "Nothing to warn of so far"));
	stage_close(&stage);
}
END_TEST

static void apply_missing(struct stage *stage, const char *text, const char *remedy)
{
	int64_t now_ns = stage->model->now_ns + NS_PER_S;

	sample_set_clear(&stage->set);
	stage->set.time_ns = now_ns;
	stage->set.source = "process";
	sample_set_missing(&stage->set, now_ns, "run-queue wait", text, remedy);
	model_apply(stage->model, &stage->set);
	stage_draw(stage);
}

START_TEST(a_missing_figure_says_why_and_what_would_bring_it)
{
	struct stage stage;

	play(&stage, 80, 24);
	apply_missing(&stage, "the kernel keeps no schedstat", "boot a kernel with CONFIG_SCHED_INFO");
	stage_type(&stage, "8");
	stage_press(&stage, KEY_TO_END);
	ck_assert(stage_shows(&stage, "missing  run-queue wait: the kernel keeps no schedstat"));
	ck_assert(stage_shows(&stage, "try        boot a kernel with CONFIG_SCHED_INFO"));
	stage_close(&stage);
}
END_TEST

START_TEST(csv_has_every_warning_with_its_advice)
{
	struct buffer csv = BUFFER_INIT;
	struct stage stage;
	size_t rows = 0;

	play(&stage, 80, 24);
	stage_type(&stage, "8");
	ck_assert(screen_write(stage.screen, &csv));
	for (const char *c = csv.data; *c != '\0'; c++)
		rows += *c == '\n';
	ck_assert_uint_eq(rows, 1 + stage.alerts.count);
	ck_assert_ptr_nonnull(strstr(csv.data, ",memory_growth,warning,1,"));
	buffer_release(&csv);
	stage_close(&stage);
}
END_TEST

/* -- several runs under one tree ----------------------------------------------------------------------------------------------- */

static void open_second_run(struct stage *stage)
{
	int64_t now_ns = stage->model->now_ns + NS_PER_S / 10;
	struct record *record;

	sample_set_clear(&stage->set);
	stage->set.time_ns = now_ns;
	stage->set.source = "region";
	record = sample_set_add(&stage->set, RECORD_RUN_OPENED, 1, now_ns);
	record->opened.pid = record->opened.inner_pid = 48300;
	record->opened.name = sample_set_text(&stage->set, "second", 6);
	record->opened.uuid = sample_set_text(&stage->set, "00112233445566778899aabbccddeeff", 32);
	record->opened.abi = sample_set_text(&stage->set, "1.0", 3);
	record->opened.start_ns = now_ns;
	record->opened.is_live = true;
	model_apply(stage->model, &stage->set);
	stage_draw(stage);
}

START_TEST(brackets_choose_the_run_and_the_header_says_which)
{
	struct stage stage;

	play(&stage, 120, 40);
	stage_type(&stage, "]");
	ck_assert(stage_shows(&stage, "there is only one run here"));
	open_second_run(&stage);
	ck_assert_int_eq(screen_run(stage.screen), 0);
	ck_assert(stage_shows(&stage, "run 1 of 2 [ ]"));
	stage_type(&stage, "]");
	ck_assert_int_eq(screen_run(stage.screen), 1);
	ck_assert(stage_shows(&stage, "second"));
	ck_assert(stage_shows(&stage, "run 2 of 2 [ ]"));
	ck_assert(stage_shows(&stage, "no batch has ended yet"));
	stage_type(&stage, "2nN\rf3>4?1]");
	ck_assert_int_eq(screen_run(stage.screen), 0);
	stage_type(&stage, "[");
	ck_assert_int_eq(screen_run(stage.screen), 1);
	screen_choose_run(stage.screen, 0);
	ck_assert_int_eq(screen_run(stage.screen), 0);
	stage_close(&stage);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("warnings");
	TCase *tests = tcase_create("warnings");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_set_timeout(tests, 60);
	tcase_add_test(tests, a_warning_is_shown_with_its_meaning_and_what_to_try);
	tcase_add_test(tests, warnings_at_80_columns);
	tcase_add_test(tests, warnings_in_ascii);
	tcase_add_test(tests, help_lists_every_key);
	tcase_add_test(tests, help_scrolls_where_it_does_not_fit);
	tcase_add_test(tests, a_view_without_a_source_says_what_else_helps);
	tcase_add_test(tests, without_a_warning_it_says_what_is_watched_for);
	tcase_add_test(tests, a_missing_figure_says_why_and_what_would_bring_it);
	tcase_add_test(tests, csv_has_every_warning_with_its_advice);
	tcase_add_test(tests, brackets_choose_the_run_and_the_header_says_which);
	suite_add_tcase(suite, tests);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed > 0;
}
