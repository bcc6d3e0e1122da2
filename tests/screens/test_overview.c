#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/clock.h"
#include "src/explain/explain.h"
#include "src/explain/explain_flagged.h"
#include "tests/support/machine.h"
#include "tests/support/stage.h"
#include "tests/support/suite.h"

/* Nine minutes of a long run that pmtop joined after two, with a leak and a slow batch every 40. */
static struct story_options long_run(void)
{
	struct story_options options;
	story_options_default(&options);
	options.epochs = 50;
	options.batches = 1500;
	options.attach_s = 60;
	options.leak_bytes = 0.8e6;
	return options;
}

static void play(struct stage *stage, int width, int height)
{
	struct story_options options = long_run();
	stage_open(stage, &options, width, height);
	stage_play(stage, 240);
}

static void expect_picture(int width, int height, enum charset charset, const char *name)
{
	struct stage stage;
	play(&stage, width, height);
	stage.canvas.charset = charset;
	stage_draw(&stage);
	stage_expect(&stage, name);
	stage_close(&stage);
}

START_TEST(at_80_columns_nothing_essential_is_lost) { expect_picture(80, 24, CHARSET_BRAILLE, "overview_80x24"); }
END_TEST
START_TEST(at_120_columns_panels_are_boxes) { expect_picture(120, 40, CHARSET_BRAILLE, "overview_120x40"); }
END_TEST
START_TEST(at_200_columns_panels_are_side_by_side) { expect_picture(200, 60, CHARSET_BRAILLE, "overview_200x60"); }
END_TEST
START_TEST(ascii_carries_the_same) { expect_picture(80, 24, CHARSET_ASCII, "overview_80x24_ascii"); }
END_TEST
START_TEST(blocks_carry_the_same) { expect_picture(120, 40, CHARSET_BLOCK, "overview_120x40_block"); }
END_TEST

/* -- other states -- */

START_TEST(a_run_without_read_permission_is_reported)
{
	struct story_options options = long_run();
	struct stage stage;
	options.is_published = false;
	stage_open(&stage, &options, 120, 40);
	stage_play(&stage, 1);
	sample_set_clear(&stage.set);
	stage.set.time_ns = stage.model->now_ns;
	sample_set_missing(
		&stage.set, stage.model->now_ns, "region", "process 1 belongs to root", "run as root (sudo pmtop -p 1)");
	model_apply(stage.model, &stage.set);
	explain_flagged(stage.model);
	stage_draw(&stage);
	ck_assert(stage_shows(&stage, "whether this process is instrumented: process 1 belongs to root"));
	ck_assert(stage_shows(&stage, "sudo pmtop -p 1"));
	ck_assert(!stage_shows(&stage, "No training run publishes"));
	stage_close(&stage);
}
END_TEST

START_TEST(without_a_region_the_process_is_shown_and_how_to_instrument)
{
	struct story_options options = long_run();
	struct stage stage;
	options.is_published = false;
	stage_open(&stage, &options, 120, 40);
	stage_play(&stage, 120);
	stage_expect(&stage, "overview_process_120x40");
	stage_resize(&stage, 80, 24);
	stage_expect(&stage, "overview_process_80x24");
	stage_close(&stage);
}
END_TEST

