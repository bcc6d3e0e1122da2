#include <check.h>
#include <math.h>
#include <stdlib.h>

#include "src/base/clock.h"
#include "src/model/code/code_phases.h"
#include "src/model/code/code_samples.h"
#include "src/model/code/code_threads.h"
#include "src/model/model.h"
#include "tests/support/sets.h"
#include "tests/support/suite.h"

enum { TRAINER = 4711 };

static struct model *model;
static struct sample_set set;
static int64_t begin_ns;

static void open_model(void)
{
	struct model_options options;
	model_options_default(&options);
	model = model_new(&options);
	set = (struct sample_set)SAMPLE_SET_INIT;
	begin_ns = 1000 * NS_PER_S;
}

static void close_model(void)
{
	model_free(model);
	sample_set_release(&set);
}

static void begin_set(double at_s)
{
	sample_set_clear(&set);
	set.time_ns = begin_ns + (int64_t)(at_s * (double)NS_PER_S);
}

static void emit_group(uint32_t id, int32_t pid, uint64_t samples, double seconds)
{
	fill_code_group(sample_set_add(&set, RECORD_CODE_GROUP, 0, set.time_ns), id, pid, samples, 10, seconds);
}

static void emit_code(uint32_t id, const char *function, const char *file, bool is_own)
{
	fill_code(sample_set_add(&set, RECORD_CODE, 0, set.time_ns), id, function, file, is_own);
}

static void emit_node(uint32_t id, uint32_t parent, uint32_t group, uint32_t code, uint32_t line)
{
	fill_code_node(sample_set_add(&set, RECORD_CODE_NODE, 0, set.time_ns), id, parent, group, code, line, NULL);
}

static void emit_time(uint32_t id, double seconds)
{
	fill_code_time(sample_set_add(&set, RECORD_CODE_TIME, 0, set.time_ns), id, seconds);
}

static const struct code_line *line_at(uint32_t line)
{
	for (size_t i = 0; i < model->code.line_count; i++)
		if (model->code.lines[i].line == line)
			return &model->code.lines[i];
	ck_abort_msg("no line %u", line);
	return NULL;
}

static const struct code_function *function_named(uint32_t code)
{
	for (size_t i = 0; i < model->code.function_count; i++)
		if (model->code.functions[i].code + 1 == code)
			return &model->code.functions[i];
	ck_abort_msg("no function %u", code);
	return NULL;
}

/* train:10 calls Tensor.backward (a library) and fit:20, which calls train:10 again. */
static void emit_run(void)
{
	begin_set(1);
	emit_group(1, TRAINER, 10, 1);
	emit_code(1, "train", "/home/me/train.py", true);
	emit_code(2, "Tensor.backward", "/venv/lib/python3.11/site-packages/torch/_tensor.py", false);
	emit_code(3, "fit", "/home/me/fit.py", true);
	emit_node(1, 0, 1, 1, 10);
	emit_node(2, 1, 1, 2, 625);
	emit_node(3, 1, 1, 3, 20);
	emit_node(4, 3, 1, 1, 10);
	emit_time(1, 0.1);
	emit_time(2, 0.5);
	emit_time(3, 0.1);
	emit_time(4, 0.3);
	model_apply(model, &set);
}

START_TEST(calls_into_libraries_count_for_the_line_that_makes_them)
{
	emit_run();
	const struct code_line *train = line_at(10), *fit = line_at(20);
	ck_assert_double_eq_tol(train->self.total_s, 0.9, 1e-9);
	ck_assert_double_eq_tol(fit->self.total_s, 0.1, 1e-9);
	ck_assert_double_eq_tol(model->code.groups[0].seen.total_s, 1, 1e-9);
	ck_assert_double_eq_tol(model->code.groups[0].phases[CODE_PHASE_BACKWARD].total_s, 0.5, 1e-9);
	ck_assert_int_eq(train->phase, CODE_PHASE_BACKWARD);
}
END_TEST

START_TEST(a_recursive_call_counts_once)
{
	emit_run();
	ck_assert_double_eq_tol(line_at(10)->all.total_s, 1, 1e-9);
	ck_assert_double_eq_tol(line_at(20)->all.total_s, 0.4, 1e-9);
	ck_assert_double_eq_tol(function_named(1)->all.total_s, 1, 1e-9);
	ck_assert_double_eq_tol(function_named(1)->self.total_s, 0.4, 1e-9);
	ck_assert_double_eq_tol(function_named(3)->all.total_s, 0.4, 1e-9);
}
END_TEST

