#include "src/trace/output/profile_figures.h"

#include <math.h>
#include <stdio.h>

#include "src/base/text.h"
#include "src/trace/output/profile_view.h"
#include "src/trace/store/profile_kinds.h"
#include "src/trace/store/profile_table.h"

static void add(struct profile_figures *out, const char *name, enum profile_form form, double value)
{
	if (out->count < PROFILE_FIGURES_MAX)
		out->rows[out->count++] = (struct profile_figure){ .name = name, .form = form, .value = value };
}

/* "" = unknown. */
static void add_text(struct profile_figures *out, const char *name, const char *text)
{
	add(out, name, FORM_TEXT, NAN);
	if (out->count < PROFILE_FIGURES_MAX)
		snprintf(out->rows[out->count - 1].text, sizeof out->rows->text, "%s", text);
}

/* `name_id`: 0 = unknown. */
static void add_name(
	struct profile_figures *out, const char *name, const struct profile_analysis *analysis, uint32_t name_id)
{
	if (out->count == PROFILE_FIGURES_MAX)
		return;
	struct profile_figure *row = &out->rows[out->count++];
	*row = (struct profile_figure){ .name = name, .form = FORM_TEXT, .value = NAN };
	if (name_id)
		profile_names_show(&analysis->profile.names, name_id, row->text, 100);
}

static double seconds(int64_t ns) { return (double)ns / 1e9; }
static double ratio(double part, double whole) { return whole > 0 ? part / whole : NAN; }

/* `graphs`: kernels that CUDA graphs launch. */
static void add_idle(struct profile_figures *out, const struct profile_gpu *gpu, double graphs)
{
	static const char *const names[IDLE_KIND_COUNT] = { "idle.host_ratio", "idle.data_ratio", "idle.copies_ratio",
		"idle.sync_ratio", "idle.communication_ratio" };
	double window = gpu ? (double)gpu->window_ns : NAN;
	add(out, "gpu.busy_ratio", FORM_RATIO, gpu ? ratio((double)gpu->busy_ns, window) : NAN);
	add(out, "gpu.idle_ratio", FORM_RATIO, gpu ? ratio((double)gpu->idle_ns, window) : NAN);
	for (int i = 0; i < IDLE_KIND_COUNT; i++)
		add(out, names[i], FORM_RATIO, gpu && gpu->has_split ? ratio((double)gpu->idle_split_ns[i], window) : NAN);
	add(out, "idle.launch_ratio", FORM_RATIO, gpu && gpu->has_split ? ratio((double)gpu->launch_ns, window) : NAN);
	bool has = gpu && gpu->communication_ns;
	add(out, "communication.exposed_ratio", FORM_RATIO,
		has ? ratio((double)(gpu->communication_ns - gpu->overlap_ns), window) : NAN);
	add(out, "communication.overlap_ratio", FORM_RATIO,
		has ? ratio((double)gpu->overlap_ns, (double)gpu->communication_ns) : NAN);
	add(out, "kernels.graph_ratio", FORM_RATIO, gpu && gpu->kernel_count ? graphs / (double)gpu->kernel_count : 0);
	add(out, "kernels.mean_s", FORM_SECONDS, gpu ? ratio(seconds(gpu->kernel_ns), (double)gpu->kernel_count) : NAN);
}

