#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/clock.h"
#include "src/explain/explain.h"
#include "src/explain/explain_flagged.h"
#include "tests/support/sets.h"
#include "tests/support/stage.h"

enum { TRAINER = 48213, MAIN = 1, WORKERS = 2 };

static const struct {
	const char *function, *file;
	bool is_own;
} codes[] = {
	{ "<module>", "/home/me/resnet/train.py", true },
	{ "train", "/home/me/resnet/train.py", true },
	{ "_BaseDataLoaderIter.__next__", "/venv/lib/python3.11/site-packages/torch/utils/data/dataloader.py", false },
	{ "Module._call_impl", "/venv/lib/python3.11/site-packages/torch/nn/modules/module.py", false },
	{ "ResNet.forward", "/home/me/resnet/models/resnet.py", true },
	{ "Conv2d.forward", "/venv/lib/python3.11/site-packages/torch/nn/modules/conv.py", false },
	{ "Tensor.backward", "/venv/lib/python3.11/site-packages/torch/_tensor.py", false },
	{ "_engine_run_backward", "/venv/lib/python3.11/site-packages/torch/autograd/graph.py", false },
	{ "Optimizer.profile_hook_step.<locals>.wrapper", "/venv/lib/python3.11/site-packages/torch/optim/optimizer.py",
		false },
	{ "AdamW.step", "/venv/lib/python3.11/site-packages/torch/optim/adamw.py", false },
	{ "Queue.get", "/usr/lib/python3.11/multiprocessing/queues.py", false },
	{ "_worker_loop", "/venv/lib/python3.11/site-packages/torch/utils/data/_utils/worker.py", false },
	{ "Photos.__getitem__", "/home/me/resnet/photos.py", true },
	{ "Image.convert", "/venv/lib/python3.11/site-packages/PIL/Image.py", false },
};

/* share: of the group's time with this line innermost, in tenths of a percent */
static const struct {
	uint32_t group, parent, code, line;
	const char *text;
	unsigned share;
} nodes[] = {
	{ MAIN, 0, 1, 88, "train(config)", 0 },
	{ MAIN, 1, 2, 61, "for images, labels in loader:", 4 },
	{ MAIN, 2, 3, 732, NULL, 11 },
	{ MAIN, 3, 11, 103, NULL, 325 },
	{ MAIN, 1, 2, 64, "loss = criterion(model(images), labels)", 9 },
	{ MAIN, 5, 4, 1762, NULL, 3 },
	{ MAIN, 6, 5, 41, "x = self.layer3(self.layer2(self.layer1(self.stem(x))))", 5 },
	{ MAIN, 7, 4, 1762, NULL, 4 },
	{ MAIN, 8, 6, 548, NULL, 187 },
	{ MAIN, 6, 5, 42, NULL, 21 },
	{ MAIN, 1, 2, 65, "loss.backward()", 0 },
	{ MAIN, 11, 7, 625, NULL, 2 },
	{ MAIN, 12, 8, 841, NULL, 331 },
	{ MAIN, 1, 2, 66, "optimizer.step()", 1 },
	{ MAIN, 14, 9, 484, NULL, 6 },
	{ MAIN, 15, 10, 227, NULL, 71 },
	{ MAIN, 1, 2, 68, "running += loss.item()", 20 },
	{ WORKERS, 0, 12, 349, NULL, 10 },
	{ WORKERS, 18, 13, 23, "return self.tf(Image.open(path).convert(\"RGB\")), self.labels[index]", 80 },
	{ WORKERS, 19, 14, 982, NULL, 910 },
};

static void emit_group(struct sample_set *set, uint32_t id, int64_t time_ns, double seconds, double hz)
{
	struct record *record = sample_set_add(set, RECORD_CODE_GROUP, 0, time_ns);
	fill_code_group(record, id, TRAINER, (uint64_t)(seconds * hz), hz, seconds);
	record->code_group.is_workers = id == WORKERS;
}

