/* Small traces by hand: joins, self times, idle, copies, memory, damage. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/buffer.h"
#include "src/trace/output/profile_advice.h"
#include "src/trace/analysis/profile_analysis.h"
#include "src/trace/output/profile_figures.h"
#include "src/trace/store/profile_flops.h"
#include "src/trace/output/profile_json.h"
#include "src/trace/store/profile_kinds.h"
#include "src/trace/store/profile_table.h"
#include "src/trace/output/profile_text.h"
#include "tests/support/suite.h"

static struct profile_analysis *all;
static struct buffer out;
static bool is_open;

static void setup(void)
{
	all = malloc(sizeof *all);
	out = (struct buffer)BUFFER_INIT;
	is_open = false;
}

static void teardown(void)
{
	if (is_open)
		profile_analysis_release(all);
	free(all);
	buffer_release(&out);
}

static enum status read_group(const char *text, size_t length, enum profile_group group)
{
	struct reason reason = { "", "" };
	if (is_open)
		profile_analysis_release(all);
	enum status status = profile_analyse_memory(all, text, length, group, &reason);
	is_open = status == STATUS_OK;
	return status;
}

/* Events, without the outermost brackets. */
static void read_events(const char *events)
{
	char *text;
	ck_assert_int_gt(asprintf(&text, "{\"schemaVersion\": 1, \"traceEvents\": [%s]}", events), 0);
	ck_assert_int_eq(read_group(text, strlen(text), GROUP_NAME), STATUS_OK);
	free(text);
}

#define HOST(cat, name, tid, ts, dur, args) \
	"{\"ph\":\"X\",\"cat\":\"" cat "\",\"name\":\"" name "\",\"pid\":1,\"tid\":" tid ",\"ts\":" ts ",\"dur\":" dur \
	",\"args\":{" args "}}"
#define OP(name, ts, dur, id) HOST("cpu_op", name, "1", ts, dur, "\"External id\":" id)
#define CALL(name, ts, dur, id) HOST("cuda_runtime", name, "1", ts, dur, "\"correlation\":" id)
#define WORK(cat, name, stream, ts, dur, args) \
	"{\"ph\":\"X\",\"cat\":\"" cat "\",\"name\":\"" name "\",\"pid\":0,\"tid\":" stream ",\"ts\":" ts ",\"dur\":" dur \
	",\"args\":{\"device\":0,\"stream\":" stream "," args "}}"
#define KERNEL(name, stream, ts, dur, args) WORK("kernel", name, stream, ts, dur, args)
#define MEMORY(ts, bytes, total, address) \
	"{\"ph\":\"i\",\"cat\":\"cpu_instant_event\",\"s\":\"t\",\"name\":\"[memory]\",\"pid\":1,\"tid\":1,\"ts\":" ts \
	",\"args\":{\"Total Reserved\":4096,\"Total Allocated\":" total ",\"Bytes\":" bytes \
	",\"Device Id\":0,\"Device Type\":1,\"Addr\":" address "}}"

static const struct profile_op *op(const char *name)
{
	for (uint32_t i = 0; i < all->ops.count; i++) {
		char text[200];
		profile_names_show(&all->profile.names, profile_name_of(all->ops.rows[i].name), text, sizeof text);
		if (strcmp(text, name) == 0)
			return &all->ops.rows[i];
	}
	ck_abort_msg("no operator %s", name);
	return NULL;
}

static const struct profile_kernel *kernel(const char *name)
{
	for (uint32_t i = 0; i < all->profile.kernel_count; i++)
		if (profile_names_begin(&all->profile.names, all->profile.kernels[i].name, name))
			return &all->profile.kernels[i];
	ck_abort_msg("no kernel %s", name);
	return NULL;
}

static const char *as_text(void)
{
	struct profile_view view = { .width = 80 };
	buffer_clear(&out);
	profile_as_text(&out, all, &view);
	return out.data;
}

START_TEST(self_time_is_without_the_children)
{
	read_events(OP("b", "12", "3", "2") "," OP("a", "10", "10", "1") "," OP("b", "16.5", "2.25", "3"));
	ck_assert_int_eq(op("a")->total_ns, 10000);
	ck_assert_int_eq(op("a")->self_ns, 4750);
	ck_assert_int_eq(op("b")->total_ns, 5250);
	ck_assert_uint_eq(op("b")->count, 2);
}
END_TEST

START_TEST(an_event_that_sticks_out_is_no_child)
{
	read_events(OP("a", "10", "10", "1") "," OP("b", "15", "10", "2") "," OP("c", "26", "1", "3"));
	ck_assert_int_eq(op("a")->self_ns, 10000);
	ck_assert_int_eq(op("b")->self_ns, 10000);
}
END_TEST

START_TEST(an_only_child_of_the_same_name_is_a_part_of_its_parent)
{
	read_events(
		OP("a", "0", "10", "1") "," OP("a", "1", "8", "2") "," OP("a", "2", "6", "3") "," OP("x", "3", "1", "4"));
	ck_assert_uint_eq(op("a")->count, 1);
	ck_assert_int_eq(op("a")->total_ns, 10000);
	ck_assert_int_eq(op("a")->self_ns, 9000);
	read_events(OP("a", "0", "10", "1") "," OP("a", "1", "2", "2") "," OP("a", "4", "2", "3"));
	ck_assert_uint_eq(op("a")->count, 3);
	ck_assert_int_eq(op("a")->self_ns, 10000);
}
END_TEST

#define FUNCTION(name, ts, dur) HOST("python_function", name, "1", ts, dur, "")

