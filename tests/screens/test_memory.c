#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/clock.h"
#include "src/explain/explain.h"
#include "src/explain/explain_flagged.h"
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
	tcase_add_test(tests, before_anything_is_read_it_says_so);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
