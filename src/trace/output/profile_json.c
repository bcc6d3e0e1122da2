#include "src/trace/output/profile_json.h"

#include <math.h>
#include <stdlib.h>

#include "src/base/formats/json.h"
#include "src/trace/output/profile_advice.h"
#include "src/trace/output/profile_figures.h"
#include "src/trace/output/profile_modules_out.h"
#include "src/trace/store/profile_kinds.h"

enum { TEXT_SIZE = 4096 };

static void add_ns(struct json *json, const char *key, double ns) { json_number(json, key, ns / 1e9); }

static void add_name(struct json *json, const char *key, const struct profile_analysis *analysis, uint32_t name)
{
	const struct profile_names *names = &analysis->profile.names;
	char text[TEXT_SIZE];
	if (profile_names_text(names, name).length < TEXT_SIZE / 3) {
		json_text(json, key, name ? profile_names_show(names, name, text, sizeof text) : NULL);
		return;
	}
	char *whole = profile_names_copy(names, name);
	json->out->failed |= !whole;
	json_text(json, key, whole);
	free(whole);
}

/* Relative to the first event. */
static void add_at(struct json *json, const char *key, const struct profile_analysis *analysis, int64_t at_ns)
{
	add_ns(json, key, (double)at_ns - (double)analysis->profile.start_ns);
}

static double ratio(double part, double whole) { return whole > 0 ? part / whole : NAN; }

static uint32_t shown(const struct profile_view *view, uint32_t count)
{
	return view->limit && view->limit < count ? view->limit : count;
}

/* -- what the trace is -- */

static void add_trace(struct json *json, const struct profile_analysis *analysis)
{
	const struct profile *profile = &analysis->profile;
	char loss[400];
	json_text(json, "file", analysis->path);
	json_unsigned(json, "events", profile->event_count);
	json_unsigned(json, "bytes", profile->size);
	json_bool(json, "is_cut", profile->is_cut);
	json_unsigned(json, "damaged", profile->damaged_count);
	if (profile->is_cut || profile->damaged_count)
		json_unsigned(json, "damaged_offset", profile->damaged_offset);
	json_text(json, "loss", profile_analysis_loss(analysis, loss, sizeof loss)[0] ? loss : NULL);
	if (profile->rank >= 0)
		json_integer(json, "rank", profile->rank);
	if (profile->world_size > 0)
		json_integer(json, "world_size", profile->world_size);
	if (profile->end_ns > profile->start_ns)
		add_ns(json, "window_s", (double)profile->end_ns - (double)profile->start_ns);
}

static void add_gpu(struct json *json, const struct profile_analysis *analysis, const struct profile_gpu *gpu)
{
	static const char *const idle_keys[IDLE_KIND_COUNT] = { "host_s", "data_s", "copies_s", "sync_s",
		"communication_s" };
	char name[PROFILE_GPU_NAME_SIZE];
	json_open_object(json, NULL);
	if (gpu->index >= 0)
		json_integer(json, "index", gpu->index);
	if (gpu->is_twin)
		json_text(json, "label", profile_gpu_name(&analysis->profile, gpu, name));
	for (uint32_t i = 0; i < analysis->profile.gpu_count; i++)
		if (analysis->profile.gpus[i].index == gpu->index) {
			add_name(json, "name", analysis, analysis->profile.gpus[i].name);
			if (analysis->profile.gpus[i].memory_bytes > 0)
				json_number(json, "memory_bytes", analysis->profile.gpus[i].memory_bytes);
		}
	json_unsigned(json, "streams", gpu->streams);
	json_unsigned(json, "kernels", gpu->kernel_count);
	add_ns(json, "kernel_time_s", (double)gpu->kernel_ns);
	add_ns(json, "busy_s", (double)gpu->busy_ns);
	json_number(json, "busy_ratio", ratio((double)gpu->busy_ns, (double)gpu->window_ns));
	json_open_object(json, "idle");
	add_ns(json, "total_s", (double)gpu->idle_ns);
	for (int kind = 0; kind < IDLE_KIND_COUNT && gpu->has_split; kind++)
		add_ns(json, idle_keys[kind], (double)gpu->idle_split_ns[kind]);
	json_close_object(json);
	add_ns(json, "kernel_window_s", (double)gpu->kernel_window_ns);
	add_ns(json, "kernel_window_idle_s", (double)(gpu->kernel_window_ns - gpu->busy_ns));
	json_number(json, "kernel_window_busy_ratio", ratio((double)gpu->busy_ns, (double)gpu->kernel_window_ns));
	add_ns(json, "compute_s", (double)gpu->compute_ns);
	add_ns(json, "copy_s", (double)gpu->copy_ns);
	add_ns(json, "communication_s", (double)gpu->communication_ns);
	add_ns(json, "communication_overlap_s", (double)gpu->overlap_ns);
	if (gpu->communication_ns)
		json_number(json, "communication_overlap_ratio", ratio((double)gpu->overlap_ns, (double)gpu->communication_ns));
	json_close_object(json);
}