/* One sentence, with the line for the framework on the Python stacks, not for one that is only imported. */
START_TEST(without_steps_the_line_for_the_framework_is_shown)
{
	static const struct {
		const char *function, *file, *shows;
	} cases[] = {
		{ "fit", "/v/lib/python3.11/site-packages/keras/src/backend/jax/trainer.py",
			"with Keras, pass callbacks=[pmtop.keras.PmtopCallback()] to model.fit()." },
		{ "Module._call_impl", "/v/lib/python3.11/site-packages/torch/nn/modules/module.py",
			"with PyTorch, add import pmtop.torch; pmtop.torch.instrument() before the training." },
		{ "cache_miss", "/v/lib/python3.11/site-packages/jax/_src/pjit.py",
			"with JAX, import pmtop.jax and write train_step = pmtop.jax.step(train_step)." },
		{ "<module>", "/v/lib/python3.11/site-packages/keras/src/layers/layer.py", "pmtop.batches(loader)" },
		{ "fit", "/home/me/torch/train.py", "pmtop.batches(loader)" },
	};
	struct story_options options = long_run();
	options.is_published = false;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct stage stage;
		stage_open(&stage, &options, 200, 60);
		stage_play(&stage, 1);
		sample_set_clear(&stage.set);
		stage.set.time_ns = stage.model->now_ns;
		struct record *record = sample_set_add(&stage.set, RECORD_CODE, 0, stage.set.time_ns);
		record->code.id = 1;
		record->code.function = cases[i].function;
		record->code.file = cases[i].file;
		model_apply(stage.model, &stage.set);
		stage_draw(&stage);
		ck_assert(stage_shows(&stage, "no loop found whose iterations pmtop can count"));
		ck_assert_msg(stage_shows(&stage, cases[i].shows), "%s", cases[i].file);
		stage_close(&stage);
	}
}
END_TEST

START_TEST(before_the_first_set_it_waits)
{
	struct story_options options = long_run();
	struct stage stage;
	stage_open(&stage, &options, 80, 24);
	stage_draw(&stage);
	ck_assert(stage_shows(&stage, "pmtop has read nothing yet"));
	stage_close(&stage);
}
END_TEST

/* An int of the program counts the steps of all its passes over a DataLoader, whose number is unknown. */
START_TEST(the_bar_of_a_run_whose_end_is_known_is_not_unknown)
{
	struct story_options options;
	struct stage stage;
	story_options_default(&options);
	options.has_plan = false;
	stage_open(&stage, &options, 120, 40);
	stage_play(&stage, 10);
	stage_draw(&stage);
	ck_assert(stage_shows(&stage, "Run     \xe2\x94\x80\xe2\x94\x80 total unknown"));
	sample_set_clear(&stage.set);
	stage.set.time_ns = stage.model->now_ns;
	struct record *record = sample_set_add(&stage.set, RECORD_META, stage.model->runs[0].id, stage.model->now_ns);
	record->meta.key = RUN_INFERRED "steps_planned";
	record->meta.value = "80";
	model_apply(stage.model, &stage.set);
	stage_draw(&stage);
	ck_assert(!stage_shows(&stage, "Run     \xe2\x94\x80\xe2\x94\x80 total unknown"));
	ck_assert(!stage_shows(&stage, "Run     \xe2\x94\x81\xe2\x94\x81 total unknown"));
	stage_close(&stage);
}
END_TEST

START_TEST(before_the_first_batch_ended_it_says_so)
{
	struct story_options options;
	struct stage stage;
	story_options_default(&options);
	options.first_s = 30;
	stage_open(&stage, &options, 120, 40);
	stage_play(&stage, 5);
	stage_expect(&stage, "overview_first_batch_120x40");
	stage_close(&stage);
}
END_TEST

/* The first batch takes 4 s, the others 0.2 s. */
START_TEST(a_long_warm_up_is_cut_off_and_the_others_fill_the_plot)
{
	static const enum charset charsets[] = { CHARSET_BRAILLE, CHARSET_ASCII };
	static const char *const marks[] = { "┤↑ 4.", "++ 4." };
	struct story_options options;
	story_options_default(&options);
	options.batches = 1000;
	options.first_s = 4;
	for (int i = 0; i < 2; i++) {
		struct stage stage;

		stage_open(&stage, &options, 120, 40);
		stage.canvas.charset = charsets[i];
		stage_play(&stage, 4.8);
		ck_assert_msg(stage_shows(&stage, marks[i]), "a few batches after it");
		stage_play(&stage, 9);
		ck_assert_msg(stage_shows(&stage, marks[i]), "known as the warm-up");
		stage_type(&stage, "2");
		ck_assert_msg(stage_shows(&stage, marks[i]), "among the bars");
		stage_close(&stage);
	}
}
END_TEST

START_TEST(a_killed_run_keeps_its_last_picture_with_a_summary)
{
	struct story_options options = long_run();
	struct stage stage;
	options.killed_s = 200;
	stage_open(&stage, &options, 120, 40);
	stage_play(&stage, 1000);
	stage_expect(&stage, "overview_killed_120x40");
	stage_close(&stage);
}
END_TEST