START_TEST(what_two_children_share_is_subtracted_once)
{
	read_events(FUNCTION("f", "0", "10") "," FUNCTION("a", "0", "9") "," FUNCTION("b", "1", "8.5"));
	ck_assert_int_eq(op("f")->self_ns, 500);
	ck_assert_int_eq(op("a")->self_ns, 9000);
	/* key_averages subtracts it twice. */
	read_events(OP("f", "0", "10", "1") "," OP("a", "0", "5", "2") "," OP("b", "4", "4", "3"));
	ck_assert_int_eq(op("f")->self_ns, 1000);
	read_events(OP("f", "0", "10", "1") "," OP("a", "0", "9", "2") "," OP("b", "1", "8.5", "3"));
	ck_assert_int_eq(op("f")->self_ns, 500);
}
END_TEST

START_TEST(a_function_that_calls_itself_counts_each_call_and_its_time_once)
{
	read_events(FUNCTION("f", "0", "10") "," FUNCTION("f", "1", "8") "," FUNCTION("g", "2", "6") "," FUNCTION(
		"f", "3", "4") "," OP("a", "4", "1", "1") "," CALL("launch", "4.5", "0.1", "9") "," KERNEL("k", "7", "6", "2",
		"\"correlation\":9"));
	ck_assert_uint_eq(op("f")->count, 3);
	ck_assert_int_eq(op("f")->total_ns, 10000);
	ck_assert_int_eq(op("f")->self_ns, 7000);
	ck_assert_int_eq(op("f")->gpu_total_ns, 2000);
	/* Of another profiler. */
	read_events(HOST("fee", "rec", "1", "0", "10", "") "," HOST("fee", "rec", "1", "1", "8", ""));
	ck_assert_uint_eq(op("rec")->count, 2);
	ck_assert_int_eq(op("rec")->total_ns, 10000);
	ck_assert_int_eq(op("rec")->self_ns, 10000);
}
END_TEST

START_TEST(steps_count_as_one_operator_and_keep_their_numbers)
{
	read_events(HOST("user_annotation", "ProfilerStep#7", "1", "100", "50", "") "," HOST(
		"user_annotation", "ProfilerStep#8", "1", "150", "70", ""));
	ck_assert_uint_eq(op("ProfilerStep*")->count, 2);
	ck_assert_uint_eq(all->idle.step_count, 2);
	ck_assert_int_eq(all->idle.steps[0].number, 7);
	ck_assert_int_eq(all->idle.steps[1].duration_ns, 70000);
	ck_assert_int_eq(all->idle.steps[0].busy_ns, -1);
}
END_TEST

START_TEST(a_kernel_before_its_launch_in_the_file_is_joined_by_external_id)
{
	read_events(KERNEL("k", "7", "120", "30", "\"correlation\":5,\"External id\":2") "," OP(
		"inner", "102", "6", "2") "," CALL("cudaLaunchKernel", "104", "2", "5") "," OP("outer", "100", "10", "1"));
	ck_assert_int_eq(op("inner")->gpu_self_ns, 30000);
	ck_assert_int_eq(op("outer")->gpu_self_ns, 0);
	ck_assert_int_eq(op("outer")->gpu_total_ns, 30000);
	ck_assert_int_eq(op("inner")->self_ns, 4000);
	ck_assert_int_eq(kernel("k")->delay_ns, 16000);
	ck_assert(profile_names_begin(&all->profile.names, kernel("k")->op, "inner"));
}
END_TEST

START_TEST(without_external_id_the_launch_tells_the_operator)
{
	read_events(KERNEL("k", "7", "120", "30", "\"correlation\":5") "," OP("a", "102", "6", "0") "," CALL(
		"cudaLaunchKernel", "104", "2", "5"));
	ck_assert_int_eq(op("a")->gpu_self_ns, 30000);
}
END_TEST

START_TEST(an_external_id_that_is_the_correlation_names_no_operator)
{
	read_events(KERNEL("k", "7", "120", "30", "\"correlation\":5,\"External id\":5") "," OP(
		"a", "102", "6", "2") "," CALL("cudaLaunchKernel", "104", "2", "5") "," OP("other", "200", "6", "5"));
	ck_assert_int_eq(op("a")->gpu_self_ns, 30000);
	ck_assert_int_eq(op("other")->gpu_total_ns, 0);
}
END_TEST

START_TEST(kernels_of_a_graph_share_one_launch)
{
	read_events(KERNEL("k1", "7", "120", "3", "\"correlation\":5") "," KERNEL("k2", "7", "124", "4",
		"\"correlation\":5") "," OP("replay", "100", "9", "1") "," CALL("cudaGraphLaunch", "104", "2", "5"));
	ck_assert_int_eq(op("replay")->gpu_total_ns, 7000);
	/* The second waits for the first. */
	ck_assert_int_eq(kernel("k1")->delay_ns, 16000);
	ck_assert_uint_eq(kernel("k2")->delay_count, 0);
	struct profile_figures *figures = malloc(sizeof *figures);
	profile_figures_find(all, figures);
	ck_assert_double_eq_tol(profile_figures_named(figures, "kernels.graph_ratio", 19)->value, 1, 1e-9);
	free(figures);
}
END_TEST

START_TEST(ids_of_more_than_32_bits_stay_apart)
{
	/* Both are 8 in their low half. */
	read_events(OP("a", "0", "5", "8") "," OP("b", "10", "5", "4294967304") "," OP(
		"c", "20", "5", "8589934600") "," KERNEL("k", "7", "30", "1", "\"External id\":8") "," KERNEL("k", "7", "40",
		"2", "\"External id\":4294967304") "," KERNEL("k", "7", "50", "4", "\"External id\":8589934600"));
	ck_assert_int_eq(op("a")->gpu_self_ns, 1000);
	ck_assert_int_eq(op("b")->gpu_self_ns, 2000);
	ck_assert_int_eq(op("c")->gpu_self_ns, 4000);
}
END_TEST

