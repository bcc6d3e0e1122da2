#include <check.h>
#include <math.h>
#include <string.h>

#include "src/model/gpus/gpus_words.h"
#include "tests/support/script_gpus.h"
#include "tests/support/suite.h"

/* A trainer on a GPU of 80 GB, ten batches a second; its list of processes is read every two seconds, its allocator
 * published once a second. */
enum { TRAINER = 100, SPLIT = 200 };

struct held {
	double process, allocated, reserved, peak, split;
};

static struct script script;
static double at_s;

static void setup(void)
{
	script_open(&script, NULL);
	script_process(&script, 0, TRAINER, 1, "train.py", true);
	script_gpu(&script, 0, 0, -1, 0);
	struct record *name = script_add(&script, RECORD_NAME, 0);
	name->name.id = SPLIT;
	name->name.text = "cuda.inactive_split_bytes";
	script_apply(&script, 0.1);
	at_s = 0;
}

static void teardown(void) { script_close(&script); }

static void publish(double time_s, uint32_t name, double bytes)
{
	if (!isnan(bytes))
		script_gauge(&script, time_s, 0, name, bytes);
}

static void emit_batches(double until_s)
{
	for (int i = 0; i < 10; i++) {
		double begin_s = until_s - 1 + i * 0.1;
		script_batch_begin(&script, 0, begin_s, (uint64_t)i);
		script_batch_end(&script, 0, begin_s + 0.09, begin_s, NAN);
	}
}

/* `held` returns the allocated bytes at a time. */
static const struct gpu *play(double until_s, bool has_batches, struct held (*held)(double time_s))
{
	for (; at_s < until_s; at_s++) {
		struct held now = held(at_s + 1);
		if (has_batches)
			emit_batches(at_s + 1);
		publish(at_s + 1, STORY_ALLOCATED, now.allocated);
		publish(at_s + 1, STORY_RESERVED, now.reserved);
		publish(at_s + 1, STORY_PEAK, now.peak);
		publish(at_s + 1, SPLIT, now.split);
		script_figure(&script, at_s + 1, METRIC_GPU_MEMORY, 0, 80e9);
		script_figure(&script, at_s + 1, METRIC_GPU_MEMORY_USED, 0, isnan(now.process) ? now.reserved : now.process);
		if ((int)at_s % 2 == 0 && !isnan(now.process))
			script_gpu_process(&script, at_s + 1, 0, TRAINER, now.process);
		script_apply(&script, at_s + 1);
	}
	return script_gpu_of(&script, 0);
}

/* Reserves segments of 20 MB when the allocated bytes no longer fit. */
static double segments(double bytes) { return ceil(bytes / 20e6) * 20e6; }

static struct held leaks(double time_s)
{
	double allocated = 10e9 + 20e6 * time_s, reserved = segments(allocated + 500e6);
	return (struct held){ reserved + 600e6, allocated, reserved, allocated, NAN };
}

START_TEST(allocated_memory_that_grows_each_batch_is_a_leak)
{
	ck_assert_int_eq(play(14, true, leaks)->verdict, MEMORY_GROWING);
	const struct gpu *gpu = play(60, true, leaks);
	ck_assert_int_eq(gpu->verdict, MEMORY_LEAK);
	ck_assert_double_eq_tol(gpu->slope.per_s, 20e6, 1e6);
	ck_assert_double_eq_tol(gpu->slope_per_batch, 2e6, 2e5);
	/* 80 − 12.3 GB remain, of which half a gigabyte is already reserved. */
	ck_assert_double_eq_tol(gpu->full_in_s, 68.2e9 / 20e6, 100);
	ck_assert(gpu_memory_is_growing(gpu));
	ck_assert_ptr_nonnull(strstr(gpu_memory_next_step(gpu), ".item()"));
}
END_TEST

static struct held caches(double time_s)
{
	double reserved = segments(10.5e9 + 50e6 * time_s);
	return (struct held){ reserved + 600e6, 10e9, reserved, 18e9, NAN };
}

static struct held fragments(double time_s)
{
	double reserved = segments(14e9 + 100e6 * time_s);
	return (struct held){ reserved + 600e6, 8e9, reserved, 10e9, NAN };
}

static struct held caches_unseen(double time_s)
{
	struct held held = fragments(time_s);
	held.peak = NAN;
	return held;
}

/* Without a published peak the need within a batch is unknown. */
START_TEST(reserved_but_unallocated_memory_is_a_cache)
{
	const struct gpu *gpu = play(40, true, _i ? caches_unseen : caches);
	ck_assert_int_eq(gpu->verdict, MEMORY_CACHE);
	ck_assert_double_nan(gpu->full_in_s);
	ck_assert(!gpu_memory_is_growing(gpu));
}
END_TEST

static struct held splits(double time_s)
{
	double reserved = segments(10e9 + 100e6 * time_s);
	return (struct held){ reserved + 600e6, 8e9, reserved, 20e9, 1.5e9 + 90e6 * time_s };
}

START_TEST(more_taken_than_was_ever_handed_out_is_fragmentation)
{
	const struct gpu *gpu = play(40, true, _i ? splits : fragments);
	ck_assert_int_eq(gpu->verdict, MEMORY_FRAGMENTATION);
	ck_assert_double_gt(gpu->full_in_s, 100);
}
END_TEST