START_TEST(a_finished_run_says_when_and_what_it_was)
{
	struct story_options options;
	struct stage stage;
	story_options_default(&options);
	stage_open(&stage, &options, 80, 24);
	stage_play(&stage, 1000);
	stage_expect(&stage, "overview_finished_80x24");
	strcpy(stage.model->end.brief, "oom kill"); /* as the session notes it */
	stage_draw(&stage);
	ck_assert(stage_shows(&stage, "ended 14:01:06 (oom kill)  2 Hz"));
	stage_close(&stage);
}
END_TEST

/* In the middle of a batch no more events arrive; `name` is still open. */
static void hang(struct stage *stage, enum story_name name, double seconds)
{
	int64_t begin_ns = stage->model->now_ns, now_ns = begin_ns + (int64_t)(seconds * 1e9);
	struct record *record;
	sample_set_clear(&stage->set);
	stage->set.time_ns = now_ns;
	stage->set.source = "region";
	record = sample_set_add(&stage->set, RECORD_OPEN_SPAN, STORY_RUN, now_ns);
	record->lane = STORY_LANE;
	record->span.name = name;
	record->span.duration_ns = now_ns - begin_ns;
	model_apply(stage->model, &stage->set);
	explain_flagged(stage->model);
	stage_draw(stage);
}

START_TEST(a_batch_that_does_not_end_is_named_in_the_header_and_in_place_of_the_eta)
{
	struct stage stage;
	play(&stage, 120, 40);
	hang(&stage, STORY_BACKWARD, 41);
	ck_assert(stage_shows(&stage, "⚠ in backward for 41 s"));
	ck_assert(stage_shows(&stage, "⚠ in backward for 41 s · median step 0.2"));
	stage_resize(&stage, 30, 5);
	ck_assert(stage_shows(&stage, "⚠ in backward for 41 s"));
	stage_close(&stage);
}
END_TEST

/* -- the machine, and what slow batches have in common -- */

START_TEST(the_machine_has_a_line)
{
	struct stage stage;
	struct alert *alert;
	play(&stage, 120, 40);
	ck_assert(stage_shows(&stage, "GPU – no driver reports one"));
	machine_fill(stage.model);
	stage_draw(&stage);
	ck_assert(stage_shows(&stage,
		"all CPUs 92 % (run 75 %) · iowait 3 % · mem 41 % · disk nvme0n1 85 % busy · "
		"quota throttled 8 % · [6] details"));
	alert = &stage.alerts.list[0];
	*alert = (struct alert){
		.rule = "busy_disk", .severity = SEVERITY_WARNING, .is_raised = true, .since_ns = stage.model->now_ns
	};
	stage.model->system.throttled_ratio = 0;
	stage_draw(&stage);
	ck_assert(stage_shows(&stage, "disk nvme0n1 85 % busy ⚠ · latency 12.0 ms · [6] details"));
	stage_resize(&stage, 80, 24);
	ck_assert(stage_shows(&stage, " all CPUs 92 % (run 75 %) · iowait 3 % · mem 41 % · disk nvme0n1 85 % busy ⚠\n"));
	stage.model->system.io_wait_ratio = stage.model->system.cpu_ratio = NAN;
	stage.model->system.swap_per_s = 2e6;
	stage_draw(&stage);
	ck_assert(stage_shows(&stage, "\n mem 41 % · swaps 2.00 MB/s · disk nvme0n1"));
	machine_release(stage.model);
	stage_close(&stage);
}
END_TEST

START_TEST(a_process_without_instrumentation_has_the_machine_too)
{
	struct story_options options = long_run();
	struct stage stage;
	options.is_published = false;
	stage_open(&stage, &options, 80, 24);
	stage_play(&stage, 80);
	machine_fill(stage.model);
	stage_draw(&stage);
	ck_assert(stage_shows(&stage, " machine: all CPUs 92 % (run 75 %) · iowait 3 %"));
	machine_release(stage.model);
	stage_close(&stage);
}
END_TEST

