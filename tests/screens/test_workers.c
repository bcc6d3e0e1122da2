#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/clock.h"
#include "src/explain/explain.h"
#include "src/explain/explain_flagged.h"
#include "tests/support/stage.h"
#include "tests/support/suite.h"

static void play(struct stage *stage, double until_s, int width, int height)
{
	struct story_options options;
	story_options_default(&options);
	options.epochs = 5;
	options.batches = 1000;
	options.has_emitted_workers = true;
	stage_open(stage, &options, width, height);
	stage_play(stage, until_s);
}

/* Worker 3 waits for the disk from now on, and two seconds pass. */
static void wait_for_disk(struct stage *stage)
{
	struct sample_set *set = &stage->set;
	for (int second = 0; second < 3; second++) {
		int64_t now_ns = stage->model->now_ns + NS_PER_S;

		sample_set_clear(set);
		set->time_ns = now_ns;
		sample_set_figure(set, now_ns, METRIC_PROCESS_STATE, 48213 + 4, 'D');
		model_apply(stage->model, set);
		explain_flagged(stage->model);
	}
	stage_draw(stage);
}

static void expect_picture(const char *keys, int width, int height, const char *name)
{
	struct stage stage;
	play(&stage, 60, width, height);
	stage_type(&stage, keys);
	stage_draw(&stage);
	stage_expect(&stage, name);
	stage_close(&stage);
}

START_TEST(the_overview_at_80_columns_says_it_in_short) { expect_picture("", 80, 24, "workers_80x24"); }
END_TEST
START_TEST(the_overview_has_a_line_of_its_own) { expect_picture("", 120, 40, "workers_120x40"); }
END_TEST
START_TEST(the_overview_at_200_columns) { expect_picture("", 200, 60, "workers_200x60"); }
END_TEST
START_TEST(memory_has_their_figures_at_80_columns) { expect_picture("4", 80, 24, "workers_memory_80x24"); }
END_TEST
START_TEST(memory_has_their_figures) { expect_picture("4", 120, 40, "workers_memory_120x40"); }
END_TEST

START_TEST(a_worker_that_waits_for_the_disk_is_named_at_every_size)
{
	static const int sizes[][2] = { { 80, 24 }, { 120, 40 }, { 200, 60 } };
	struct stage stage;
	for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
		play(&stage, 20, sizes[i][0], sizes[i][1]);
		wait_for_disk(&stage);
		ck_assert(stage_shows(&stage, "worker 3 waits for disk for 2.000 s"));
		stage_close(&stage);
	}
}
END_TEST

START_TEST(a_dead_worker_is_shown_until_it_is_replaced)
{
	struct stage stage;
	struct sample_set *set = &stage.set;
	play(&stage, 20, 120, 40);
	int64_t now_ns = stage.model->now_ns + NS_PER_S;
	sample_set_clear(set);
	set->time_ns = now_ns;
	sample_set_add(set, RECORD_WORKER_GONE, 2, now_ns)->text = "killed or crashed";
	sample_set_add(set, RECORD_PROCESS_GONE, 0, now_ns)->process.pid = 48213 + 3;
	model_apply(stage.model, set);
	explain_flagged(stage.model);
	stage_draw(&stage);
	ck_assert(stage_shows(&stage, "workers 3"));
	ck_assert(stage_shows(&stage, "1 died"));
	stage_type(&stage, "4");
	ck_assert(stage_shows(&stage, "worker 2"));
	ck_assert(stage_shows(&stage, "gone"));
	stage_close(&stage);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("workers");
	TCase *tests = tcase_create("workers");
	tcase_set_timeout(tests, 60);
	tcase_add_test(tests, the_overview_at_80_columns_says_it_in_short);
	tcase_add_test(tests, the_overview_has_a_line_of_its_own);
	tcase_add_test(tests, the_overview_at_200_columns);
	tcase_add_test(tests, memory_has_their_figures_at_80_columns);
	tcase_add_test(tests, memory_has_their_figures);
	tcase_add_test(tests, a_worker_that_waits_for_the_disk_is_named_at_every_size);
	tcase_add_test(tests, a_dead_worker_is_shown_until_it_is_replaced);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
