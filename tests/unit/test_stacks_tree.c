/* Stack samples as a tree: whose code a file is, and the stacks of DataLoader workers. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "src/sources/inferred/sums/stacks_tree.h"
#include "tests/support/suite.h"

#define WORKER "/x/lib/python3.11/site-packages/torch/utils/data/_utils/worker.py"
#define INDUCTOR "czyqx4mhx3q4hyf7xgv3v2vx4xg6yq7kl3w5m2b4n6p7r2s3t5uv.py"

static struct stacks_tree *tree;

static void start(void)
{
	tree = stacks_tree_new();
	ck_assert_ptr_nonnull(tree);
}

static void stop(void) { stacks_tree_free(tree); }

static struct py_known known_code(const char *function, const char *file)
{
	struct py_known known = { 0 };
	snprintf(known.code.function, sizeof known.code.function, "%s", function);
	snprintf(known.code.file, sizeof known.code.file, "%s", file);
	return known;
}

START_TEST(generated_files_are_not_the_users)
{
	static const struct {
		const char *file;
		bool is_own;
	} rows[] = {
		{ "/home/me/train.py", true },
		{ "train.py", true },
		{ "<stdin>", true },
		{ "<ipython-input-3-0a1b2c>", true },
		{ "/tmp/ipykernel_812/3021.py", true },
		{ "/home/me/ab/cab.py", true },
		{ "<string>", false },
		{ "<eval_with_key>.17", false },
		{ "<frozen importlib._bootstrap>", false },
		{ "<__array_function__ internals>", false },
		{ "/tmp/torchinductor_me/ab/cabx.py", false },
		{ "/scratch/cache/zy/" INDUCTOR, false },
		{ "/home/me/zz/" INDUCTOR, true },
		{ "/tmp/__autograph_generated_fileab12.py", false },
		{ "/x/lib/python3.11/queue.py", false },
		{ "/home/me/pmtop-0.1/src/python/launch/pmtop_launch_hooks.py", false },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct py_known known = known_code("step", rows[i].file);
		ck_assert_msg(stacks_tree_is_own(tree, &known) == rows[i].is_own, "%s", rows[i].file);
	}
}
END_TEST

/* Adds one sample, the outermost frame first. */
static void add(struct py_known *const *known, size_t count)
{
	static struct py_sample sample;
	const char *texts[8] = { NULL };
	memset(&sample, 0, sizeof sample);
	sample.is_whole = true;
	sample.count = count;
	for (size_t i = 0; i < count; i++)
		sample.sites[count - 1 - i] = (struct py_site){ .known = known[i], .line = 10 + (int)i };
	stacks_tree_add(tree, 1, &sample, texts, sample.count, 1000);
}

START_TEST(a_line_with_and_without_gradients_is_two_nodes)
{
	struct py_known main = known_code("main", "/home/me/train.py");
	struct py_sample sample = { .is_whole = true, .count = 1, .sites = { { .known = &main, .line = 10 } } };
	const char *texts[1] = { NULL };
	struct sample_set set = SAMPLE_SET_INIT;
	uint32_t with = stacks_tree_add(tree, 1, &sample, texts, 1, 1000);
	uint32_t without = stacks_tree_add(tree, 1, &sample, texts, 0, 1000);
	ck_assert_uint_ne(with, without);
	ck_assert_uint_eq(stacks_tree_add(tree, 1, &sample, texts, 1, 1000), with);
	ck_assert_uint_eq(stacks_tree_add(tree, 1, &sample, texts, 0, 1000), without);
	stacks_tree_emit(tree, 1, false, &set);
	for (size_t i = 0; i < set.count; i++)
		if (set.records[i].kind == RECORD_CODE_NODE)
			ck_assert_int_eq(set.records[i].code_node.is_no_grad, set.records[i].code_node.id == without);
	sample_set_release(&set);
}
END_TEST

START_TEST(a_worker_has_no_frames_of_its_parent)
{
	struct py_known main = known_code("main", "/home/me/train.py"), loop = known_code("_worker_loop", WORKER),
					get = known_code("Queue.get", "/usr/lib/python3.11/multiprocessing/queues.py"),
					item = known_code("Set.__getitem__", "/home/me/data.py");
	struct py_known *idle[] = { &main, &loop, &get }, *busy[] = { &main, &loop, &item }, *plain[] = { &main, &get };
	struct sample_set set = SAMPLE_SET_INIT;
	size_t roots = 0, nodes = 0;
	add(idle, 3);
	add(busy, 3);
	stacks_tree_emit(tree, 1, false, &set);
	for (size_t i = 0; i < set.count; i++) {
		ck_assert(set.records[i].kind != RECORD_CODE || strcmp(set.records[i].code.function, "main") != 0);
		if (set.records[i].kind != RECORD_CODE_NODE)
			continue;
		nodes++;
		roots += set.records[i].code_node.parent == 0;
		ck_assert(set.records[i].code_node.parent != 0 || set.records[i].code_node.line == 11);
	}
	ck_assert_uint_eq(nodes, 3);
	ck_assert_uint_eq(roots, 1);
	sample_set_clear(&set);
	add(plain, 2);
	stacks_tree_emit(tree, 2, false, &set);
	ck_assert_str_eq(set.records[0].code.function, "main");
	sample_set_release(&set);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("stacks_tree");
	TCase *tests = tcase_create("stacks_tree");
	tcase_add_checked_fixture(tests, start, stop);
	tcase_add_test(tests, generated_files_are_not_the_users);
	tcase_add_test(tests, a_line_with_and_without_gradients_is_two_nodes);
	tcase_add_test(tests, a_worker_has_no_frames_of_its_parent);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
