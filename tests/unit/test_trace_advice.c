/* What recommendations of `pmtop trace` say of traces as people have them: warm-up, stalls, collectives, old GPUs. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/trace/analysis/profile_analysis.h"
#include "src/trace/output/profile_advice.h"
#include "src/trace/output/profile_figures.h"
#include "src/trace/output/profile_text.h"
#include "src/trace/store/profile_kinds.h"
#include "tests/support/suite.h"

static struct profile_analysis *all;
static struct profile_figures *figures;
static bool is_open;

static void setup(void)
{
	all = malloc(sizeof *all);
	figures = malloc(sizeof *figures);
	is_open = false;
}

static void teardown(void)
{
	if (is_open)
		profile_analysis_release(all);
	free(all);
	free(figures);
}

/* `members`: more members of the outermost object. */
static void read_trace(const char *members, const char *events)
{
	struct reason reason = { "", "" };
	char *text;
	int length = asprintf(&text, "{%s\"traceEvents\": [%s]}", members, events);
	ck_assert_int_gt(length, 0);
	ck_assert_int_eq(profile_analyse_memory(all, text, (size_t)length, GROUP_NAME, &reason), STATUS_OK);
	is_open = true;
	free(text);
	profile_figures_find(all, figures);
}

static const struct profile_rule *rule_of(const char *name)
{
	const struct profile_rule *rule = profile_rules;
	while (rule->name && strcmp(rule->name, name) != 0)
		rule++;
	ck_assert_msg(rule->name != NULL, "%s", name);
	return rule;
}

static bool holds(const char *name) { return profile_rule_holds(rule_of(name), figures); }

static void expect_message(const char *name, const char *message)
{
	char text[PROFILE_MESSAGE_SIZE];
	ck_assert(holds(name));
	ck_assert_str_eq(profile_rule_say(rule_of(name)->message, figures, text), message);
}

#define EVENT(cat, name, tid, ts, dur, args) \
	"{\"ph\":\"X\",\"cat\":\"" cat "\",\"name\":\"" name "\",\"pid\":0,\"tid\":" tid ",\"ts\":" ts ",\"dur\":" dur \
	",\"args\":{" args "}}"
#define OP(name, ts, dur, id) EVENT("cpu_op", name, "1", ts, dur, "\"External id\":" id)
#define CALL(name, ts, dur) EVENT("cuda_runtime", name, "1", ts, dur, "\"correlation\":9")
#define KERNEL(name, ts, dur, id) EVENT("kernel", name, "7", ts, dur, "\"device\":0,\"External id\":" id)

START_TEST(kernels_of_zero_length_end_a_gap)
{
	read_trace("",
		OP("aten::add", "0", "100", "1") "," KERNEL("k", "10", "10", "1") "," KERNEL("k", "40", "0", "1") "," KERNEL(
			"k", "60", "0", "1") "," KERNEL("k", "80", "20", "1"));
	const struct profile_gpu *gpu = &all->idle.gpus[0];
	ck_assert_int_eq(gpu->idle_ns, 70000);
	ck_assert_int_eq(gpu->idle_split_ns[IDLE_HOST], 70000);
	ck_assert_int_eq(all->idle.gaps[0].end_ns - all->idle.gaps[0].start_ns, 20000);
}
END_TEST

START_TEST(one_long_gap_is_a_stall_and_not_launch_bound)
{
	read_trace("",
		OP("normalize", "0", "5000", "1") "," OP("aten::mm", "5000", "100", "2") "," KERNEL(
			"gemm", "5000", "5000", "2"));
	ck_assert(!holds("launch_bound"));
	expect_message("host_stalls",
		"GPU idle 50 % of the time in 1 gap over 1 ms, the longest 5.00 ms: the CPU was in "
		"normalize");
}
END_TEST

START_TEST(short_gaps_between_kernels_are_launch_bound)
{
	read_trace(
		"", OP("aten::mm", "0", "1000", "1") "," KERNEL("a", "0", "200", "1") "," KERNEL("a", "600", "400", "1"));
	ck_assert(!holds("host_stalls"));
	expect_message("launch_bound", "GPU idle 40 % of the time; 40 % in short gaps between kernels (launch-bound)");
}
END_TEST

