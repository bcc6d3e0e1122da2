/* Operators and Modules: the rows of key_averages, and the same for nn.Modules. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "src/trace/output/profile_modules_out.h"
#include "src/trace/output/profile_view.h"
#include "src/trace/store/profile_kinds.h"
#include "src/trace/store/profile_table.h"
#include "ui/trace/trace_pages.h"
#include "ui/trace/trace_scene.h"

enum op_cell {
	CELL_NAME,
	CELL_BY,
	CELL_CALLS,
	CELL_SELF_GPU,
	CELL_TOTAL_GPU,
	CELL_SELF_CPU,
	CELL_TOTAL_CPU,
	CELL_KERNELS,
	CELL_FLOPS,
	CELL_SHARE,
	CELL_BAR,
	CELLS
};

#define OP_COLUMNS(name_title, by_width) \
	{ \
		[CELL_NAME] = { { name_title, 30, 0, true, true }, TRACE_NAME }, \
		[CELL_BY] = { { "BY", by_width, 3, true, false }, TRACE_NAME }, \
		[CELL_CALLS] = { { "CALLS", 8, 2, false, false }, TRACE_COUNT }, \
		[CELL_SELF_GPU] = { { "SELF GPU", 10, 1, false, false }, TRACE_TIME }, \
		[CELL_TOTAL_GPU] = { { "TOTAL GPU", 10, 1, false, false }, TRACE_TIME }, \
		[CELL_SELF_CPU] = { { "SELF CPU", 10, 1, false, false }, TRACE_TIME }, \
		[CELL_TOTAL_CPU] = { { "TOTAL CPU", 10, 4, false, false }, TRACE_TIME }, \
		[CELL_KERNELS] = { { "KERNELS", 8, 6, false, false }, TRACE_COUNT }, \
		[CELL_FLOPS] = { { "TFLOP/s", 8, 7, false, false }, TRACE_NUMBER }, \
		[CELL_SHARE] = { { "SHARE", 6, 3, false, false }, TRACE_RATIO }, \
		[CELL_BAR] = { { "", 12, 8, true, false }, TRACE_BAR }, \
	}

static const struct trace_column columns[CELLS] = OP_COLUMNS("OPERATOR", 34);
static const struct trace_column module_columns[CELLS] = OP_COLUMNS("MODULE", 0);

static uint32_t count(const struct trace_scene *scene) { return scene->analysis->ops.count; }

static const struct profile_op *op_at(const struct trace_scene *scene, uint32_t row)
{
	return &scene->analysis->ops.rows[row];
}

static bool is_operator(const struct trace_scene *scene, uint32_t row)
{
	const struct profile_op *op = op_at(scene, row);
	return op->count && profile_kind_of(op->name) <= PROFILE_ANNOTATION;
}

static bool is_module(const struct trace_scene *scene, uint32_t row)
{
	const struct profile_op *op = op_at(scene, row);
	return op->count && profile_kind_of(op->name) == PROFILE_PYTHON &&
		profile_host_is_module(&scene->analysis->profile, profile_name_of(op->name));
}

/* Grouped by module, each operator stands below the module that calls it. */
static bool is_tree(const struct trace_scene *scene) { return scene->analysis->ops.group == GROUP_MODULE; }

static bool is_operator_row(const struct trace_scene *scene, uint32_t row)
{
	return is_operator(scene, row) || (is_tree(scene) && is_module(scene, row));
}

/* NULL: outside modules. */
static const struct profile_op *module_of(const struct trace_scene *scene, const struct profile_op *op)
{
	const struct profile_ops *ops = &scene->analysis->ops;
	uint64_t name = op->by | (uint32_t)PROFILE_PYTHON << PROFILE_NAME_BITS;
	const struct profile_entry *entry = op->by ? profile_table_find(ops->index, name << 32) : NULL;
	return entry && entry->bits ? &ops->rows[entry->bits - 1] : NULL;
}

static double seconds(int64_t ns) { return (double)ns / 1e9; }

/* Of the GPU's time, or of the CPU's in a trace without GPU work. A module's is its total. */
static double share(const struct trace_scene *scene, const struct profile_op *op)
{
	bool has_gpu = trace_scene_gpu(scene) != NULL, is_total = profile_kind_of(op->name) == PROFILE_PYTHON;
	double all = has_gpu ? scene->self_gpu_s : scene->self_cpu_s;
	int64_t own = has_gpu ? (is_total ? op->gpu_total_ns : op->gpu_self_ns) : is_total ? op->total_ns : op->self_ns;
	return all > 0 ? seconds(own) / all : NAN;
}

