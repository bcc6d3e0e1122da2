/* A run in the real model with a line of Python that takes much of the time. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "src/rules/alerts.h"
#include "src/rules/rule_now.h"
#include "tests/support/model_parts.h"
#include "tests/support/script.h"
#include "tests/support/sets.h"
#include "tests/support/suite.h"

enum { TRAINER = 100, TRAIN = 1, ITEM = 2, BACKWARD = 3 };

static struct script script;
static struct settings settings;
static struct alerts alerts;
static struct rule_book *book;
static double at_s, item_s, backward_s, samples;

static void setup(void)
{
	book = rule_book_new();
	settings_default(&settings);
	settings.rules = book;
	script_open(&script, NULL);
	at_s = item_s = backward_s = samples = 0;
}

static void teardown(void)
{
	alerts_release(&alerts);
	script_close(&script);
	rule_book_free(book);
}

static void emit_node(uint32_t id, uint32_t parent, uint32_t code, uint32_t line, const char *text)
{
	fill_code_node(script_add(&script, RECORD_CODE_NODE, at_s), id, parent, 1, code, line, text);
}

static void emit_code(uint32_t id, const char *function, const char *file, bool is_own)
{
	fill_code(script_add(&script, RECORD_CODE, at_s), id, function, file, is_own);
}

static void emit_time(uint32_t id, double seconds)
{
	fill_code_time(script_add(&script, RECORD_CODE_TIME, at_s), id, seconds);
}

/* Ten samples a second; the line that reads the loss has this share of the time, backward the rest. */
static void go_on(double until_s, double share)
{
	while (at_s + 0.5 <= until_s + 1e-9) {
		at_s += 0.5;
		samples += 5;
		item_s += 0.5 * share;
		backward_s += 0.5 * (1 - share);
		fill_code_group(script_add(&script, RECORD_CODE_GROUP, at_s), 1, TRAINER, (uint64_t)samples, 10, at_s);
		if (at_s < 1) {
			emit_code(1, "train", "/home/me/train.py", true);
			emit_code(2, "Tensor.backward", "/x/site-packages/torch/_tensor.py", false);
			emit_node(TRAIN, 0, 1, 65, "loss.backward()");
			emit_node(ITEM, 0, 1, 68, "running += loss.item()");
			emit_node(BACKWARD, TRAIN, 2, 625, NULL);
		}
		emit_time(ITEM, item_s);
		emit_time(BACKWARD, backward_s);
		script_apply(&script, at_s);
		alerts_update(&alerts, script.model, &settings);
	}
}

static const struct alert *raised(const char *rule) { return alerts_find_raised(&alerts, rule); }

START_TEST(a_line_that_takes_much_is_warned_of)
{
	go_on(9.5, 0.3);
	ck_assert_ptr_null(raised("slow_line")); /* fewer than a hundred samples */
	go_on(25, 0.3);
	const struct alert *alert = raised("slow_line");
	ck_assert_ptr_nonnull(alert);
	ck_assert_str_eq(alert->message, "train.py:68 takes 30 % of the time: running += loss.item()");
	go_on(200, 0.01);
	ck_assert_ptr_null(raised("slow_line"));
}
END_TEST

/* Backward takes 88 %, which is ordinary for training. */
START_TEST(lines_of_the_training_itself_are_not)
{
	go_on(60, 0.12);
	ck_assert_ptr_null(raised("slow_line")); /* 12 % of 600 samples may be 9 */
	go_on(90, 0);
	ck_assert_ptr_null(raised("slow_line"));
}
END_TEST

/* A line of the user's that calls a library, in which all of the time is spent. */
static void call_until(double until_s, const char *text, const char *function, const char *file, double forward_share)
{
	for (double seconds = 0; at_s < until_s;) {
		at_s += 0.5;
		seconds += 0.5;
		samples += 5;
		fill_code_group(script_add(&script, RECORD_CODE_GROUP, at_s), 1, TRAINER, (uint64_t)samples, 10, at_s);
		if (at_s < 1) {
			emit_code(1, "<module>", "/home/me/train.py", true);
			emit_code(2, function, file, false);
			emit_code(3, "Module._call_impl", "/x/site-packages/torch/nn/modules/module.py", false);
			emit_node(1, 0, 1, 12, text);
			emit_node(2, 1, 2, 80, NULL);
			emit_node(3, 2, 3, 90, NULL);
		}
		emit_time(2, seconds * (1 - forward_share));
		emit_time(3, seconds * forward_share);
		script_apply(&script, at_s);
		alerts_update(&alerts, script.model, &settings);
	}
}

