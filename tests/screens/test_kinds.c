#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/stage.h"
#include "tests/support/suite.h"

/* Gradients are accumulated over four batches; losses and device times come later; validation and a checkpoint end each
 * epoch of 20 s. */
static void play(struct stage *stage, double until_s, int width, int height)
{
	struct story_options options;
	story_options_default(&options);
	options.epochs = 5;
	options.batches = 80;
	options.validation_batches = 30;
	options.accumulate = 4;
	options.has_device = true;
	options.slow_every = 30;
	stage_open(stage, &options, width, height);
	stage_play(stage, until_s);
}

static void expect_picture(
	double until_s, int width, int height, enum charset charset, const char *keys, const char *name)
{
	struct stage stage;
	play(&stage, until_s, width, height);
	stage_expect_after(&stage, charset, keys, name);
	stage_close(&stage);
}

START_TEST(accumulation_in_the_overview) { expect_picture(52, 120, 40, CHARSET_BRAILLE, "", "kinds_overview_120x40"); }
END_TEST
START_TEST(accumulation_at_80_columns) { expect_picture(52, 80, 24, CHARSET_BRAILLE, "", "kinds_overview_80x24"); }
END_TEST
START_TEST(accumulation_at_200_columns) { expect_picture(52, 200, 60, CHARSET_BRAILLE, "", "kinds_overview_200x60"); }
END_TEST
START_TEST(accumulation_in_ascii) { expect_picture(52, 80, 24, CHARSET_ASCII, "", "kinds_overview_80x24_ascii"); }
END_TEST
START_TEST(kinds_among_the_batches) { expect_picture(52, 120, 40, CHARSET_BRAILLE, "2nN\r", "kinds_batches_120x40"); }
END_TEST
START_TEST(kinds_among_the_batches_at_80_columns)
{
	expect_picture(52, 80, 24, CHARSET_BRAILLE, "2n", "kinds_batches_80x24");
}
END_TEST
START_TEST(marks_in_ascii) { expect_picture(52, 80, 24, CHARSET_ASCII, "2", "kinds_batches_80x24_ascii"); }
END_TEST
START_TEST(late_figures_below_the_operations)
{
	expect_picture(52, 120, 40, CHARSET_BRAILLE, "3", "kinds_operations_120x40");
}
END_TEST
START_TEST(late_figures_at_80_columns) { expect_picture(52, 80, 24, CHARSET_BRAILLE, "3", "kinds_operations_80x24"); }
END_TEST
START_TEST(the_allocator_beside_the_hosts_memory)
{
	expect_picture(52, 120, 40, CHARSET_BRAILLE, "4", "kinds_memory_120x40");
}
END_TEST
START_TEST(the_allocator_at_80_columns) { expect_picture(52, 80, 24, CHARSET_BRAILLE, "4", "kinds_memory_80x24"); }
END_TEST
START_TEST(validation_among_the_batches)
{
	expect_picture(52, 120, 40, CHARSET_BRAILLE, "2m", "kinds_validation_120x40");
}
END_TEST
START_TEST(validation_is_progress_too)
{
	expect_picture(41.5, 120, 40, CHARSET_BRAILLE, "", "kinds_validating_120x40");
}
END_TEST

/* -- modes -- */

START_TEST(m_selects_the_next_mode)
{
	struct stage stage;
	play(&stage, 52, 120, 40);
	stage_type(&stage, "2");
	ck_assert(stage_shows(&stage, "─ Batches, train ─"));
	stage_type(&stage, "nm");
	ck_assert(stage_shows(&stage, "─ Batches, validation ─"));
	ck_assert(stage_shows(&stage, " · newest"));
	stage_type(&stage, "h");
	ck_assert(stage_shows(&stage, "▼ batch 28 of epoch 2 · "));
	stage_type(&stage, "m");
	ck_assert(stage_shows(&stage, "─ Batches, train ─"));
	ck_assert(stage_shows(&stage, " · newest"));
	stage_close(&stage);
}
END_TEST

START_TEST(n_selects_the_flags_of_the_mode)
{
	struct stage stage;
	play(&stage, 52, 120, 40);
	stage_type(&stage, "2m");
	stage_type(&stage, "n");
	ck_assert(stage_shows(&stage, "no batch is flagged"));
	stage_type(&stage, "hhf");
	ck_assert(stage_shows(&stage, "flagged 2/27 by hand"));
	stage_type(&stage, "\033n");
	ck_assert(stage_shows(&stage, "▲ batch 27 of epoch 2 · "));
	stage_type(&stage, "\r");
	ck_assert(stage_shows(&stage, "Why batch 27 of epoch 2 was slow"));
	stage_type(&stage, "\033m/2/27\r");
	ck_assert(stage_shows(&stage, "▼ batch 27 of epoch 2 · ")); /* that of training */
	stage_type(&stage, "\033\033n");
	ck_assert(!stage_shows(&stage, "▲ batch 27 of epoch 2 · "));
	stage_close(&stage);
}
END_TEST