/* The long gaps in which the host did no known waiting; those that set up the GPU apart. */
static void add_stalls(struct profile_figures *out, struct profile_analysis *analysis)
{
	struct profile_names *names = &analysis->profile.names;
	const struct profile_idle *idle = &analysis->idle;
	const struct profile_gpu *gpu = idle->gpu_count && idle->mean.has_split ? &idle->mean : NULL;
	const struct profile_gap *longest = NULL;
	int64_t setup_ns = 0;
	uint64_t setups = 0;
	uint32_t call = 0;
	for (uint32_t i = 0; gpu && i < idle->gap_count; i++) {
		const struct profile_gap *gap = &idle->gaps[i];
		if (gap->kind != IDLE_HOST || gap->end_ns - gap->start_ns < PROFILE_STALL_NS)
			continue;
		if (gap->host && profile_name_traits(names, gap->host) & TRAIT_SETUP) {
			call = call ? call : gap->host;
			setup_ns += gap->end_ns - gap->start_ns;
			setups++;
		} else if (!longest) {
			longest = gap;
		}
	}
	double window = gpu ? (double)gpu->window_ns : NAN;
	setup_ns /= gpu ? idle->gpu_count : 1;
	add(out, "idle.setup_ratio", FORM_RATIO, gpu ? ratio((double)setup_ns, window) : NAN);
	add_name(out, "idle.setup_call", analysis, call);
	int64_t stall_ns = gpu && gpu->stall_ns > setup_ns ? gpu->stall_ns - setup_ns : 0;
	add(out, "idle.stall_ratio", FORM_RATIO, longest ? ratio((double)stall_ns, window) : NAN);
	add(out, "idle.stall_count", FORM_COUNT,
		longest && gpu->stall_count > setups ? (double)(gpu->stall_count - setups) : NAN);
	add(out, "idle.stall_longest_s", FORM_SECONDS, longest ? seconds(longest->end_ns - longest->start_ns) : NAN);
	uint32_t host = longest ? (longest->line ? longest->line : longest->host) : 0;
	add_name(out, "idle.stall_host", analysis, profile_names_begin(names, host, "ProfilerStep#") ? 0 : host);
}

static void add_kernels(struct profile_figures *out, struct profile_analysis *analysis)
{
	struct profile *profile = &analysis->profile;
	double all = 0, plain = 0, layout = 0, layouts = 0, elementwise = 0, elements = 0, occupied = 0, occupancy = 0,
		   most = 0;
	uint32_t plain_kernel = 0;
	for (uint32_t i = 0; i < profile->kernel_count; i++) {
		const struct profile_kernel *kernel = &profile->kernels[i];
		unsigned traits = profile_name_traits(&profile->names, kernel->name);
		double time = (double)kernel->total_ns;
		all += time;
		/* Collectives occupy a few warps by design. */
		occupied += traits & TRAIT_COMMUNICATION ? 0 : kernel->occupancy_ns;
		occupancy += traits & TRAIT_COMMUNICATION ? 0 : kernel->occupancy_sum;
		if (traits & TRAIT_LAYOUT)
			layout += time, layouts += (double)kernel->count;
		if (traits & TRAIT_ELEMENTWISE)
			elementwise += time, elements += (double)kernel->count;
		if (!(traits & TRAIT_MATRIX) || traits & TRAIT_TENSOR_CORE)
			continue;
		plain += time;
		if (time > most)
			most = time, plain_kernel = kernel->name;
	}
	add(out, "matrix.plain_ratio", FORM_RATIO, ratio(plain, all));
	add_name(out, "matrix.plain_kernel", analysis, plain_kernel);
	char label[400];
	if (plain_kernel)
		text_shorten(out->rows[out->count - 1].text, sizeof out->rows->text,
			profile_kernel_label(&profile->names, plain_kernel, label, sizeof label), 48);
	add(out, "layout.ratio", FORM_RATIO, ratio(layout, all));
	add(out, "layout.count", FORM_COUNT, layouts);
	add(out, "elementwise.ratio", FORM_RATIO, ratio(elementwise, all));
	add(out, "elementwise.count", FORM_COUNT, elements);
	add(out, "elementwise.mean_s", FORM_SECONDS, ratio(elementwise / 1e9, elements));
	add(out, "occupancy.mean_ratio", FORM_RATIO, ratio(occupancy, occupied));
}

/* A part of the time that is too small to be worth a line. */
static double unless_small(double value) { return value >= 0.02 ? value : NAN; }

static void add_copies(struct profile_figures *out, const struct profile_analysis *analysis, double window)
{
	const struct profile_names *names = &analysis->profile.names;
	const struct profile_gpu *gpu = analysis->idle.gpu_count ? &analysis->idle.mean : NULL;
	double count = 0, bytes = 0, time = 0, idle = NAN, pageable_idle = NAN;
	for (uint32_t i = 0; i < analysis->profile.copy_count; i++) {
		const struct profile_copy *copy = &analysis->profile.copies[i];
		if (!profile_copy_is_pageable_upload(names, copy->name))
			continue;
		count += (double)copy->count;
		bytes += (double)copy->bytes;
		time += seconds(copy->total_ns);
	}
	if (gpu && gpu->has_split) {
		idle = ratio(seconds(gpu->idle_split_ns[IDLE_COPIES]), window);
		pageable_idle = ratio(seconds(gpu->pageable_ns), window);
	}
	add(out, "copies.pageable_count", FORM_COUNT, count);
	add(out, "copies.pageable_s", FORM_SECONDS, time);
	add(out, "copies.pageable_ratio", FORM_RATIO, ratio(time, window));
	add(out, "copies.pageable_rate", FORM_RATE, ratio(bytes, time));
	add(out, "copies.pageable_cost_ratio", FORM_RATIO, ratio(time, window) + (pageable_idle > 0 ? pageable_idle : 0));
	add(out, "idle.pageable_ratio", FORM_RATIO, unless_small(pageable_idle));
	add(out, "idle.other_copies_ratio", FORM_RATIO, idle - pageable_idle);
}