static struct held stays(double time_s)
{
	double swing = 1e6 * sin(time_s);
	return (struct held){ 11e9 + swing, 10e9 + swing, 10.4e9, 10.4e9, NAN };
}

static struct held fills(double time_s)
{
	double allocated = 2e9 + 100e6 * fmin(time_s, 20), reserved = segments(allocated);
	return (struct held){ reserved, allocated, reserved, reserved, NAN };
}

START_TEST(constant_or_settled_memory_is_a_plateau)
{
	ck_assert_int_eq(play(_i ? 14 : 5, true, _i ? fills : stays)->verdict, _i ? MEMORY_GROWING : MEMORY_UNKNOWN);
	ck_assert_int_eq(play(_i ? 80 : 30, true, _i ? fills : stays)->verdict, MEMORY_PLATEAU);
}
END_TEST

static struct held unpublished(double time_s) { return (struct held){ 4e9 + 50e6 * time_s, NAN, NAN, NAN, NAN }; }

START_TEST(without_an_allocator_memory_is_only_growing)
{
	const struct gpu *gpu = play(60, _i, unpublished);
	ck_assert_int_eq(gpu->verdict, MEMORY_GROWING);
	ck_assert_double_eq_tol(gpu->slope.per_s, 50e6, 2e6);
	ck_assert(_i ? gpu->slope_per_batch > 4e6 : isnan(gpu->slope_per_batch));
	ck_assert_double_eq_tol(gpu->full_in_s, 73e9 / 50e6, 40);
}
END_TEST

static struct held hidden(double time_s)
{
	struct held held = leaks(time_s);
	held.process = NAN;
	return held;
}

START_TEST(where_processes_are_hidden_the_allocator_is_judged_alone)
{
	const struct gpu *gpu = play(60, true, hidden);
	ck_assert(gpu->is_ours_by_place);
	ck_assert_int_eq(gpu->verdict, MEMORY_LEAK);
}
END_TEST

static struct held swings(double time_s)
{
	double allocated = 10e9 + 300e6 * fmod(time_s, 20), reserved = 17e9;
	return (struct held){ reserved + 600e6, allocated, reserved, reserved, NAN };
}

START_TEST(memory_that_falls_back_is_no_leak)
{
	for (int until_s = 20; until_s < 300; until_s += 7)
		ck_assert_int_ne(play(until_s, true, swings)->verdict, MEMORY_LEAK);
}
END_TEST

START_TEST(a_gpu_that_the_run_is_not_on_is_not_judged)
{
	script_gpu(&script, 0, 1, -1, 1);
	play(30, true, leaks);
	ck_assert_int_eq(script_gpu_of(&script, 1)->verdict, MEMORY_UNKNOWN);
	ck_assert_uint_eq(script_gpu_of(&script, 1)->slope.points, 0);
}
END_TEST

/* On a second GPU it has only a context. */
START_TEST(an_allocator_is_of_the_gpu_where_its_run_has_the_most)
{
	script_gpu(&script, 0, 1, -1, 1);
	for (int i = 0; i < 30; i++) {
		script_gpu_process(&script, at_s + 0.5, 1, TRAINER, 5e8);
		play(at_s + 1, true, leaks);
	}
	ck_assert_int_eq(script_gpu_of(&script, 0)->verdict, MEMORY_LEAK);
	ck_assert_int_eq(script_gpu_of(&script, 1)->verdict, MEMORY_PLATEAU);
}
END_TEST

/* Two equal GPUs: the published memory fits both. */
START_TEST(an_allocator_is_of_all_gpus_that_its_run_uses_alike)
{
	script_gpu(&script, 0, 1, -1, 1);
	for (int i = 0; i < 40; i++) {
		script_gpu_process(&script, at_s + 0.5, 1, TRAINER, leaks(at_s).process);
		play(at_s + 1, true, leaks);
	}
	ck_assert_int_eq(script_gpu_of(&script, 0)->verdict, MEMORY_LEAK);
	ck_assert_int_eq(script_gpu_of(&script, 1)->verdict, MEMORY_LEAK);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("model gpus memory");
	TCase *tests = tcase_create("memory");
	suite_add_tcase(suite, tests);
	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_set_timeout(tests, 60);
	tcase_add_test(tests, allocated_memory_that_grows_each_batch_is_a_leak);
	tcase_add_loop_test(tests, reserved_but_unallocated_memory_is_a_cache, 0, 2);
	tcase_add_loop_test(tests, more_taken_than_was_ever_handed_out_is_fragmentation, 0, 2);
	tcase_add_loop_test(tests, constant_or_settled_memory_is_a_plateau, 0, 2);
	tcase_add_loop_test(tests, without_an_allocator_memory_is_only_growing, 0, 2);
	tcase_add_test(tests, where_processes_are_hidden_the_allocator_is_judged_alone);
	tcase_add_test(tests, memory_that_falls_back_is_no_leak);
	tcase_add_test(tests, a_gpu_that_the_run_is_not_on_is_not_judged);
	tcase_add_test(tests, an_allocator_is_of_the_gpu_where_its_run_has_the_most);
	tcase_add_test(tests, an_allocator_is_of_all_gpus_that_its_run_uses_alike);
	return suite_run(suite);
}
