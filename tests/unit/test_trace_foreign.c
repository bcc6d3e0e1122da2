/* Traces of JAX, TensorFlow and Ascend: events without a category, whose processes and lines say what they are. */
#include <check.h>
#include <string.h>

#include "src/base/buffer.h"
#include "src/trace/analysis/profile_detail.h"
#include "src/trace/output/profile_advice.h"
#include "src/trace/output/profile_figures.h"
#include "src/trace/output/profile_json.h"
#include "src/trace/store/profile_kinds.h"
#include "tests/support/suite.h"
#include "tests/support/traces.h"

#define PROCESS(pid, name) "{\"ph\":\"M\",\"pid\":" pid ",\"name\":\"process_name\",\"args\":{\"name\":\"" name "\"}},"
#define LINE(pid, tid, name) \
	"{\"ph\":\"M\",\"pid\":" pid ",\"tid\":" tid ",\"name\":\"thread_name\",\"args\":{\"name\":\"" name "\"}},"
#define EVENT(pid, tid, name, ts, dur, args) \
	"{\"ph\":\"X\",\"pid\":" pid ",\"tid\":" tid ",\"ts\":" ts ",\"dur\":" dur ",\"name\":\"" name \
	"\",\"args\":{" args "}},"

static struct profile_analysis *all;

static void read_events(const char *events) { all = traces_read(events, -1); }
static void teardown(void) { traces_free(all); }

static const struct profile_kernel *kernel(const char *name)
{
	return profile_kernel_of(&all->profile, profile_name_of(traces_name(all, name)));
}

static const struct profile_op *op(const char *name)
{
	uint32_t found = traces_name(all, name);
	for (uint32_t i = 0; i < all->ops.count; i++)
		if (all->ops.rows[i].name == found)
			return &all->ops.rows[i];
	ck_abort_msg("no row for %s", name);
	return NULL;
}

/* As jax.profiler writes them: modules and operations of XLA repeat what the streams have. */
static const char jax_gpu[] = PROCESS("1", "/device:GPU:3") LINE("1", "13", "Stream #13(Compute)")
	LINE("1", "14", "Stream #14(MemcpyH2D)") LINE("1", "20", "XLA Modules") LINE("1", "21", "XLA Ops")
		PROCESS("701", "/host:CPU") LINE("701", "1", "python") EVENT("1", "13", "loop_fusion", "130", "40",
			"\"correlation_id\":\"7\",\"name\":\"jit(step)/dot_general\","
			"\"kernel_details\":\"regs:32 static_shared:0 grid:8,1,1 block:128,1,1 occ_pct:50\"")
			EVENT("1", "14", "MemcpyH2D", "110", "10",
				"\"correlation_id\":\"6\","
				"\"memcpy_details\":\"kind_src:pageable kind_dst:device size:4096 dest:0 async:1\"")
				EVENT("1", "20", "jit_step(77)", "110", "60", "") EVENT("1", "21", "fusion.1", "130", "40", "")
					EVENT("701", "1", "train", "100", "90", "\"step_num\":\"41\"")
						EVENT("701", "1", "$train.py:12 main", "100", "90", "")
							EVENT("701", "1", "PjitFunction(step)", "105", "60", "")
								EVENT("701", "1", "cuLaunchKernel", "120", "5", "\"correlation_id\":\"7\"") "{}";

START_TEST(streams_of_jax_are_counted_once_with_their_details)
{
	read_events(jax_gpu);
	ck_assert_int_eq(profile_kind_of(op("train")->name), PROFILE_ANNOTATION);
	ck_assert_int_eq(profile_kind_of(op("PjitFunction(step)")->name), PROFILE_OP);
	ck_assert_uint_eq(all->profile.kernel_count, 1);
	const struct profile_kernel *fusion = kernel("loop_fusion");
	ck_assert_int_eq(fusion->total_ns, 40000);
	ck_assert_uint_eq(fusion->registers, 32);
	ck_assert_double_eq_tol(fusion->occupancy_sum / fusion->occupancy_ns, 0.5, 1e-9);
	ck_assert_int_eq(fusion->delay_ns, 10000);
	ck_assert_int_eq(all->idle.gpus[0].index, 3);
	ck_assert_int_eq(all->idle.gpus[0].busy_ns, 50000);
	ck_assert_uint_eq(all->profile.copy_count, 1);
	const struct profile_copy *copy = &all->profile.copies[0];
	ck_assert_uint_eq(copy->bytes, 4096);
	ck_assert(profile_copy_is_pageable_upload(&all->profile.names, copy->name));
}
END_TEST

START_TEST(an_operation_of_jax_has_gpu_time_and_no_known_cpu_time)
{
	read_events(jax_gpu);
	const struct profile_op *dot = op("jit(step)/dot_general");
	ck_assert_int_eq(dot->gpu_self_ns, 40000);
	ck_assert(!dot->has_host);
	ck_assert_uint_eq(kernel("loop_fusion")->op, profile_name_of(dot->name));
	struct buffer json = BUFFER_INIT;
	struct profile_view view = { .width = 80, .limit = 1 };
	profile_as_json(&json, &all, 1, &view);
	ck_assert_ptr_nonnull(
		strstr(json.data, "\"jit(step)/dot_general\",\"kind\":\"operator\",\"count\":1,\"self_gpu_s\""));
	buffer_release(&json);
}
END_TEST