START_TEST(the_newest_slow_batch_is_named_below_the_plot_or_a_pattern)
{
	struct stage stage;
	struct pattern *pattern;
	char words[200];
	play(&stage, 120, 40);
	ck_assert_uint_ge(stage.alerts.pattern_room, 1);
	stage.alerts.patterns[0].count = 0;
	stage_draw(&stage);
	ck_assert(
		stage_shows(&stage, "▲ batch 1159 of epoch 1 · 2.2× the median · data › decode: reading from disk +0.250 s"));
	stage_type(&stage, "nN");
	ck_assert(stage_shows(&stage, "│ ▲ batch 1119 of epoch 1 · 2.2× the median"));
	pattern = &stage.alerts.patterns[0].list[0];
	stage.alerts.patterns[0].count = 1;
	*pattern = (struct pattern){ .kind = PATTERN_PERIOD,
		.unit = PATTERN_BATCHES,
		.period = 40,
		.count = 12,
		.of = 12,
		.first = 40,
		.last = 480,
		.before_s = 0.2,
		.after_s = 0.45,
		.phase = STORY_DATA,
		.what = "data › decode",
		.candidate = "prefetch_factor 10 × 4 workers" };
	stage_draw(&stage);
	ck_assert(stage_shows(&stage, pattern_words(pattern, &stage.model->runs[0], words, sizeof words)));
	ck_assert(stage_shows(&stage, " · matches prefetch_factor 10 × 4 workers"));
	stage_close(&stage);
}
END_TEST

/* -- keys -- */

START_TEST(zoom_goes_from_the_last_batches_to_the_whole_run)
{
	struct stage stage;
	play(&stage, 120, 40);
	ck_assert(stage_shows(&stage, "last 200 batches · "));
	stage_type(&stage, "+");
	ck_assert(stage_shows(&stage, "last 100 batches · "));
	stage_type(&stage, "++++++++");
	ck_assert(stage_shows(&stage, "last 10 batches · "));
	stage_type(&stage, "-----");
	ck_assert(stage_shows(&stage, "last 500 batches · "));
	stage_type(&stage, "----");
	ck_assert(stage_shows(&stage, "all 1,1"));
	stage_expect(&stage, "overview_whole_run_120x40");
	stage_close(&stage);
}
END_TEST

START_TEST(n_shows_the_newest_flag_and_enter_explains_it)
{
	struct stage stage;
	play(&stage, 120, 40);
	stage_type(&stage, "n");
	stage_expect(&stage, "overview_focused_120x40");
	stage_type(&stage, "\r");
	ck_assert_str_eq(screen_view_name(stage.screen), "Batches");
	ck_assert(stage_shows(&stage, "was slow"));
	stage_type(&stage, "\033\033\033");
	ck_assert_str_eq(screen_view_name(stage.screen), "Overview");
	ck_assert(stage_shows(&stage, "last 200 batches · "));
	stage_close(&stage);
}
END_TEST

START_TEST(a_click_into_the_plot_chooses_a_batch)
{
	struct stage stage;
	int x, y;
	play(&stage, 120, 40);
	ck_assert(stage_find(&stage, "Step time", &x, &y));
	stage_click(&stage, 60, y + 4);
	ck_assert(stage_shows(&stage, "the median · "));
	ck_assert(!stage_shows(&stage, "last 200 batches · "));
	stage_type(&stage, "\033");
	ck_assert(stage_shows(&stage, "last 200 batches · "));
	stage_close(&stage);
}
END_TEST

START_TEST(a_pause_holds_the_picture_and_says_so)
{
	struct stage stage;
	struct canvas before = { 0 };
	size_t cells;
	play(&stage, 120, 40);
	stage_type(&stage, " ");
	ck_assert(screen_is_paused(stage.screen));
	ck_assert(stage_shows(&stage, "PAUSED"));
	cells = (size_t)(stage.canvas.width * stage.canvas.height);
	ck_assert(canvas_resize(&before, stage.canvas.width, stage.canvas.height));
	memcpy(before.cells, stage.canvas.cells, cells * sizeof before.cells[0]);
	screen_draw(stage.screen, &stage.canvas, INT64_C(1895183200) * NS_PER_S, NS_PER_S / 2);
	ck_assert_mem_eq(before.cells, stage.canvas.cells, cells * sizeof before.cells[0]);
	stage_type(&stage, "p");
	ck_assert(!stage_shows(&stage, "PAUSED"));
	canvas_release(&before);
	stage_close(&stage);
}
END_TEST

