#include <check.h>
#include <math.h>
#include <stdio.h>

#include "tests/support/script.h"
#include "tests/support/stage.h"
#include "tests/support/suite.h"

enum { INFERENCE = STORY_NAME_COUNT, FIRST };

static struct stage stage;
static struct script script;
static double at_s;

/* A service alone: the script emits into the stage's model. */
static void setup(void)
{
	static const char *const names[] = { "inference", "/user/17", "/user/18", "/search", "/predict/9f86d081" };
	struct story_options options;
	story_options_default(&options);
	options.is_published = false;
	options.start_ns = SCRIPT_BASE_NS;
	stage_open(&stage, &options, 120, 40);
	script_open(&script, NULL);
	model_free(script.model);
	script.model = stage.model;
	for (uint32_t i = 0; i < sizeof names / sizeof *names; i++) {
		struct record *name = script_add(&script, RECORD_NAME, 0);

		name->name.id = INFERENCE + i;
		name->name.text = names[i];
	}
	script_process(&script, 0, 100, 1, "serve.py", true);
	at_s = 1;
}

static void teardown(void)
{
	script.model = NULL;
	script_close(&script);
	stage_close(&stage);
}

static void answer(size_t count, uint32_t mode)
{
	static const double seconds[] = { 0.2, 0.25, 0.3, 0.9, 0.22 };
	struct run_state state = { .mode = mode, .loss = NAN };
	script_state(&script, &state);
	script_mode(&script, 0, at_s, mode);
	for (size_t i = 0; i < count; i++) {
		double taken_s = i % 50 == 49 ? 2.5 : seconds[i % 5];

		script_batch_begin(&script, 0, at_s, i);
		script_span(&script, 0, at_s, at_s + taken_s, FIRST + (uint32_t)(i % 4), STORY_NO_NAME);
		script_batch_end(&script, 0, at_s + taken_s, at_s, NAN);
		at_s += taken_s + 0.1;
		if (i % 20 == 19)
			script_apply(&script, at_s);
	}
	script_apply(&script, at_s);
	alerts_update(&stage.alerts, stage.model, &stage.settings);
	stage_draw(&stage);
}

START_TEST(a_run_that_answers_requests_shows_them)
{
	answer(400, INFERENCE);
	stage_expect(&stage, "requests_120x40");
	stage_resize(&stage, 80, 24);
	stage_expect(&stage, "requests_80x24");
	stage_resize(&stage, 200, 60);
	ck_assert(stage_shows(&stage, "/user/*"));
	stage_resize(&stage, 120, 40);
	stage_type(&stage, "3");
	ck_assert(stage_shows(&stage, "last hour"));
	ck_assert(stage_shows(&stage, "/predict/*"));
	ck_assert(stage_shows(&stage, "last over it 14:03:28, 2.500 s"));
}
END_TEST

START_TEST(ascii_says_the_same)
{
	answer(400, INFERENCE);
	stage.canvas.charset = CHARSET_ASCII;
	stage_draw(&stage);
	stage_expect(&stage, "requests_120x40_ascii");
}
END_TEST

START_TEST(a_training_run_shows_none)
{
	answer(60, STORY_NO_NAME);
	ck_assert(!stage_shows(&stage, "Requests"));
	stage_type(&stage, "3");
	ck_assert(!stage_shows(&stage, "Requests"));
}
END_TEST

START_TEST(no_size_is_too_small)
{
	answer(60, INFERENCE);
	for (int height = 1; height < 60; height++)
		for (int width = 1; width < 200; width += 13)
			stage_resize(&stage, width, height);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("requests");
	TCase *tests = tcase_create("screens");
	suite_add_tcase(suite, tests);
	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_set_timeout(tests, 60);
	tcase_add_test(tests, a_run_that_answers_requests_shows_them);
	tcase_add_test(tests, ascii_says_the_same);
	tcase_add_test(tests, a_training_run_shows_none);
	tcase_add_test(tests, no_size_is_too_small);
	return suite_run(suite);
}