static void add_steps(struct json *json, const struct profile_analysis *analysis)
{
	const struct profile_idle *idle = &analysis->idle;
	json_open_array(json, "steps");
	for (uint32_t i = 0; i < idle->step_count; i++) {
		const struct profile_step *step = &idle->steps[i];
		json_open_object(json, NULL);
		json_integer(json, "number", step->number);
		add_at(json, "start_s", analysis, step->start_ns);
		add_ns(json, "duration_s", (double)step->duration_ns);
		if (step->busy_ns >= 0) {
			add_ns(json, "gpu_busy_s", (double)step->busy_ns);
			json_number(json, "gpu_busy_ratio", ratio((double)step->busy_ns, (double)step->duration_ns));
		}
		if (idle->steps_are_inferred)
			json_bool(json, "is_inferred", true);
		json_close_object(json);
	}
	json_close_array(json);
}

/* -- tables -- */

static void add_op(struct json *json, const struct profile_analysis *analysis, const struct profile_op *op)
{
	static const char *const by_keys[] = { NULL, "input_shapes", "stack", "module" };
	static const char *const kinds[] = { "operator", "annotation", "runtime", "python" };
	bool has_gpu = analysis->idle.gpu_count > 0;
	json_open_object(json, NULL);
	add_name(json, "name", analysis, profile_name_of(op->name));
	json_text(json, "kind", kinds[profile_kind_of(op->name)]);
	if (by_keys[analysis->ops.group])
		add_name(json, by_keys[analysis->ops.group], analysis, op->by);
	json_unsigned(json, "count", op->count);
	if (op->has_host) {
		add_ns(json, "self_cpu_s", (double)op->self_ns);
		add_ns(json, "total_cpu_s", (double)op->total_ns);
	}
	if (has_gpu) {
		add_ns(json, "self_gpu_s", (double)op->gpu_self_ns);
		add_ns(json, "total_gpu_s", (double)op->gpu_total_ns);
		json_unsigned(json, "kernels", op->kernel_count);
	}
	json_number(json, "flops", profile_op_flops(analysis, op));
	json_close_object(json);
}

static void add_ops(struct json *json, const char *key, const struct profile_analysis *analysis,
	const struct profile_view *view, unsigned kinds)
{
	uint32_t count;
	const struct profile_op **rows = profile_view_ops(analysis, view, kinds, &count);
	json_open_array(json, key);
	for (uint32_t i = 0; rows && i < shown(view, count); i++)
		add_op(json, analysis, rows[i]);
	json_close_array(json);
	json->out->failed |= !rows;
	free(rows);
}

static void add_kernel(struct json *json, struct profile_analysis *analysis, const struct profile_kernel *kernel)
{
	unsigned traits = profile_name_traits(&analysis->profile.names, kernel->name);
	json_open_object(json, NULL);
	add_name(json, "name", analysis, kernel->name);
	json_unsigned(json, "count", kernel->count);
	add_ns(json, "total_s", (double)kernel->total_ns);
	add_ns(json, "mean_s", (double)kernel->total_ns / (double)kernel->count);
	add_ns(json, "min_s", (double)kernel->min_ns);
	add_ns(json, "max_s", (double)kernel->max_ns);
	json_number(json, "occupancy_ratio", ratio(kernel->occupancy_sum, kernel->occupancy_ns));
	if (kernel->registers)
		json_unsigned(json, "registers_per_thread", kernel->registers);
	if (traits & (TRAIT_TENSOR_CORE | TRAIT_MATRIX | TRAIT_ELEMENTWISE | TRAIT_COMMUNICATION))
		json_bool(json, "uses_tensor_cores", traits & TRAIT_TENSOR_CORE);
	json_bool(json, "is_communication", traits & TRAIT_COMMUNICATION);
	if (kernel->delay_count)
		add_ns(json, "launch_delay_s", (double)kernel->delay_ns / (double)kernel->delay_count);
	add_name(json, "operator", analysis, kernel->op);
	json_close_object(json);
}