/* torch.distributed records from the call to the end of the work, on any thread. */
START_TEST(what_is_asynchronous_has_no_own_time_and_is_part_of_nothing)
{
	read_events(OP("c10d::allreduce_", "0", "10", "1") "," HOST(
		"user_annotation", "gloo:all_reduce", "1", "2", "30", "\"External id\":2") "," OP("aten::mm", "12", "5", "3"));
	ck_assert_int_eq(op("gloo:all_reduce")->total_ns, 30000);
	ck_assert_int_eq(op("gloo:all_reduce")->self_ns, 0);
	ck_assert_uint_eq(op("gloo:all_reduce")->count, 1);
	ck_assert_int_eq(op("c10d::allreduce_")->self_ns, 10000);
	ck_assert_int_eq(op("aten::mm")->self_ns, 5000);
}
END_TEST

START_TEST(records_of_the_profiler_itself_are_no_operators)
{
	read_events(OP("a", "0", "10", "1") "," HOST("cuda_event", "e", "1", "1", "1", "") "," HOST("external_correlation",
		"f", "1", "2", "1",
		"") "," HOST("gpu_pm_counter", "g", "1", "3", "1", "") "," HOST("mtia_insight", "h", "1", "4", "1", ""));
	ck_assert_uint_eq(all->ops.count, 1);
}
END_TEST

START_TEST(an_event_without_a_name_is_called_so)
{
	read_events("{\"ph\":\"X\",\"cat\":\"cpu_op\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":2}");
	ck_assert_int_eq(op("(no name)")->total_ns, 2000);
}
END_TEST

START_TEST(links_that_lie_far_apart_are_joined_too)
{
	read_events(KERNEL("k1", "7", "120", "3", "\"External id\":4000000000") "," KERNEL("k2", "7", "124", "4",
		"\"External id\":5") "," OP("far", "100", "9", "4000000000") "," OP("near", "110", "2", "5"));
	ck_assert_int_eq(op("far")->gpu_total_ns, 3000);
	ck_assert_int_eq(op("near")->gpu_total_ns, 4000);
}
END_TEST

START_TEST(busy_is_the_union_over_streams)
{
	read_events(OP("a", "0", "100", "1") "," KERNEL("k", "7", "10", "20", "\"correlation\":1") "," KERNEL(
		"k", "8", "20", "20", "\"correlation\":2") "," KERNEL("k", "7", "60", "10", "\"correlation\":3"));
	const struct profile_gpu *gpu = &all->idle.gpus[0];
	ck_assert_uint_eq(all->idle.gpu_count, 1);
	ck_assert_uint_eq(gpu->streams, 2);
	ck_assert_int_eq(gpu->busy_ns, 40000);
	ck_assert_int_eq(gpu->idle_ns, 60000);
	ck_assert_int_eq(gpu->kernel_ns, 50000);
	ck_assert_int_eq(gpu->idle_split_ns[IDLE_HOST], 60000);
	ck_assert_uint_eq(all->idle.gap_count, 3);
	ck_assert_int_eq(all->idle.gaps[0].start_ns, 70000);
}
END_TEST

#define WORK_ON(pid, device, ts, dur) \
	"{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":" pid ",\"tid\":7,\"ts\":" ts ",\"dur\":" dur \
	",\"args\":{\"device\":" device ",\"stream\":7}}"

START_TEST(work_of_one_process_and_stream_is_of_the_device_that_it_names)
{
	read_events(WORK_ON("0", "3", "0", "10") "," WORK_ON("0", "0", "0", "40") "," WORK_ON("0", "3", "50", "50"));
	ck_assert_uint_eq(all->idle.gpu_count, 2);
	ck_assert_int_eq(all->idle.gpus[0].index, 0);
	ck_assert_int_eq(all->idle.gpus[0].busy_ns, 40000);
	ck_assert_int_eq(all->idle.gpus[1].index, 3);
	ck_assert_int_eq(all->idle.gpus[1].busy_ns, 60000);
	ck_assert_int_eq(all->idle.gpus[1].idle_ns, 40000);
}
END_TEST

START_TEST(ranks_merged_into_one_file_have_a_gpu_each)
{
	read_events(WORK_ON("\"rank0 gpu 0\"", "0", "0", "40") "," WORK_ON("\"rank1 gpu 0\"", "0", "20", "80"));
	ck_assert_uint_eq(all->idle.gpu_count, 2);
	ck_assert_int_eq(all->idle.gpus[0].busy_ns, 40000);
	ck_assert_int_eq(all->idle.gpus[1].busy_ns, 80000);
	ck_assert_ptr_nonnull(strstr(as_text(), "GPU 0 of rank0 gpu 0 busy 40 %"));
	ck_assert_ptr_nonnull(strstr(as_text(), "GPU 0 of rank1 gpu 0 busy 80 %"));
}
END_TEST

START_TEST(of_several_gpus_steps_and_advice_have_the_mean)
{
	read_events(HOST("user_annotation", "ProfilerStep#1", "1", "0", "100", "") "," WORK_ON(
		"0", "0", "0", "40") "," WORK_ON("1", "1", "20", "80"));
	ck_assert_int_eq(all->idle.steps[0].busy_ns, 60000);
	ck_assert_int_eq(all->idle.steps[0].idle_split_ns[IDLE_HOST], 40000);
	ck_assert_int_eq(all->idle.mean.busy_ns, 60000);
	ck_assert_int_eq(all->idle.mean.idle_ns, 40000);
	ck_assert_uint_eq(all->idle.mean.kernel_count, 2);
	ck_assert_ptr_nonnull(strstr(as_text(), "#1 100 µs (GPUs 60 %)"));
	ck_assert_ptr_nonnull(strstr(as_text(), "\nGPU 0    40.0 µs   60.0 µs host "));
	struct profile_figures *figures = malloc(sizeof *figures);
	profile_figures_find(all, figures);
	ck_assert_double_eq_tol(profile_figures_named(figures, "gpu.busy_ratio", 14)->value, 0.6, 1e-9);
	free(figures);
}
END_TEST