START_TEST(header_shows_a_request_for_a_trace)
{
	struct stage stage;
	play(&stage, 80, 24);
	ck_assert_int_eq(stage_type(&stage, "P"), WISH_PROFILE);
	screen_set_request(stage.screen, "profiling 2/3 steps");
	stage_draw(&stage);
	ck_assert(stage_shows(&stage, "profiling 2/3 steps"));
	screen_set_request(stage.screen, "");
	stage_draw(&stage);
	ck_assert(!stage_shows(&stage, "profiling"));
	stage_close(&stage);
}
END_TEST

START_TEST(digits_tab_and_clicks_open_views)
{
	static const char *const names[] = { "Overview", "Batches", "Operations", "Memory", "GPU", "System", "Code",
		"Warnings", "Counters" };
	struct stage stage;
	int x, y;
	play(&stage, 120, 40);
	for (int view = 0; view < 9; view++) {
		stage_press(&stage, '1' + view);
		ck_assert_str_eq(screen_view_name(stage.screen), names[view]);
	}
	stage_press(&stage, KEY_TAB);
	ck_assert_str_eq(screen_view_name(stage.screen), "help");
	stage_press(&stage, KEY_TAB);
	ck_assert_str_eq(screen_view_name(stage.screen), "Overview");
	stage_press(&stage, KEY_BACK_TAB);
	ck_assert_str_eq(screen_view_name(stage.screen), "help");
	stage_press(&stage, KEY_FUNCTION_1);
	ck_assert(stage_find(&stage, "4 Memory", &x, &y));
	stage_click(&stage, x + 3, y);
	ck_assert_str_eq(screen_view_name(stage.screen), "Memory");
	ck_assert(screen_open_view(stage.screen, "operations"));
	ck_assert(!screen_open_view(stage.screen, "nothing"));
	ck_assert_str_eq(screen_view_name(stage.screen), "Operations");
	stage_close(&stage);
}
END_TEST

START_TEST(q_quits_w_writes_and_a_message_stays_until_the_next_key)
{
	struct buffer csv = BUFFER_INIT;
	struct stage stage;
	play(&stage, 120, 40);
	ck_assert_int_eq(stage_type(&stage, "q"), WISH_QUIT);
	ck_assert_int_eq(stage_press(&stage, KEY_HANGUP), WISH_QUIT);
	ck_assert_int_eq(stage_type(&stage, "w"), WISH_WRITE);
	screen_message(stage.screen, "written: x.csv");
	stage_draw(&stage);
	ck_assert(stage_shows(&stage, "written: x.csv"));
	stage_press(&stage, KEY_ARROW_UP);
	ck_assert(!stage_shows(&stage, "written: x.csv"));
	ck_assert(screen_write(stage.screen, &csv));
	ck_assert_ptr_eq(strstr(csv.data, "time_ns,time,epoch,batch,step_s,batch_s,loss,flagged,data_s,"), csv.data);
	buffer_release(&csv);
	stage_type(&stage, "5");
	ck_assert(!screen_write(stage.screen, &csv));
	stage_close(&stage);
}
END_TEST

/* -- ten times a second -- */

static bool is_same_picture(const struct canvas *a, const struct canvas *b, int from_y, int to_y, int width)
{
	for (int y = from_y; y < to_y; y++)
		if (memcmp(&a->cells[y * a->width], &b->cells[y * b->width], (size_t)width * sizeof *a->cells) != 0)
			return false;
	return true;
}