/* The host's time in waits for the GPU. */
static double sync_s(const struct profile_waits *waits)
{
	double time = 0;
	for (uint32_t i = 0; i < waits->count; i++)
		time += waits->rows[i].trait == IDLE_SYNC ? seconds(waits->rows[i].end_ns - waits->rows[i].start_ns) : 0;
	return time;
}

/* Calls of .item() in the program, and the line that waits longest in them. */
static void add_items(struct profile_figures *out, struct profile_analysis *analysis, double window)
{
	struct profile *profile = &analysis->profile;
	struct profile_table *lines = profile_table_new();
	uint32_t line = 0;
	double count = 0, time = 0;
	int64_t most = 0;
	for (uint32_t t = 0; t < profile->track_count && lines && analysis->idle.gpu_count; t++)
		for (uint32_t i = 0; i < profile->tracks[t].host_count; i++) {
			const struct profile_host *host = &profile->tracks[t].hosts[i];
			if (!(profile_name_traits(&profile->names, profile_name_of(host->name)) & TRAIT_ITEM))
				continue;
			count++;
			time += seconds(host->duration_ns);
			uint32_t here = profile_host_line(profile, &profile->tracks[t], i);
			struct profile_entry *entry = here ? profile_table_at(lines, here) : NULL;
			if (entry && (entry->whole += host->duration_ns) > most)
				most = entry->whole, line = here;
		}
	profile_table_free(lines);
	add(out, "items.count", FORM_COUNT, count);
	add(out, "items.time_s", FORM_SECONDS, time);
	add(out, "items.time_ratio", FORM_RATIO, ratio(time, window));
	add(out, "items.sync_ratio", FORM_RATIO, ratio(time, sync_s(&analysis->waits)));
	add_name(out, "items.line", analysis, line);
}

/* Rules on communication and on kernels say more of these than that they take long. */
static bool is_container(struct profile_names *names, uint32_t name)
{
	static const char *const parts[] = { "CompiledF", "Torch-Compiled Region" };
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
		if (profile_names_contain(names, name, parts[i]))
			return true;
	return profile_name_traits(names, name) & TRAIT_COMMUNICATION;
}

/* The calls that compile are nested in one: PyTorch names all of them so, JAX the outermost. */
static bool is_compilation(struct profile_names *names, uint32_t name)
{
	return profile_names_contain(names, name, "(dynamo_timed)") ||
		profile_names_contain(names, name, "Client::Compile");
}

static void add_compilation(struct profile_figures *out, struct profile_analysis *analysis)
{
	int64_t most_ns = 0;
	for (uint32_t i = 0; i < analysis->ops.count; i++) {
		const struct profile_op *op = &analysis->ops.rows[i];
		if (op->total_ns > most_ns && is_compilation(&analysis->profile.names, profile_name_of(op->name)))
			most_ns = op->total_ns;
	}
	add(out, "compile.time_s", FORM_SECONDS, (double)most_ns / 1e9);
	add(out, "compile.ratio", FORM_RATIO,
		ratio((double)most_ns, (double)(analysis->profile.end_ns - analysis->profile.start_ns)));
}