START_TEST(pages_lead_from_an_operation_to_its_kernels_and_back)
{
	struct profile_op_detail of_op;
	struct profile_work_detail of_kernel;
	read_events(jax_gpu);
	uint32_t dot = traces_name(all, "jit(step)/dot_general"), fusion = traces_name(all, "loop_fusion");
	ck_assert(profile_detail_op(&all->profile, dot, &of_op));
	ck_assert_uint_eq(of_op.kernels.count, 1);
	ck_assert_uint_eq(of_op.kernels.rows[0].name, fusion);
	ck_assert(profile_detail_work(&all->profile, fusion, &of_kernel));
	ck_assert_uint_eq(of_kernel.ops.count, 1);
	ck_assert_uint_eq(of_kernel.ops.rows[0].name, dot);
	profile_detail_op_release(&of_op);
	profile_detail_work_release(&of_kernel);
}
END_TEST

START_TEST(python_functions_and_steps_of_jax_are_known)
{
	read_events(jax_gpu);
	ck_assert_int_eq(profile_kind_of(op("$train.py:12 main")->name), PROFILE_PYTHON);
	ck_assert_uint_eq(all->idle.step_count, 1);
	ck_assert_int_eq(all->idle.steps[0].number, 41);
	ck_assert_int_eq(all->idle.steps[0].duration_ns, 90000);
}
END_TEST

/* A loop on a TPU is around what it repeats, and the line of steps is the device's own. */
START_TEST(a_loop_of_xla_has_the_time_between_its_operations)
{
	read_events(
		PROCESS("3", "/device:TPU:0") LINE("3", "1", "Steps") LINE("3", "2", "XLA Ops") LINE("3", "3", "Async XLA Ops")
			EVENT("3", "1", "7", "0", "100", "") EVENT("3", "2", "while.1", "0", "90", "\"name\":\"jit(f)/while\"")
				EVENT("3", "2", "fusion.2", "10", "30", "\"name\":\"jit(f)/while/body/dot\"")
					EVENT("3", "2", "all-reduce.3", "50", "20", "") EVENT("3", "3", "copy-start.4", "0", "95", "")
						EVENT("9", "1", "train", "0", "5", "\"step_num\":\"1\"") "{}");
	ck_assert_int_eq(kernel("while.1")->total_ns, 40000);
	ck_assert_int_eq(kernel("fusion.2")->total_ns, 30000);
	ck_assert_uint_eq(all->profile.kernel_count, 3);
	ck_assert_int_eq(all->idle.gpus[0].busy_ns, 90000);
	ck_assert_int_eq(all->idle.gpus[0].communication_ns, 20000);
	ck_assert_int_eq(op("jit(f)/while/body/dot")->gpu_self_ns, 30000);
	ck_assert_uint_eq(all->ops.count, 2); /* the loop itself is none: its operations have its time */
	ck_assert_uint_eq(all->idle.step_count, 1);
	ck_assert_int_eq(all->idle.steps[0].number, 7);
}
END_TEST

#define TF_OP(pid, ts, dur, name, op) \
	"{\"ph\":\"X\",\"cat\":\"Op\",\"pid\":" pid ",\"tid\":0,\"ts\":" ts ",\"dur\":" dur ",\"name\":\"" op \
	"\",\"args\":{\"name\":\"" name "\",\"op\":\"" op "\"}},"

/* Its processes repeat each other: one for each stream, one for all. What the executor does is work of the host. */
START_TEST(the_timeline_of_tensorflow_counts_kernels_and_copies_once)
{
	read_events(PROCESS("1", "/job:localhost/replica:0/task:0/device:GPU:0 Compute")
			PROCESS("2", "/device:GPU:0/stream:all Compute") PROCESS("3", "/device:GPU:0/stream:13 Compute")
				PROCESS("4", "/device:GPU:0/stream:13<MemcpyH2D> Compute") PROCESS("5", "/device:GPU:0/memcpy Compute")
					PROCESS("6", "/device:GPU:0/sync Compute") TF_OP("1", "1010", "20", "MatMul", "MatMul")
						TF_OP("2", "1020", "100", "MatMul", "unknown") TF_OP("3", "1020", "100", "MatMul", "unknown")
							TF_OP("2", "1130", "50", "Tanh", "unknown") TF_OP("3", "1130", "50", "Tanh", "unknown")
								TF_OP("4", "1005", "10", "MEMCPYHtoD", "unknown") TF_OP("5", "1005", "10", "MEMCPYHtoD",
									"unknown") TF_OP("6", "1100", "90", "cuStreamSynchronize", "unknown") "{}");
	const struct profile_gpu *gpu = &all->idle.gpus[0];
	ck_assert_uint_eq(all->idle.gpu_count, 1);
	ck_assert_uint_eq(gpu->kernel_count, 2);
	ck_assert_int_eq(gpu->kernel_ns, 150000);
	ck_assert_uint_eq(all->profile.copy_count, 1);
	ck_assert_int_eq(gpu->copy_ns, 10000);
	ck_assert_int_eq(kernel("MatMul")->total_ns, 100000);
	ck_assert_int_eq(op("MatMul")->total_ns, 20000);
	ck_assert_int_eq(op("MatMul")->gpu_self_ns, 100000);
}
END_TEST

