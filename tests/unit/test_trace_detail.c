/* One operator, kernel, gap or stream in detail; names that are shortened. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/text.h"
#include "src/trace/analysis/profile_detail.h"
#include "src/trace/analysis/profile_modules.h"
#include "src/trace/analysis/profile_streams.h"
#include "src/trace/output/profile_modules_out.h"
#include "src/trace/output/profile_shorten.h"
#include "src/trace/output/profile_view.h"
#include "src/trace/output/profile_text.h"
#include "tests/support/suite.h"
#include "tests/support/traces.h"
#include "ui/trace/trace_strip.h"

#define RESNET "tests/fixtures/traces/h100-resnet18.pt.trace.json.gz"

static struct profile_analysis *all;

static void open_full(void) { all = traces_read(traces_full, 0); }
static void close_all(void) { traces_free(all); }

static const struct profile_share *share(const struct profile_shares *shares, const char *text)
{
	for (uint32_t i = 0; i < shares->count; i++) {
		char shown[400] = "";
		if (shares->rows[i].name)
			profile_names_show(&all->profile.names, profile_name_of(shares->rows[i].name), shown, sizeof shown);
		if (strcmp(shown, text) == 0)
			return &shares->rows[i];
	}
	ck_abort_msg("no share of %s", text);
	return NULL;
}

START_TEST(an_operator_has_its_kernels_shapes_lines_and_callers)
{
	struct profile_op_detail detail;
	ck_assert(profile_detail_op(&all->profile, traces_name(all, "aten::addmm"), &detail));
	ck_assert_uint_eq(detail.kernels.count, 2);
	ck_assert_int_eq(detail.kernels.rows[0].gpu_ns, 350000);
	ck_assert_int_eq(detail.kernels.rows[1].gpu_ns, 300000);
	ck_assert_uint_eq(detail.kernels.rows[1].count, 2);
	ck_assert_uint_eq(detail.shapes.count, 2);
	ck_assert_uint_eq(share(&detail.shapes, "[[64], [32, 64], [64, 64]]")->count, 2);
	ck_assert_int_eq(share(&detail.shapes, "[[64], [32, 64], [64, 64]]")->gpu_ns, 550000);
	ck_assert_int_eq(share(&detail.shapes, "[[64], [32, 128], [128, 64]]")->host_ns, 180000);
	ck_assert_int_eq(share(&detail.lines, "model.py(7): forward")->gpu_ns, 300000);
	ck_assert_int_eq(share(&detail.lines, "train.py(12): main")->gpu_ns, 350000);
	ck_assert_uint_eq(share(&detail.callers, "aten::linear")->count, 2);
	ck_assert_int_eq(share(&detail.callers, "aten::linear")->gpu_ns, 300000);
	ck_assert_uint_eq(share(&detail.callers, "ProfilerStep*")->count, 1);
	ck_assert_uint_eq(share(&detail.parts, "cudaLaunchKernel")->count, 3);
	ck_assert_uint_eq(detail.durations.count, 3);
	profile_detail_op_release(&detail);
}
END_TEST

START_TEST(a_module_has_its_parts_and_the_kernels_below_them)
{
	struct profile_op_detail detail;
	ck_assert(profile_detail_op(&all->profile, traces_name(all, "nn.Module: Net_0"), &detail));
	ck_assert_uint_eq(detail.parts.count, 2);
	ck_assert_int_eq(share(&detail.parts, "nn.Module: Linear_0")->gpu_ns, 200000);
	ck_assert_int_eq(share(&detail.parts, "nn.Module: Linear_1")->host_ns, 200000);
	ck_assert_uint_eq(detail.kernels.count, 1);
	ck_assert_int_eq(detail.kernels.rows[0].gpu_ns, 300000);
	profile_detail_op_release(&detail);
}
END_TEST

/* "Net_0 0, Linear_0 1, " …: the modules in order, with their depth. */
static const char *tree_of(const struct profile_analysis *analysis, char out[400])
{
	uint32_t count;
	const struct profile_op **rows = profile_modules_rows(&analysis->profile, &analysis->ops, &count);
	out[0] = '\0';
	for (uint32_t i = 0; i < count; i++) {
		char name[100];
		size_t length = strlen(out);
		profile_module_label(&analysis->profile.names, profile_name_of(rows[i]->name), 0, name, sizeof name);
		snprintf(out + length, 400 - length, "%s %u, ", name, rows[i]->depth);
	}
	free(rows);
	return out;
}

