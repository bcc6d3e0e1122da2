#include "ui/trace/trace_pages.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "src/base/text.h"
#include "src/trace/analysis/profile_detail.h"
#include "src/trace/output/profile_view.h"
#include "src/trace/store/profile_kinds.h"

static const char NO_MEMORY[] = "out of memory: this page is incomplete";

static const char *time_of(char out[NUMBER_SIZE], int64_t ns) { return format_seconds(out, (double)ns / 1e9); }

static double ratio(double part, double whole) { return whole > 0 ? part / whole : NAN; }

/* -- sections -- */

/* A section of shares. Columns: calls, CPU, GPU and the share of the section's GPU time (or CPU time, without GPU
 * work). */
struct section {
	const char *title;
	const char *unknown;        /* what stands for the name 0 */
	enum trace_link_kind links; /* of operators; work leads to its own page */
	bool has_cpu, has_gpu;
};

static struct trace_link link_of(uint32_t name, enum trace_link_kind links)
{
	enum profile_kind kind = profile_kind_of(name);
	if (!name || links == TRACE_LINK_NONE || kind == PROFILE_RUNTIME)
		return (struct trace_link){ TRACE_LINK_NONE, 0 };
	return (struct trace_link){ kind >= PROFILE_KERNEL ? TRACE_LINK_WORK : TRACE_LINK_OP, name };
}

static void add_share(const struct trace_scene *scene, struct trace_page *page, const struct section *section,
	const struct profile_share *share, double part)
{
	struct trace_row *row = trace_page_entry(page);
	if (!row)
		return;
	trace_scene_label(scene, share->name, row->name, sizeof row->name);
	if (!row->name[0])
		snprintf(row->name, sizeof row->name, "%s", section->unknown);
	row->link = link_of(share->name, section->links);
	row->bar = part;
	format_grouped(row->cells[0], share->count);
	if (section->has_cpu)
		time_of(row->cells[1], share->host_ns);
	/* The work that a call starts counts for its operator. */
	if (section->has_gpu && profile_kind_of(share->name) == PROFILE_RUNTIME)
		snprintf(row->cells[2], NUMBER_SIZE, "–");
	else if (section->has_gpu)
		time_of(row->cells[2], share->gpu_ns);
	format_percent(row->cells[3], part);
}

static void add_section(const struct trace_scene *scene, struct trace_page *page, const struct section *section,
	const struct profile_shares *shares)
{
	const char *const headings[TRACE_CELLS] = { "CALLS", section->has_cpu ? "CPU" : "", section->has_gpu ? "GPU" : "",
		"SHARE" };
	double gpu = 0, cpu = 0;
	for (uint32_t i = 0; i < shares->count; i++) {
		gpu += (double)shares->rows[i].gpu_ns;
		cpu += (double)shares->rows[i].host_ns;
	}
	if (!shares->count)
		return;
	trace_page_title(page, section->title, headings);
	for (uint32_t i = 0; i < shares->count; i++) {
		const struct profile_share *share = &shares->rows[i];
		add_share(
			scene, page, section, share, gpu > 0 ? (double)share->gpu_ns / gpu : ratio((double)share->host_ns, cpu));
	}
}

/* Whether all of the time is of name 0: nothing was recorded. */
static bool is_unknown(const struct profile_shares *shares)
{
	return !shares->count || (shares->count == 1 && !shares->rows[0].name);
}

static void start_section(struct trace_page *page, const char *title, const char *why_empty)
{
	trace_page_title(page, title, NULL);
	trace_page_text(page, ROLE_DIM, "%s", why_empty);
}

/* -- an operator -- */