static double flops_rate(const struct trace_scene *scene, const struct profile_op *op)
{
	int64_t ns = trace_scene_gpu(scene) ? op->gpu_total_ns : op->total_ns;
	double flops = profile_op_flops(scene->analysis, op);
	return ns > 0 ? flops / 1e3 / (double)ns : NAN;
}

static double value(const struct trace_scene *scene, uint32_t row, int column)
{
	const struct profile_op *op = op_at(scene, row);
	/* Kernels belong to operators: a module has none of its own. */
	bool has_gpu = trace_scene_gpu(scene) != NULL, has_own = has_gpu && profile_kind_of(op->name) != PROFILE_PYTHON;
	switch (column) {
	case CELL_CALLS: return (double)op->count;
	case CELL_SELF_GPU: return has_own ? seconds(op->gpu_self_ns) : NAN;
	case CELL_TOTAL_GPU: return has_gpu ? seconds(op->gpu_total_ns) : NAN;
	case CELL_SELF_CPU: return op->has_host ? seconds(op->self_ns) : NAN;
	case CELL_TOTAL_CPU: return op->has_host ? seconds(op->total_ns) : NAN;
	case CELL_KERNELS: return has_own ? (double)op->kernel_count : NAN;
	case CELL_FLOPS: return flops_rate(scene, op);
	default: return share(scene, op);
	}
}

/* Indented while the table is sorted as a tree; then the module's name is that of a row above. */
static void tree_text(const struct trace_scene *scene, const struct profile_op *op, char out[TRACE_TEXT_SIZE])
{
	const struct profile_names *names = &scene->analysis->profile.names;
	const struct profile_op *module = module_of(scene, op);
	bool is_sorted = scene->lists[TRACE_TAB_operators].state.sort == CELL_NAME;
	uint32_t depth = !is_sorted ? 0 : module ? module->depth + 1 : op->depth;
	char name[TRACE_TEXT_SIZE];
	profile_module_label(names, profile_name_of(op->name), depth, out, TRACE_TEXT_SIZE);
	size_t length = strlen(out);
	if (module && !is_sorted && length + 5 < TRACE_TEXT_SIZE)
		snprintf(out + length, TRACE_TEXT_SIZE - length, " in %s",
			profile_module_label(names, op->by, 0, name, sizeof name));
}

static void text(const struct trace_scene *scene, uint32_t row, int column, char out[TRACE_TEXT_SIZE])
{
	const struct profile_op *op = op_at(scene, row);
	out[0] = '\0';
	if (is_tree(scene)) {
		if (column == CELL_NAME)
			tree_text(scene, op, out);
		return;
	}
	trace_scene_label(scene, column == CELL_NAME ? op->name : op->by, out, TRACE_TEXT_SIZE);
	char *name = profile_kind_of(op->name) == PROFILE_PYTHON ? strstr(out, ": ") : NULL;
	if (name)
		memmove(out, name + 2, strlen(name + 2) + 1);
}

/* Indented while the table is a tree. */
static void module_text(const struct trace_scene *scene, uint32_t row, int column, char out[TRACE_TEXT_SIZE])
{
	const struct profile_op *op = op_at(scene, row);
	bool is_sorted = scene->lists[TRACE_TAB_modules].state.sort == CELL_NAME;
	out[0] = '\0';
	if (column == CELL_NAME)
		profile_module_label(&scene->analysis->profile.names, profile_name_of(op->name), is_sorted ? op->depth : 0, out,
			TRACE_TEXT_SIZE);
}

static double module_position(const struct trace_scene *scene, uint32_t row) { return op_at(scene, row)->position; }

/* Behind its module and before that one's parts, by own time; operators outside modules come last. */
static double position(const struct trace_scene *scene, uint32_t row)
{
	const struct profile_op *op = op_at(scene, row), *module = module_of(scene, op);
	if (!is_tree(scene))
		return NAN;
	if (is_module(scene, row))
		return op->position;
	double part = share(scene, op);
	part = part > 0 ? part < 1 ? part : 1 : 0;
	return (module ? module->position : (double)UINT32_MAX) + 0.75 - 0.5 * part;
}

static int by_tree(const struct trace_scene *scene)
{
	(void)scene;
	return CELL_NAME;
}

static int by_self(const struct trace_scene *scene)
{
	static const int cells[] = { [SORT_SELF_GPU] = CELL_SELF_GPU,
		[SORT_TOTAL_GPU] = CELL_TOTAL_GPU,
		[SORT_SELF_CPU] = CELL_SELF_CPU,
		[SORT_TOTAL_CPU] = CELL_TOTAL_CPU,
		[SORT_COUNT] = CELL_CALLS,
		[SORT_NAME] = CELL_NAME };
	return is_tree(scene)             ? CELL_NAME
		: scene->sort != SORT_DEFAULT ? cells[scene->sort]
		: trace_scene_gpu(scene)      ? CELL_SELF_GPU
									  : CELL_SELF_CPU;
}

