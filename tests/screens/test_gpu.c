#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/clock.h"
#include "src/explain/explain.h"
#include "src/explain/explain_flagged.h"
#include "tests/support/gpu_node.h"
#include "tests/support/machine.h"
#include "tests/support/stage.h"
#include "tests/support/suite.h"
#include "ui/widgets/plots/throttle_lane.h"

static void play(struct stage *stage, const struct gpu_node *node, int width, int height)
{
	struct story_options options;
	story_options_default(&options);
	options.epochs = 5;
	options.batches = 1000;
	options.has_device = true;
	stage_open(stage, &options, width, height);
	gpu_node_play(node, stage, 120);
}

static void expect_picture(
	const struct gpu_node *node, int width, int height, enum charset charset, const char *keys, const char *name)
{
	struct stage stage;
	play(&stage, node, width, height);
	stage_forget_alerts(&stage);
	stage.canvas.charset = charset;
	stage_type(&stage, keys);
	stage_draw(&stage);
	stage_expect(&stage, name);
	stage_close(&stage);
}

static void expect_one(int width, int height, enum charset charset, const char *keys, const char *name)
{
	struct gpu_node node;
	gpu_node_default(&node);
	expect_picture(&node, width, height, charset, keys, name);
}

static void expect_eight(int width, int height, enum charset charset, const char *keys, const char *name)
{
	struct gpu_node node;
	gpu_node_default(&node);
	node.count = 8;
	expect_picture(&node, width, height, charset, keys, name);
}

START_TEST(one_gpu_at_120_columns) { expect_one(120, 40, CHARSET_BRAILLE, "5", "gpu_one_120x40"); }
END_TEST
START_TEST(one_gpu_at_80_columns) { expect_one(80, 24, CHARSET_BRAILLE, "5", "gpu_one_80x24"); }
END_TEST
START_TEST(one_gpu_at_200_columns) { expect_one(200, 60, CHARSET_BRAILLE, "5", "gpu_one_200x60"); }
END_TEST
START_TEST(one_gpu_at_40_columns) { expect_one(40, 10, CHARSET_BRAILLE, "5", "gpu_one_40x10"); }
END_TEST
START_TEST(one_gpu_in_ascii) { expect_one(80, 24, CHARSET_ASCII, "5", "gpu_one_80x24_ascii"); }
END_TEST
START_TEST(eight_gpus_at_120_columns) { expect_eight(120, 40, CHARSET_BRAILLE, "5", "gpu_eight_120x40"); }
END_TEST
START_TEST(eight_gpus_at_80_columns) { expect_eight(80, 24, CHARSET_BRAILLE, "5jj", "gpu_eight_80x24"); }
END_TEST
START_TEST(eight_gpus_at_200_columns) { expect_eight(200, 60, CHARSET_BRAILLE, "5", "gpu_eight_200x60"); }
END_TEST
START_TEST(eight_gpus_at_40_columns) { expect_eight(40, 10, CHARSET_BRAILLE, "5", "gpu_eight_40x10"); }
END_TEST
START_TEST(eight_gpus_in_ascii) { expect_eight(80, 24, CHARSET_ASCII, "5", "gpu_eight_80x24_ascii"); }
END_TEST

START_TEST(the_overview_has_a_gpu_panel) { expect_one(120, 40, CHARSET_BRAILLE, "1", "gpu_overview_120x40"); }
END_TEST
START_TEST(the_overview_has_a_gpu_line) { expect_one(80, 24, CHARSET_BRAILLE, "1", "gpu_overview_80x24"); }
END_TEST
START_TEST(the_overview_has_a_gpu_panel_at_200_columns)
{
	expect_one(200, 60, CHARSET_BRAILLE, "1", "gpu_overview_200x60");
}
END_TEST
START_TEST(the_overview_of_eight_gpus) { expect_eight(120, 40, CHARSET_BRAILLE, "1", "gpu_overview_eight_120x40"); }
END_TEST

/* -- throttling -- */

static void held_back(struct gpu_node *node)
{
	gpu_node_default(node);
	node->power_s = 4;
	node->heat_s = 5;
}