static void add_kernels(struct json *json, struct profile_analysis *analysis, const struct profile_view *view)
{
	uint32_t count;
	const struct profile_kernel **rows = profile_view_kernels(analysis, view, &count);
	json_open_array(json, "kernels");
	for (uint32_t i = 0; rows && i < shown(view, count); i++)
		add_kernel(json, analysis, rows[i]);
	json_close_array(json);
	json->out->failed |= !rows;
	free(rows);
}

static void add_copies(struct json *json, const struct profile_analysis *analysis)
{
	const struct profile *profile = &analysis->profile;
	json_open_array(json, "copies");
	for (uint32_t i = 0; i < profile->copy_count; i++) {
		const struct profile_copy *copy = &profile->copies[i];
		int pinned = profile_copy_is_pinned(&profile->names, copy->name);
		json_open_object(json, NULL);
		add_name(json, "name", analysis, copy->name);
		json_text(json, "direction", profile_direction_names[profile_copy_direction(&profile->names, copy->name)]);
		if (pinned >= 0)
			json_bool(json, "is_pinned", pinned);
		json_unsigned(json, "count", copy->count);
		if (copy->bytes_count)
			json_unsigned(json, "bytes", copy->bytes);
		add_ns(json, "total_s", (double)copy->total_ns);
		if (copy->bytes_count)
			json_number(json, "bytes_per_s", ratio((double)copy->bytes * 1e9, (double)copy->total_ns));
		json_close_object(json);
	}
	json_close_array(json);
}

static void add_gaps(struct json *json, const struct profile_analysis *analysis, const struct profile_view *view)
{
	const struct profile_idle *idle = &analysis->idle;
	json_open_array(json, "gaps");
	for (uint32_t i = 0; i < shown(view, idle->gap_count); i++) {
		const struct profile_gap *gap = &idle->gaps[i];
		const struct profile_gpu *gpu = &idle->gpus[gap->gpu];
		json_open_object(json, NULL);
		if (gpu->index >= 0)
			json_integer(json, "gpu", gpu->index);
		add_at(json, "start_s", analysis, gap->start_ns);
		add_ns(json, "duration_s", (double)(gap->end_ns - gap->start_ns));
		json_text(json, "cause", gpu->has_split ? profile_idle_names[gap->kind] : NULL);
		add_name(json, "host", analysis, gap->host);
		add_name(json, "line", analysis, gap->line);
		add_name(json, "kernel_before", analysis, gap->before);
		add_name(json, "kernel_after", analysis, gap->after);
		json_close_object(json);
	}
	json_close_array(json);
	json_unsigned(json, "gap_count", idle->gaps_found);
}

/* -- memory -- */

static void add_curve(struct json *json, const struct profile_analysis *analysis, const struct profile_memory *memory)
{
	double window = (double)analysis->profile.end_ns - (double)analysis->profile.start_ns;
	json_open_array(json, "curve");
	for (int i = 0; i < PROFILE_CURVE_SIZE; i++) {
		if (memory->curve[i] < 0)
			continue;
		json_open_object(json, NULL);
		add_ns(json, "at_s", window * i / PROFILE_CURVE_SIZE);
		json_integer(json, "bytes", memory->curve[i]);
		json_close_object(json);
	}
	json_close_array(json);
}

static void add_holders(struct json *json, const struct profile_analysis *analysis, const struct profile_memory *memory)
{
	json_open_array(json, "holders");
	for (uint32_t i = 0; i < memory->holder_count; i++) {
		json_open_object(json, NULL);
		add_name(json, "operator", analysis, memory->holders[i].op);
		add_name(json, "line", analysis, memory->holders[i].line);
		json_integer(json, "bytes", memory->holders[i].bytes);
		json_unsigned(json, "allocations", memory->holders[i].count);
		json_close_object(json);
	}
	json_close_array(json);
}