static void emit_nodes(struct sample_set *set, int64_t time_ns)
{
	for (uint32_t i = 0; i < sizeof codes / sizeof codes[0]; i++)
		fill_code(
			sample_set_add(set, RECORD_CODE, 0, time_ns), i + 1, codes[i].function, codes[i].file, codes[i].is_own);
	for (uint32_t i = 0; i < sizeof nodes / sizeof nodes[0]; i++)
		fill_code_node(sample_set_add(set, RECORD_CODE_NODE, 0, time_ns), i + 1, nodes[i].parent, nodes[i].group,
			nodes[i].code, nodes[i].line, nodes[i].text);
}

/* A run that pmtop has watched for so many seconds. */
static void play(struct stage *stage, double until_s, int width, int height)
{
	struct sample_set set = SAMPLE_SET_INIT;
	struct story_options options;
	story_options_default(&options);
	options.epochs = 5;
	options.batches = 1000;
	stage_open(stage, &options, width, height);
	for (double at_s = 0.5; at_s <= until_s; at_s += 0.5) {
		stage_play(stage, at_s);
		sample_set_clear(&set);
		set.time_ns = stage->begin_ns + (int64_t)(at_s * (double)NS_PER_S);
		set.source = "stacks";
		emit_group(&set, MAIN, set.time_ns, at_s, 100);
		emit_group(&set, WORKERS, set.time_ns, at_s, 100);
		if (at_s < 1)
			emit_nodes(&set, set.time_ns);
		for (uint32_t i = 0; i < sizeof nodes / sizeof nodes[0]; i++) {
			struct record *record = sample_set_add(&set, RECORD_CODE_TIME, 0, set.time_ns);

			record->code_time.id = i + 1;
			record->code_time.total_ns = (uint64_t)(at_s * nodes[i].share * 1e6);
		}
		model_apply(stage->model, &set);
		explain_flagged(stage->model);
	}
	sample_set_release(&set);
	stage_draw(stage);
}

static void expect_picture(
	double until_s, int width, int height, enum charset charset, const char *keys, const char *name)
{
	struct stage stage;
	play(&stage, until_s, width, height);
	stage_forget_alerts(&stage);
	stage_expect_after(&stage, charset, keys, name);
	stage_close(&stage);
}

START_TEST(code_at_120_columns) { expect_picture(90, 120, 40, CHARSET_BRAILLE, "7", "code_120x40"); }
END_TEST
START_TEST(code_at_80_columns) { expect_picture(90, 80, 24, CHARSET_BRAILLE, "7jj", "code_80x24"); }
END_TEST
START_TEST(code_at_200_columns) { expect_picture(90, 200, 60, CHARSET_BRAILLE, "7j", "code_200x60"); }
END_TEST
START_TEST(code_at_40_columns) { expect_picture(90, 40, 10, CHARSET_BRAILLE, "7", "code_40x10"); }
END_TEST
START_TEST(code_in_ascii) { expect_picture(90, 80, 24, CHARSET_ASCII, "7", "code_80x24_ascii"); }
END_TEST

START_TEST(minus_shows_the_whole_time_and_plus_the_last_minute)
{
	struct stage stage;
	play(&stage, 90, 120, 40);
	stage_type(&stage, "7");
	ck_assert(stage_shows(&stage, "last 5"));
	stage_type(&stage, "-");
	ck_assert(stage_shows(&stage, "since attach, 1 min"));
	stage_type(&stage, "+");
	ck_assert(!stage_shows(&stage, "since attach"));
	stage_close(&stage);
}
END_TEST