START_TEST(the_time_of_a_module_that_calls_itself_counts_once_in_detail_too)
{
	struct profile_analysis *recursion =
		traces_read(TRACE_PYTHON("nn.Module: Rec_0", "0", "100") "," TRACE_PYTHON("nn.Module: Rec_0", "10",
						"80") "," TRACE_PYTHON("nn.Module: Linear_0", "20", "40") "," TRACE_OP("aten::mm", "30", "20",
						"1") "," TRACE_KERNEL("gemm", "7", "50", "10", "\"External id\":1"),
			-1);
	struct profile_op_detail detail;
	int64_t host_ns = 0, gpu_ns = 0;
	ck_assert(profile_detail_op(&recursion->profile, traces_name(recursion, "nn.Module: Rec_0"), &detail));
	for (uint32_t i = 0; i < detail.callers.count; i++) {
		host_ns += detail.callers.rows[i].host_ns;
		gpu_ns += detail.callers.rows[i].gpu_ns;
	}
	ck_assert_int_eq(host_ns, 100000);
	ck_assert_int_eq(gpu_ns, 10000);
	ck_assert_uint_eq(detail.durations.count, 2);
	host_ns = 0;
	for (uint32_t i = 0; i < detail.parts.count; i++)
		host_ns += detail.parts.rows[i].host_ns;
	ck_assert_int_eq(host_ns, 40000);
	profile_detail_op_release(&detail);
	traces_free(recursion);
}
END_TEST

START_TEST(modules_are_a_tree_however_they_are_grouped)
{
	char tree[400];
	ck_assert_str_eq(tree_of(all, tree), "Net_0 0, Linear_0 1, Linear_1 1, ");
	ck_assert(profile_analysis_regroup(all, GROUP_MODULE));
	ck_assert_str_eq(tree_of(all, tree), "Net_0 0, Linear_0 1, Linear_1 1, ");
}
END_TEST

#define MODULE(name, start, duration) TRACE_PYTHON("nn.Module: " name, start, duration)

/* A module that two call, and two that call each other. */
START_TEST(modules_that_share_a_part_or_call_each_other_are_placed_once)
{
	static const char text[] = MODULE("Small_0", "0", "10") "," MODULE("Both_0", "1", "8") "," MODULE(
		"Large_0", "20", "30") "," MODULE("Both_0", "21", "20") "," MODULE("Inner_0", "22", "5") "," MODULE("A_0", "60",
		"20") "," MODULE("B_0", "61", "18") "," MODULE("A_0", "62", "10") "," MODULE("Self_0", "90",
		"20") "," MODULE("Self_0", "91", "5") "," MODULE("Self_0", "97", "5");
	struct profile_analysis *shared = traces_read(text, 0);
	char tree[400];
	ck_assert_str_eq(tree_of(shared, tree), "Large_0 0, Self_0 0, Small_0 0, Both_0 1, Inner_0 2, B_0 0, A_0 1, ");
	traces_free(shared);
}
END_TEST

START_TEST(steps_are_one_operator_in_detail_too)
{
	struct profile_op_detail detail;
	ck_assert(profile_detail_op(&all->profile, traces_name(all, "ProfilerStep*"), &detail));
	ck_assert_uint_eq(detail.durations.count, 2);
	ck_assert_int_eq(detail.durations.max, 1200000);
	ck_assert_uint_eq(share(&detail.parts, "aten::relu")->count, 1);
	profile_detail_op_release(&detail);
}
END_TEST

START_TEST(a_kernel_has_its_operators_durations_and_launch_delays)
{
	struct profile_work_detail detail;
	ck_assert(profile_detail_work(&all->profile, traces_name(all, "void gemm<float, 128, 64>(float const*)"), &detail));
	ck_assert_uint_eq(detail.ops.count, 1);
	ck_assert_uint_eq(share(&detail.ops, "aten::addmm")->count, 2);
	ck_assert_int_eq(share(&detail.lines, "model.py(7): forward")->gpu_ns, 300000);
	ck_assert_int_eq(detail.durations.min, 100000);
	ck_assert_int_eq(detail.durations.max, 200000);
	ck_assert_int_eq(detail.durations.median, 150000);
	ck_assert_int_eq(detail.durations.sum, 300000);
	ck_assert_int_eq(detail.delays.min, 30000);
	ck_assert_int_eq(detail.delays.max, 30000);
	ck_assert_uint_eq(detail.delays.bin_count, 1);
	profile_detail_work_release(&detail);
}
END_TEST

