#include "src/trace/store/profile_kinds.h"

#include "src/trace/store/profile.h"

struct category {
	const char *text;
	size_t length;
	int kind; /* -1 = ignored */
};

#define CATEGORY(text, kind) \
	{ \
		text, sizeof(text) - 1, kind \
	}
/* The most frequent first; the names with capitals are of PyTorch 1.x. */
static const struct category categories[] = {
	CATEGORY("cpu_op", PROFILE_OP),
	CATEGORY("cuda_runtime", PROFILE_RUNTIME),
	CATEGORY("kernel", PROFILE_KERNEL),
	CATEGORY("python_function", PROFILE_PYTHON),
	CATEGORY("user_annotation", PROFILE_ANNOTATION),
	CATEGORY("cuda_driver", PROFILE_RUNTIME),
	CATEGORY("gpu_memcpy", PROFILE_COPY),
	CATEGORY("gpu_memset", PROFILE_SET),
	CATEGORY("hip_runtime", PROFILE_RUNTIME),
	CATEGORY("hip_driver", PROFILE_RUNTIME),
	CATEGORY("xpu_runtime", PROFILE_RUNTIME),
	CATEGORY("xpu_driver", PROFILE_RUNTIME),
	CATEGORY("mtia_runtime", PROFILE_RUNTIME),
	CATEGORY("privateuse1_runtime", PROFILE_RUNTIME),
	CATEGORY("privateuse1_driver", PROFILE_RUNTIME),
	CATEGORY("Operator", PROFILE_OP),
	CATEGORY("Runtime", PROFILE_RUNTIME),
	CATEGORY("Kernel", PROFILE_KERNEL),
	CATEGORY("Memcpy", PROFILE_COPY),
	CATEGORY("Memset", PROFILE_SET),
	CATEGORY("Python", PROFILE_PYTHON),
	CATEGORY("concurrent_kernel", PROFILE_KERNEL),
	CATEGORY("mtia_ccp_events", PROFILE_KERNEL),
	CATEGORY("gpu_user_annotation", -1),
	CATEGORY("overhead", -1),
	CATEGORY("cuda_sync", -1),
	CATEGORY("Trace", -1),
	CATEGORY("ac2g", -1),
	CATEGORY("fwdbwd", -1),
	CATEGORY("async_cpu_to_gpu", -1),
	CATEGORY("forward_backward", -1),
	CATEGORY("hpu_op", PROFILE_OP),
	CATEGORY("glow_runtime", PROFILE_RUNTIME),
	CATEGORY("cpu_instant_event", -1),
	CATEGORY("cuda_profiler_range", -1), /* counters of kernels, each as long as the others */
	CATEGORY("collective_comm", -1),
	CATEGORY("cuda_event", -1),
	CATEGORY("external_correlation", -1),
	CATEGORY("gpu_pm_counter", -1),
	CATEGORY("mtia_insight", -1),
	CATEGORY("mtia_counters", -1),
	CATEGORY("mtia_workloadd", -1),
};

int profile_category_kind(struct profile_slice category)
{
	for (size_t i = 0; category.length && i < sizeof categories / sizeof *categories; i++)
		if (categories[i].length == category.length && token_equal(categories[i].text, category.text, category.length))
			return categories[i].kind;
	return PROFILE_KIND_COUNT;
}

/* -- names -- */

struct trait_row {
	const char *part; /* ^ at its beginning: the name begins with it */
	unsigned traits;
};