START_TEST(batches_are_marked_while_a_gpu_is_throttled)
{
	struct gpu_node node;
	held_back(&node);
	expect_picture(&node, 120, 40, CHARSET_BRAILLE, "2", "gpu_lane_batches_120x40");
}
END_TEST

START_TEST(marks_are_letters_in_ascii)
{
	struct gpu_node node;
	held_back(&node);
	expect_picture(&node, 80, 24, CHARSET_ASCII, "1--", "gpu_lane_80x24_ascii");
}
END_TEST

START_TEST(without_throttling_there_is_no_row_of_marks)
{
	struct gpu_node node;
	struct stage stage;
	gpu_node_default(&node);
	node.power_s = 0;
	play(&stage, &node, 120, 40);
	ck_assert(!stage_shows(&stage, "power ┤"));
	stage_type(&stage, "2");
	ck_assert(!stage_shows(&stage, "power ┤"));
	stage_type(&stage, "5");
	ck_assert(stage_shows(&stage, "throttled  no"));
	stage_close(&stage);
}
END_TEST

START_TEST(throttle_counters_are_shown_as_counters)
{
	struct gpu_node node;
	struct stage stage;
	gpu_node_default(&node);
	node.counted_ratio = 0.6;
	play(&stage, &node, 200, 60);
	stage_type(&stage, "5");
	ck_assert(stage_shows(&stage, "throttled  not now · 7 % of the last 2 min · by counter now: power 60 %"));
	stage_close(&stage);
}
END_TEST

START_TEST(an_empty_memory_has_no_axis_of_single_bytes)
{
	struct gpu_node node;
	struct stage stage;
	gpu_node_default(&node);
	node.is_empty = node.hides_processes = true;
	play(&stage, &node, 120, 40);
	stage_type(&stage, "5");
	ck_assert(stage_shows(&stage, " MB ┤"));
	ck_assert(!stage_shows(&stage, " B ┤"));
	stage_close(&stage);
}
END_TEST

/* The driver first reports it 90 s after attach; the power limit throttles it from then on. */
START_TEST(unknown_time_does_not_count_as_unthrottled)
{
	static struct gpu gpu;
	struct lane lane = { 1, { &gpu } };
	gpu.series.throttled = series_new();
	ck_assert_double_eq(lane_share(&lane, 0, 100 * NS_PER_S), 0);
	for (int i = 180; i <= 200; i++)
		series_push(gpu.series.throttled, i * NS_PER_S / 2, 1);
	ck_assert_double_eq(lane_share(&lane, 0, 100 * NS_PER_S), 1);
	series_free(gpu.series.throttled);
}
END_TEST

START_TEST(heat_throttling_is_shown_first)
{
	struct gpu_node node;
	struct stage stage;
	gpu_node_default(&node);
	node.power_s = 0;
	node.heat_s = 20;
	struct story_options options;

	story_options_default(&options);
	options.batches = 1000;
	stage_open(&stage, &options, 120, 40);
	gpu_node_play(&node, &stage, 115);
	ck_assert(stage_shows(&stage, "⚠ throttled: thermal slowdown"));
	stage_type(&stage, "5");
	ck_assert(stage_shows(&stage, "throttled  thermal slowdown"));
	ck_assert(stage_shows(&stage, "GPU throttled by heat"));
	ck_assert(stage_shows(&stage, "1215 MHz"));
	stage_resize(&stage, 80, 24);
	stage_type(&stage, "1");
	ck_assert(stage_shows(&stage, "⚠ throttled: thermal slowdown"));
	stage_close(&stage);
}
END_TEST

/* -- what is not known -- */