static void add_top(struct profile_figures *out, struct profile_analysis *analysis)
{
	bool has_gpu = analysis->idle.gpu_count > 0;
	double all = 0, most = 0;
	uint32_t top = 0;
	for (uint32_t i = 0; i < analysis->ops.count; i++) {
		const struct profile_op *op = &analysis->ops.rows[i];
		double self = (double)(has_gpu ? op->gpu_self_ns : op->self_ns);
		if (profile_kind_of(op->name) != PROFILE_OP)
			continue;
		all += self;
		if (self > most && !is_container(&analysis->profile.names, profile_name_of(op->name)))
			most = self, top = profile_name_of(op->name);
	}
	add_name(out, "top.operator", analysis, top);
	add(out, "top.ratio", FORM_RATIO, ratio(most, all));
	add(out, "top.time_ratio", FORM_RATIO,
		ratio(most, (double)(analysis->profile.end_ns - analysis->profile.start_ns)));
	add_text(out, "top.by_shape", analysis->profile.has_shapes ? "--by=shape" : "");
	add_text(out, "top.by_stack", analysis->profile.has_stacks ? "--by=stack" : "");
	add_text(out, "top.device", has_gpu ? "GPU" : "CPU");
}

static void add_memory(struct profile_figures *out, const struct profile_analysis *analysis)
{
	const struct profile_memory *memory = analysis->memories.count ? &analysis->memories.devices[0] : NULL;
	bool has = memory && memory->device_type > 0;
	double total = NAN;
	for (uint32_t i = 0; has && i < analysis->profile.gpu_count; i++)
		if (analysis->profile.gpus[i].index == memory->device && analysis->profile.gpus[i].memory_bytes > 0)
			total = analysis->profile.gpus[i].memory_bytes;
	add(out, "memory.peak_bytes", FORM_BYTES, has ? (double)memory->peak_bytes : NAN);
	add(out, "memory.peak_ratio", FORM_RATIO, has ? ratio((double)memory->peak_bytes, total) : NAN);
	bool is_most = has && memory->holder_count && memory->holders[0].bytes * 2 > memory->peak_bytes;
	add_name(out, "memory.holder", analysis, is_most ? memory->holders[0].op : 0);
	int64_t before = has ? memory->peak_bytes - memory->seen_bytes : 0;
	add(out, "memory.before_bytes", FORM_BYTES, before > 0 ? (double)before : NAN);
}

/* 1 = yes; 0 = no, or unknown. */
static void add_device(struct profile_figures *out, const struct profile_analysis *analysis)
{
	int64_t major = 0;
	for (uint32_t i = 0; i < analysis->profile.gpu_count && analysis->idle.gpu_count; i++)
		if (analysis->profile.gpus[i].index == analysis->idle.gpus[0].index)
			major = analysis->profile.gpus[i].compute_major;
	add(out, "trace.is_torch", FORM_COUNT, analysis->profile.is_torch);
	add(out, "gpu.is_before_volta", FORM_COUNT, major > 0 && major < 7);
	add(out, "gpu.is_before_ampere", FORM_COUNT, major > 0 && major < 8);
}

void profile_figures_find(struct profile_analysis *analysis, struct profile_figures *out)
{
	const struct profile_gpu *gpu = analysis->idle.gpu_count ? &analysis->idle.mean : NULL;
	double window = gpu ? seconds(gpu->window_ns) : NAN;
	out->count = 0;
	add_idle(out, gpu, (double)analysis->profile.graph_kernel_count);
	add_stalls(out, analysis);
	add_device(out, analysis);
	add_kernels(out, analysis);
	add_copies(out, analysis, window);
	add_items(out, analysis, window);
	add_top(out, analysis);
	add_compilation(out, analysis);
	add_memory(out, analysis);
}

const struct profile_figure *profile_figures_named(
	const struct profile_figures *figures, const char *name, size_t length)
{
	for (size_t i = 0; i < figures->count; i++)
		if (strlen(figures->rows[i].name) == length && memcmp(figures->rows[i].name, name, length) == 0)
			return &figures->rows[i];
	return NULL;
}

const char *profile_figure_show(const struct profile_figure *figure, char *out, size_t size)
{
	char number[NUMBER_SIZE];
	out[0] = '\0';
	if (figure->form == FORM_TEXT)
		snprintf(out, size, "%s", figure->text);
	else if (isnan(figure->value))
		return out;
	else if (figure->form == FORM_RATIO)
		snprintf(out, size, "%s", format_percent(number, figure->value));
	else if (figure->form == FORM_SECONDS)
		snprintf(out, size, "%s", format_seconds(number, figure->value));
	else if (figure->form == FORM_COUNT)
		snprintf(out, size, "%s", format_grouped(number, (uint64_t)figure->value));
	else
		snprintf(out, size, "%s%s", format_bytes(number, figure->value), figure->form == FORM_RATE ? "/s" : "");
	return out;
}