static void add_op_figures(const struct trace_scene *scene, struct trace_page *page, uint32_t name)
{
	const struct profile_ops *ops = &scene->analysis->ops;
	struct profile_op sum = { .name = name };
	char text[6][NUMBER_SIZE];
	double flops = 0;
	for (uint32_t i = 0; i < ops->count; i++) {
		const struct profile_op *op = &ops->rows[i];
		if (op->name != name)
			continue;
		double own = profile_op_flops(scene->analysis, op);
		sum.count += op->count;
		sum.has_host |= op->has_host;
		sum.self_ns += op->self_ns;
		sum.total_ns += op->total_ns;
		sum.gpu_self_ns += op->gpu_self_ns;
		sum.gpu_total_ns += op->gpu_total_ns;
		flops += isnan(own) ? 0 : own;
	}
	bool has_gpu = trace_scene_gpu(scene) != NULL;
	trace_page_text(page, ROLE_NORMAL, "%s call%s · CPU: self %s, total %s · GPU: self %s, total %s",
		format_grouped(text[0], sum.count), sum.count == 1 ? "" : "s",
		sum.has_host ? time_of(text[1], sum.self_ns) : "–", sum.has_host ? time_of(text[2], sum.total_ns) : "–",
		has_gpu ? time_of(text[3], sum.gpu_self_ns) : "–", has_gpu ? time_of(text[4], sum.gpu_total_ns) : "–");
	int64_t ns = has_gpu ? sum.gpu_total_ns : sum.total_ns;
	if (flops > 0 && ns > 0)
		trace_page_text(page, ROLE_NORMAL, "%s TFLOP/s", format_rate(text[5], flops / 1e3 / (double)ns));
}

static void fill_op(struct trace_scene *scene, struct trace_page *page, const struct profile_op_detail *detail)
{
	const struct profile *profile = &scene->analysis->profile;
	bool has_gpu = trace_scene_gpu(scene) != NULL;
	struct section section = {
		.title = "Kernels and copies that it launches", .links = TRACE_LINK_WORK, .has_gpu = true
	};
	add_section(scene, page, &section, &detail->kernels);
	if (!detail->kernels.count && has_gpu)
		start_section(page, section.title, "none: it works on the CPU only");
	section = (struct section){ "Parts: what runs in it", "", TRACE_LINK_OP, true, has_gpu };
	add_section(scene, page, &section, &detail->parts);
	section = (struct section){ "Input shapes", "not recorded", TRACE_LINK_NONE, true, has_gpu };
	if (!is_unknown(&detail->shapes))
		add_section(scene, page, &section, &detail->shapes);
	else if (!profile->has_shapes && profile->has_categories)
		start_section(page, section.title, "The trace has no shapes: record_shapes=True records them.");
	section = (struct section){ "Called from", "outside the program's Python code", TRACE_LINK_NONE, true, has_gpu };
	if (!is_unknown(&detail->lines))
		add_section(scene, page, &section, &detail->lines);
	else if (!profile->has_stacks && profile->has_categories)
		start_section(page, section.title, "The trace has no stacks: with_stack=True records file and line.");
	section = (struct section){ "Runs in", "no other operator", TRACE_LINK_OP, true, has_gpu };
	add_section(scene, page, &section, &detail->callers);
	trace_page_spread(page, "CPU time of a call", &detail->durations);
}

void trace_pages_op(struct trace_scene *scene, uint32_t name)
{
	struct profile_op_detail detail;
	char label[TRACE_NAME_SIZE];
	struct trace_page *page = trace_scene_push(scene, trace_scene_label(scene, name, label, sizeof label));
	if (!page)
		return;
	if (!profile_detail_op(&scene->analysis->profile, name, &detail))
		trace_page_text(page, ROLE_WARNING, NO_MEMORY);
	add_op_figures(scene, page, name);
	fill_op(scene, page, &detail);
	profile_detail_op_release(&detail);
}

/* -- a kernel or copy -- */

static const struct profile_kernel *kernel_named(const struct profile *profile, uint32_t name)
{
	for (uint32_t i = 0; i < profile->kernel_count; i++)
		if (profile->kernels[i].name == profile_name_of(name))
			return &profile->kernels[i];
	return NULL;
}