START_TEST(without_a_gpu_it_says_why_and_what_to_do)
{
	struct story_options options;
	struct stage stage;
	story_options_default(&options);
	stage_open(&stage, &options, 120, 40);
	stage_play(&stage, 30);
	ck_assert(stage_shows(&stage, " GPU – no driver reports one · [5] details"));
	stage_type(&stage, "5");
	ck_assert(stage_shows(&stage, "No driver reports a GPU here."));
	ck_assert(stage_shows(&stage, "pmtop doctor"));
	sample_set_clear(&stage.set);
	stage.set.time_ns = stage.model->now_ns;
	sample_set_missing(&stage.set, stage.model->now_ns, "gpu",
		"NVIDIA: libnvidia-ml.so.1 was not found; AMD, Intel: no render node", "install the NVIDIA driver");
	model_apply(stage.model, &stage.set);
	explain_flagged(stage.model);
	stage_draw(&stage);
	ck_assert(stage_shows(&stage, "Why: NVIDIA: libnvidia-ml.so.1 was not found; AMD, Intel: no"));
	ck_assert(stage_shows(&stage, "Try: install the NVIDIA driver."));
	stage_type(&stage, "1");
	ck_assert(stage_shows(&stage, " GPU – NVIDIA: libnvidia-ml.so.1 was not found"));
	machine_fill(stage.model);
	stage_draw(&stage);
	ck_assert(stage_shows(&stage, " GPU – NVIDIA: libnvidia-ml.so.1 was not found"));
	ck_assert(stage_shows(&stage, " all CPUs 92 %"));
	stage_resize(&stage, 80, 24);
	ck_assert(!stage_shows(&stage, "GPU –"));
	machine_release(stage.model);
	stage_close(&stage);
}
END_TEST

START_TEST(hidden_processes_say_why)
{
	struct gpu_node node;
	struct stage stage;
	gpu_node_default(&node);
	node.hides_processes = true;
	play(&stage, &node, 120, 40);
	stage_type(&stage, "5");
	ck_assert(stage_shows(&stage, "– unknown: GPU 0: 3 hidden: they run outside this"));
	ck_assert(stage_shows(&stage, "container → run the container with --pid=host"));
	stage_close(&stage);
}
END_TEST

START_TEST(an_old_one_has_no_sm_figure_and_no_zero_for_it)
{
	struct gpu_node node;
	struct stage stage;
	gpu_node_default(&node);
	node.is_old = true;
	play(&stage, &node, 120, 40);
	stage_type(&stage, "5");
	ck_assert(stage_shows(&stage, "NVIDIA Tesla P4"));
	ck_assert(!stage_shows(&stage, "SMs active"));
	ck_assert(!stage_shows(&stage, "PCIe"));
	ck_assert(!stage_shows(&stage, "ECC"));
	stage_expect(&stage, "gpu_old_120x40");
	stage_close(&stage);
}
END_TEST

START_TEST(a_lost_gpu_is_named_and_the_others_stay)
{
	struct gpu_node node;
	struct stage stage;
	gpu_node_default(&node);
	node.count = 2;
	node.lost_s = 100;
	play(&stage, &node, 120, 40);
	ck_assert(stage_shows(&stage, "⚠ lost: it has fallen off the bus"));
	ck_assert(stage_shows(&stage, "GPU 1 lost: "));
	stage_resize(&stage, 80, 24);
	ck_assert(stage_shows(&stage, "GPU ×2 75 %  ⚠ 1 lost  SM "));
	stage_resize(&stage, 120, 40);
	stage_type(&stage, "5");
	ck_assert(stage_shows(&stage, "⚠ 1 lost"));
	stage_type(&stage, "j");
	ck_assert(stage_shows(&stage, "⚠ no answer"));
	ck_assert(stage_shows(&stage, "GPU lost: it has fallen off the bus (XID 79)"));
	ck_assert(stage_shows(&stage, "XID 79"));
	stage_close(&stage);
}
END_TEST

START_TEST(a_narrow_link_is_marked)
{
	struct gpu_node node;
	struct stage stage;
	gpu_node_default(&node);
	node.is_narrow = true;
	play(&stage, &node, 120, 40);
	ck_assert(stage_shows(&stage, "PCIe 5.0×8 ⚠"));
	stage_type(&stage, "5");
	ck_assert(stage_shows(&stage, "PCIe       5.0 ×8 ⚠ · of ×16"));
	ck_assert(stage_shows(&stage, "GPU link is gen 5 ×8, the slot allows gen 5 ×16"));
	stage_close(&stage);
}
END_TEST