START_TEST(a_line_with_a_comprehension_is_one)
{
	begin_set(1);
	emit_group(1, TRAINER, 10, 1);
	emit_code(2, "<listcomp>", "/home/me/train.py", true);
	emit_code(1, "train", "/home/me/train.py", true);
	emit_code(3, "other", "/home/me/other.py", true);
	emit_code(4, "<genexpr>", "/home/me/train.py", true);
	emit_node(1, 0, 1, 1, 10);
	emit_node(2, 1, 1, 2, 10);
	emit_node(3, 1, 1, 4, 10);
	emit_node(4, 1, 1, 3, 10);
	emit_time(1, 0.1);
	emit_time(2, 0.2);
	emit_time(3, 0.3);
	emit_time(4, 0.4);
	model_apply(model, &set);
	ck_assert_uint_eq(model->code.line_count, 2);
	ck_assert_uint_eq(line_at(10)->code + 1, 1);
	ck_assert_double_eq_tol(line_at(10)->self.total_s, 0.6, 1e-9);
	ck_assert_double_eq_tol(line_at(10)->all.total_s, 1, 1e-9);
	ck_assert_uint_eq(model->code.function_count, 4);
}
END_TEST

START_TEST(the_last_minute_has_the_samples_emitted_in_it)
{
	emit_run();
	for (int second = 2; second <= 200; second++) {
		begin_set(second);
		emit_group(1, TRAINER, 10 * (uint64_t)second, second);
		emit_time(second < 150 ? 2 : 3, second < 150 ? second - 0.5 : second - 149.0);
		model_apply(model, &set);
	}
	const struct code_group *group = &model->code.groups[0];
	ck_assert_double_ge(group->time.recent_s, 55);
	ck_assert_double_le(group->time.recent_s, 60);
	ck_assert_double_eq_tol(group->recent_samples, 10 * group->time.recent_s, 10.5);
	ck_assert_double_ge(line_at(20)->self.recent_s, 49);
	ck_assert_double_le(line_at(10)->self.recent_s, 11);
	ck_assert_double_gt(line_at(10)->self.total_s, 148);
	/* No more samples: it becomes outdated. */
	begin_set(300);
	model_apply(model, &set);
	ck_assert_double_eq(group->time.recent_s, 0);
	ck_assert_double_eq(line_at(20)->self.recent_s, 0);
	ck_assert_double_gt(group->time.total_s, 199);
}
END_TEST

START_TEST(samples_of_a_snapshot_are_not_of_the_last_minute)
{
	begin_set(1);
	set.is_snapshot = true;
	emit_group(1, TRAINER, 100, 10);
	emit_code(1, "train", "/home/me/train.py", true);
	emit_node(1, 0, 1, 1, 10);
	emit_time(1, 10);
	model_apply(model, &set);
	set.is_snapshot = false;
	ck_assert_double_eq(model->code.groups[0].time.recent_s, 0);
	ck_assert_double_eq_tol(line_at(10)->self.total_s, 10, 1e-9);
	begin_set(2);
	emit_group(1, TRAINER, 110, 11);
	emit_time(1, 11);
	model_apply(model, &set);
	ck_assert_double_eq_tol(line_at(10)->self.recent_s, 1, 1e-6);
	ck_assert_double_eq(model->code.groups[0].recent_samples, 10);
}
END_TEST

#define PACKAGES "/x/lib/python3.11/site-packages/"