static void emit_threads(struct stage *stage, double at_s, uint64_t samples, unsigned busy_percent)
{
	struct sample_set set = SAMPLE_SET_INIT;
	set.time_ns = stage->begin_ns + (int64_t)(at_s * (double)NS_PER_S);
	set.source = "stacks";
	for (uint32_t i = 0; i < 3; i++) {
		struct record *record = sample_set_add(&set, RECORD_CODE_THREAD, 0, set.time_ns);
		record->code_thread.id = i + 1;
		record->code_thread.group = MAIN;
		record->code_thread.tid = (int32_t)(TRAINER + i + 1);
		record->code_thread.node = i == 0 ? 19 : 0;
		record->code_thread.name = i == 0 ? "prefetch-0" : i == 1 ? "pt_autograd_0" : "tqdm";
		record->code_thread.samples = samples;
		record->code_thread.busy = i == 2 ? 0 : samples * busy_percent / 100 / (i + 1);
		record->code_thread.waits = i == 0 ? samples / 10 : 0;
	}
	model_apply(stage->model, &set);
	sample_set_release(&set);
}

/* One sleeps, and is only counted. */
START_TEST(threads_that_ran_are_below)
{
	struct stage stage;
	play(&stage, 90, 120, 40);
	emit_threads(&stage, 89, 20, 60);
	emit_threads(&stage, 90, 40, 60);
	stage_type(&stage, "7");
	ck_assert(stage_shows(&stage, "Other threads"));
	ck_assert(stage_shows(&stage, "1 more asleep"));
	ck_assert(stage_shows(&stage, " 60 %  10 % prefetch-0       photos.py:23 "));
	ck_assert(stage_shows(&stage, " 30 %   0 % pt_autograd_0    no Python code"));
	ck_assert(!stage_shows(&stage, "tqdm"));
	stage_press(&stage, KEY_ARROW_RIGHT);
	ck_assert(stage_shows(&stage, "loader workers of"));
	ck_assert(!stage_shows(&stage, "Other threads"));
	stage_close(&stage);
}
END_TEST

START_TEST(threads_that_sleep_take_no_room)
{
	struct stage stage;
	play(&stage, 90, 120, 40);
	emit_threads(&stage, 90, 40, 0);
	stage_type(&stage, "7");
	ck_assert(stage_shows(&stage, "  0 %  10 % prefetch-0"));
	ck_assert(!stage_shows(&stage, "pt_autograd_0"));
	stage_close(&stage);
}
END_TEST

START_TEST(arrows_show_the_workers_as_one)
{
	struct stage stage;
	play(&stage, 20, 120, 40);
	stage_type(&stage, "7");
	ck_assert(!stage_shows(&stage, "loader workers of"));
	stage_press(&stage, KEY_ARROW_RIGHT);
	ck_assert(stage_shows(&stage, "loader workers of"));
	ck_assert(stage_shows(&stage, "photos.py:23"));
	ck_assert(stage_shows(&stage, "Image.convert"));
	stage_press(&stage, KEY_ARROW_RIGHT);
	ck_assert(!stage_shows(&stage, "loader workers of"));
	stage_close(&stage);
}
END_TEST

START_TEST(the_chosen_line_says_what_it_calls)
{
	struct stage stage;
	play(&stage, 20, 120, 40);
	stage_type(&stage, "7");
	ck_assert(stage_shows(&stage, "What train.py:61 calls"));
	stage_type(&stage, "j");
	ck_assert(stage_shows(&stage, "What train.py:65 calls"));
	ck_assert(stage_shows(&stage, "  _engine_run_backward  torch/autograd/graph.py"));
	stage_type(&stage, "/loss.item\r");
	stage_type(&stage, "n");
	ck_assert(stage_shows(&stage, "What train.py:68 calls"));
	ck_assert(stage_shows(&stage, "no Python calls: 2 % go to the line itself"));
	stage_type(&stage, "/nothing like it\rn");
	ck_assert(stage_shows(&stage, "no line matches"));
	stage_close(&stage);
}
END_TEST