START_TEST(a_kernel_without_a_launch_belongs_to_no_operator)
{
	struct profile_work_detail detail;
	ck_assert(profile_detail_work(&all->profile,
		traces_name(all, "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"), &detail));
	ck_assert_uint_eq(detail.ops.count, 1);
	ck_assert_uint_eq(detail.ops.rows[0].name, 0);
	ck_assert_uint_eq(detail.delays.count, 0);
	profile_detail_work_release(&detail);
}
END_TEST

/* The longest gap: from 750 to 1500. */
START_TEST(a_gap_has_the_hosts_own_times_which_add_up_to_it)
{
	struct profile_gap_detail detail;
	const struct profile_gap *gap = &all->idle.gaps[0];
	int64_t sum = 0;
	ck_assert_int_eq(gap->end_ns - gap->start_ns, 750000);
	ck_assert(profile_detail_gap(&all->profile, &all->waits, gap, &detail));
	ck_assert_uint_eq(detail.thread_count, 1);
	ck_assert_int_eq(share(&detail.threads[0].inside, "cudaStreamSynchronize")->host_ns, 140000);
	ck_assert_int_eq(share(&detail.threads[0].inside, "aten::_local_scalar_dense")->host_ns, 8000);
	ck_assert_int_eq(share(&detail.threads[0].inside, "aten::addmm")->host_ns, 80000);
	for (uint32_t i = 0; i < detail.threads[0].inside.count; i++)
		sum += detail.threads[0].inside.rows[i].host_ns;
	ck_assert_int_eq(sum, detail.threads[0].covered_ns);
	ck_assert_int_eq(detail.threads[0].covered_ns, 750000);
	sum = 0;
	for (int i = 0; i < IDLE_KIND_COUNT; i++)
		sum += detail.split_ns[i];
	ck_assert_int_eq(sum, 750000);
	profile_detail_gap_release(&detail);
}
END_TEST

START_TEST(a_change_that_is_rounded_to_nothing_has_no_sign)
{
	struct buffer row = BUFFER_INIT;
	profile_change_cells(&row, -0.001, "1.00 ms", 1, "gone");
	profile_change_cells(&row, 0.006, "6.00 ms", 1, "gone");
	profile_change_cells(&row, 0, "0 B", 1, "gone");
	profile_change_cells(&row, -2, "2.00 s", NAN, "gone");
	ck_assert_str_eq(row.data, "  −1.00 ms      0 %\n  +6.00 ms     +1 %\n       0 B      0 %\n   −2.00 s     gone\n");
	buffer_release(&row);
}
END_TEST

START_TEST(a_gap_is_split_as_before_when_operators_are_grouped_anew)
{
	struct profile_gap_detail before, after;
	ck_assert(profile_detail_gap(&all->profile, &all->waits, &all->idle.gaps[0], &before));
	ck_assert_int_eq(before.split_ns[IDLE_SYNC], 150000);
	ck_assert(profile_analysis_regroup(all, GROUP_SHAPE));
	ck_assert(profile_detail_gap(&all->profile, &all->waits, &all->idle.gaps[0], &after));
	ck_assert_mem_eq(before.split_ns, after.split_ns, sizeof before.split_ns);
	profile_detail_gap_release(&before);
	profile_detail_gap_release(&after);
}
END_TEST

START_TEST(a_steps_idle_time_is_split_by_what_the_host_does)
{
	const struct profile_step *step = all->idle.steps;
	int64_t sum = 0;
	ck_assert_uint_eq(all->idle.step_count, 2);
	ck_assert_int_eq(step[0].busy_ns, 610000);
	ck_assert_int_eq(step[0].idle_split_ns[IDLE_DATA], 80000);
	ck_assert_int_eq(step[0].idle_split_ns[IDLE_COPIES], 5000);
	ck_assert_int_eq(step[0].idle_split_ns[IDLE_SYNC], 150000);
	ck_assert_int_eq(step[0].idle_split_ns[IDLE_HOST], 155000);
	ck_assert_int_eq(step[1].idle_split_ns[IDLE_HOST], 1200000 - step[1].busy_ns);
	traces_free(all);
	all = traces_read_file(RESNET);
	for (uint32_t i = 0; i < all->idle.step_count; i++) {
		step = &all->idle.steps[i];
		sum = step->busy_ns;
		for (int kind = 0; kind < IDLE_KIND_COUNT; kind++)
			sum += step->idle_split_ns[kind];
		ck_assert_int_eq(sum, step->duration_ns);
	}
}
END_TEST

