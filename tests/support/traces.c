#include "tests/support/traces.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* clang-format off */
const char traces_full[] =
	TRACE_STEP("ProfilerStep#1", "0", "1000") ","
	TRACE_PYTHON("train.py(12): main", "5", "990") ","
	TRACE_HOST("user_annotation", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", "1", "10", "80", "\"External id\":901") ","
	TRACE_OP("aten::copy_", "92", "30", "10") ","
	TRACE_CALL("cudaMemcpyAsync", "95", "20", "110") ","
	TRACE_WORK("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", "7", "100", "60", "\"correlation\":110,\"bytes\":1000000") ","
	TRACE_PYTHON("model.py(7): forward", "130", "470") ","
	TRACE_PYTHON("nn.Module: Net_0", "135", "460") ","
	TRACE_PYTHON("nn.Module: Linear_0", "140", "200") ","
	TRACE_SHAPED("aten::linear", "145", "190", "1", "[[32, 64], [64, 64], [64]]") ","
	TRACE_SHAPED("aten::addmm", "150", "180", "2", "[[64], [32, 64], [64, 64]]") ","
	TRACE_MEMORY("155", "2000000", "3000000", "1") ","
	TRACE_CALL("cudaLaunchKernel", "160", "20", "101") ","
	TRACE_KERNEL("void gemm<float, 128, 64>(float const*)", "7", "190", "200", "\"correlation\":101,\"External id\":2,\"est. achieved occupancy %\":50,\"registers per thread\":64") ","
	TRACE_PYTHON("nn.Module: Linear_1", "350", "200") ","
	TRACE_SHAPED("aten::linear", "355", "190", "3", "[[32, 128], [64, 128], [64]]") ","
	TRACE_SHAPED("aten::addmm", "360", "180", "4", "[[64], [32, 128], [128, 64]]") ","
	TRACE_MEMORY("362", "1000000", "4000000", "2") ","
	TRACE_CALL("cudaLaunchKernel", "370", "20", "102") ","
	TRACE_KERNEL("void gemm<float, 128, 64>(float const*)", "7", "400", "100", "\"correlation\":102,\"External id\":4,\"est. achieved occupancy %\":50,\"registers per thread\":64") ","
	TRACE_KERNEL("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "20", "450", "300", "\"correlation\":150") ","
	TRACE_OP("aten::item", "800", "150", "5") "," TRACE_OP("aten::_local_scalar_dense", "801", "148", "8") ","
	TRACE_CALL("cudaStreamSynchronize", "805", "140", "103") ","
	TRACE_MEMORY("960", "-2000000", "2000000", "1") ","
	TRACE_STEP("ProfilerStep#2", "1000", "1200") ","
	TRACE_PYTHON("train.py(12): main", "1005", "1190") ","
	TRACE_SHAPED("aten::addmm", "1400", "180", "6", "[[64], [32, 64], [64, 64]]") ","
	TRACE_CALL("cudaLaunchKernel", "1410", "20", "104") ","
	TRACE_KERNEL("void gemm<float, 128, 32>(float const*)", "7", "1500", "350", "\"correlation\":104,\"External id\":6,\"est. achieved occupancy %\":75,\"registers per thread\":32") ","
	TRACE_OP("aten::relu", "1900", "100", "7") ","
	TRACE_CALL("cudaLaunchKernel", "1910", "20", "105") ","
	TRACE_KERNEL("void relu_kernel(float*)", "7", "1980", "200", "\"correlation\":105,\"External id\":7");

const char traces_of_cpu[] =
	TRACE_OP("aten::conv2d", "0", "400", "1") "," TRACE_OP("aten::convolution", "50", "300", "2") ","
	TRACE_OP("aten::relu", "500", "100", "3") "," TRACE_OP("aten::relu", "700", "300", "4");
/* clang-format on */

struct profile_analysis *traces_read(const char *events, int rank)
{
	struct profile_analysis *analysis = malloc(sizeof *analysis);
	struct reason reason = { "", "" };
	char *text, info[80] = "";
	if (rank >= 0)
		snprintf(info, sizeof info, "\"distributedInfo\": {\"rank\": %d, \"world_size\": 2}, ", rank);
	ck_assert_int_gt(asprintf(&text, "{%s\"traceEvents\": [%s]}", info, events), 0);
	ck_assert_int_eq(profile_analyse_memory(analysis, text, strlen(text), GROUP_NAME, &reason), STATUS_OK);
	snprintf(analysis->path, sizeof analysis->path, "/runs/rank%d.pt.trace.json", rank < 0 ? 0 : rank);
	free(text);
	return analysis;
}

struct profile_analysis *traces_read_file(const char *path)
{
	struct profile_analysis *analysis = malloc(sizeof *analysis);
	struct reason reason = { "", "" };
	ck_assert_msg(profile_analyse(analysis, path, GROUP_NAME, NULL, &reason) == STATUS_OK, "%s", reason.text);
	return analysis;
}

void traces_free(struct profile_analysis *analysis)
{
	profile_analysis_release(analysis);
	free(analysis);
}

static bool is_named(const struct profile_analysis *analysis, uint32_t name, const char *text)
{
	char shown[400];
	return strcmp(profile_names_show(&analysis->profile.names, profile_name_of(name), shown, sizeof shown), text) == 0;
}

uint32_t traces_name(const struct profile_analysis *analysis, const char *text)
{
	const struct profile *profile = &analysis->profile;
	for (uint32_t i = 0; i < analysis->ops.count; i++)
		if (is_named(analysis, analysis->ops.rows[i].name, text))
			return analysis->ops.rows[i].name;
	for (uint32_t t = 0; t < profile->track_count; t++)
		for (uint32_t i = 0; i < profile->tracks[t].work_count; i++)
			if (is_named(analysis, profile->tracks[t].works[i].name, text))
				return profile->tracks[t].works[i].name;
	ck_abort_msg("no %s in the trace", text);
	return 0;
}