static void add_memory(struct json *json, const struct profile_analysis *analysis)
{
	json_open_object(json, "memory");
	if (analysis->profile.peak_reserved_bytes > 0)
		json_number(json, "peak_reserved_bytes", analysis->profile.peak_reserved_bytes);
	json_open_array(json, "devices");
	for (uint32_t i = 0; i < analysis->memories.count; i++) {
		const struct profile_memory *memory = &analysis->memories.devices[i];
		json_open_object(json, NULL);
		json_text(json, "device", memory->device_type > 0 ? "GPU" : memory->device_type == 0 ? "CPU" : NULL);
		if (memory->device >= 0)
			json_integer(json, "index", memory->device);
		json_integer(json, "peak_bytes", memory->peak_bytes);
		add_at(json, "peak_at_s", analysis, memory->peak_at_ns);
		json_unsigned(json, "allocations", memory->allocations);
		json_unsigned(json, "frees", memory->frees);
		json_integer(json, "allocated_bytes", memory->allocated_bytes);
		json_integer(json, "seen_at_peak_bytes", memory->seen_bytes);
		add_holders(json, analysis, memory);
		add_curve(json, analysis, memory);
		json_close_object(json);
	}
	json_close_array(json);
	json_close_object(json);
}

/* -- recommendations -- */

static void add_advice(struct json *json, struct profile_analysis *analysis)
{
	struct profile_figures *figures = malloc(sizeof *figures);
	char text[PROFILE_MESSAGE_SIZE];
	json->out->failed |= !figures;
	if (figures)
		profile_figures_find(analysis, figures);
	json_open_array(json, "recommendations");
	for (const struct profile_rule *rule = profile_rules; figures && rule->name; rule++) {
		if (!profile_rule_holds(rule, figures))
			continue;
		json_open_object(json, NULL);
		json_text(json, "rule", rule->name);
		json_text(json, "severity", rule->severity);
		json_text(json, "message", profile_rule_say(rule->message, figures, text));
		json_text(json, "meaning", profile_rule_say(rule->meaning, figures, text));
		json_text(json, "advice", profile_rule_say(profile_rule_advice(rule, figures), figures, text));
		json_close_object(json);
	}
	json_close_array(json);
	json_open_object(json, "figures");
	for (size_t i = 0; figures && i < figures->count; i++) {
		const struct profile_figure *figure = &figures->rows[i];
		if (figure->form == FORM_TEXT)
			json_text(json, figure->name, figure->text[0] ? figure->text : NULL);
		else
			json_number(json, figure->name, figure->value);
	}
	json_close_object(json);
	free(figures);
}

static void add_analysis(struct json *json, struct profile_analysis *analysis, const struct profile_view *view)
{
	json_open_object(json, NULL);
	add_trace(json, analysis);
	json_open_array(json, "gpu");
	for (uint32_t i = 0; i < analysis->idle.gpu_count; i++)
		add_gpu(json, analysis, &analysis->idle.gpus[i]);
	json_close_array(json);
	add_steps(json, analysis);
	add_advice(json, analysis);
	add_ops(json, "operators", analysis, view, 1u << PROFILE_OP | 1u << PROFILE_ANNOTATION);
	if (analysis->idle.gpu_count)
		add_ns(json, "unattributed_gpu_s", (double)profile_ops_missing_ns(analysis));
	profile_modules_as_json(json, analysis, view);
	add_kernels(json, analysis, view);
	add_copies(json, analysis);
	add_gaps(json, analysis, view);
	add_memory(json, analysis);
	add_ops(json, "runtime", analysis, view, 1u << PROFILE_RUNTIME);
	add_ops(json, "functions", analysis, view, 1u << PROFILE_PYTHON);
	json_close_object(json);
}

void profile_as_json(
	struct buffer *out, struct profile_analysis *const *ranks, size_t count, const struct profile_view *view)
{
	struct json json = { .out = out };
	if (count != 1) {
		json_open_object(&json, NULL);
		json_open_array(&json, "ranks");
	}
	for (size_t i = 0; i < count; i++)
		add_analysis(&json, ranks[i], view);
	if (count != 1) {
		json_close_array(&json);
		json_close_object(&json);
	}
	buffer_puts(out, "\n");
}