START_TEST(communication_overlaps_with_computation)
{
	read_events(KERNEL("ncclDevKernel_AllReduce", "9", "10", "40", "\"correlation\":1") "," KERNEL(
		"gemm", "7", "0", "20", "\"correlation\":2") "," KERNEL("gemm", "7", "30", "10", "\"correlation\":3"));
	const struct profile_gpu *gpu = &all->idle.gpus[0];
	ck_assert_int_eq(gpu->communication_ns, 40000);
	ck_assert_int_eq(gpu->compute_ns, 30000);
	ck_assert_int_eq(gpu->overlap_ns, 20000);
	ck_assert_int_eq(gpu->busy_ns, 50000);
}
END_TEST

START_TEST(idle_time_is_split_by_what_the_host_does)
{
	read_events(OP("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", "0", "30", "1") "," CALL(
		"cudaStreamSynchronize", "60", "20", "9") "," KERNEL("k", "7", "50", "20", "\"correlation\":1") "," OP("a",
		"80", "20", "2"));
	const struct profile_gpu *gpu = &all->idle.gpus[0];
	ck_assert_int_eq(gpu->idle_ns, 80000);
	ck_assert_int_eq(gpu->idle_split_ns[IDLE_DATA], 30000);
	ck_assert_int_eq(gpu->idle_split_ns[IDLE_SYNC], 10000);
	ck_assert_int_eq(gpu->idle_split_ns[IDLE_HOST], 40000);
	ck_assert_int_eq(all->idle.gaps[0].kind, IDLE_DATA);
	ck_assert_ptr_nonnull(strstr(as_text(), "enumerate(DataLoader)"));
}
END_TEST

/* Merged from machines, or by a driver that converts badly. */
START_TEST(of_a_gpu_whose_clock_differs_from_the_cpus_nothing_is_said_of_both)
{
	char loss[400];
	read_events(HOST("user_annotation", "ProfilerStep#1", "1", "9900", "1000", "") "," CALL(
		"cudaLaunchKernel", "10000", "5", "1") "," CALL("cudaLaunchKernel", "10100", "5", "2") "," KERNEL("k", "7",
		"5010", "50", "\"correlation\":1") "," KERNEL("k", "7", "5110", "50", "\"correlation\":2"));
	ck_assert(!all->idle.gpus[0].has_split);
	ck_assert_int_eq(all->idle.gpus[0].window_ns, 150000);
	ck_assert_int_eq(all->idle.gpus[0].idle_ns, 50000);
	ck_assert_int_eq(all->idle.steps[0].busy_ns, -1);
	ck_assert_uint_eq(kernel("k")->delay_count, 0);
	ck_assert_str_eq(profile_analysis_loss(all, loss, sizeof loss),
		"the GPU's clock differs from the CPU's: idle causes and launch delays are unknown");
	/* The error of a conversion. */
	read_events(CALL("cudaLaunchKernel", "10000", "5", "1") "," KERNEL("k", "7", "9998", "50", "\"correlation\":1"));
	ck_assert(all->idle.gpus[0].has_split);
}
END_TEST

#define TEN(name, at) \
	OP(name, at "0", "1", "1") \
	"," OP(name, at "1", "1", "1") "," OP(name, at "2", "1", "1") "," OP(name, at "3", "1", "1") "," OP( \
		name, at "4", "1", "1") "," OP(name, at "5", "1", "1") "," OP(name, at "6", "1", "1") "," OP(name, at "7", \
		"1", "1") "," OP(name, at "8", "1", "1") "," OP(name, at "9", "1", "1")
#define HUNDRED(name) \
	TEN(name, "5000000000") \
	"," TEN(name, "5000000001") "," TEN(name, "5000000002") "," TEN(name, "5000000003") "," TEN( \
		name, "5000000004") "," TEN(name, "5000000005") "," TEN(name, "5000000006") "," TEN(name, \
		"5000000007") "," TEN(name, "5000000008") "," TEN(name, "5000000009")

START_TEST(events_far_from_all_others_do_not_stretch_the_window)
{
	char loss[400];
	read_events(OP("stray", "0", "1", "9") "," HUNDRED("op") "," KERNEL(
		"k", "7", "50000000010", "10", "\"est. achieved occupancy %\":75") "," KERNEL("k", "7", "50000000030",
		"3600000000", "\"est. achieved occupancy %\":75") "," KERNEL("long", "7", "50000000030", "3600000000", ""));
	ck_assert_str_eq(
		profile_analysis_loss(all, loss, sizeof loss), "3 events far outside the time of all others are left out");
	ck_assert_int_eq(all->profile.end_ns - all->profile.start_ns, 100000);
	ck_assert_int_eq(all->idle.gpus[0].busy_ns, 10000);
	ck_assert_uint_eq(all->profile.kernel_count, 1);
	ck_assert_uint_eq(kernel("k")->count, 1);
	ck_assert_int_eq(kernel("k")->max_ns, 10000);
	ck_assert_int_eq(kernel("k")->total_ns, 10000);
	ck_assert_uint_eq(op("op")->count, 100);
	/* Of three events, none is far from the others. */
	read_events(OP("a", "0", "1", "9") "," OP("b", "3000000000", "1", "9") "," OP("b", "3000000010", "1", "9"));
	ck_assert_str_eq(profile_analysis_loss(all, loss, sizeof loss), "");
}
END_TEST

START_TEST(a_trace_without_host_events_has_no_cause)
{
	read_events(
		KERNEL("k", "7", "50", "20", "\"correlation\":1") "," KERNEL("k", "7", "90", "20", "\"correlation\":2"));
	ck_assert(!all->idle.gpus[0].has_split);
	ck_assert_ptr_nonnull(strstr(as_text(), "cause unknown"));
}
END_TEST