START_TEST(panels_are_reused_for_half_a_second_and_the_plot_moves)
{
	struct story_options options = long_run();
	struct canvas retained = { 0 };
	struct stage stage;
	struct screen *screen;
	bool stood = false;
	options.period_ns = NS_PER_S / 10;
	stage_open(&stage, &options, 200, 60);
	screen = screen_new(stage.model, &stage.alerts, &stage.settings);
	ck_assert(canvas_resize(&retained, 200, 60));
	for (int frame = 0; frame <= 50; frame++) {
		int64_t realtime_ns;

		stage_play(&stage, frame ? (double)(stage.model->now_ns - stage.begin_ns) * 1e-9 + 0.05 : 20);
		stage.model->processes[0].cpu_ratio = frame / 100.0;
		stage_draw(&stage);
		realtime_ns = INT64_C(1795183200) * NS_PER_S + stage.model->now_ns - stage.begin_ns;
		screen_draw(screen, &retained, realtime_ns, NS_PER_S / 2);
		/* The progress, and the plot below its title. */
		ck_assert_msg(is_same_picture(&retained, &stage.canvas, 2, 6, 100) &&
				is_same_picture(&retained, &stage.canvas, 7, 18, 100),
			"frame %d: the plot stands", frame);
		if (frame % 5 == 0)
			ck_assert_msg(is_same_picture(&retained, &stage.canvas, 0, 60, 200), "frame %d is not whole", frame);
		else
			stood |= !is_same_picture(&retained, &stage.canvas, 0, 60, 200);
	}
	ck_assert(stood);
	stage_play(&stage, 25.2);
	screen_key(screen, (struct key_event){ .key = 'j' }, &retained);
	screen_draw(screen, &retained, INT64_C(1795183200) * NS_PER_S + stage.model->now_ns - stage.begin_ns, NS_PER_S / 2);
	ck_assert_msg(is_same_picture(&retained, &stage.canvas, 0, 60, 200), "after a key");
	screen_free(screen);
	canvas_release(&retained);
	stage_close(&stage);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("overview");
	TCase *tests = tcase_create("overview");
	tcase_set_timeout(tests, 60);
	tcase_add_test(tests, at_80_columns_nothing_essential_is_lost);
	tcase_add_test(tests, at_120_columns_panels_are_boxes);
	tcase_add_test(tests, at_200_columns_panels_are_side_by_side);
	tcase_add_test(tests, ascii_carries_the_same);
	tcase_add_test(tests, blocks_carry_the_same);
	tcase_add_test(tests, a_run_without_read_permission_is_reported);
	tcase_add_test(tests, without_a_region_the_process_is_shown_and_how_to_instrument);
	tcase_add_test(tests, without_steps_the_line_for_the_framework_is_shown);
	tcase_add_test(tests, before_the_first_set_it_waits);
	tcase_add_test(tests, the_bar_of_a_run_whose_end_is_known_is_not_unknown);
	tcase_add_test(tests, before_the_first_batch_ended_it_says_so);
	tcase_add_test(tests, a_long_warm_up_is_cut_off_and_the_others_fill_the_plot);
	tcase_add_test(tests, a_killed_run_keeps_its_last_picture_with_a_summary);
	tcase_add_test(tests, a_finished_run_says_when_and_what_it_was);
	tcase_add_test(tests, a_batch_that_does_not_end_is_named_in_the_header_and_in_place_of_the_eta);
	tcase_add_test(tests, the_machine_has_a_line);
	tcase_add_test(tests, a_process_without_instrumentation_has_the_machine_too);
	tcase_add_test(tests, the_newest_slow_batch_is_named_below_the_plot_or_a_pattern);
	tcase_add_test(tests, zoom_goes_from_the_last_batches_to_the_whole_run);
	tcase_add_test(tests, n_shows_the_newest_flag_and_enter_explains_it);
	tcase_add_test(tests, a_click_into_the_plot_chooses_a_batch);
	tcase_add_test(tests, a_pause_holds_the_picture_and_says_so);
	tcase_add_test(tests, header_shows_a_request_for_a_trace);
	tcase_add_test(tests, digits_tab_and_clicks_open_views);
	tcase_add_test(tests, panels_are_reused_for_half_a_second_and_the_plot_moves);
	tcase_add_test(tests, q_quits_w_writes_and_a_message_stays_until_the_next_key);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