START_TEST(time_to_set_up_the_gpu_is_no_stall)
{
	read_trace("",
		OP("aten::empty", "0", "9000", "1") "," CALL("cudaMalloc", "100", "8800") "," KERNEL("a", "9000", "1000", "1"));
	ck_assert(!holds("host_stalls") && !holds("launch_bound"));
	expect_message("sets_up", "GPU idle 90 % of the time while the CPU sets it up (cudaMalloc)");
}
END_TEST

/* The GPU is idle for 400 of 1,000 µs around a wait. */
#define WAIT_OF(name) \
	OP("aten::mm", "0", "20", "1") \
	"," KERNEL("gemm", "0", "300", "1") "," OP(name, "100", "600", "2") "," KERNEL("gemm", "700", "300", "3")

START_TEST(waits_in_item_are_reported_once)
{
	read_trace("", WAIT_OF("aten::_local_scalar_dense"));
	ck_assert(holds("item_in_loop") && !holds("synchronizes"));
	profile_analysis_release(all);
	is_open = false;
	read_trace("", WAIT_OF("cudaDeviceSynchronize"));
	ck_assert(!holds("item_in_loop"));
	expect_message("synchronizes", "GPU idle 40 % of the time around synchronizations");
}
END_TEST

#define COPY(name, ts, dur, id) \
	EVENT("gpu_memcpy", name, "7", ts, dur, "\"device\":0,\"bytes\":1000000,\"correlation\":" id)
#define CALL_OF(name, ts, dur, id) EVENT("cuda_runtime", name, "1", ts, dur, "\"correlation\":" id)

/* Of 1,000 µs, two copies run for 100 µs each, and the GPU is idle for 200 µs around the first, 100 µs around the
 * second, while the CPU waits. */
#define COPIES_OF(first, second) \
	OP("aten::copy_", "0", "310", "1") \
	"," CALL_OF("cudaMemcpyAsync", "0", "100", "11") "," CALL_OF( \
		"cudaStreamSynchronize", "100", "200", "12") "," COPY(first, "150", "100", "11") "," OP("aten::copy_", "310", \
		"200", "2") "," CALL_OF("cudaMemcpyAsync", "310", "200", "13") "," COPY(second, "410", "100", \
		"13") "," KERNEL("gemm", "510", "490", "3")
#define PAGEABLE "Memcpy HtoD (Pageable -> Device)"
#define TO_HOST "Memcpy DtoH (Device -> Pageable)"

START_TEST(a_pageable_copy_that_the_host_waits_for_is_reported_once)
{
	read_trace("", COPIES_OF(PAGEABLE, PAGEABLE));
	ck_assert(!holds("waits_for_copies"));
	expect_message("pageable_copies",
		"2 copies from pageable memory take 200 µs (20 % of the time) at 10.0 GB/s; GPU idle 30 % of the time while "
		"the "
		"CPU waits for them");
	profile_analysis_release(all);
	is_open = false;
	read_trace("", COPIES_OF(TO_HOST, TO_HOST));
	ck_assert(!holds("pageable_copies"));
	expect_message("waits_for_copies", "GPU idle 30 % of the time while the CPU waits in a copy");
}
END_TEST

START_TEST(each_copy_that_the_host_waits_for_has_its_own_cause)
{
	read_trace("", COPIES_OF(TO_HOST, PAGEABLE));
	expect_message("waits_for_copies", "GPU idle 20 % of the time while the CPU waits in a copy");
	expect_message("pageable_copies",
		"1 copy from pageable memory takes 100 µs (10 % of the time) at 10.0 GB/s; GPU idle 10 % of the time while the "
		"CPU "
		"waits for them");
}
END_TEST

START_TEST(a_collective_is_no_dominant_operator)
{
	read_trace("",
		OP("record_param_comms", "0", "50", "1") "," OP("aten::mm", "50", "50", "2") "," KERNEL(
			"ncclDevKernel_AllReduce_Sum_f32_RING_LL", "0", "900", "1") "," KERNEL("gemm", "900", "100", "2"));
	expect_message("communication_exposed",
		"communication that nothing overlaps takes 90 % of the time; 0 % of all communication overlaps");
	ck_assert(!holds("dominant_operator"));
}
END_TEST

