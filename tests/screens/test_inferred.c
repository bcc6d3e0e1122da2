/* The steps of a run without instrumentation: what counts them, and the picker of another loop. */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/clock.h"
#include "src/explain/explain_flagged.h"
#include "tests/support/sets.h"
#include "tests/support/stage.h"
#include "ui/core/keys.h"
#include "ui/widgets/loop_picker.h"

enum { TRAINER = 48213, RUN = 255, STEPS = 40 };

static const struct loop_row rows[] = {
	{ "for epoch in range(start_epoch, args.epochs)", "/home/me/gpt/train.py", 188, 0.0213, 3, 50, false },
	{ "for step in range(max_steps)", "/home/me/gpt/train.py", 214, 12.3, 37, 500, true },
	{ "for micro_step in range(gradient_accumulation_steps)", "/home/me/gpt/train.py", 221, (double)NAN, 3, 4, false },
	{ "retries += 1", "/home/me/gpt/data/shards.py", 61, 0.4, 1204, 0, false },
};
enum { ROWS = sizeof rows / sizeof rows[0] };

static void meta(struct sample_set *set, const char *key, const char *value)
{
	struct record *record = sample_set_add(set, RECORD_META, RUN, set->time_ns);
	record->meta.key = key;
	record->meta.value = value;
}

static bool is_at_least;

static void open_run(struct sample_set *set, bool is_chosen)
{
	struct record *record = sample_set_add(set, RECORD_RUN_OPENED, RUN, set->time_ns);
	record->opened.pid = record->opened.inner_pid = TRAINER;
	record->opened.name = "train.py";
	record->opened.uuid = "00000000000000010000000000000001";
	record->opened.abi = "counted";
	record->opened.start_ns = set->time_ns;
	record->opened.is_live = true;
	record = sample_set_add(set, RECORD_NAME, RUN, set->time_ns);
	record->name.id = 1;
	record->name.text = "train";
	meta(set, "counted_by", rows[1].text);
	meta(set, "inferred.file", rows[1].file);
	meta(set, "inferred.line", "214");
	meta(set, "inferred.certain", "yes");
	if (is_at_least)
		meta(set, "inferred.at_least", "yes");
	if (!is_chosen)
		return;
	meta(set, "inferred.chosen", "yes");
	meta(set, "micro_batches", "4");
}

static void add_steps(struct sample_set *set)
{
	int64_t time_ns = set->time_ns;
	uint64_t sequence = 0;
	struct record *record = sample_set_add(set, RECORD_EPOCH_BEGIN, RUN, time_ns);
	record->sequence = sequence++;
	for (uint64_t i = 0; i < STEPS; i++) {
		record = sample_set_add(set, RECORD_BATCH_BEGIN, RUN, time_ns);
		record->sequence = sequence++;
		record->batch.index = record->batch.number = i;
		time_ns += NS_PER_S / 12;
		record = sample_set_add(set, RECORD_BATCH_END, RUN, time_ns);
		record->sequence = sequence++;
		record->batch.index = record->batch.number = i;
		record->batch.loss = (double)NAN;
	}
	struct run_state *state = sample_set_allocate(set, sizeof *state);
	*state = (struct run_state){ .mode = 1,
		.in_epoch = true,
		.epochs_begun = 1,
		.batch_index = STEPS - 1,
		.batches_in_epoch = STEPS,
		.loss = (double)NAN };
	sample_set_add(set, RECORD_STATE, RUN, time_ns)->state = state;
}

/* Four samples of each step, all in one line. */
static void add_samples(struct sample_set *set)
{
	fill_code_group(sample_set_add(set, RECORD_CODE_GROUP, 0, set->time_ns), 1, TRAINER, STEPS * 4, 48, STEPS / 12.0);
	fill_code(sample_set_add(set, RECORD_CODE, 0, set->time_ns), 1, "train", rows[1].file, true);
	fill_code_node(sample_set_add(set, RECORD_CODE_NODE, 0, set->time_ns), 1, 0, 1, 1, 221, "loss.backward()");
	fill_code_node(sample_set_add(set, RECORD_CODE_NODE, 0, set->time_ns), 2, 0, 1, 1, 222, "log(step)");
	struct record *record = sample_set_add(set, RECORD_CODE_SAMPLES, 0, set->time_ns + STEPS * NS_PER_S / 12);
	record->code_samples.node = 1;
	record->code_samples.count = STEPS * 4;
	record->code_samples.begin_ns = set->time_ns;
}