START_TEST(phases_follow_the_libraries_functions)
{
	static const struct {
		const char *function, *file;
		enum code_phase phase;
	} rows[] = {
		{ "_BaseDataLoaderIter.__next__", PACKAGES "torch/utils/data/dataloader.py", CODE_PHASE_DATA },
		{ "__next__", PACKAGES "torch/utils/data/dataloader.py", CODE_PHASE_DATA },
		{ "Module._call_impl", "/x/torch/nn/modules/module.py", CODE_PHASE_FORWARD },
		{ "Optimizer.profile_hook_step.<locals>.wrapper", "/x/torch/optim/optimizer.py", CODE_PHASE_OPTIMIZER },
		{ "GradScaler.unscale_", "/x/torch/amp/grad_scaler.py", CODE_PHASE_OPTIMIZER },
		{ "_find_and_load", "<frozen importlib._bootstrap>", CODE_PHASE_IMPORT },
		{ "Accelerator.backward", PACKAGES "accelerate/accelerator.py", CODE_PHASE_BACKWARD },
		{ "Trainer.get_batch_samples", PACKAGES "transformers/trainer.py", CODE_PHASE_DATA },
		{ "EpochIterator._enumerate_iterator", PACKAGES "keras/src/trainers/epoch_iterator.py", CODE_PHASE_DATA },
		{ "BaseOptimizer.apply", PACKAGES "keras/src/optimizers/base_optimizer.py", CODE_PHASE_OPTIMIZER },
		{ "Layer.__call__", PACKAGES "keras/src/layers/layer.py", CODE_PHASE_FORWARD },
		{ "JAXTrainer._make_function.<locals>.iterator_step", PACKAGES "keras/src/backend/jax/trainer.py",
			CODE_PHASE_COMPUTE },
		{ "TensorFlowTrainer.evaluate", PACKAGES "keras/src/backend/tensorflow/trainer.py", CODE_PHASE_VALIDATION },
		{ "OwnedIterator.__next__", PACKAGES "tensorflow/python/data/ops/iterator_ops.py", CODE_PHASE_DATA },
		{ "Function.__call__", PACKAGES "tensorflow/python/eager/polymorphic_function/polymorphic_function.py",
			CODE_PHASE_COMPUTE },
		{ "trace_function", PACKAGES "tensorflow/python/eager/polymorphic_function/tracing_compilation.py",
			CODE_PHASE_COMPILE },
		{ "GradientTape.gradient", PACKAGES "tensorflow/python/eager/backprop.py", CODE_PHASE_BACKWARD },
		{ "compile_or_get_cached", PACKAGES "jax/_src/compiler.py", CODE_PHASE_COMPILE },
		{ "_cpp_pjit.<locals>.cache_miss", PACKAGES "jax/_src/pjit.py", CODE_PHASE_COMPUTE },
		{ "ArrayImpl._value", PACKAGES "jax/_src/array.py", CODE_PHASE_COMPUTE },
		{ "Booster.update", PACKAGES "xgboost/core.py", CODE_PHASE_COMPUTE },
		{ "Booster.eval_set", PACKAGES "xgboost/core.py", CODE_PHASE_VALIDATION },
		{ "dispatch_data_backend", PACKAGES "xgboost/data.py", CODE_PHASE_DATA },
		{ "Booster.update", PACKAGES "lightgbm/basic.py", CODE_PHASE_COMPUTE },
		{ "Dataset._lazy_init", PACKAGES "lightgbm/basic.py", CODE_PHASE_DATA },
		{ "_fit_context.<locals>.decorator.<locals>.wrapper", PACKAGES "sklearn/base.py", CODE_PHASE_COMPUTE },
		{ "backward", "/home/me/backward.py", CODE_PHASE_OTHER },
		{ "backward", "/home/me/mytorch/_tensor.py", CODE_PHASE_OTHER },
		{ "Queue.get", "/usr/lib/python3.11/multiprocessing/queues.py", CODE_PHASE_OTHER },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		ck_assert_msg(code_phase_of(rows[i].function, rows[i].file, NULL) == rows[i].phase, "%s", rows[i].function);
}
END_TEST

START_TEST(own_functions_that_save_are_checkpoints)
{
	ck_assert_int_eq(code_phase_of("Trainer.save_checkpoint", CODE_OWN_FILES, NULL), CODE_PHASE_CHECKPOINT);
	ck_assert_int_eq(code_phase_of("checkpoint", CODE_OWN_FILES, NULL), CODE_PHASE_OTHER);
	ck_assert_int_eq(code_phase_of("save_checkpoint", PACKAGES "some/library.py", NULL), CODE_PHASE_OTHER);
}
END_TEST

START_TEST(a_phase_may_depend_on_the_caller)
{
	static const char queues[] = "/usr/lib/python3.11/multiprocessing/queues.py";
	ck_assert_int_eq(code_phase_of("Queue.get", queues, PACKAGES "torch/utils/data/_utils/worker.py"), CODE_PHASE_IDLE);
	ck_assert_int_eq(code_phase_of("Queue.get", queues, PACKAGES "torch/utils/data/dataloader.py"), CODE_PHASE_OTHER);
}
END_TEST

/* An idle worker waits for indices; one that loads an item has the phase data. */
START_TEST(a_worker_that_waits_for_indices_is_idle)
{
	begin_set(1);
	emit_group(1, TRAINER, 10, 1);
	emit_code(1, "_worker_loop", PACKAGES "torch/utils/data/_utils/worker.py", false);
	emit_code(2, "Queue.get", "/usr/lib/python3.11/multiprocessing/queues.py", false);
	emit_code(3, "wait", "/usr/lib/python3.11/multiprocessing/connection.py", false);
	emit_code(4, "Set.__getitem__", "/home/me/data.py", true);
	emit_node(1, 0, 1, 1, 1);
	emit_node(2, 1, 1, 2, 1);
	emit_node(3, 2, 1, 3, 1);
	emit_node(4, 1, 1, 4, 1);
	emit_time(3, 0.9);
	emit_time(4, 0.1);
	model_apply(model, &set);
	const struct code_group *group = &model->code.groups[0];
	ck_assert_double_eq_tol(group->phases[CODE_PHASE_IDLE].total_s, 0.9, 1e-9);
	ck_assert_double_eq_tol(group->phases[CODE_PHASE_DATA].total_s, 0.1, 1e-9);
}
END_TEST

/* Keras on PyTorch: the step runs uncompiled, and its parts have their own phases. */
START_TEST(the_parts_of_a_step_come_before_the_step)
{
	begin_set(1);
	emit_group(1, TRAINER, 10, 1);
	emit_code(1, "TorchTrainer.train_step", PACKAGES "keras/src/backend/torch/trainer.py", false);
	emit_code(2, "Layer.__call__", PACKAGES "keras/src/layers/layer.py", false);
	emit_code(3, "BaseOptimizer.apply", PACKAGES "keras/src/optimizers/base_optimizer.py", false);
	emit_node(1, 0, 1, 1, 1);
	emit_node(2, 1, 1, 2, 1);
	emit_node(3, 1, 1, 3, 1);
	emit_time(1, 0.2);
	emit_time(2, 0.5);
	emit_time(3, 0.3);
	model_apply(model, &set);
	const struct code_group *group = &model->code.groups[0];
	ck_assert_double_eq_tol(group->phases[CODE_PHASE_COMPUTE].total_s, 0.2, 1e-9);
	ck_assert_double_eq_tol(group->phases[CODE_PHASE_FORWARD].total_s, 0.5, 1e-9);
	ck_assert_double_eq_tol(group->phases[CODE_PHASE_OPTIMIZER].total_s, 0.3, 1e-9);
}
END_TEST

/* Lightning's optimizer calls the whole step as a closure; data that a model computes is data. */
START_TEST(an_outer_phase_stays_but_for_an_optimizers)
{
	begin_set(1);
	emit_group(1, TRAINER, 10, 1);
	emit_code(1, "wrapper", "/x/torch/optim/optimizer.py", false);
	emit_code(2, "Module._call_impl", "/x/torch/nn/modules/module.py", false);
	emit_code(3, "__next__", "/x/torch/utils/data/dataloader.py", false);
	emit_node(1, 0, 1, 1, 1);
	emit_node(2, 1, 1, 2, 1);
	emit_node(3, 0, 1, 3, 1);
	emit_node(4, 3, 1, 2, 1);
	emit_time(1, 0.1);
	emit_time(2, 0.2);
	emit_time(3, 0.3);
	emit_time(4, 0.4);
	model_apply(model, &set);
	const struct code_group *group = &model->code.groups[0];
	ck_assert_double_eq_tol(group->phases[CODE_PHASE_OPTIMIZER].total_s, 0.1, 1e-9);
	ck_assert_double_eq_tol(group->phases[CODE_PHASE_FORWARD].total_s, 0.2, 1e-9);
	ck_assert_double_eq_tol(group->phases[CODE_PHASE_DATA].total_s, 0.7, 1e-9);
}
END_TEST

/* Lightning's training_step with manual optimization; a forward that a backward computes again is backward. */
START_TEST(what_a_forward_calls_to_train_is_no_forward)
{
	begin_set(1);
	emit_group(1, TRAINER, 10, 1);
	emit_code(1, "Strategy.training_step", "/x/lightning/pytorch/strategies/strategy.py", false);
	emit_code(2, "Tensor.backward", "/x/torch/_tensor.py", false);
	emit_code(3, "wrapper", "/x/torch/optim/optimizer.py", false);
	emit_code(4, "Module._call_impl", "/x/torch/nn/modules/module.py", false);
	emit_node(1, 0, 1, 1, 1);
	emit_node(2, 1, 1, 2, 1);
	emit_node(3, 1, 1, 3, 1);
	emit_node(4, 2, 1, 4, 1);
	emit_time(1, 0.1);
	emit_time(2, 0.2);
	emit_time(3, 0.3);
	emit_time(4, 0.4);
	model_apply(model, &set);
	const struct code_group *group = &model->code.groups[0];
	ck_assert_double_eq_tol(group->phases[CODE_PHASE_FORWARD].total_s, 0.1, 1e-9);
	ck_assert_double_eq_tol(group->phases[CODE_PHASE_BACKWARD].total_s, 0.6, 1e-9);
	ck_assert_double_eq_tol(group->phases[CODE_PHASE_OPTIMIZER].total_s, 0.3, 1e-9);
}
END_TEST

/* The same line with and without gradients; a validation pass remains one. */
START_TEST(a_forward_without_gradients_is_inference)
{
	begin_set(1);
	emit_group(1, TRAINER, 10, 1);
	emit_code(1, "main", "/home/me/train.py", true);
	emit_code(2, "Module._call_impl", PACKAGES "torch/nn/modules/module.py", false);
	emit_code(3, "_EvaluationLoop.run", PACKAGES "lightning/pytorch/loops/evaluation_loop.py", false);
	emit_code(4, "Linear.forward", PACKAGES "torch/nn/modules/linear.py", false);
	emit_node(1, 0, 1, 1, 10);
	emit_node(2, 1, 1, 2, 99);
	emit_node(3, 1, 1, 2, 99);
	set.records[set.count - 1].code_node.is_no_grad = true;
	emit_node(4, 3, 1, 4, 12);
	emit_node(5, 0, 1, 3, 20);
	emit_node(6, 5, 1, 2, 99);
	set.records[set.count - 1].code_node.is_no_grad = true;
	emit_time(2, 0.1);
	emit_time(4, 0.2);
	emit_time(6, 0.7);
	model_apply(model, &set);
	const struct code_group *group = &model->code.groups[0];
	ck_assert_double_eq_tol(group->phases[CODE_PHASE_FORWARD].total_s, 0.1, 1e-9);
	ck_assert_double_eq_tol(group->phases[CODE_PHASE_INFERENCE].total_s, 0.2, 1e-9);
	ck_assert_double_eq_tol(group->phases[CODE_PHASE_VALIDATION].total_s, 0.7, 1e-9);
}
END_TEST

START_TEST(records_that_make_no_sense_are_left_out)
{
	begin_set(1);
	emit_node(1, 0, 1, 1, 10); /* no group, no code */
	emit_group(0, TRAINER, 1, 1);
	emit_group(65, TRAINER, 1, 1);
	emit_group(1, TRAINER, 10, 1);
	emit_code(0, "none", "none.py", true);
	emit_code(CODE_CODES_MAX + 1, "many", "many.py", true);
	emit_code(1, "train", "/home/me/train.py", true);
	emit_node(1, 1, 1, 1, 10); /* its own parent */
	emit_node(2, 9, 1, 1, 10); /* a parent that comes later */
	emit_node(2, 1, 1, 1, 10); /* one that is not there */
	emit_node(CODE_NODES_MAX + 1, 0, 1, 1, 10);
	emit_node(3, 0, 1, 7, 10); /* a code that was not emitted */
	emit_time(1, 5);
	emit_time(0, 5);
	ck_assert_uint_eq(model->code.node_count, 0);
	emit_node(5, 0, 1, 1, 10);
	emit_time(5, 1e10);
	emit_time(5, 1); /* it went back */
	model_apply(model, &set);
	ck_assert_uint_eq(model->code.line_count, 1);
	ck_assert_double_eq_tol(line_at(10)->self.total_s, 1e10, 1);
	ck_assert_double_le(line_at(10)->self.recent_s, CODE_RECENT_S);
	ck_assert_int_eq(code_group_of(&model->code, TRAINER), 0);
	ck_assert_int_eq(code_group_of(&model->code, 1), -1);
}
END_TEST

START_TEST(shares_say_how_far_off_they_may_be)
{
	ck_assert_double_eq_tol(code_error_ratio(0.5, 100), 0.05, 1e-12);
	ck_assert_double_eq(code_error_ratio(0, 100), 0);
	ck_assert(isnan(code_error_ratio(0.5, 0)));
	ck_assert(isnan(code_error_ratio(NAN, 10)));
}
END_TEST

START_TEST(paths_are_shown_from_their_package_on)
{
	ck_assert_str_eq(code_short_file("/venv/lib/python3.11/site-packages/torch/_tensor.py"), "torch/_tensor.py");
	ck_assert_str_eq(code_short_file("/usr/lib/python3.11/multiprocessing/queues.py"), "multiprocessing/queues.py");
	ck_assert_str_eq(code_short_file("/home/me/train.py"), "/home/me/train.py");
	ck_assert_str_eq(code_short_file("<string>"), "<string>");
}
END_TEST

static void emit_samples(uint32_t node, double begin_s, double end_s, uint32_t count)
{
	struct record *record =
		sample_set_add(&set, RECORD_CODE_SAMPLES, 0, begin_ns + (int64_t)(end_s * (double)NS_PER_S));
	record->code_samples.node = node;
	record->code_samples.count = count;
	record->code_samples.begin_ns = begin_ns + (int64_t)(begin_s * (double)NS_PER_S);
}

static struct run run;

static struct sampled_line sampled_line(double from_s, double to_s)
{
	struct sampled_line out;
	run.pid = TRAINER;
	model_sampled_line(model, &run, begin_ns + (int64_t)(from_s * (double)NS_PER_S),
		begin_ns + (int64_t)(to_s * (double)NS_PER_S), &out);
	return out;
}

/* Two slow steps in which train:11 takes more time than all other steps do: it is as unusual as ever. */
START_TEST(a_line_of_slow_steps_is_unusual_whatever_part_of_all_time_they_take)
{
	struct flagged flagged[2] = { 0 };
	begin_set(1);
	emit_group(1, TRAINER, 1000, 100);
	emit_code(1, "train", "/home/me/train.py", true);
	emit_node(1, 0, 1, 1, 10);
	emit_node(2, 0, 1, 1, 11);
	emit_time(1, 11);
	emit_time(2, 40);
	model_apply(model, &set);
	begin_set(60);
	emit_samples(1, 1, 10.9, 110);
	emit_samples(2, 11, 30.9, 200);
	emit_samples(1, 31, 31.9, 10);
	emit_samples(2, 32, 51.9, 200);
	model_apply(model, &set);
	ck_assert_double_eq_tol(sampled_line(32, 52).expected, 200.0 * 200 / 320, 6); /* nothing is flagged yet */
	for (int i = 0; i < 2; i++) {
		flagged[i].batch.begin_ns = begin_ns + (11 + 21 * i) * NS_PER_S;
		flagged[i].batch.end_ns = flagged[i].batch.begin_ns + 20 * NS_PER_S - 1;
	}
	run.flagged = flagged;
	run.flagged_count = 2;
	struct sampled_line line = sampled_line(32, 52);
	run = (struct run){ .pid = 0 };
	ck_assert_uint_eq(line.line, 11);
	ck_assert_uint_eq(line.count, 200);
	ck_assert_double_eq_tol(line.expected, 0, 1e-9);
}
END_TEST

/* train:10 calls step:20 in each step; train:11 calls it too, and sleep:30, which only a slow step does. */
START_TEST(the_line_of_a_slow_step_is_the_one_that_is_unusual)
{
	begin_set(1);
	emit_group(1, TRAINER, 1000, 100);
	emit_code(1, "train", "/home/me/train.py", true);
	emit_code(2, "step", "/home/me/step.py", true);
	emit_code(3, "sleep", "/home/me/sleep.py", true);
	emit_node(1, 0, 1, 1, 10);
	emit_node(2, 1, 1, 2, 20);
	emit_node(3, 0, 1, 1, 11);
	emit_node(4, 3, 1, 2, 20);
	emit_node(5, 3, 1, 3, 30);
	emit_time(2, 98);
	emit_time(4, 1);
	emit_time(5, 1);
	model_apply(model, &set);
	ck_assert(!sampled_line(0, 10).is_sampled);
	begin_set(10);
	emit_samples(2, 1, 1.9, 10);
	emit_samples(4, 2, 2.9, 10);
	emit_samples(2, 3, 3.9, 10);
	emit_samples(5, 4, 4.9, 10);
	model_apply(model, &set);
	ck_assert_uint_eq(sampled_line(1, 2).samples, 10);
	ck_assert_double_le(sampled_line(1, 2).count - sampled_line(1, 2).expected, 0.3);
	ck_assert_uint_eq(sampled_line(2, 3).line, 11);    /* the caller: step:20 itself is usual */
	ck_assert_uint_eq(sampled_line(3.95, 5).line, 30); /* the callee, which is as unusual */
	ck_assert_str_eq(sampled_line(3.95, 5).file, "/home/me/sleep.py");
	ck_assert_uint_eq(sampled_line(4.45, 5).count, 5); /* evenly spaced */
	ck_assert_uint_eq(sampled_line(6, 7).samples, 0);
}
END_TEST

static void emit_thread(uint32_t id, int32_t tid, const char *name, uint64_t samples, uint64_t busy, uint32_t node)
{
	struct record *record = sample_set_add(&set, RECORD_CODE_THREAD, 0, set.time_ns);
	record->code_thread.id = id;
	record->code_thread.group = 1;
	record->code_thread.tid = tid;
	record->code_thread.state = 'S';
	record->code_thread.node = node;
	record->code_thread.name = name;
	record->code_thread.samples = samples;
	record->code_thread.busy = busy;
}

static void emit_waits(uint32_t thread, uint32_t node, double begin_s, double end_s, uint32_t count)
{
	struct record *record =
		sample_set_add(&set, RECORD_CODE_GIL_WAITS, 0, begin_ns + (int64_t)(end_s * (double)NS_PER_S));
	record->code_gil_waits.group = 1;
	record->code_gil_waits.thread = thread;
	record->code_gil_waits.node = node;
	record->code_gil_waits.count = count;
	record->code_gil_waits.begin_ns = begin_ns + (int64_t)(begin_s * (double)NS_PER_S);
}

/* A main thread in train:10, and two workers, of which one runs in work:50. */
static void emit_workers(void)
{
	begin_set(1);
	emit_group(1, TRAINER, 100, 10);
	emit_code(1, "train", "/home/me/train.py", true);
	emit_code(2, "work", "/home/me/work.py", true);
	emit_node(1, 0, 1, 1, 10);
	emit_node(2, 0, 1, 2, 50);
	emit_time(1, 10);
	emit_thread(1, 101, "worker-0", 10, 0, 2);
	emit_thread(2, 102, "worker-1", 10, 8, 2);
	model_apply(model, &set);
}

START_TEST(the_busiest_thread_comes_first_and_a_sleeping_one_is_not_busy)
{
	struct code_thread threads[4];
	emit_workers();
	ck_assert_uint_eq(code_threads_of(model, 0, true, threads, 4), 2);
	ck_assert_str_eq(threads[0].name, "worker-1");
	ck_assert_double_eq(threads[0].total.busy, 8);
	ck_assert_double_eq(threads[0].recent.busy, 8);
	ck_assert_uint_eq(threads[0].node, 2);
	ck_assert_double_eq(threads[1].total.busy, 0);
	ck_assert_double_eq(threads[1].total.all, 10);
	ck_assert_uint_eq(code_threads_of(model, 0, true, threads, 1), 1);
	ck_assert_str_eq(threads[0].name, "worker-1");
	ck_assert_uint_eq(code_threads_of(model, 1, true, threads, 4), 0);
}
END_TEST

START_TEST(a_thread_that_ended_leaves_its_id_to_another)
{
	struct code_thread threads[4];
	emit_workers();
	begin_set(2);
	emit_thread(2, 102, "worker-1", 12, 9, 2);
	set.records[0].code_thread.is_gone = true;
	model_apply(model, &set);
	ck_assert_uint_eq(code_threads_of(model, 0, true, threads, 4), 1);
	begin_set(3);
	emit_thread(2, 103, NULL, 1, 1, 0);
	emit_thread(CODE_THREADS_MAX + 1, 104, "x", 1, 1, 0);
	model_apply(model, &set);
	ck_assert_uint_eq(code_threads_of(model, 0, true, threads, 4), 2);
	ck_assert_ptr_null(threads[0].name);
	ck_assert_int_eq(threads[0].tid, 103);
	ck_assert_double_eq(threads[0].total.all, 1);
	ck_assert_double_eq(threads[0].recent.all, 1);
}
END_TEST

START_TEST(the_last_minute_of_a_thread_has_its_new_samples)
{
	struct code_thread threads[4];
	emit_workers();
	begin_set(100);
	emit_thread(2, 102, "worker-1", 30, 13, 2);
	model_apply(model, &set);
	ck_assert_uint_eq(code_threads_of(model, 0, false, threads, 4), 2);
	ck_assert_double_eq(threads[0].recent.all, 20);
	ck_assert_double_eq(threads[0].recent.busy, 5);
	ck_assert_double_eq(threads[0].total.all, 30);
}
END_TEST

START_TEST(waits_for_the_gil_have_the_holder_of_most_of_them)
{
	struct sampled_gil gil;
	emit_workers();
	begin_set(10);
	emit_samples(1, 1, 5, 100);
	emit_waits(1, 1, 2, 2.2, 2);
	emit_waits(2, 2, 3, 3.9, 10);
	model_apply(model, &set);
	model_sampled_gil(model, TRAINER, begin_ns + 2 * NS_PER_S, begin_ns + 4 * NS_PER_S, 50, &gil);
	ck_assert_uint_eq(gil.count, 12);
	ck_assert_double_eq(gil.expected, 50 * 12 / 100.0);
	ck_assert_str_eq(gil.thread, "worker-1");
	ck_assert_str_eq(gil.file, "/home/me/work.py");
	ck_assert_uint_eq(gil.line, 50);
	model_sampled_gil(model, TRAINER, begin_ns + 5 * NS_PER_S, begin_ns + 6 * NS_PER_S, 5, &gil);
	ck_assert_uint_eq(gil.count, 0);
	ck_assert_ptr_null(gil.thread);
}
END_TEST

START_TEST(the_newest_own_line_of_a_main_thread_is_known)
{
	struct newest_line line;
	emit_run();
	ck_assert(!code_newest_line(model, TRAINER, &line));
	begin_set(11);
	emit_samples(2, 9, 9.5, 5); /* a library's line that train:10 calls */
	model_apply(model, &set);
	ck_assert(code_newest_line(model, TRAINER, &line));
	ck_assert_str_eq(line.file, "/home/me/train.py");
	ck_assert_uint_eq(line.line, 10);
	ck_assert_int_eq(line.time_ns, begin_ns + (int64_t)(9.5 * (double)NS_PER_S));
	ck_assert(!code_newest_line(model, TRAINER + 1, &line));
}
END_TEST

/* The main thread may only wait for the thread that trains; which one does, is unknown if several may. */
START_TEST(the_newest_own_line_may_be_of_another_thread)
{
	struct newest_line line;
	emit_run();
	begin_set(11);
	emit_code(4, "Worker.main_loop", "/venv/lib/python3.11/site-packages/ray/worker.py", false);
	emit_node(5, 0, 1, 4, 1069);
	emit_samples(5, 9, 9.5, 5);
	emit_thread(1, 101, "train", 10, 10, 2);
	emit_thread(2, 102, "io", 10, 0, 5);
	model_apply(model, &set);
	ck_assert(code_newest_line(model, TRAINER, &line));
	ck_assert_str_eq(line.file, "/home/me/train.py");
	ck_assert_uint_eq(line.line, 10);
	ck_assert_int_eq(line.phase, CODE_PHASE_BACKWARD);
	begin_set(12);
	emit_thread(3, 103, "validate", 10, 10, 3);
	model_apply(model, &set);
	ck_assert(code_newest_line(model, TRAINER, &line));
	ck_assert_uint_eq(line.line, 1069);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("model_code");
	TCase *tests = tcase_create("model_code");
	tcase_add_checked_fixture(tests, open_model, close_model);
	tcase_add_test(tests, calls_into_libraries_count_for_the_line_that_makes_them);
	tcase_add_test(tests, a_recursive_call_counts_once);
	tcase_add_test(tests, a_line_with_a_comprehension_is_one);
	tcase_add_test(tests, the_last_minute_has_the_samples_emitted_in_it);
	tcase_add_test(tests, samples_of_a_snapshot_are_not_of_the_last_minute);
	tcase_add_test(tests, phases_follow_the_libraries_functions);
	tcase_add_test(tests, own_functions_that_save_are_checkpoints);
	tcase_add_test(tests, a_phase_may_depend_on_the_caller);
	tcase_add_test(tests, a_worker_that_waits_for_indices_is_idle);
	tcase_add_test(tests, the_parts_of_a_step_come_before_the_step);
	tcase_add_test(tests, an_outer_phase_stays_but_for_an_optimizers);
	tcase_add_test(tests, what_a_forward_calls_to_train_is_no_forward);
	tcase_add_test(tests, a_forward_without_gradients_is_inference);
	tcase_add_test(tests, records_that_make_no_sense_are_left_out);
	tcase_add_test(tests, shares_say_how_far_off_they_may_be);
	tcase_add_test(tests, paths_are_shown_from_their_package_on);
	tcase_add_test(tests, a_line_of_slow_steps_is_unusual_whatever_part_of_all_time_they_take);
	tcase_add_test(tests, the_line_of_a_slow_step_is_the_one_that_is_unusual);
	tcase_add_test(tests, the_busiest_thread_comes_first_and_a_sleeping_one_is_not_busy);
	tcase_add_test(tests, a_thread_that_ended_leaves_its_id_to_another);
	tcase_add_test(tests, the_last_minute_of_a_thread_has_its_new_samples);
	tcase_add_test(tests, waits_for_the_gil_have_the_holder_of_most_of_them);
	tcase_add_test(tests, the_newest_own_line_of_a_main_thread_is_known);
	tcase_add_test(tests, the_newest_own_line_may_be_of_another_thread);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