START_TEST(copies_have_a_direction_and_a_kind_of_memory)
{
	read_events(WORK("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", "7", "0", "2", "\"bytes\":4000") "," WORK(
		"gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", "7", "5", "1", "\"bytes\":9000") "," WORK("gpu_memset",
		"Memset (Device)", "7", "8", "1", "\"bytes\":16") "," WORK("gpu_memcpy", "Memcpy DtoH (Device -> Pinned)", "7",
		"9", "1", "\"x\":1") "," WORK("gpu_memcpy", "CopyHostToDevice", "7", "12", "1", "\"bytes\":1"));
	const struct profile_names *names = &all->profile.names;
	const struct profile_copy *copies = all->profile.copies;
	ck_assert_uint_eq(all->profile.copy_count, 5);
	ck_assert_int_eq(profile_copy_is_pinned(names, copies[0].name), 0);
	ck_assert_int_eq(profile_copy_is_pinned(names, copies[1].name), 1);
	ck_assert_int_eq(profile_copy_is_pinned(names, copies[4].name), -1);
	ck_assert_int_eq(profile_copy_direction(names, copies[2].name), COPY_SET);
	ck_assert_int_eq(profile_copy_direction(names, copies[3].name), COPY_DTOH);
	ck_assert_int_eq(profile_copy_direction(names, copies[4].name), COPY_HTOD);
	ck_assert_uint_eq(copies[3].bytes_count, 0);
	ck_assert_uint_eq(copies[0].bytes, 4000);
}
END_TEST

START_TEST(the_peak_is_held_by_what_was_live_then)
{
	read_events(OP("aten::empty", "10", "10", "1") "," OP("aten::mm", "30", "10", "2") "," MEMORY(
		"11", "100", "1100", "1") "," MEMORY("12", "50", "1150", "2") "," MEMORY("15", "-50", "1100",
		"2") "," MEMORY("31", "200", "1300", "3") "," MEMORY("35", "-200", "1100", "3"));
	const struct profile_memory *memory = &all->memories.devices[0];
	ck_assert_int_eq(memory->peak_bytes, 1300);
	ck_assert_int_eq(memory->seen_bytes, 300);
	ck_assert_uint_eq(memory->allocations, 3);
	ck_assert_uint_eq(memory->holder_count, 2);
	ck_assert_int_eq(memory->holders[0].bytes, 200);
	ck_assert(profile_names_begin(&all->profile.names, memory->holders[0].op, "aten::mm"));
	ck_assert_ptr_nonnull(strstr(as_text(), "1.00 kB  allocated before the trace"));
}
END_TEST

/* The trace begins with what frees the most. */
START_TEST(the_peak_may_be_before_the_first_event)
{
	read_events(
		OP("aten::empty", "10", "10", "1") "," MEMORY("11", "-5000", "1000", "1") "," MEMORY("15", "50", "1050", "2"));
	const struct profile_memory *memory = &all->memories.devices[0];
	ck_assert_int_eq(memory->peak_bytes, 6000);
	ck_assert_int_eq(memory->peak_at_ns, all->profile.start_ns);
	const char *text = as_text();
	ck_assert_ptr_nonnull(strstr(text, "peak 6.00 kB"));
	ck_assert_ptr_nonnull(strstr(text, "  ████"));
}
END_TEST

START_TEST(more_kinds_of_copies_and_gpus_than_usual_are_counted_or_said)
{
	struct buffer events = BUFFER_INIT;
	char loss[400];
	for (int i = 0; i < 300; i++)
		buffer_printf(&events, WORK("gpu_memcpy", "Memcpy HtoD %d", "7", "%d", "1", "\"bytes\":8") ",", i, 2 * i);
	for (int i = 0; i < 70; i++)
		buffer_printf(&events,
			"{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":%d,\"tid\":7,\"ts\":1,\"dur\":1,"
			"\"args\":{\"device\":%d}},",
			i, i);
	buffer_puts(&events, "{}");
	read_events(events.data);
	buffer_release(&events);
	ck_assert_uint_eq(all->profile.copy_count, 300);
	ck_assert_uint_eq(all->profile.copies[299].bytes, 8);
	ck_assert_uint_eq(all->idle.gpu_count, PROFILE_GPUS_MAX);
	ck_assert_str_eq(
		profile_analysis_loss(all, loss, sizeof loss), "GPUs beyond the first 64 (6 streams) are left out");
	ck_assert_ptr_nonnull(strstr(as_text(), "  … 288 more rows (--limit=300)\n"));
}
END_TEST

START_TEST(text_without_operators_has_the_functions_or_says_that_there_is_nothing)
{
	read_events(FUNCTION("a.py(1): f", "0", "10") "," FUNCTION("a.py(2): g", "2", "5"));
	ck_assert_ptr_nonnull(strstr(as_text(), "PYTHON FUNCTIONS\n"));
	ck_assert_ptr_nonnull(
		strstr(as_text(), "a.py(1): f                                                1   5.00 µs   10.0 µs"));
	read_events("{\"ph\":\"C\",\"name\":\"c\",\"pid\":1,\"ts\":1,\"args\":{\"v\":1}}");
	ck_assert_ptr_nonnull(strstr(as_text(), ": 1 event\n"));
	ck_assert_ptr_nonnull(strstr(as_text(), "The trace has no events that last: there is nothing to show.\n"));
}
END_TEST

START_TEST(old_releases_have_other_categories)
{
	read_events(HOST("Operator", "aten::mm", "1", "10", "5", "\"External id\":3") "," HOST(
		"Runtime", "cudaLaunchKernel", "1", "11", "1", "\"correlation\":8") "," WORK("Kernel", "k", "7", "20", "4",
		"\"correlation\":8,\"external id\":3") "," WORK("Memcpy", "Memcpy HtoD (Pinned -> Device)", "7", "30", "4",
		"\"bytes\":8"));
	ck_assert_int_eq(op("aten::mm")->gpu_self_ns, 4000);
	ck_assert_uint_eq(all->profile.copy_count, 1);
}
END_TEST