START_TEST(compilation_is_said_instead_of_its_largest_part)
{
	read_trace("",
		OP("_compile.compile_inner (dynamo_timed)", "0", "80", "1") "," OP(
			"compile_file (dynamo_timed)", "10", "60", "2") "," OP("aten::mm", "80", "100", "3"));
	expect_message("compiles", "compilation takes 80.0 µs, 44 % of the time");
	ck_assert(!holds("dominant_operator"));
	profile_analysis_release(all);
	read_trace("", OP("compile_file (dynamo_timed)", "0", "10", "1") "," OP("aten::mm", "10", "100", "2"));
	ck_assert(!holds("compiles"));
	expect_message("dominant_operator", "aten::mm takes 91 % of all operator time on the CPU");
}
END_TEST

START_TEST(advice_names_only_what_was_recorded)
{
	char text[PROFILE_MESSAGE_SIZE];
	read_trace("",
		EVENT("cpu_op", "aten::mm", "1", "0", "100", "\"External id\":1,\"Input Dims\":[[1]]") "," KERNEL(
			"k", "10", "80", "1"));
	ck_assert_str_eq(profile_rule_say(profile_rule_advice(rule_of("dominant_operator"), figures), figures, text),
		"open it in Operators with Enter; pmtop trace --by=shape shows its inputs");
}
END_TEST

START_TEST(a_dominant_operator_takes_a_part_of_the_time)
{
	read_trace("", OP("aten::fill_", "0", "100", "1") "," KERNEL("fill", "0", "50", "1"));
	expect_message("dominant_operator", "aten::fill_ takes 100 % of all operator time on the GPU");
	char text[PROFILE_MESSAGE_SIZE];
	ck_assert_str_eq(profile_rule_say(profile_rule_advice(rule_of("dominant_operator"), figures), figures, text),
		"open it in Operators with Enter");
	profile_analysis_release(all);
	read_trace("", OP("aten::fill_", "0", "1000", "1") "," KERNEL("fill", "0", "50", "1"));
	ck_assert(!holds("dominant_operator"));
}
END_TEST

START_TEST(tensor_cores_are_advised_as_the_gpu_has_them)
{
	static const struct {
		const char *members;
		bool has_any, is_half;
	} rows[] = { { "", true, false }, { "\"deviceProperties\":[{\"id\":0,\"computeMajor\":9}],", true, false },
		{ "\"deviceProperties\":[{\"id\":0,\"computeMajor\":7}],", true, true },
		{ "\"deviceProperties\":[{\"id\":0,\"computeMajor\":6}],", false, false } };
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		read_trace(rows[i].members, OP("aten::mm", "0", "10", "1") "," KERNEL("sgemm_128x64", "0", "50", "1"));
		ck_assert_int_eq(holds("tensor_cores_idle"), rows[i].has_any && !rows[i].is_half);
		ck_assert_int_eq(holds("tensor_cores_idle_half"), rows[i].is_half);
		profile_analysis_release(all);
		is_open = false;
	}
}
END_TEST

START_TEST(a_library_named_gemm_is_no_matrix_product)
{
	read_trace("", KERNEL("split_embedding_kernel<float>(fbgemm_gpu::FixedDivisor)", "0", "50", "1"));
	ck_assert(!holds("tensor_cores_idle"));
}
END_TEST

START_TEST(collectives_do_not_lower_the_occupancy)
{
	read_trace("",
		EVENT("kernel", "ncclKernel_AllReduce", "7", "0", "900", "\"est. achieved occupancy %\":1") "," EVENT(
			"kernel", "add", "7", "900", "100", "\"est. achieved occupancy %\":80"));
	const struct profile_figure *mean = profile_figures_named(figures, "occupancy.mean_ratio", 20);
	ck_assert_double_eq_tol(mean->value, 0.8, 1e-9);
}
END_TEST

