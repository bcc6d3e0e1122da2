/* profile_view.h: which rows of an analysis are shown, and in which order. */
#ifndef PMTOP_TRACE_PROFILE_VIEW_H
#define PMTOP_TRACE_PROFILE_VIEW_H

#include "src/trace/analysis/profile_analysis.h"

enum profile_sort { SORT_DEFAULT, SORT_SELF_GPU, SORT_TOTAL_GPU, SORT_SELF_CPU, SORT_TOTAL_CPU, SORT_COUNT, SORT_NAME };

struct profile_view {
	enum profile_group group;
	enum profile_sort sort; /* SORT_DEFAULT: self GPU time, or self CPU time if there is none */
	uint32_t limit;         /* rows a table; 0 = all */
	int width;
	bool has_color;
};

/* The rows of the kinds (1 << enum profile_kind) in order: pointers into analysis->ops. NULL: no memory. To be freed.
 */
const struct profile_op **profile_view_ops(
	const struct profile_analysis *analysis, const struct profile_view *view, unsigned kinds, uint32_t *count);
/* By total time, or by count or name if the view says so. */
const struct profile_kernel **profile_view_kernels(
	const struct profile_analysis *analysis, const struct profile_view *view, uint32_t *count);
/* "GPU 0", "GPU" if its number is unknown, "GPUs" for the mean. */
const char *profile_gpu_label(int32_t index, char out[24]);
/* The same; where processes have GPUs of the same number, also the process: "GPU 0 of rank1". */
enum { PROFILE_GPU_NAME_SIZE = 64 };
const char *profile_gpu_name(
	const struct profile *profile, const struct profile_gpu *gpu, char out[PROFILE_GPU_NAME_SIZE]);
/* Why causes of idleness are unknown, where a GPU has no split of it. */
const char *profile_no_cause(const struct profile *profile);
/* A kernel's name for a table: without what is the same in most: "void ", namespaces, arguments. */
const char *profile_kernel_label(const struct profile_names *names, uint32_t name, char *out, size_t size);
/* The GPU's time, summed over kernels and copies, that belongs to no operator: launched outside of all, or before the
 * trace began. */
int64_t profile_ops_missing_ns(const struct profile_analysis *analysis);
/* The FLOPs of a row; NAN = unknown. */
double profile_op_flops(const struct profile_analysis *analysis, const struct profile_op *op);

#endif