START_TEST(a_bare_array_of_begin_and_end_is_read)
{
	const char text[] = "[{\"ph\":\"B\",\"name\":\"a\",\"pid\":1,\"tid\":1,\"ts\":1},{\"ph\":\"B\",\"name\":\"b\","
						"\"pid\":1,\"tid\":1,\"ts\":2},"
						"{\"ph\":\"E\",\"pid\":1,\"tid\":1,\"ts\":4},{\"ph\":\"E\",\"pid\":1,\"tid\":1,\"ts\":9}";
	ck_assert_int_eq(read_group(text, sizeof text - 1, GROUP_NAME), STATUS_OK);
	ck_assert_int_eq(op("a")->self_ns, 6000);
	ck_assert(!all->profile.is_cut);
}
END_TEST

#define AT(phase, name, ts) "{\"ph\":\"" phase "\",\"name\":\"" name "\",\"pid\":1,\"tid\":1,\"ts\":" ts "}"

START_TEST(what_begins_first_is_around_what_begins_and_ends_with_it)
{
	read_events(AT("B", "outer", "10") "," AT("B", "inner", "10") "," AT("B", "deep", "10") "," AT(
		"E", "deep", "12") "," AT("E", "inner", "20") "," AT("E", "outer", "20") "," AT("B", "open", "21"));
	ck_assert_int_eq(op("outer")->self_ns, 0);
	ck_assert_int_eq(op("inner")->self_ns, 8000);
	ck_assert_int_eq(op("deep")->self_ns, 2000);
	ck_assert_uint_eq(all->ops.count, 3);
}
END_TEST

START_TEST(a_process_that_launches_kernels_is_no_device)
{
	read_events("{\"ph\":\"X\",\"cat\":\"Kernel\",\"name\":\"k\",\"pid\":31407,\"tid\":31407,\"ts\":1,\"dur\":2,"
				"\"args\":{\"stream\":\"7\"}}");
	ck_assert_int_eq(all->idle.gpus[0].index, -1);
}
END_TEST

START_TEST(a_device_process_of_tensorflow_holds_kernels)
{
	read_events("{\"ph\":\"M\",\"pid\":3,\"name\":\"process_name\",\"args\":{\"name\":\"/device:GPU:12\"}},"
				"{\"ph\":\"M\",\"pid\":3,\"tid\":2,\"name\":\"thread_name\",\"args\":{\"name\":\"Steps\"}},"
				"{\"ph\":\"X\",\"pid\":3,\"tid\":1,\"ts\":10,\"dur\":4,\"name\":\"fusion\"},"
				"{\"ph\":\"X\",\"pid\":3,\"tid\":2,\"ts\":10,\"dur\":9,\"name\":\"0\"},"
				"{\"ph\":\"X\",\"pid\":5,\"tid\":1,\"ts\":0,\"dur\":40,\"name\":\"train\"}");
	ck_assert_uint_eq(all->profile.kernel_count, 1);
	ck_assert_int_eq(all->idle.gpus[0].index, 12);
	ck_assert_int_eq(all->idle.gpus[0].busy_ns, 4000);
	ck_assert_int_eq(op("train")->total_ns, 40000);
}
END_TEST

START_TEST(a_trace_that_is_cut_off_gives_what_stands_before)
{
	const char text[] = "{\"traceEvents\": [" OP("a", "1", "2", "1") "," OP("b", "5", "2", "2");
	char loss[400];
	ck_assert_int_eq(read_group(text, sizeof text - 10, GROUP_NAME), STATUS_OK);
	ck_assert(all->profile.is_cut);
	ck_assert_uint_eq(all->profile.event_count, 1);
	ck_assert_ptr_nonnull(strstr(profile_analysis_loss(all, loss, sizeof loss), "ends early, at byte "));
	ck_assert_ptr_nonnull(strstr(as_text(), "ends early"));
}
END_TEST

START_TEST(every_cut_is_survived_and_only_the_last_is_whole)
{
	const char text[] =
		"{\"traceEvents\": [" OP("a", "1", "2", "1") "," KERNEL("k", "7", "3", "2", "\"External id\":1") "]}";
	for (size_t length = 0; length < sizeof text; length++) {
		enum status status = read_group(text, length, GROUP_NAME);
		ck_assert(
			status == STATUS_UNSUPPORTED || (status == STATUS_OK && all->profile.is_cut == (length < sizeof text - 1)));
		if (status == STATUS_OK)
			as_text();
	}
}
END_TEST

START_TEST(damage_in_the_middle_costs_the_events_that_it_hits)
{
	const char text[] =
		"{\"traceEvents\": [" OP("a", "1", "2", "1") ", {\"ph\":\"X\",,\"name\":oops}, " OP("b", "5", "2", "2") "]}";
	ck_assert_int_eq(read_group(text, sizeof text - 1, GROUP_NAME), STATUS_OK);
	ck_assert_uint_eq(all->profile.damaged_count, 1);
	ck_assert_uint_eq(all->profile.damaged_offset, (uint64_t)(strstr(text, "{\"ph\":\"X\",,") - text));
	ck_assert_int_eq(op("b")->total_ns, 2000);
}
END_TEST

START_TEST(times_that_are_no_times_are_left_out)
{
	read_events(OP("a", "NaN", "2", "1") "," OP("b", "5", "-2", "2") "," OP("c", "1e300", "1", "3") "," OP(
		"d", "99999999999999999999", "1", "3") "," OP("e", "1.5e3", "0.0004", "3"));
	ck_assert_uint_eq(all->profile.ignored_count, 4);
	ck_assert_int_eq(all->profile.start_ns, 1500000);
}
END_TEST

START_TEST(names_of_thousands_of_characters_are_whole_in_json)
{
	struct buffer events = BUFFER_INIT, json = BUFFER_INIT;
	struct profile_view view = { .width = 80 };
	for (int i = 0; i < 2; i++)
		buffer_printf(&events, OP("%05000d%s", "%d", "1", "1") "%s", 7, i ? "b" : "a", i, i ? "" : ",");
	read_events(events.data);
	ck_assert_uint_eq(all->ops.count, 2);
	profile_as_json(&json, &all, 1, &view);
	ck_assert_ptr_nonnull(strstr(json.data, "0007a\""));
	ck_assert_ptr_nonnull(strstr(json.data, "0007b\""));
	buffer_release(&events);
	buffer_release(&json);
}
END_TEST