START_TEST(the_overview_shows_training_whatever_is_chosen)
{
	struct stage stage;
	play(&stage, 52, 120, 40);
	stage_type(&stage, "2mh1");
	ck_assert(stage_shows(&stage, "all 200 batches · "));
	stage_type(&stage, "N2");
	ck_assert(stage_shows(&stage, "─ Batches, train ─"));
	stage_close(&stage);
}
END_TEST

/* Beyond the batches that pmtop keeps one by one, the run's history does not tell modes apart. */
START_TEST(the_whole_run_says_that_its_plot_has_every_mode)
{
	for (int modes = 0; modes < 2; modes++) {
		struct story_options options;
		struct stage stage;
		story_options_default(&options);
		options.attach_s = 600;
		options.step_s = 0.05;
		options.epochs = 500;
		options.has_modes = modes > 0;
		stage_open(&stage, &options, 160, 40);
		stage_play(&stage, 620);
		ck_assert(!stage_shows(&stage, "all modes"));
		stage_type(&stage, "------");
		ck_assert_int_eq(stage_shows(&stage, "plot shows all modes"), modes > 0);
		stage_close(&stage);
	}
}
END_TEST

START_TEST(a_run_of_one_mode_says_so)
{
	struct story_options options;
	struct stage stage;
	story_options_default(&options);
	options.has_modes = false;
	stage_open(&stage, &options, 120, 40);
	stage_play(&stage, 10);
	stage_type(&stage, "2m");
	ck_assert(stage_shows(&stage, "all retained batches have mode train"));
	ck_assert(stage_shows(&stage, "─ Batches ─"));
	stage_close(&stage);
}
END_TEST

START_TEST(a_mark_is_shown_with_its_batch)
{
	struct stage stage;
	play(&stage, 52, 120, 40);
	stage_type(&stage, "2/1/59\r");
	stage_type(&stage, "\r");
	ck_assert(stage_shows(&stage, "◆ learning rate lowered"));
	ck_assert(stage_shows(&stage, "Phases of batch 59 of epoch 1"));
	stage_press(&stage, KEY_ARROW_LEFT);
	ck_assert(!stage_shows(&stage, "◆ learning rate lowered"));
	stage_close(&stage);
}
END_TEST

START_TEST(a_run_without_kinds_has_unchanged_screens)
{
	struct story_options options;
	struct stage stage;
	story_options_default(&options);
	stage_open(&stage, &options, 200, 60);
	stage_play(&stage, 40);
	stage_type(&stage, "3");
	ck_assert(!stage_shows(&stage, "Reported after the batch"));
	stage_type(&stage, "4");
	ck_assert(!stage_shows(&stage, "GPU allocator"));
	stage_type(&stage, "1");
	ck_assert(!stage_shows(&stage, "accumulation"));
	stage_close(&stage);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("kinds");
	TCase *tests = tcase_create("kinds");
	tcase_set_timeout(tests, 60);
	tcase_add_test(tests, accumulation_in_the_overview);
	tcase_add_test(tests, accumulation_at_80_columns);
	tcase_add_test(tests, accumulation_at_200_columns);
	tcase_add_test(tests, accumulation_in_ascii);
	tcase_add_test(tests, kinds_among_the_batches);
	tcase_add_test(tests, kinds_among_the_batches_at_80_columns);
	tcase_add_test(tests, marks_in_ascii);
	tcase_add_test(tests, late_figures_below_the_operations);
	tcase_add_test(tests, late_figures_at_80_columns);
	tcase_add_test(tests, the_allocator_beside_the_hosts_memory);
	tcase_add_test(tests, the_allocator_at_80_columns);
	tcase_add_test(tests, validation_among_the_batches);
	tcase_add_test(tests, validation_is_progress_too);
	tcase_add_test(tests, m_selects_the_next_mode);
	tcase_add_test(tests, n_selects_the_flags_of_the_mode);
	tcase_add_test(tests, the_overview_shows_training_whatever_is_chosen);
	tcase_add_test(tests, a_run_of_one_mode_says_so);
	tcase_add_test(tests, the_whole_run_says_that_its_plot_has_every_mode);
	tcase_add_test(tests, a_mark_is_shown_with_its_batch);
	tcase_add_test(tests, a_run_without_kinds_has_unchanged_screens);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