static const struct trait_row trait_rows[] = {
	{ "^enumerate(DataLoader)", TRAIT_DATA },
	{ "DataLoaderIter.__next__", TRAIT_DATA },
	{ "torch/utils/data/dataloader.py", TRAIT_DATA },
	{ "IteratorGetNext", TRAIT_DATA },
	{ "StreamSynchronize", TRAIT_SYNC },
	{ "DeviceSynchronize", TRAIT_SYNC },
	{ "EventSynchronize", TRAIT_SYNC },
	{ "^cuCtxSynchronize", TRAIT_SYNC },
	{ "^aten::_local_scalar_dense", TRAIT_SYNC | TRAIT_ITEM },
	{ "^aten::item", TRAIT_SYNC },
	{ "^aten::nonzero", TRAIT_SYNC },
	{ "^cudaMemcpy", TRAIT_COPY },
	{ "^cuMemcpy", TRAIT_COPY },
	{ "^hipMemcpy", TRAIT_COPY },
	{ "^ncclDevKernel", TRAIT_COMMUNICATION },
	{ "^ncclKernel", TRAIT_COMMUNICATION },
	{ "^nccl:", TRAIT_COMMUNICATION },
	{ "^nccl", TRAIT_COMMUNICATION },
	{ "^rccl", TRAIT_COMMUNICATION },
	{ "^c10d::", TRAIT_COMMUNICATION },
	{ "^gloo:", TRAIT_COMMUNICATION },
	{ "^mpi:", TRAIT_COMMUNICATION },
	{ "cross_device_reduce", TRAIT_COMMUNICATION },
	{ "^hcom_", TRAIT_COMMUNICATION },
	{ "all-reduce", TRAIT_COMMUNICATION },
	{ "^all-gather", TRAIT_COMMUNICATION },
	{ "^all-to-all", TRAIT_COMMUNICATION },
	{ "^reduce-scatter", TRAIT_COMMUNICATION },
	{ "^collective-", TRAIT_COMMUNICATION },
	{ "_shot_all_reduce", TRAIT_COMMUNICATION },
	{ "multimem_", TRAIT_COMMUNICATION },
	{ "^symm_mem::", TRAIT_COMMUNICATION },
	{ "^record_param_comms", TRAIT_COMMUNICATION },
	{ "^cudaMalloc", TRAIT_SETUP },
	{ "^cudaFree", TRAIT_SETUP },
	{ "^cudaHostAlloc", TRAIT_SETUP },
	{ "^cudaGetDeviceProperties", TRAIT_SETUP },
	{ "^cudaDeviceGet", TRAIT_SETUP },
	{ "^cudaStreamCreate", TRAIT_SETUP },
	{ "^cuInit", TRAIT_SETUP },
	{ "ModuleLoad", TRAIT_SETUP },
	{ "^cuLibraryLoad", TRAIT_SETUP },
	{ "^hipMalloc", TRAIT_SETUP },
	{ "^hipFree", TRAIT_SETUP },
	{ "^hipHostMalloc", TRAIT_SETUP },
	{ "LaunchKernel", TRAIT_LAUNCH },
	{ "GraphLaunch", TRAIT_LAUNCH | TRAIT_GRAPH },
	{ "LaunchCooperativeKernel", TRAIT_LAUNCH },
	{ "LaunchHostFunc", TRAIT_LAUNCH },
	{ "^profiler::_record_function_", TRAIT_HIDDEN },
	{ "gemm", TRAIT_MATRIX },
	{ "Gemm", TRAIT_MATRIX },
	{ "GEMM", TRAIT_MATRIX },
	{ "gemv", TRAIT_MATRIX },
	{ "^Cijk_", TRAIT_MATRIX },
	{ "wgrad", TRAIT_MATRIX },
	{ "dgrad", TRAIT_MATRIX },
	{ "fprop", TRAIT_MATRIX },
	{ "implicit_convolve", TRAIT_MATRIX },
	{ "convolve_", TRAIT_MATRIX },
	{ "winograd", TRAIT_MATRIX },
	{ "^nvjet", TRAIT_MATRIX | TRAIT_TENSOR_CORE },
	{ "tensorop", TRAIT_MATRIX | TRAIT_TENSOR_CORE },
	{ "flash_fwd", TRAIT_MATRIX | TRAIT_TENSOR_CORE },
	{ "flash_bwd", TRAIT_MATRIX | TRAIT_TENSOR_CORE },
	{ "fmha", TRAIT_MATRIX | TRAIT_TENSOR_CORE },
	{ "ck_tile::Fmha", TRAIT_MATRIX | TRAIT_TENSOR_CORE },
	{ "_tf32f32", TRAIT_TENSOR_CORE },
	{ "s1688", TRAIT_TENSOR_CORE },
	{ "s16816", TRAIT_TENSOR_CORE },
	{ "h1688", TRAIT_TENSOR_CORE },
	{ "h16816", TRAIT_TENSOR_CORE },
	{ "h884", TRAIT_TENSOR_CORE },
	{ "s884", TRAIT_TENSOR_CORE },
	{ "i8816", TRAIT_TENSOR_CORE },
	{ "hmma", TRAIT_TENSOR_CORE },
	{ "imma", TRAIT_TENSOR_CORE },
	{ "wgmma", TRAIT_TENSOR_CORE },
	{ "xmma_gemm_bf16", TRAIT_TENSOR_CORE },
	{ "xmma_gemm_f16", TRAIT_TENSOR_CORE },
	{ "xmma_gemm_tf32", TRAIT_TENSOR_CORE },
	{ "MFMA", TRAIT_TENSOR_CORE },
	{ "_MI16x16", TRAIT_TENSOR_CORE },
	{ "_MI32x32", TRAIT_TENSOR_CORE },
	{ "gtcx", TRAIT_MATRIX | TRAIT_TENSOR_CORE },
	{ "^bmm_", TRAIT_MATRIX | TRAIT_TENSOR_CORE },
	{ "^batched_transpose_", TRAIT_LAYOUT },
	{ "nchwToNhwc", TRAIT_LAYOUT },
	{ "nhwcToNchw", TRAIT_LAYOUT },
	{ "NCHWToNHWC", TRAIT_LAYOUT },
	{ "elementwise_kernel", TRAIT_ELEMENTWISE },
};