START_TEST(names_are_decoded_and_made_safe)
{
	read_events(
		OP("a\\\"b\\u001b[31m\\u00e9\\ud83d\\ude00\\ud800", "1", "2", "1") "," OP("raw\xff\x1b[2J", "9", "2", "1"));
	const char *text = as_text();
	ck_assert_ptr_nonnull(strstr(text, "a\"b^[[31mé😀\xef\xbf\xbd"));
	ck_assert_ptr_null(strchr(text, '\x1b'));
	struct profile_view view = { 0 };
	buffer_clear(&out);
	profile_as_json(&out, &all, 1, &view);
	ck_assert_ptr_null(strchr(out.data, '\x1b'));
}
END_TEST

START_TEST(deep_nesting_needs_no_stack)
{
	size_t depth = 1 << 20;
	char *text = malloc(2 * depth + 200);
	size_t length = (size_t)sprintf(text, "{\"traceEvents\": [{\"ph\":\"X\",\"name\":\"a\",\"ts\":1,\"dur\":1,\"x\":");
	memset(text + length, '[', depth);
	memset(text + length + depth, ']', depth);
	length += 2 * depth;
	length += (size_t)sprintf(text + length, "}]}");
	ck_assert_int_eq(read_group(text, length, GROUP_NAME), STATUS_OK);
	ck_assert_uint_eq(op("a")->count, 1);
	free(text);
}
END_TEST

START_TEST(what_is_no_trace_is_refused)
{
	const char *texts[] = { "", "{}", "[1, 2", "hello", "{\"traceEvents\": 3}", "{\"a\": [" };
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		ck_assert_int_eq(read_group(texts[i], strlen(texts[i]), GROUP_NAME), STATUS_UNSUPPORTED);
}
END_TEST

START_TEST(shapes_and_stacks_group_operators)
{
#define SHAPED(ts, dims) HOST("cpu_op", "aten::mm", "1", ts, "2", "\"Input Dims\":" dims)
	const char text[] = "{\"traceEvents\": [" SHAPED("1", "[[2, 3], [3, 4]]") "," SHAPED(
		"5", "[[2, 3], [3, 4]]") "," SHAPED("9", "[[1, 3], [3, 4]]") "," HOST("python_function", "train.py(12): step",
		"1", "0", "8", "") "," HOST("user_annotation", "gloo:all_reduce", "1", "12", "2", "\"Input Dims\":[[3]]") "]}";
	ck_assert_int_eq(read_group(text, sizeof text - 1, GROUP_SHAPE), STATUS_OK);
	ck_assert(profile_names_begin(&all->profile.names, op("gloo:all_reduce")->by, "[[3]]"));
	ck_assert_uint_eq(op("aten::mm")->count, 2);
	const struct profile_entry *flops = profile_table_find(
		all->profile.flops, profile_flops_key(profile_name_of(op("aten::mm")->name), op("aten::mm")->by));
	ck_assert_double_eq(flops->number, 96);
	ck_assert_int_eq(read_group(text, sizeof text - 1, GROUP_STACK), STATUS_OK);
	ck_assert_uint_eq(op("aten::mm")->count, 2);
	ck_assert(profile_names_begin(&all->profile.names, op("aten::mm")->by, "train.py(12): step"));
}
END_TEST

START_TEST(rules_compare_figures_and_omit_what_is_unknown)
{
	struct profile_figures figures = { .count = 2,
		.rows = { { "a.ratio", FORM_RATIO, 0.42, "" }, { "a.line", FORM_TEXT, NAN, "" } } };
	struct profile_rule rule = { .condition = "a.ratio > 0.4 and a.ratio < 0.5" };
	char text[PROFILE_MESSAGE_SIZE];
	ck_assert(profile_rule_holds(&rule, &figures));
	rule.condition = "a.ratio > 0.4 and b.ratio < 0.5";
	ck_assert(!profile_rule_holds(&rule, &figures));
	ck_assert_str_eq(profile_rule_say("{a.ratio} idle[, in {a.line}]", &figures, text), "42 % idle");
	strcpy(figures.rows[1].text, "x.py(3)");
	ck_assert_str_eq(profile_rule_say("{a.ratio} idle[, in {a.line}]", &figures, text), "42 % idle, in x.py(3)");
	figures.rows[1] = (struct profile_figure){ "a.count", FORM_COUNT, 1, "" };
	ck_assert_str_eq(profile_rule_say("{a.count} {a.count:copy|copies}.", &figures, text), "1 copy.");
	figures.rows[1].value = 2;
	ck_assert_str_eq(profile_rule_say("{a.count} {a.count:copy|copies}.", &figures, text), "2 copies.");
	figures.rows[1].value = NAN;
	ck_assert_str_eq(profile_rule_say("x[, {a.count:copy|copies}]", &figures, text), "x");
	ck_assert_str_eq(profile_rule_say("{a.ratio", &figures, text), "42 %");
}
END_TEST

START_TEST(small_kernels_are_counted_in_the_advice_to_fuse)
{
	struct profile_figures *figures = malloc(sizeof *figures);
	const struct profile_rule *rule = profile_rules;
	char text[PROFILE_MESSAGE_SIZE];
	while (rule->name && strcmp(rule->name, "small_kernels") != 0)
		rule++;
	ck_assert_ptr_nonnull(rule->name);
	for (unsigned count = 100; count <= 101; count++) {
		struct buffer events = BUFFER_INIT;
		for (unsigned i = 0; i < count; i++)
			buffer_printf(&events,
				KERNEL("vectorized_elementwise_kernel<4, gelu>", "7", "%u", "2", "\"correlation\":%u") ",", 10 * i, i);
		buffer_puts(&events, KERNEL("gemm", "7", "5000", "798", "\"correlation\":999"));
		read_events(events.data);
		profile_figures_find(all, figures);
		ck_assert_int_eq(profile_rule_holds(rule, figures), count == 101);
		buffer_release(&events);
	}
	profile_rule_say(rule->message, figures, text);
	ck_assert_str_eq(text, "101 elementwise kernels of 2.00 µs on average take 20 % of the kernel time");
	ck_assert_ptr_nonnull(strstr(rule->advice, "torch.compile(model) fuses them"));
	free(figures);
}
END_TEST