/* torch_npu writes times as texts, and lines that are computed from the others. */
START_TEST(an_npu_works_in_streams_and_groups_and_waits_are_no_work)
{
	read_events(PROCESS("4", "Ascend Hardware") LINE("4", "2", "Stream 2") PROCESS("5", "Communication")
			LINE("5", "0", "Group group_name_0 Communication") LINE("5", "1", "Plane 0")
				PROCESS("6", "Overlap Analysis") PROCESS("8", "Python")
					EVENT("4", "2", "MatMulV2", "\"1699529623106750.0\"", "100", "\"Task Type\":\"AI_CORE\"")
						EVENT("4", "2", "EVENT_WAIT", "\"1699529623106850.0\"", "500", "")
							EVENT("5", "0", "hcom_allReduce__661_0_1", "\"1699529623106800.0\"", "80", "")
								EVENT("5", "1", "Notify_Wait", "\"1699529623106800.0\"", "70", "")
									EVENT("6", "2", "Computing", "\"1699529623106750.0\"", "100", "")
										EVENT("8", "1", "aten::mm", "\"1699529623106740.0\"", "700", "") "{}");
	const struct profile_gpu *npu = &all->idle.gpus[0];
	ck_assert_uint_eq(all->idle.gpu_count, 1);
	ck_assert_uint_eq(npu->kernel_count, 2);
	ck_assert_int_eq(npu->busy_ns, 130000);
	ck_assert_int_eq(npu->communication_ns, 80000);
	ck_assert_int_eq(npu->overlap_ns, 50000);
	ck_assert_uint_eq(all->ops.count, 1);
}
END_TEST

/* With categories, or as begin and end: what a device process has is its work all the same. */
START_TEST(other_forms_of_a_devices_events_are_its_work_too)
{
	read_events(PROCESS("3", "/device:GPU:0") "{\"ph\":\"B\",\"pid\":3,\"tid\":1,\"ts\":1,\"name\":\"a\"},"
											  "{\"ph\":\"E\",\"pid\":3,\"tid\":1,\"ts\":5},"
											  "{\"ph\":\"X\",\"cat\":\"Op\",\"pid\":3,\"tid\":1,\"ts\":7,\"dur\":2,"
											  "\"name\":\"b\",\"args\":{\"Input Dims\":[[2]]}},"
											  "{\"ph\":\"X\",\"cat\":\"python_function\",\"pid\":3,\"tid\":1,"
											  "\"ts\":20,\"dur\":4,\"name\":\"c\"}");
	ck_assert_uint_eq(all->profile.kernel_count, 3);
	ck_assert_int_eq(all->idle.gpus[0].busy_ns, 10000);
	ck_assert_int_eq(all->idle.gpus[0].window_ns, 23000);
	ck_assert_uint_eq(all->ops.count, 0);
}
END_TEST

START_TEST(advice_is_for_the_framework_that_wrote_the_trace)
{
	struct profile_figures figures;
	read_events(jax_gpu);
	profile_figures_find(all, &figures);
	for (const struct profile_rule *rule = profile_rules; rule->name; rule++) {
		const char *advice = profile_rule_advice(rule, &figures);
		ck_assert_msg(!strstr(advice, "torch") && !strstr(advice, "DataLoader"), "%s: %s", rule->name, advice);
	}
	traces_free(all);
	read_events(traces_full);
	profile_figures_find(all, &figures);
	for (const struct profile_rule *rule = profile_rules; rule->name; rule++)
		ck_assert_str_eq(profile_rule_advice(rule, &figures), rule->advice);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("trace_foreign");
	TCase *tests = tcase_create("all");
	tcase_add_checked_fixture(tests, NULL, teardown);
	tcase_add_test(tests, streams_of_jax_are_counted_once_with_their_details);
	tcase_add_test(tests, an_operation_of_jax_has_gpu_time_and_no_known_cpu_time);
	tcase_add_test(tests, pages_lead_from_an_operation_to_its_kernels_and_back);
	tcase_add_test(tests, python_functions_and_steps_of_jax_are_known);
	tcase_add_test(tests, a_loop_of_xla_has_the_time_between_its_operations);
	tcase_add_test(tests, the_timeline_of_tensorflow_counts_kernels_and_copies_once);
	tcase_add_test(tests, an_npu_works_in_streams_and_groups_and_waits_are_no_work);
	tcase_add_test(tests, other_forms_of_a_devices_events_are_its_work_too);
	tcase_add_test(tests, advice_is_for_the_framework_that_wrote_the_trace);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