/* Beginnings of what processes of torch.distributed record from the call to the end of the work. */
static const char *const asynchronous[] = { "nccl:", "gloo:", "mpi:", "ucc:", "xccl:" };

/* Whole names that key_averages leaves out (torch/autograd/profiler_util.py, _filter_name). */
static const char *const hidden[] = { "[memory]", "[OutOfMemory]", "aten::is_leaf", "aten::output_nr",
	"aten::_version" };

static bool is_name(const struct profile_names *names, uint32_t name, const char *text)
{
	return profile_names_text(names, name).length == strlen(text) && profile_names_begin(names, name, text);
}

/* The bytes of a text: most parts have one that it lacks, which is faster to see than to search for them. */
struct letters {
	bool has[256];
	char first;
};

static struct letters letters_of(struct profile_slice text)
{
	struct letters letters = { .first = text.length ? text.text[0] : '\0' };
	for (size_t i = 0; i < text.length; i++)
		letters.has[(unsigned char)text.text[i]] = true;
	return letters;
}

static bool may_contain(const struct letters *letters, const char *part)
{
	while (*part && letters->has[(unsigned char)*part])
		part++;
	return !*part;
}

static bool matches(
	const struct profile_names *names, uint32_t name, const struct letters *letters, const struct trait_row *row)
{
	const char *part = row->part;
	if (part[0] == '^')
		return part[1] == letters->first && profile_names_begin(names, name, part + 1);
	return may_contain(letters, part) && profile_names_contain(names, name, part);
}

unsigned profile_name_traits(struct profile_names *names, uint32_t name)
{
	struct profile_name *row = &names->names[name];
	if (row->flags & TRAIT_KNOWN)
		return row->flags;
	unsigned traits = TRAIT_KNOWN;
	/* "gemm" is a part of that library's name; XLA's fusions do not say which units they use. */
	bool is_no_gemm =
		profile_names_contain(names, name, "fbgemm_gpu") || profile_names_begin(names, name, "gemm_fusion");
	struct letters letters = letters_of(profile_names_text(names, name));
	for (size_t i = 0; i < sizeof trait_rows / sizeof *trait_rows; i++)
		if (matches(names, name, &letters, &trait_rows[i]))
			traits |= trait_rows[i].traits;
	for (size_t i = 0; i < sizeof hidden / sizeof *hidden; i++)
		if (is_name(names, name, hidden[i]))
			traits |= TRAIT_HIDDEN;
	for (size_t i = 0; i < sizeof asynchronous / sizeof *asynchronous; i++)
		if (profile_names_begin(names, name, asynchronous[i]))
			traits |= TRAIT_ASYNC;
	if (is_no_gemm)
		traits &= ~(unsigned)(TRAIT_MATRIX | TRAIT_TENSOR_CORE);
	row->flags = (uint16_t)traits;
	return traits;
}

/* -- copies -- */

const char *const profile_direction_names[] = { "HtoD", "DtoH", "DtoD", "PtoP", "HtoH", "memset", "other" };

enum profile_direction profile_copy_direction(const struct profile_names *names, uint32_t name)
{
	static const struct {
		const char *part;
		enum profile_direction direction;
	} rows[] = { { "HtoD", COPY_HTOD }, { "DtoH", COPY_DTOH }, { "DtoD", COPY_DTOD }, { "PtoP", COPY_PTOP },
		{ "HtoH", COPY_HTOH }, { "HostToDevice", COPY_HTOD }, { "DeviceToHost", COPY_DTOH },
		{ "DeviceToDevice", COPY_DTOD }, { "H2D", COPY_HTOD }, { "D2H", COPY_DTOH }, { "D2D", COPY_DTOD },
		{ "Memset", COPY_SET }, { "memset", COPY_SET }, { "FillBuffer", COPY_SET } };
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (profile_names_contain(names, name, rows[i].part))
			return rows[i].direction;
	return COPY_OTHER;
}

int profile_copy_is_pinned(const struct profile_names *names, uint32_t name)
{
	return profile_names_contain(names, name, "Pageable") ? 0 : profile_names_contain(names, name, "Pinned") ? 1 : -1;
}

bool profile_copy_is_pageable_upload(const struct profile_names *names, uint32_t name)
{
	return profile_copy_is_pinned(names, name) == 0 && profile_copy_direction(names, name) == COPY_HTOD;
}