static void about(const struct trace_scene *scene, struct line *line)
{
	static const char *const groups[] = { "by name", "by shape", "by stack", "by module" };
	line_add(line, 1, ROLE_NORMAL, "%s", groups[scene->analysis->ops.group]);
	if (is_tree(scene))
		line_add(line, 3, ROLE_NORMAL, "each below the module that calls it");
	line_add(line, 2, ROLE_NORMAL, trace_scene_gpu(scene) ? "share of the GPU's time" : "share of the CPU's time");
	char number[NUMBER_SIZE];
	if (scene->missing_gpu_s > scene->self_gpu_s / 100)
		line_add(line, 2, ROLE_NORMAL, "%s of it has no operator here",
			format_percent(number, scene->missing_gpu_s / scene->self_gpu_s));
}

static void about_modules(const struct trace_scene *scene, struct line *line)
{
	if (scene->lists[TRACE_TAB_modules].state.sort == CELL_NAME)
		line_add(line, 2, ROLE_NORMAL, "each below the one that calls it");
	line_add(line, 1, ROLE_NORMAL, trace_scene_gpu(scene) ? "share: total GPU time" : "share: total CPU time");
}

static void open(struct trace_scene *scene, uint32_t row) { trace_pages_op(scene, op_at(scene, row)->name); }

static const struct trace_table table = {
	.title = "Operators",
	.what = "operator",
	.columns = columns,
	.column_count = CELLS,
	.count = count,
	.has = is_operator_row,
	.value = value,
	.text = text,
	.position = position,
	.tie_column = CELL_SELF_CPU,
	.sort = by_self,
	.about = about,
	.open = open,
};

static const struct trace_table module_table = {
	.title = "Modules",
	.what = "module",
	.columns = module_columns,
	.column_count = CELLS,
	.count = count,
	.has = is_module,
	.value = value,
	.text = module_text,
	.position = module_position,
	.sort = by_tree,
	.about = about_modules,
	.open = open,
};

/* Key b: the next group for which the trace has data. */
static bool group_key(struct trace_scene *scene, struct key_event event)
{
	enum { GROUPS = GROUP_MODULE + 1 };
	const struct profile *profile = &scene->analysis->profile;
	const bool has[GROUPS] = { true, profile->has_shapes, profile->has_stacks, profile->has_modules };
	if (event.key != 'b')
		return false;
	unsigned group = scene->group;
	do
		group = (group + 1) % GROUPS;
	while (!has[group]);
	if (group == scene->group)
		snprintf(scene->message, sizeof scene->message,
			"only by name: the trace has no shapes, stacks or modules (record_shapes, with_stack, with_modules)");
	scene->group = (enum profile_group)group;
	scene->lists[TRACE_TAB_operators].state.chosen = false;
	trace_scene_regroup(scene);
	return true;
}

static bool has_any(const struct trace_scene *scene, bool (*has)(const struct trace_scene *scene, uint32_t row))
{
	for (uint32_t row = 0; row < count(scene); row++)
		if (has(scene, row))
			return true;
	return false;
}

static const char *why_empty(const struct trace_scene *scene, char out[TRACE_WHY_SIZE])
{
	(void)out;
	return has_any(scene, is_operator)
		? NULL
		: "The trace has no operators: torch.profiler records them with activities=[ProfilerActivity.CPU, …].";
}

static const char *why_no_modules(const struct trace_scene *scene, char out[TRACE_WHY_SIZE])
{
	(void)out;
	return has_any(scene, is_module) ? NULL
		: !scene->analysis->profile.has_categories
		? "The trace has no modules: only PyTorch writes them."
		: "The trace has no modules: torch.profiler.profile(with_stack=True, with_modules=True) records them.";
}

const struct trace_tab operators_trace_tab = {
	.name = "Operators",
	.short_name = "Ops",
	.keys = "q quit  Tab view  ↑↓ row  Enter its kernels, shapes, stacks  b group  s sort  w CSV  / search",
	.table = &table,
	.key = group_key,
	.why_empty = why_empty,
};

const struct trace_tab modules_trace_tab = {
	.name = "Modules",
	.short_name = "Mod",
	.keys = "q quit  Tab view  ↑↓ row  Enter its parts and kernels  s sort  I reverse  / search",
	.table = &module_table,
	.why_empty = why_no_modules,
};