/* The whole training is one line, or the process only waits for those that train. */
START_TEST(the_call_of_the_training_is_no_slow_line)
{
	static const struct {
		const char *text, *function, *file;
		double forward_share;
	} cases[] = {
		{ "model.fit(x, y)", "fit", "/x/site-packages/unknown/model.py", 0 },
		{ "p.join()", "BaseProcess.join", "/usr/lib/python3.11/multiprocessing/process.py", 0 },
		{ "subprocess.run(command)", "run", "/usr/lib/python3.11/subprocess.py", 0 },
		{ "booster = xgb.train(params, data)", "Booster.update", "/x/site-packages/xgboost/core.py", 0 },
		{ "trainer.fit(model, loader)", "run", "/x/site-packages/lightning/pytorch/loops/fit_loop.py", 0.3 },
	};
	call_until(60, cases[_i].text, cases[_i].function, cases[_i].file, cases[_i].forward_share);
	ck_assert_ptr_null(raised("slow_line"));
}
END_TEST

/* Half of each step is data, and nothing is published of the loader. */
static void load_until(double until_s, bool has_workers, double work_s)
{
	for (double step_at_s = 0; at_s < until_s;) {
		at_s += 0.5;
		samples += 20;
		for (; step_at_s + 0.1 <= at_s; step_at_s += 0.1) {
			script_batch_begin(&script, 0, step_at_s, script.batches);
			script_span(&script, 0, step_at_s, step_at_s + 0.05, STORY_DATA, 0);
			script_span(&script, 0, step_at_s + 0.05, step_at_s + 0.1, STORY_FORWARD, 0);
			script_batch_end(&script, 0, step_at_s + 0.1, step_at_s, NAN);
		}
		if (has_workers) {
			struct record *record = script_add(&script, RECORD_CODE_GROUP, at_s);
			fill_code_group(record, 1, script.model->runs[0].pid, (uint64_t)samples, 10, at_s);
			record->code_group.is_workers = true;
			if (at_s < 1) {
				emit_code(1, "Items.__getitem__", "/home/me/data.py", true);
				emit_code(2, "Queue.get", "/usr/lib/python3.11/multiprocessing/queues.py", false);
				emit_node(1, 0, 1, 12, "image = decode(path)");
				emit_node(2, 0, 2, 113, NULL);
			}
			emit_time(1, at_s * work_s);
			emit_time(2, at_s);
		}
		script_apply(&script, at_s);
		alerts_update(&alerts, script.model, &settings);
	}
}

START_TEST(who_has_workers_is_not_advised_to_use_some)
{
	static const struct {
		bool has_workers;
		double work_s;
		const char *advice;
	} cases[] = {
		{ true, 3, "workers spend most time at data.py:12: make it cheaper, or raise num_workers" },
		{ true, 0, "raise num_workers, or make each sample cheaper" },
		{ false, 0, "load batches in worker processes: DataLoader(num_workers=4)" },
	};
	script_apply(&script, 0);
	load_until(30, cases[_i].has_workers, cases[_i].work_s);
	ck_assert_ptr_nonnull(raised("data_loading"));
	ck_assert_str_eq(raised("data_loading")->advice[0], cases[_i].advice);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("rules of code");
	TCase *tests = tcase_create("rules of code");
	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, a_line_that_takes_much_is_warned_of);
	tcase_add_test(tests, lines_of_the_training_itself_are_not);
	tcase_add_loop_test(tests, the_call_of_the_training_is_no_slow_line, 0, 5);
	tcase_add_loop_test(tests, who_has_workers_is_not_advised_to_use_some, 0, 3);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