START_TEST(memory_that_grows_says_when_it_is_full)
{
	struct gpu_node node;
	struct stage stage;
	gpu_node_default(&node);
	node.leak_bytes = 50e6;
	struct story_options options;

	story_options_default(&options);
	options.batches = 1000;
	stage_open(&stage, &options, 200, 60);
	gpu_node_play(&node, &stage, 120);
	stage_type(&stage, "5");
	ck_assert(stage_shows(&stage, "growth     ⚠ growing · +10.3 MB/batch · full in "));
	stage_resize(&stage, 120, 40);
	ck_assert(stage_shows(&stage, "growth     ⚠ growing · +10.3 MB/batch · full in "));
	stage_close(&stage);
}
END_TEST

START_TEST(a_process_without_instrumentation_has_its_gpu_too)
{
	struct story_options options;
	struct gpu_node node;
	struct stage stage;
	gpu_node_default(&node);
	story_options_default(&options);
	options.is_published = false;
	stage_open(&stage, &options, 120, 40);
	gpu_node_play(&node, &stage, 30);
	ck_assert(stage_shows(&stage, "╭─ GPU ─"));
	ck_assert(stage_shows(&stage, "SMs work"));
	stage_resize(&stage, 80, 24);
	ck_assert(stage_shows(&stage, "\n GPU "));
	stage_type(&stage, "5");
	ck_assert(stage_shows(&stage, "used by run"));
	stage_close(&stage);
}
END_TEST

/* -- choosing -- */

START_TEST(mig_parts_are_listed_under_their_gpu)
{
	struct gpu_node node;
	gpu_node_default(&node);
	node.count = 2;
	node.parts = 3;
	expect_picture(&node, 120, 40, CHARSET_BRAILLE, "5jj", "gpu_parts_120x40");
}
END_TEST

START_TEST(keys_and_clicks_choose_one)
{
	struct gpu_node node;
	struct stage stage;
	int x, y;
	gpu_node_default(&node);
	node.count = 8;
	play(&stage, &node, 120, 40);
	stage_type(&stage, "5");
	ck_assert(stage_shows(&stage, "GPU 0 · NVIDIA H200"));
	stage_press(&stage, KEY_ARROW_DOWN);
	ck_assert(stage_shows(&stage, "GPU 1 · NVIDIA H200"));
	stage_press(&stage, KEY_ARROW_RIGHT);
	stage_type(&stage, "j");
	ck_assert(stage_shows(&stage, "GPU 3 · NVIDIA H200"));
	stage_press(&stage, KEY_TO_END);
	stage_type(&stage, "j");
	ck_assert(stage_shows(&stage, "GPU 7 · NVIDIA H200"));
	stage_press(&stage, KEY_ARROW_LEFT);
	stage_type(&stage, "k");
	ck_assert(stage_shows(&stage, "GPU 5 · NVIDIA H200"));
	ck_assert(stage_find(&stage, "│  2 NVIDIA H200", &x, &y) || stage_find(&stage, "  2 NVIDIA H200", &x, &y));
	stage_click(&stage, x + 5, y);
	ck_assert(stage_shows(&stage, "GPU 2 · NVIDIA H200"));
	ck_assert(stage_shows(&stage, "Processes on GPU 2"));
	stage_close(&stage);
}
END_TEST

START_TEST(what_is_written_is_every_gpu_over_time)
{
	struct buffer csv = BUFFER_INIT;
	struct gpu_node node;
	struct stage stage;
	gpu_node_default(&node);
	node.count = 2;
	play(&stage, &node, 80, 24);
	stage_type(&stage, "5");
	ck_assert(screen_write(stage.screen, &csv));
	ck_assert_ptr_eq(strstr(csv.data, "time_ns,time,gpu,name,busy_ratio,sm_active_ratio,memory_used_bytes,"), csv.data);
	ck_assert_ptr_nonnull(strstr(csv.data, ",0,NVIDIA H200,0."));
	ck_assert_ptr_nonnull(strstr(csv.data, ",1,NVIDIA H200,0."));
	buffer_release(&csv);
	stage_close(&stage);
}
END_TEST