START_TEST(a_trace_of_the_cpu_has_no_columns_of_a_gpu)
{
	const struct profile_view view = { .width = 120 };
	read_events(OP("aten::add", "1", "5", "1"));
	profile_as_text(&out, all, &view);
	const char *heading = strstr(out.data, "calls  self CPU total CPU");
	ck_assert_ptr_nonnull(heading);
	ck_assert_int_eq(heading[strlen("calls  self CPU total CPU")], '\n');
}
END_TEST

START_TEST(every_rule_is_well_formed)
{
	struct profile_figures *figures = malloc(sizeof *figures);
	char text[PROFILE_MESSAGE_SIZE];
	read_events(OP("a", "1", "2", "1"));
	profile_figures_find(all, figures);
	for (const struct profile_rule *rule = profile_rules; rule->name; rule++) {
		ck_assert_msg(
			rule->condition && rule->severity && rule->message && rule->meaning && rule->advice, "%s", rule->name);
		for (const char *at = rule->message; (at = strchr(at, '{')); at++)
			ck_assert_msg(
				profile_figures_named(figures, at + 1, strcspn(at + 1, ":}")) != NULL, "%s: %s", rule->name, at);
		for (const char *at = rule->condition; at; at = strstr(at, " and ") ? strstr(at, " and ") + 5 : NULL)
			ck_assert_msg(profile_figures_named(figures, at, strcspn(at, " ")) != NULL, "%s: %s", rule->name, at);
		profile_rule_say(rule->message, figures, text);
	}
	free(figures);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("trace_profile");
	TCase *tests = tcase_create("all");
	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, self_time_is_without_the_children);
	tcase_add_test(tests, an_event_that_sticks_out_is_no_child);
	tcase_add_test(tests, an_only_child_of_the_same_name_is_a_part_of_its_parent);
	tcase_add_test(tests, what_two_children_share_is_subtracted_once);
	tcase_add_test(tests, a_function_that_calls_itself_counts_each_call_and_its_time_once);
	tcase_add_test(tests, steps_count_as_one_operator_and_keep_their_numbers);
	tcase_add_test(tests, a_kernel_before_its_launch_in_the_file_is_joined_by_external_id);
	tcase_add_test(tests, without_external_id_the_launch_tells_the_operator);
	tcase_add_test(tests, an_external_id_that_is_the_correlation_names_no_operator);
	tcase_add_test(tests, kernels_of_a_graph_share_one_launch);
	tcase_add_test(tests, ids_of_more_than_32_bits_stay_apart);
	tcase_add_test(tests, what_is_asynchronous_has_no_own_time_and_is_part_of_nothing);
	tcase_add_test(tests, records_of_the_profiler_itself_are_no_operators);
	tcase_add_test(tests, an_event_without_a_name_is_called_so);
	tcase_add_test(tests, links_that_lie_far_apart_are_joined_too);
	tcase_add_test(tests, busy_is_the_union_over_streams);
	tcase_add_test(tests, work_of_one_process_and_stream_is_of_the_device_that_it_names);
	tcase_add_test(tests, ranks_merged_into_one_file_have_a_gpu_each);
	tcase_add_test(tests, of_several_gpus_steps_and_advice_have_the_mean);
	tcase_add_test(tests, communication_overlaps_with_computation);
	tcase_add_test(tests, idle_time_is_split_by_what_the_host_does);
	tcase_add_test(tests, of_a_gpu_whose_clock_differs_from_the_cpus_nothing_is_said_of_both);
	tcase_add_test(tests, events_far_from_all_others_do_not_stretch_the_window);
	tcase_add_test(tests, a_trace_without_host_events_has_no_cause);
	tcase_add_test(tests, copies_have_a_direction_and_a_kind_of_memory);
	tcase_add_test(tests, the_peak_is_held_by_what_was_live_then);
	tcase_add_test(tests, the_peak_may_be_before_the_first_event);
	tcase_add_test(tests, more_kinds_of_copies_and_gpus_than_usual_are_counted_or_said);
	tcase_add_test(tests, text_without_operators_has_the_functions_or_says_that_there_is_nothing);
	tcase_add_test(tests, old_releases_have_other_categories);
	tcase_add_test(tests, a_bare_array_of_begin_and_end_is_read);
	tcase_add_test(tests, what_begins_first_is_around_what_begins_and_ends_with_it);
	tcase_add_test(tests, a_process_that_launches_kernels_is_no_device);
	tcase_add_test(tests, a_device_process_of_tensorflow_holds_kernels);
	tcase_add_test(tests, a_trace_that_is_cut_off_gives_what_stands_before);
	tcase_add_test(tests, every_cut_is_survived_and_only_the_last_is_whole);
	tcase_add_test(tests, damage_in_the_middle_costs_the_events_that_it_hits);
	tcase_add_test(tests, times_that_are_no_times_are_left_out);
	tcase_add_test(tests, names_of_thousands_of_characters_are_whole_in_json);
	tcase_add_test(tests, names_are_decoded_and_made_safe);
	tcase_add_test(tests, deep_nesting_needs_no_stack);
	tcase_add_test(tests, what_is_no_trace_is_refused);
	tcase_add_test(tests, shapes_and_stacks_group_operators);
	tcase_add_test(tests, rules_compare_figures_and_omit_what_is_unknown);
	tcase_add_test(tests, small_kernels_are_counted_in_the_advice_to_fuse);
	tcase_add_test(tests, a_trace_of_the_cpu_has_no_columns_of_a_gpu);
	tcase_add_test(tests, every_rule_is_well_formed);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