static void add_kernel_figures(
	struct trace_scene *scene, struct trace_page *page, uint32_t name, const struct profile_spread *durations)
{
	struct profile *profile = &scene->analysis->profile;
	const struct profile_gpu *gpu = trace_scene_gpu(scene);
	const struct profile_kernel *kernel = kernel_named(profile, name);
	char text[3][NUMBER_SIZE];
	trace_page_text(page, ROLE_NORMAL, "%s launch%s, %s in all, %s of the kernel time",
		format_grouped(text[0], durations->count), durations->count == 1 ? "" : "es", time_of(text[1], durations->sum),
		format_percent(text[2], ratio((double)durations->sum, gpu ? (double)gpu->kernel_ns : NAN)));
	if (!kernel)
		return;
	unsigned traits = profile_name_traits(&profile->names, kernel->name);
	if (kernel->registers)
		snprintf(text[1], NUMBER_SIZE, "%" PRIu32, kernel->registers);
	trace_page_text(page, ROLE_NORMAL, "occupancy %s · registers per thread %s · tensor cores %s",
		format_percent(text[0], ratio(kernel->occupancy_sum, kernel->occupancy_ns)), kernel->registers ? text[1] : "–",
		traits & TRAIT_TENSOR_CORE  ? "yes"
			: traits & TRAIT_MATRIX ? "no"
									: "–");
}

void trace_pages_work(struct trace_scene *scene, uint32_t name)
{
	struct profile_work_detail detail;
	struct section section = { "Launched by", "no operator: the trace does not say which", TRACE_LINK_OP, false, true };
	char label[TRACE_NAME_SIZE], whole[TRACE_NAME_SIZE];
	struct trace_page *page = trace_scene_push(scene, trace_scene_label(scene, name, label, sizeof label));
	if (!page)
		return;
	if (!profile_detail_work(&scene->analysis->profile, name, &detail))
		trace_page_text(page, ROLE_WARNING, NO_MEMORY);
	trace_page_wrapped(page, ROLE_DIM,
		profile_names_show(&scene->analysis->profile.names, profile_name_of(name), whole, sizeof whole));
	if (profile_kind_of(name) == PROFILE_KERNEL)
		add_kernel_figures(scene, page, name, &detail.durations);
	add_section(scene, page, &section, &detail.ops);
	trace_page_spread(page, "Duration", &detail.durations);
	trace_page_spread(page, "Launch delay: from the launch on the CPU to the start on the GPU", &detail.delays);
	section = (struct section){ "Called from", "outside the program's Python code", TRACE_LINK_NONE, false, true };
	if (!is_unknown(&detail.lines))
		add_section(scene, page, &section, &detail.lines);
	profile_detail_work_release(&detail);
}

/* -- a gap -- */

static void thread_label(const struct profile *profile, const struct profile_track *track, char *out, size_t size)
{
	char name[100];
	uint32_t own = track->thread ? track->thread : track->tid_name;
	if (own)
		snprintf(out, size, "%s", profile_names_show(&profile->names, own, name, sizeof name));
	else
		snprintf(out, size, "thread %" PRId64, track->tid);
}

static void add_thread(const struct trace_scene *scene, struct trace_page *page,
	const struct profile_gap_thread *thread, int64_t length_ns)
{
	static const char *const headings[TRACE_CELLS] = { "EVENTS", "CPU", "", "SHARE" };
	char label[200];
	thread_label(&scene->analysis->profile, thread->track, label, sizeof label);
	if (!thread->covered_ns) {
		trace_page_title(page, label, NULL);
		trace_page_text(page, ROLE_DIM, "no recorded event in the gap: Python, or nothing");
		return;
	}
	snprintf(label + strlen(label), sizeof label - strlen(label), ", own time");
	trace_page_title(page, label, headings);
	for (uint32_t i = 0; i < thread->inside.count; i++) {
		const struct profile_share *share = &thread->inside.rows[i];
		struct trace_row *row = share->host_ns > 0 ? trace_page_entry(page) : NULL;
		if (!row)
			continue;
		trace_scene_label(scene, share->name, row->name, sizeof row->name);
		/* A plain Python function has no page. */
		if (profile_kind_of(share->name) <= PROFILE_ANNOTATION)
			row->link = link_of(profile_host_row_name(&scene->analysis->profile, share->name), TRACE_LINK_OP);
		row->bar = ratio((double)share->host_ns, (double)length_ns);
		format_grouped(row->cells[0], share->count);
		time_of(row->cells[1], share->host_ns);
		format_percent(row->cells[3], row->bar);
	}
	int64_t rest = length_ns - thread->covered_ns;
	struct trace_row *row = rest > 0 ? trace_page_entry(page) : NULL;
	if (!row)
		return;
	snprintf(row->name, sizeof row->name, "outside recorded events");
	row->role = ROLE_DIM;
	row->bar = ratio((double)rest, (double)length_ns);
	time_of(row->cells[1], rest);
	format_percent(row->cells[3], row->bar);
}