/* -- hostile figures, and all sizes -- */

static void make_hostile(struct stage *stage)
{
	static const double values[] = { 1e300, -1e300, 1e18, -5, 0, 1e-300 };
	sample_set_clear(&stage->set);
	stage->set.time_ns = stage->model->now_ns;
	for (int instance = 0; instance < 3; instance++)
		for (int metric = METRIC_GPU_FIRST; metric <= (int)METRIC_GPU_LAST; metric++)
			sample_set_figure(
				&stage->set, stage->set.time_ns, (enum metric)metric, instance, values[(metric + instance) % 6]);
	model_apply(stage->model, &stage->set);
	explain_flagged(stage->model);
}

START_TEST(no_size_and_no_figure_does_harm)
{
	struct gpu_node node;
	struct stage stage;
	gpu_node_default(&node);
	node.count = 10;
	node.parts = 7;
	node.lost_s = 20;
	struct story_options options;

	story_options_default(&options);
	stage_open(&stage, &options, 80, 24);
	gpu_node_play(&node, &stage, 30);
	for (int round = 0; round < 2; round++) {
		for (int width = 1; width <= 210; width += width < 45 ? 4 : 11)
			for (int height = 1; height <= 62; height += height < 24 ? 3 : 9) {
				stage_resize(&stage, width, height);
				stage_type(&stage, "125");
				stage_press(&stage, KEY_ARROW_DOWN);
				stage_click(&stage, width / 2, height / 2);
			}
		make_hostile(&stage);
	}
	stage_close(&stage);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("gpu");
	TCase *tests = tcase_create("gpu");
	tcase_set_timeout(tests, 60);
	tcase_add_test(tests, one_gpu_at_120_columns);
	tcase_add_test(tests, one_gpu_at_80_columns);
	tcase_add_test(tests, one_gpu_at_200_columns);
	tcase_add_test(tests, one_gpu_at_40_columns);
	tcase_add_test(tests, one_gpu_in_ascii);
	tcase_add_test(tests, eight_gpus_at_120_columns);
	tcase_add_test(tests, eight_gpus_at_80_columns);
	tcase_add_test(tests, eight_gpus_at_200_columns);
	tcase_add_test(tests, eight_gpus_at_40_columns);
	tcase_add_test(tests, eight_gpus_in_ascii);
	tcase_add_test(tests, the_overview_has_a_gpu_panel);
	tcase_add_test(tests, the_overview_has_a_gpu_line);
	tcase_add_test(tests, the_overview_has_a_gpu_panel_at_200_columns);
	tcase_add_test(tests, the_overview_of_eight_gpus);
	tcase_add_test(tests, batches_are_marked_while_a_gpu_is_throttled);
	tcase_add_test(tests, marks_are_letters_in_ascii);
	tcase_add_test(tests, throttle_counters_are_shown_as_counters);
	tcase_add_test(tests, an_empty_memory_has_no_axis_of_single_bytes);
	tcase_add_test(tests, unknown_time_does_not_count_as_unthrottled);
	tcase_add_test(tests, without_throttling_there_is_no_row_of_marks);
	tcase_add_test(tests, heat_throttling_is_shown_first);
	tcase_add_test(tests, without_a_gpu_it_says_why_and_what_to_do);
	tcase_add_test(tests, hidden_processes_say_why);
	tcase_add_test(tests, an_old_one_has_no_sm_figure_and_no_zero_for_it);
	tcase_add_test(tests, a_lost_gpu_is_named_and_the_others_stay);
	tcase_add_test(tests, a_narrow_link_is_marked);
	tcase_add_test(tests, memory_that_grows_says_when_it_is_full);
	tcase_add_test(tests, a_process_without_instrumentation_has_its_gpu_too);
	tcase_add_test(tests, mig_parts_are_listed_under_their_gpu);
	tcase_add_test(tests, keys_and_clicks_choose_one);
	tcase_add_test(tests, what_is_written_is_every_gpu_over_time);
	tcase_add_test(tests, no_size_and_no_figure_does_harm);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