START_TEST(streams_have_their_own_busy_time_and_curve)
{
	struct profile_streams streams;
	char label[40];
	int64_t sum = 0;
	ck_assert(profile_streams_find(&all->profile, &streams));
	ck_assert_uint_eq(streams.count, 2);
	ck_assert_str_eq(profile_stream_label(&all->profile, streams.rows[1].track, label, sizeof label), "stream 20");
	ck_assert_int_eq(streams.rows[0].kernel_ns, 850000);
	ck_assert_int_eq(streams.rows[0].copy_ns, 60000);
	ck_assert_int_eq(streams.rows[0].busy_ns, 910000);
	ck_assert_int_eq(streams.rows[1].communication_ns, 300000);
	for (int i = 0; i < PROFILE_CURVE_SIZE; i++)
		sum += streams.rows[1].busy_curve_ns[i];
	ck_assert_int_ge(sum, 300000 - PROFILE_CURVE_SIZE);
	ck_assert_int_le(sum, 300000);
	profile_streams_release(&streams);
}
END_TEST

START_TEST(work_that_overlaps_in_a_stream_counts_once)
{
	struct profile_analysis *both = traces_read(TRACE_KERNEL("k", "7", "0", "10", "") "," TRACE_KERNEL("k", "7", "5",
													"10", "") "," TRACE_KERNEL("ncclDevKernel", "7", "12", "8", ""),
		-1);
	struct profile_streams streams;
	ck_assert(profile_streams_find(&both->profile, &streams));
	ck_assert_int_eq(streams.rows[0].kernel_ns, 15000);
	ck_assert_int_eq(streams.rows[0].communication_ns, 8000);
	ck_assert_int_eq(streams.rows[0].busy_ns, 20000);
	profile_streams_release(&streams);
	traces_free(both);
}
END_TEST

/* In a damaged file a device is busy at any time. */
START_TEST(a_curve_takes_what_lies_within_the_trace)
{
	static const int64_t times[][2] = { { INT64_MAX - 9, INT64_MAX }, { INT64_MIN, -1 }, { 1LL << 50, 1LL << 51 },
		{ 5, 2 }, { -7, 20 } };
	struct profile profile = { .start_ns = 0, .end_ns = 10LL * PROFILE_CURVE_SIZE };
	int64_t curve[PROFILE_CURVE_SIZE] = { 0 }, sum = 0;
	for (size_t i = 0; i < sizeof times / sizeof *times; i++)
		profile_curve_add(&profile, curve, times[i][0], times[i][1]);
	for (int i = 0; i < PROFILE_CURVE_SIZE; i++)
		sum += curve[i];
	ck_assert_int_eq(sum, 20);
	ck_assert_int_eq(curve[1], 10);
}
END_TEST

START_TEST(a_strip_shows_the_busy_ratio_of_its_columns)
{
	int64_t curve[PROFILE_CURVE_SIZE] = { 0 };
	for (int i = 0; i < PROFILE_CURVE_SIZE / 4; i++)
		curve[i] = 100;
	ck_assert_double_eq_tol(trace_strip_ratio(curve, 100, 0, 2), 0.5, 1e-9);
	ck_assert_double_eq_tol(trace_strip_ratio(curve, 100, 1, 2), 0, 1e-9);
	ck_assert_double_eq_tol(trace_strip_ratio(curve, 100, 0, 1000), 1, 1e-9);
	ck_assert_double_eq_tol(trace_strip_ratio(curve, 100, 999, 1000), 0, 1e-9);
}
END_TEST

START_TEST(durations_fall_into_bins_by_ratio_where_they_differ_much)
{
	struct profile_spread spread = { 0 };
	uint64_t sum = 0;
	for (int64_t value = 1000; value <= 4096000; value *= 2)
		profile_spread_add(&spread, value);
	profile_spread_settle(&spread);
	ck_assert_uint_eq(spread.bin_count, PROFILE_BINS);
	ck_assert_int_eq(spread.median, 64000);
	ck_assert_int_eq(spread.edges[1], 2000);
	for (unsigned i = 0; i < PROFILE_BINS; i++) {
		ck_assert_uint_ge(spread.bins[i], 1);
		sum += spread.bins[i];
	}
	ck_assert_uint_eq(sum, spread.count);
	profile_spread_release(&spread);
}
END_TEST