/* What that line took in the last minute. */
static void add_time(struct sample_set *set)
{
	struct record *record = sample_set_add(set, RECORD_CODE_TIME, 0, set->time_ns + STEPS * NS_PER_S / 12);
	record->code_time.id = 1;
	record->code_time.total_ns = STEPS * NS_PER_S / 12;
	fill_code_time(sample_set_add(set, RECORD_CODE_TIME, 0, set->time_ns + STEPS * NS_PER_S / 12), 2, 0.001);
}

static void apply(struct stage *stage, struct sample_set *set)
{
	model_apply(stage->model, set);
	explain_flagged(stage->model);
	sample_set_release(set);
}

static struct sample_set next_set(const struct stage *stage)
{
	struct sample_set set = SAMPLE_SET_INIT;
	set.time_ns = stage->model->now_ns + NS_PER_S / 2;
	set.source = "stacks";
	return set;
}

static void emit_run(struct stage *stage, bool is_chosen)
{
	struct sample_set set = next_set(stage);
	open_run(&set, is_chosen);
	add_steps(&set);
	add_samples(&set);
	add_time(&set);
	set.time_ns += (STEPS + 1) * NS_PER_S / 12;
	apply(stage, &set);
}

static void emit_loops(struct stage *stage, size_t count, bool is_chosen)
{
	struct sample_set set = next_set(stage);
	struct record *record = sample_set_add(&set, RECORD_LOOPS, 0, set.time_ns);
	record->loops.pid = TRAINER;
	record->loops.is_chosen = is_chosen;
	record->loops.rows = rows;
	record->loops.count = count;
	apply(stage, &set);
}

static void play(struct stage *stage, int width, int height, bool is_chosen)
{
	struct story_options options;
	story_options_default(&options);
	options.is_published = false;
	stage_open(stage, &options, width, height);
	stage_play(stage, 2);
	emit_run(stage, is_chosen);
	stage_draw(stage);
}

static void expect_picker(int width, int height, enum charset charset, bool is_chosen, const char *name)
{
	struct stage stage;
	play(&stage, width, height, is_chosen);
	stage_type(&stage, "s");
	emit_loops(&stage, ROWS, is_chosen);
	stage_draw(&stage);
	stage_expect_after(&stage, charset, "j", name);
	stage_close(&stage);
}

START_TEST(loops_at_80_columns) { expect_picker(80, 24, CHARSET_BRAILLE, false, "loops_80x24"); }
END_TEST
START_TEST(loops_at_120_columns) { expect_picker(120, 40, CHARSET_BRAILLE, true, "loops_120x40_chosen"); }
END_TEST
START_TEST(loops_in_ascii) { expect_picker(80, 24, CHARSET_ASCII, false, "loops_80x24_ascii"); }
END_TEST

START_TEST(the_loops_are_wanted_only_while_they_are_viewed)
{
	struct stage stage;
	play(&stage, 120, 40, false);
	ck_assert_int_eq(screen_wants_loops_of(stage.screen), 0);
	stage_type(&stage, "s");
	ck_assert_int_eq(screen_wants_loops_of(stage.screen), TRAINER);
	ck_assert(stage_shows(&stage, "pmtop reads the loops"));
	emit_loops(&stage, ROWS, false);
	stage_draw(&stage);
	ck_assert(stage_shows(&stage, "37 of 500"));
	stage_type(&stage, "\033");
	ck_assert(!stage_shows(&stage, "37 of 500"));
	ck_assert_int_eq(screen_wants_loops_of(stage.screen), 0);
	stage_type(&stage, "s2");
	ck_assert(stage_shows(&stage, "Batches"));
	ck_assert_int_eq(screen_wants_loops_of(stage.screen), 0);
	stage_close(&stage);
}
END_TEST

START_TEST(enter_chooses_the_selected_loop_which_stays_selected_when_others_come)
{
	struct stage stage;
	char loop[LOOP_CHOICE_SIZE];
	play(&stage, 120, 40, false);
	stage_type(&stage, "s");
	emit_loops(&stage, 1, false);
	stage_type(&stage, "j");
	emit_loops(&stage, ROWS, false);
	stage_type(&stage, "j");
	emit_loops(&stage, ROWS - 1, false);
	stage_draw(&stage);
	ck_assert(!screen_take_loop(stage.screen, loop));
	stage_type(&stage, "\r");
	ck_assert(stage_shows(&stage, "steps are counted in train.py:214 from now on"));
	ck_assert(screen_take_loop(stage.screen, loop));
	ck_assert_str_eq(loop, "/home/me/gpt/train.py:214");
	ck_assert(!screen_take_loop(stage.screen, loop));
	stage_type(&stage, "s");
	stage_press(&stage, KEY_TO_HOME);
	stage_type(&stage, "\r");
	ck_assert(screen_take_loop(stage.screen, loop));
	ck_assert_str_eq(loop, "");
	stage_close(&stage);
}
END_TEST