/* Kineto writes 0 where it cannot compute the occupancy: the kernel has more than 48 kB of dynamic shared memory. */
/* Products of different sizes have long names that differ in the middle. */
START_TEST(names_in_text_show_where_they_differ)
{
	struct buffer out = BUFFER_INIT;
	struct profile_view view = { .width = 80 };
	read_trace("",
		KERNEL("sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize32x32x8_stage3_warpsize1x2x1_ffma_kernel", "10", "30",
			"1") "," KERNEL("sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize64x64x8_stage3_warpsize1x4x1_ffma_kernel",
			"40", "10", "1"));
	profile_as_text(&out, all, &view);
	ck_assert_ptr_nonnull(strstr(out.data, "e32x32x8"));
	ck_assert_ptr_nonnull(strstr(out.data, "e64x64x8"));
	buffer_release(&out);
}
END_TEST

START_TEST(work_that_was_launched_before_the_trace_has_no_operator)
{
	struct buffer out = BUFFER_INIT;
	struct profile_view view = { .width = 80 };
	read_trace("", OP("aten::mm", "0", "100", "1") "," KERNEL("a", "10", "30", "1") "," KERNEL("b", "40", "10", "77"));
	ck_assert_int_eq(profile_ops_missing_ns(all), 10000);
	profile_as_text(&out, all, &view);
	ck_assert_ptr_nonnull(
		strstr(out.data, "\n  10.0 µs on the GPU (25 %) have no operator here: launched outside, or earlier\n"));
	buffer_release(&out);
}
END_TEST

START_TEST(an_occupancy_of_0_with_many_warps_is_unknown)
{
#define OCCUPIED(name, warps) \
	EVENT("kernel", name, "7", "0", "10", "\"warps per SM\":" warps ",\"est. achieved occupancy %\":0")
	read_trace("", OCCUPIED("nvjet_sm90", "11.636364") "," OCCUPIED("tiny", "0.030303"));
	ck_assert_double_eq(all->profile.kernels[0].occupancy_ns, 0);
	ck_assert_double_eq(all->profile.kernels[1].occupancy_ns, 10000);
}
END_TEST

START_TEST(a_byte_order_mark_is_skipped)
{
	struct reason reason = { "", "" };
	static const char text[] = "\xef\xbb\xbf{\"traceEvents\":[" OP("a", "1", "2", "1") "]}";
	ck_assert_int_eq(profile_analyse_memory(all, text, sizeof text - 1, GROUP_NAME, &reason), STATUS_OK);
	is_open = true;
	ck_assert_uint_eq(all->profile.event_count, 1);
}
END_TEST

START_TEST(an_array_of_other_objects_is_no_trace)
{
	struct reason reason = { "", "" };
	static const char text[] = "[{\"mark\": 11}, {\"mark\": 12}]";
	ck_assert_int_eq(profile_analyse_memory(all, text, sizeof text - 1, GROUP_NAME, &reason), STATUS_UNSUPPORTED);
	ck_assert_str_eq(reason.text, "no trace: its objects are no events");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("trace_advice");
	TCase *tests = tcase_create("all");
	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, kernels_of_zero_length_end_a_gap);
	tcase_add_test(tests, one_long_gap_is_a_stall_and_not_launch_bound);
	tcase_add_test(tests, short_gaps_between_kernels_are_launch_bound);
	tcase_add_test(tests, time_to_set_up_the_gpu_is_no_stall);
	tcase_add_test(tests, waits_in_item_are_reported_once);
	tcase_add_test(tests, a_pageable_copy_that_the_host_waits_for_is_reported_once);
	tcase_add_test(tests, each_copy_that_the_host_waits_for_has_its_own_cause);
	tcase_add_test(tests, a_collective_is_no_dominant_operator);
	tcase_add_test(tests, compilation_is_said_instead_of_its_largest_part);
	tcase_add_test(tests, advice_names_only_what_was_recorded);
	tcase_add_test(tests, a_dominant_operator_takes_a_part_of_the_time);
	tcase_add_test(tests, tensor_cores_are_advised_as_the_gpu_has_them);
	tcase_add_test(tests, a_library_named_gemm_is_no_matrix_product);
	tcase_add_test(tests, collectives_do_not_lower_the_occupancy);
	tcase_add_test(tests, names_in_text_show_where_they_differ);
	tcase_add_test(tests, work_that_was_launched_before_the_trace_has_no_operator);
	tcase_add_test(tests, an_occupancy_of_0_with_many_warps_is_unknown);
	tcase_add_test(tests, a_byte_order_mark_is_skipped);
	tcase_add_test(tests, an_array_of_other_objects_is_no_trace);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