/* What the table says of an operator is the sum of what its page says. */
START_TEST(pages_of_a_real_trace_agree_with_its_tables)
{
	traces_free(all);
	all = traces_read_file(RESNET);
	unsigned checked = 0;
	for (uint32_t i = 0; i < all->ops.count; i++) {
		const struct profile_op *op = &all->ops.rows[i];
		struct profile_op_detail detail;
		int64_t host = 0, gpu = 0, kernels = 0;
		uint64_t count = 0;
		if (profile_kind_of(op->name) > PROFILE_ANNOTATION || !op->count)
			continue;
		ck_assert(profile_detail_op(&all->profile, op->name, &detail));
		for (uint32_t k = 0; k < detail.shapes.count; k++) {
			host += detail.shapes.rows[k].host_ns;
			gpu += detail.shapes.rows[k].gpu_ns;
			count += detail.shapes.rows[k].count;
		}
		for (uint32_t k = 0; k < detail.kernels.count; k++)
			kernels += detail.kernels.rows[k].gpu_ns;
		ck_assert_uint_eq(count, op->count);
		ck_assert_int_eq(host, op->total_ns);
		ck_assert_int_eq(gpu, op->gpu_total_ns);
		ck_assert_int_le(kernels, op->gpu_total_ns);
		checked += kernels == op->gpu_total_ns && gpu > 0;
		profile_detail_op_release(&detail);
	}
	ck_assert_uint_ge(checked, 20);
}
END_TEST

START_TEST(kernels_of_a_real_trace_agree_with_their_table)
{
	traces_free(all);
	all = traces_read_file(RESNET);
	for (uint32_t i = 0; i < all->profile.kernel_count; i++) {
		const struct profile_kernel *kernel = &all->profile.kernels[i];
		struct profile_work_detail detail;
		ck_assert(
			profile_detail_work(&all->profile, kernel->name | (uint32_t)PROFILE_KERNEL << PROFILE_NAME_BITS, &detail));
		ck_assert_uint_eq(detail.durations.count, kernel->count);
		ck_assert_int_eq(detail.durations.sum, kernel->total_ns);
		ck_assert_int_eq(detail.durations.max, kernel->max_ns);
		ck_assert_int_eq(detail.delays.sum, kernel->delay_ns);
		profile_detail_work_release(&detail);
	}
	int64_t busy = 0;
	for (int i = 0; i < PROFILE_CURVE_SIZE; i++)
		busy += all->idle.gpus[0].busy_curve_ns[i];
	/* Each piece of work is rounded down to a nanosecond in each part. */
	ck_assert_int_le(busy, all->idle.gpus[0].busy_ns);
	ck_assert_int_gt(busy, all->idle.gpus[0].busy_ns - 4 * (int64_t)all->idle.gpus[0].kernel_count);
}
END_TEST

static void shorten(const char *const *texts, size_t count, size_t cells, char out[][200])
{
	char *to[8];
	for (size_t i = 0; i < count; i++)
		to[i] = out[i];
	profile_shorten(texts, count, cells, to, sizeof out[0]);
}

START_TEST(names_that_fit_stay_and_a_long_one_loses_its_middle)
{
	static const char *const texts[] = { "aten::addmm", "autograd::engine::evaluate_function: AddmmBackward0" };
	char out[2][200];
	shorten(texts, 2, 20, out);
	ck_assert_str_eq(out[0], "aten::addmm");
	ck_assert_str_eq(out[1], "autograd::eng…kward0");
}
END_TEST