START_TEST(rows_keep_their_line_when_they_are_sorted)
{
	struct stage stage;
	int x, first, second;
	play(&stage, 20, 120, 40);
	stage_type(&stage, "7j");
	ck_assert(stage_shows(&stage, "What train.py:65 calls"));
	stage_type(&stage, ">>");
	ck_assert(stage_shows(&stage, "What train.py:65 calls"));
	ck_assert(stage_find(&stage, "resnet.py:41", &x, &first) && stage_find(&stage, "train.py:61", &x, &second));
	ck_assert_int_lt(first, second);
	stage_type(&stage, "I");
	ck_assert(stage_find(&stage, "resnet.py:41", &x, &first) && stage_find(&stage, "train.py:61", &x, &second));
	ck_assert_int_gt(first, second);
	stage_close(&stage);
}
END_TEST

START_TEST(what_is_shown_is_written)
{
	struct buffer csv = BUFFER_INIT;
	struct stage stage;
	play(&stage, 20, 120, 40);
	stage_type(&stage, "7-");
	ck_assert(screen_write(stage.screen, &csv));
	ck_assert_ptr_nonnull(strstr(
		csv.data, "pid,is_workers,file,line,function,works_at,seconds,share_ratio,all_seconds,all_share_ratio,text\n"));
	ck_assert_ptr_nonnull(
		strstr(csv.data, "48213,0,/home/me/resnet/train.py,65,train,backward,6.66,0.333,6.66,0.333,loss.backward()\n"));
	buffer_release(&csv);
	stage_close(&stage);
}
END_TEST

START_TEST(without_python_it_says_why)
{
	struct story_options options;
	struct stage stage;
	story_options_default(&options);
	stage_open(&stage, &options, 120, 40);
	stage_play(&stage, 10);
	stage_type(&stage, "7jk+-<>I\r");
	ck_assert(stage_shows(&stage, "pmtop has no samples of its Python code yet."));
	sample_set_clear(&stage.set);
	stage.set.time_ns = stage.model->now_ns;
	sample_set_missing(&stage.set, stage.model->now_ns, "stacks", "process 48213 runs no CPython 3.8 or newer", "");
	model_apply(stage.model, &stage.set);
	explain_flagged(stage.model);
	stage_draw(&stage);
	ck_assert(stage_shows(&stage, "process 48213 runs no CPython 3.8 or newer"));
	ck_assert(stage_shows(&stage, "PMTOP_SPAN"));
	stage_close(&stage);
}
END_TEST

START_TEST(no_size_does_harm)
{
	struct stage stage;
	play(&stage, 20, 80, 24);
	stage_type(&stage, "7");
	for (int width = 1; width <= 210; width += width < 45 ? 4 : 11)
		for (int height = 1; height <= 62; height += height < 24 ? 3 : 9) {
			stage_resize(&stage, width, height);
			stage_press(&stage, KEY_ARROW_DOWN);
			stage_press(&stage, KEY_PAGE_DOWN);
			stage_press(&stage, KEY_ARROW_RIGHT);
			stage_click(&stage, width / 2, height / 2);
			stage_click(&stage, 3, 3);
		}
	stage_close(&stage);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("code");
	TCase *tests = tcase_create("code");

	tcase_add_test(tests, code_at_120_columns);
	tcase_add_test(tests, code_at_80_columns);
	tcase_add_test(tests, code_at_200_columns);
	tcase_add_test(tests, code_at_40_columns);
	tcase_add_test(tests, code_in_ascii);
	tcase_add_test(tests, minus_shows_the_whole_time_and_plus_the_last_minute);
	tcase_add_test(tests, threads_that_ran_are_below);
	tcase_add_test(tests, threads_that_sleep_take_no_room);
	tcase_add_test(tests, arrows_show_the_workers_as_one);
	tcase_add_test(tests, the_chosen_line_says_what_it_calls);
	tcase_add_test(tests, rows_keep_their_line_when_they_are_sorted);
	tcase_add_test(tests, what_is_shown_is_written);
	tcase_add_test(tests, without_python_it_says_why);
	tcase_add_test(tests, no_size_does_harm);
	suite_add_tcase(suite, tests);
	SRunner *runner = srunner_create(suite);

	srunner_run_all(runner, CK_NORMAL);
	int failed = srunner_ntests_failed(runner);

	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