START_TEST(a_recording_holds_the_loop_that_was_chosen)
{
	static const struct replay_line line = { .state = REPLAY_PAUSED };
	struct replay_line replay = line;
	struct stage stage;
	play(&stage, 120, 40, true);
	screen_set_replay(stage.screen, &replay);
	stage_type(&stage, "s");
	ck_assert_int_eq(screen_wants_loops_of(stage.screen), 0);
	ck_assert(stage_shows(&stage, "A recording holds the loop that was chosen then"));
	ck_assert(stage_shows(&stage, "train.py:214."));
	stage_close(&stage);
}
END_TEST

START_TEST(a_run_that_publishes_has_no_loops)
{
	struct story_options options;
	struct stage stage;
	story_options_default(&options);
	stage_open(&stage, &options, 120, 40);
	stage_play(&stage, 2);
	stage_type(&stage, "s");
	ck_assert_int_eq(screen_wants_loops_of(stage.screen), 0);
	ck_assert(stage_shows(&stage, "This run publishes its own steps"));
	stage_close(&stage);
}
END_TEST

START_TEST(the_overview_says_that_a_person_chose_the_loop)
{
	struct stage stage;
	play(&stage, 200, 60, true);
	ck_assert(stage_shows(&stage, "steps (chosen by a person): for step in range(max_steps), train.py:214"));
	ck_assert(stage_shows(&stage, "4 micro-batches a step"));
	stage_close(&stage);
	play(&stage, 200, 60, false);
	ck_assert(!stage_shows(&stage, "micro-batches"));
	ck_assert(stage_shows(&stage, "steps: for step in range(max_steps), train.py:214"));
	stage_close(&stage);
}
END_TEST

START_TEST(lines_stand_in_the_rows_that_the_phases_leave)
{
	struct stage stage;
	play(&stage, 120, 40, false);
	ck_assert(stage_shows(&stage, "your lines in the last minute:"));
	ck_assert(stage_shows(&stage, "100 %  loss.backward()"));
	ck_assert(stage_shows(&stage, "train.py:221"));
	ck_assert(stage_shows(&stage, "<0.1 %  log(step)"));
	stage_resize(&stage, 80, 14);
	ck_assert(!stage_shows(&stage, "your lines"));
	stage_close(&stage);
}
END_TEST

START_TEST(a_count_that_is_a_lower_bound_says_so)
{
	struct stage stage;
	play(&stage, 200, 60, false);
	ck_assert(stage_shows(&stage, "all 40 batches"));
	stage_close(&stage);
	is_at_least = true;
	play(&stage, 200, 60, false);
	ck_assert(stage_shows(&stage, "all ≥ 40 batches"));
	ck_assert(stage_shows(&stage, "≥ 40 batches    "));
	stage.canvas.charset = CHARSET_ASCII;
	stage_draw(&stage);
	ck_assert(stage_shows(&stage, "all at least 40 batches"));
	stage_resize(&stage, 200, 100); /* the epochs have room */
	ck_assert(stage_shows(&stage, "at least 40 "));
	stage_close(&stage);
	is_at_least = false;
}
END_TEST

START_TEST(how_long_it_took_is_not_known_at_its_end)
{
	struct stage stage;
	play(&stage, 200, 60, false);
	stage.model->target_ended = true;
	stage.model->target_ended_ns = stage.model->now_ns;
	stage_draw(&stage);
	ck_assert(stage_shows(&stage, "40 batches"));
	ck_assert(stage_shows(&stage, "mean step"));
	ck_assert(!stage_shows(&stage, "took"));
	stage_close(&stage);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("inferred");
	TCase *tests = tcase_create("inferred");
	tcase_set_timeout(tests, 60);
	tcase_add_test(tests, loops_at_80_columns);
	tcase_add_test(tests, loops_at_120_columns);
	tcase_add_test(tests, loops_in_ascii);
	tcase_add_test(tests, the_loops_are_wanted_only_while_they_are_viewed);
	tcase_add_test(tests, enter_chooses_the_selected_loop_which_stays_selected_when_others_come);
	tcase_add_test(tests, a_recording_holds_the_loop_that_was_chosen);
	tcase_add_test(tests, a_run_that_publishes_has_no_loops);
	tcase_add_test(tests, the_overview_says_that_a_person_chose_the_loop);
	tcase_add_test(tests, lines_stand_in_the_rows_that_the_phases_leave);
	tcase_add_test(tests, a_count_that_is_a_lower_bound_says_so);
	tcase_add_test(tests, how_long_it_took_is_not_known_at_its_end);
	suite_add_tcase(suite, tests);
	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