START_TEST(names_that_differ_in_the_middle_show_where)
{
	static const char *const texts[] = {
		"sm90_xmma_wgrad_indexed_implicit_gemm_tilesize128x128x32_execute_segment_k_on_kernel",
		"sm90_xmma_wgrad_indexed_implicit_gemm_tilesize64x64x32_execute_segment_k_on_kernel",
		"sm90_xmma_wgrad_indexed_implicit_gemm_tilesize128x128x32_execute_segment_k_off_kernel"
	};
	char out[3][200];
	shorten(texts, 3, 48, out);
	for (int i = 0; i < 3; i++) {
		ck_assert_uint_le(text_cells(out[i]), 48);
		for (int k = 0; k < i; k++)
			ck_assert_str_ne(out[i], out[k]);
	}
	ck_assert_ptr_nonnull(strstr(out[0], "128x"));
	ck_assert_ptr_nonnull(strstr(out[1], "64x"));
	ck_assert_ptr_nonnull(strstr(out[2], "off"));
}
END_TEST

START_TEST(names_of_many_bytes_are_never_cut_within_a_character)
{
	static const char *const texts[] = { "数据数据数据数据数据数据数据加载一数据数据数据数据",
		"数据数据数据数据数据数据数据加载二数据数据数据数据" };
	for (size_t cells = 0; cells < 52; cells++) {
		char out[2][200], clean[400];
		shorten(texts, 2, cells, out);
		ck_assert_uint_le(text_cells(out[0]), cells);
		text_clean(clean, sizeof clean, out[0], strlen(out[0]));
		ck_assert_str_eq(clean, out[0]);
		ck_assert_ptr_null(strstr(out[0], "\xef\xbf\xbd"));
		if (cells >= 20)
			ck_assert_str_ne(out[0], out[1]);
	}
}
END_TEST

START_TEST(a_kernels_label_ends_before_its_arguments_and_keeps_casts)
{
	char label[200];
	traces_free(all);
	all = traces_read(TRACE_KERNEL("void cudnn::nchw<float, (Type)0>(cudnn::params_t<float>)", "7", "1", "2",
						  "\"correlation\":1") "," TRACE_KERNEL("void add(float*)", "7", "4", "2", "\"correlation\":2"),
		-1);
	ck_assert_str_eq(profile_kernel_label(&all->profile.names, all->profile.kernels[0].name, label, sizeof label),
		"cudnn::nchw<float, (Type)0>");
	ck_assert_str_eq(
		profile_kernel_label(&all->profile.names, all->profile.kernels[1].name, label, sizeof label), "add");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("trace_detail");
	TCase *tests = tcase_create("all");
	tcase_add_checked_fixture(tests, open_full, close_all);
	tcase_add_test(tests, an_operator_has_its_kernels_shapes_lines_and_callers);
	tcase_add_test(tests, a_module_has_its_parts_and_the_kernels_below_them);
	tcase_add_test(tests, the_time_of_a_module_that_calls_itself_counts_once_in_detail_too);
	tcase_add_test(tests, modules_are_a_tree_however_they_are_grouped);
	tcase_add_test(tests, modules_that_share_a_part_or_call_each_other_are_placed_once);
	tcase_add_test(tests, steps_are_one_operator_in_detail_too);
	tcase_add_test(tests, a_kernel_has_its_operators_durations_and_launch_delays);
	tcase_add_test(tests, a_kernel_without_a_launch_belongs_to_no_operator);
	tcase_add_test(tests, a_gap_has_the_hosts_own_times_which_add_up_to_it);
	tcase_add_test(tests, a_change_that_is_rounded_to_nothing_has_no_sign);
	tcase_add_test(tests, a_gap_is_split_as_before_when_operators_are_grouped_anew);
	tcase_add_test(tests, a_steps_idle_time_is_split_by_what_the_host_does);
	tcase_add_test(tests, streams_have_their_own_busy_time_and_curve);
	tcase_add_test(tests, work_that_overlaps_in_a_stream_counts_once);
	tcase_add_test(tests, a_curve_takes_what_lies_within_the_trace);
	tcase_add_test(tests, a_strip_shows_the_busy_ratio_of_its_columns);
	tcase_add_test(tests, durations_fall_into_bins_by_ratio_where_they_differ_much);
	tcase_add_test(tests, pages_of_a_real_trace_agree_with_its_tables);
	tcase_add_test(tests, kernels_of_a_real_trace_agree_with_their_table);
	tcase_add_test(tests, names_that_fit_stay_and_a_long_one_loses_its_middle);
	tcase_add_test(tests, names_that_differ_in_the_middle_show_where);
	tcase_add_test(tests, names_of_many_bytes_are_never_cut_within_a_character);
	tcase_add_test(tests, a_kernels_label_ends_before_its_arguments_and_keeps_casts);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