static void add_split(struct trace_page *page, const struct profile_gap_detail *detail, int64_t length_ns)
{
	const char *label = "cause";
	char line[200], number[2][NUMBER_SIZE];
	for (int i = 0; i < IDLE_KIND_COUNT; i++) {
		if (detail->split_ns[i] <= 0)
			continue;
		snprintf(line, sizeof line, "%s %s (%s)", profile_idle_words[i], time_of(number[0], detail->split_ns[i]),
			format_percent(number[1], ratio((double)detail->split_ns[i], (double)length_ns)));
		trace_page_figure(page, label, line);
		label = "";
	}
}

static const char *or_none(const struct trace_scene *scene, uint32_t kernel, char *out, size_t size, const char *none)
{
	const struct profile_names *names = &scene->analysis->profile.names;
	return kernel ? profile_kernel_label(names, kernel, out, size) : none;
}

void trace_pages_gap(struct trace_scene *scene, uint32_t index)
{
	struct profile_analysis *analysis = scene->analysis;
	const struct profile_gap *gap = &analysis->idle.gaps[index];
	const struct profile_gpu *gpu = &analysis->idle.gpus[gap->gpu];
	struct profile_gap_detail detail;
	char title[200], name[PROFILE_GPU_NAME_SIZE], text[TRACE_NAME_SIZE], number[2][NUMBER_SIZE];
	int64_t length_ns = gap->end_ns - gap->start_ns;
	snprintf(title, sizeof title, "%s idle for %s, from %s on", profile_gpu_name(&scene->analysis->profile, gpu, name),
		time_of(number[0], length_ns), time_of(number[1], gap->start_ns - analysis->profile.start_ns));
	struct trace_page *page = trace_scene_push(scene, title);
	if (!page)
		return;
	if (!profile_detail_gap(&analysis->profile, &analysis->waits, gap, &detail))
		trace_page_text(page, ROLE_WARNING, NO_MEMORY);
	if (gpu->has_split)
		add_split(page, &detail, length_ns);
	snprintf(text, sizeof text, "unknown: %s", profile_no_cause(&analysis->profile));
	if (!gpu->has_split)
		trace_page_figure(page, "cause", text);
	trace_page_figure(page, "kernel before", or_none(scene, gap->before, text, sizeof text, "none: the trace begins"));
	trace_page_figure(page, "kernel after", or_none(scene, gap->after, text, sizeof text, "none: the trace ends"));
	if (gap->line)
		trace_page_figure(page, "Python", profile_names_show(&analysis->profile.names, gap->line, text, sizeof text));
	for (unsigned is_idle = 0; is_idle < 2; is_idle++)
		for (unsigned i = 0; i < detail.thread_count; i++)
			if ((detail.threads[i].covered_ns == 0) == is_idle)
				add_thread(scene, page, &detail.threads[i], length_ns);
	profile_detail_gap_release(&detail);
}

void trace_pages_follow(struct trace_scene *scene, struct trace_link link)
{
	if (link.kind == TRACE_LINK_OP)
		trace_pages_op(scene, link.name);
	else if (link.kind == TRACE_LINK_WORK)
		trace_pages_work(scene, link.name);
}
