#include "src/trace/output/profile_text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "src/base/text.h"
#include "src/trace/output/profile_advice.h"
#include "src/trace/output/profile_figures.h"
#include "src/trace/output/profile_modules_out.h"
#include "src/trace/output/profile_shorten.h"
#include "src/trace/store/profile_kinds.h"

enum {
	NAME_SIZE = 400,
	ROWS_DEFAULT = 12,
	GAPS_SHOWN = 5,
	STEPS_SHOWN = 8,
	HOLDERS_SHOWN = 5,
	BAR_WIDTH = 20,
	PERCENT_MAX = 1000
};

static const char *time_text(char out[NUMBER_SIZE], double ns) { return format_seconds(out, ns / 1e9); }

void profile_cell(struct buffer *out, const char *text, int width)
{
	char shown[NAME_SIZE];
	size_t room = (size_t)abs(width), cells = text_cells(text_shorten(shown, sizeof shown, text, room));
	int blanks = cells < room ? (int)(room - cells) : 0;
	buffer_printf(out, "%*s%s%*s ", width < 0 ? blanks : 0, "", shown, width < 0 ? 0 : blanks, "");
}

void profile_end_row(struct buffer *out)
{
	while (out->length && out->data[out->length - 1] == ' ')
		out->data[--out->length] = '\0';
	buffer_puts(out, "\n");
}

void profile_change_cells(struct buffer *out, double difference, const char *amount, double from, const char *otherwise)
{
	char text[NUMBER_SIZE + 4];
	double percent = from > 0 ? fabs(difference) / from * 100 : NAN;
	const char *sign = difference < 0 ? "−" : difference > 0 ? "+" : "";
	snprintf(text, sizeof text, "%s%s", sign, amount);
	profile_cell(out, text, -10);
	if (percent < PERCENT_MAX)
		snprintf(text, sizeof text, "%s%.0f %%", percent < 0.5 ? "" : sign, percent);
	else
		snprintf(text, sizeof text, percent < 1e8 ? "×%.0f" : "×%.0e", (from + difference) / from);
	profile_cell(out, isnan(percent) ? otherwise : text, -8);
	profile_end_row(out);
}

void profile_heading(struct buffer *out, const struct profile_view *view, const char *text)
{
	buffer_printf(out, view->has_color ? "\n\033[1m%s\033[0m\n" : "\n%s\n", text);
}

static void number_cell(struct buffer *out, double ns, int width, bool is_known)
{
	char number[NUMBER_SIZE];
	profile_cell(out, is_known ? time_text(number, ns) : "–", -width);
}

static const char *plural(uint64_t count) { return count == 1 ? "" : "s"; }

/* `what`: the word for one. */
static void more(struct buffer *out, uint32_t shown, uint32_t count, const char *what)
{
	if (shown < count)
		buffer_printf(out, "  … %" PRIu32 " more %s%s (--limit=%" PRIu32 ")\n", count - shown, what,
			plural(count - shown), count);
}

static uint32_t rows_shown(const struct profile_view *view, uint32_t count)
{
	uint32_t limit = view->limit ? view->limit : ROWS_DEFAULT;
	return count < limit ? count : limit;
}

/* Up to the next space, or the next that follows a comma. */
static size_t part_length(const char *text, bool is_list)
{
	size_t length = strcspn(text, " ");
	while (is_list && text[length] && text[length - (length > 0)] != ',')
		length += 1 + strcspn(text + length + 1, " ");
	return length;
}

/* Words, or the items of a list, wrapped at the width; following lines are indented by `indent`. */
static void print_parts(struct buffer *out, const char *text, int width, int indent, bool is_list)
{
	int column = indent;
	while (*text) {
		size_t length = part_length(text, is_list);
		char word[NAME_SIZE];
		size_t kept = length < sizeof word ? length : sizeof word - 1;
		memcpy(word, text, kept);
		word[kept] = '\0';
		int cells = (int)text_cells(word);
		if (column > indent && column + 1 + cells > width) {
			buffer_printf(out, "\n%*s", indent, "");
			column = indent;
		} else if (column > indent) {
			buffer_puts(out, " ");
			column++;
		}
		buffer_puts(out, word);
		column += cells;
		text += length + (text[length] == ' ');
	}
	buffer_puts(out, "\n");
}

static void print_wrapped(struct buffer *out, const char *text, int width, int indent)
{
	print_parts(out, text, width, indent, false);
}

/* -- overview -- */

static void print_head(struct buffer *out, const struct profile_analysis *analysis, int width)
{
	const struct profile *profile = &analysis->profile;
	char path[NAME_SIZE], number[NUMBER_SIZE], loss[400], gpu[100];
	const char *slash = strrchr(analysis->path, '/');
	text_clean(path, sizeof path, slash ? slash + 1 : analysis->path, strlen(slash ? slash + 1 : analysis->path));
	buffer_printf(
		out, "%s: %s event%s", path, format_grouped(number, profile->event_count), plural(profile->event_count));
	if (profile->end_ns > profile->start_ns)
		buffer_printf(out, ", %s", time_text(number, (double)(profile->end_ns - profile->start_ns)));
	if (profile->rank >= 0)
		buffer_printf(out, ", rank %" PRId64, profile->rank);
	if (profile->world_size > 0)
		buffer_printf(out, " of %" PRId64, profile->world_size);
	if (profile->gpu_count && profile->gpus[0].name)
		buffer_printf(out, ", %s", profile_names_show(&profile->names, profile->gpus[0].name, gpu, sizeof gpu));
	buffer_puts(out, "\n");
	if (profile_analysis_loss(analysis, loss, sizeof loss)[0]) {
		buffer_puts(out, "! ");
		print_wrapped(out, loss, width, 2);
	}
}

static void print_bar(struct buffer *out, double ratio)
{
	int full = (int)(ratio * BAR_WIDTH + 0.5);
	for (int i = 0; i < BAR_WIDTH; i++)
		buffer_puts(out, i < full ? "█" : "░");
}

static void print_idle(struct buffer *all, const struct profile *profile, const struct profile_gpu *gpu, int width)
{
	char number[NUMBER_SIZE];
	struct buffer line = BUFFER_INIT, *out = &line;
	const char *between = ": ";
	buffer_printf(out, "idle %s", time_text(number, (double)gpu->idle_ns));
	for (int kind = 0; kind < IDLE_KIND_COUNT && gpu->has_split; kind++) {
		if (!gpu->idle_split_ns[kind])
			continue;
		buffer_printf(
			out, "%s%s %s", between, profile_idle_words[kind], time_text(number, (double)gpu->idle_split_ns[kind]));
		between = ", ";
	}
	if (!gpu->has_split)
		buffer_printf(out, " (%s: cause unknown)", profile_no_cause(profile));
	buffer_puts(all, "  ");
	print_parts(all, line.data ? line.data : "", width, 2, true);
	buffer_release(&line);
}

static void print_gpu(struct buffer *out, const struct profile *profile, const struct profile_gpu *gpu, int width)
{
	char number[NUMBER_SIZE], name[PROFILE_GPU_NAME_SIZE];
	double ratio = gpu->window_ns > 0 ? (double)gpu->busy_ns / (double)gpu->window_ns : NAN;
	buffer_printf(out, "%-6s busy %s ", profile_gpu_name(profile, gpu, name), format_percent(number, ratio));
	print_bar(out, isnan(ratio) ? 0 : ratio);
	buffer_printf(out, " %s, ", time_text(number, (double)gpu->busy_ns));
	buffer_printf(out, "%s kernel%s, %" PRIu32 " stream%s\n", format_grouped(number, gpu->kernel_count),
		plural(gpu->kernel_count), gpu->streams, plural(gpu->streams));
	print_idle(out, profile, gpu, width);
	buffer_printf(out, "  kernels %s", time_text(number, (double)gpu->compute_ns));
	buffer_printf(out, ", copies %s", time_text(number, (double)gpu->copy_ns));
	if (gpu->communication_ns) {
		buffer_printf(out, ", communication %s", time_text(number, (double)gpu->communication_ns));
		buffer_printf(out, ", %s of it overlaps with kernels",
			format_percent(number, (double)gpu->overlap_ns / (double)gpu->communication_ns));
	}
	buffer_puts(out, "\n");
	if (gpu->kernel_window_ns <= 0 || gpu->kernel_window_ns > gpu->window_ns / 100 * 99)
		return;
	buffer_printf(out, "  from the first kernel to the last: %s", time_text(number, (double)gpu->kernel_window_ns));
	buffer_printf(out, ", busy %s\n", format_percent(number, (double)gpu->busy_ns / (double)gpu->kernel_window_ns));
}

static void print_steps(struct buffer *out, const struct profile_idle *idle)
{
	char number[NUMBER_SIZE];
	double sum = 0;
	for (uint32_t i = 0; i < idle->step_count; i++)
		sum += (double)idle->steps[i].duration_ns;
	if (!idle->step_count)
		return;
	buffer_printf(out, "Steps  %" PRIu32 ", mean %s%s:", idle->step_count, time_text(number, sum / idle->step_count),
		idle->steps_are_inferred ? " (from one optimizer.step to the next)" : "");
	for (uint32_t i = 0; i < idle->step_count && i < STEPS_SHOWN; i++) {
		const struct profile_step *step = &idle->steps[i];
		buffer_printf(
			out, "%s #%" PRId64 " %s", i ? "," : "", step->number, time_text(number, (double)step->duration_ns));
		if (step->busy_ns >= 0 && step->duration_ns > 0)
			buffer_printf(out, " (GPU%s %s)", idle->gpu_count > 1 ? "s" : "",
				format_percent(number, (double)step->busy_ns / (double)step->duration_ns));
	}
	buffer_puts(out, idle->step_count > STEPS_SHOWN ? ", …\n" : "\n");
}

/* -- recommendations -- */

static void print_advice(struct buffer *out, struct profile_analysis *analysis, const struct profile_view *view)
{
	struct profile_figures *figures = malloc(sizeof *figures);
	char text[PROFILE_MESSAGE_SIZE];
	bool has_any = false;
	if (figures)
		profile_figures_find(analysis, figures);
	for (const struct profile_rule *rule = profile_rules; figures && rule->name; rule++) {
		if (!profile_rule_holds(rule, figures))
			continue;
		if (!has_any)
			profile_heading(out, view, "WHAT TO DO");
		has_any = true;
		buffer_puts(out, profile_rule_is_warning(rule) ? "! " : "i ");
		print_wrapped(out, profile_rule_say(rule->message, figures, text), view->width, 2);
		buffer_puts(out, "  → ");
		print_wrapped(out, profile_rule_say(profile_rule_advice(rule, figures), figures, text), view->width, 4);
	}
	free(figures);
}

/* -- tables -- */

static void print_op(struct buffer *out, const struct profile_op *op, const char *name, int name_width, bool has_gpu)
{
	char number[NUMBER_SIZE];
	profile_cell(out, name, name_width);
	profile_cell(out, format_grouped(number, op->count), -7);
	number_cell(out, (double)op->self_ns, 9, op->has_host);
	number_cell(out, (double)op->total_ns, 9, op->has_host);
	if (has_gpu) {
		number_cell(out, (double)op->gpu_self_ns, 9, true);
		number_cell(out, (double)op->gpu_total_ns, 9, true);
	}
}

static void print_by(
	struct buffer *out, const struct profile_analysis *analysis, const struct profile_op *op, int width)
{
	char text[NAME_SIZE] = "–";
	if (op->by)
		profile_names_show(&analysis->profile.names, op->by, text, sizeof text);
	buffer_puts(out, "    ");
	profile_cell(out, text, width - 5);
	profile_end_row(out);
}

static const char *missing_group(const struct profile_analysis *analysis)
{
	const struct profile *profile = &analysis->profile;
	enum profile_group group = analysis->ops.group;
	return group == GROUP_SHAPE && !profile->has_shapes
		? "shapes were not recorded: torch.profiler.profile(record_shapes=True)"
		: group == GROUP_STACK && !profile->has_stacks
		? "stacks were not recorded: torch.profiler.profile(with_stack=True)"
		: group == GROUP_MODULE && !profile->has_modules
		? "modules were not recorded: torch.profiler.profile(with_stack=True, with_modules=True)"
		: NULL;
}

/* Columns that no operator fills are left out. */
static bool has_flops(const struct profile_analysis *analysis, const struct profile_op **rows, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (!isnan(profile_op_flops(analysis, rows[i])))
			return true;
	return false;
}

static void print_missing(struct buffer *out, const struct profile_analysis *analysis)
{
	char number[NUMBER_SIZE];
	double missing = (double)profile_ops_missing_ns(analysis), all = missing;
	for (uint32_t i = 0; i < analysis->ops.count; i++)
		if (profile_kind_of(analysis->ops.rows[i].name) <= PROFILE_ANNOTATION)
			all += (double)analysis->ops.rows[i].gpu_self_ns;
	if (missing < all / 100 || missing <= 0)
		return;
	buffer_printf(out, "  %s on the GPU", time_text(number, missing));
	buffer_printf(
		out, " (%s) have no operator here: launched outside, or earlier\n", format_percent(number, missing / all));
}

/* Names that a table cuts. False: no memory; the rows are released. */
static bool make_names(struct profile_short_names *names, uint32_t count, void *rows, struct buffer *out)
{
	if (profile_short_names_make(names, count))
		return true;
	out->failed = true;
	free(rows);
	return false;
}

static void print_ops(struct buffer *out, const struct profile_analysis *analysis, const struct profile_view *view,
	const char *title, unsigned kinds)
{
	uint32_t count, shown;
	bool has_gpu = analysis->idle.gpu_count > 0;
	const struct profile_op **rows = profile_view_ops(analysis, view, kinds, &count);
	const char *missing = missing_group(analysis);
	if (!rows || !count) {
		free(rows);
		return;
	}
	int flops_width = view->width >= 100 && has_flops(analysis, rows, count) ? 10 : 0;
	int name_width = view->width - (has_gpu ? 49 : 29) - (flops_width ? flops_width + 1 : 0);
	profile_heading(out, view, title);
	if (missing)
		buffer_printf(out, "  %s\n", missing);
	profile_cell(out, "name", name_width);
	buffer_puts(out, has_gpu ? "  calls  self CPU total CPU  self GPU total GPU" : "  calls  self CPU total CPU");
	buffer_puts(out, flops_width ? "     TFLOP/s\n" : "\n");
	shown = rows_shown(view, count);
	struct profile_short_names names;
	if (!make_names(&names, shown, rows, out))
		return;
	for (uint32_t i = 0; i < shown; i++)
		profile_names_show(
			&analysis->profile.names, profile_name_of(rows[i]->name), names.whole[i], sizeof names.whole[i]);
	profile_short_names_cut(&names, (size_t)name_width);
	for (uint32_t i = 0; i < shown; i++) {
		char number[NUMBER_SIZE] = "";
		double flops = flops_width ? profile_op_flops(analysis, rows[i]) : NAN;
		int64_t ns = has_gpu ? rows[i]->gpu_total_ns : rows[i]->total_ns;
		print_op(out, rows[i], names.shown[i], name_width, has_gpu);
		if (!isnan(flops) && ns > 0)
			profile_cell(out, format_rate(number, flops / 1e3 / (double)ns), -flops_width);
		profile_end_row(out);
		if (analysis->ops.group != GROUP_NAME && !missing)
			print_by(out, analysis, rows[i], view->width);
	}
	profile_short_names_free(&names);
	more(out, shown, count, kinds & 1u << PROFILE_PYTHON ? "function" : "operator");
	if (has_gpu)
		print_missing(out, analysis);
	free(rows);
}

static void print_kernel(struct buffer *out, const struct profile_analysis *analysis,
	const struct profile_kernel *kernel, const char *name, const int *widths)
{
	struct profile_names *names = (struct profile_names *)&analysis->profile.names;
	char text[NAME_SIZE], number[NUMBER_SIZE];
	unsigned traits = profile_name_traits(names, kernel->name);
	profile_cell(out, name, widths[0]);
	profile_cell(out, format_grouped(number, kernel->count), -7);
	number_cell(out, (double)kernel->total_ns, 9, true);
	number_cell(out, (double)kernel->total_ns / (double)kernel->count, 9, true);
	profile_cell(
		out, kernel->occupancy_ns > 0 ? format_percent(number, kernel->occupancy_sum / kernel->occupancy_ns) : "–", -5);
	profile_cell(out, traits & TRAIT_TENSOR_CORE ? "yes" : traits & TRAIT_MATRIX ? "no" : "", 3);
	number_cell(out, (double)kernel->delay_ns / (double)(kernel->delay_count ? kernel->delay_count : 1), 8,
		kernel->delay_count > 0);
	if (widths[1])
		profile_cell(out, kernel->op ? profile_names_show(names, kernel->op, text, sizeof text) : "–", widths[1]);
	profile_end_row(out);
}

static void print_kernels(struct buffer *out, const struct profile_analysis *analysis, const struct profile_view *view)
{
	uint32_t count, shown;
	/* Of the name and the operator that launched it. */
	int room = view->width - 48, widths[2] = { room, 0 };
	const struct profile_kernel **rows = profile_view_kernels(analysis, view, &count);
	if (!rows || !count) {
		free(rows);
		return;
	}
	if (room >= 50) {
		widths[1] = room * 2 / 5 > 32 ? 32 : room * 2 / 5;
		widths[0] = room - widths[1] - 1;
	}
	profile_heading(out, view, "KERNELS (TC: tensor cores; delay: from launch to start)");
	profile_cell(out, "name", widths[0]);
	buffer_puts(out, "  count     total      mean occup TC     delay");
	buffer_puts(out, widths[1] ? " launched by\n" : "\n");
	shown = rows_shown(view, count);
	struct profile_short_names names;
	if (!make_names(&names, shown, rows, out))
		return;
	for (uint32_t i = 0; i < shown; i++)
		profile_kernel_label(&analysis->profile.names, rows[i]->name, names.whole[i], sizeof names.whole[i]);
	profile_short_names_cut(&names, (size_t)widths[0]);
	for (uint32_t i = 0; i < shown; i++)
		print_kernel(out, analysis, rows[i], names.shown[i], widths);
	profile_short_names_free(&names);
	more(out, shown, count, "kernel");
	free(rows);
}

static void print_copies(struct buffer *out, const struct profile_analysis *analysis, const struct profile_view *view)
{
	const struct profile *profile = &analysis->profile;
	if (!profile->copy_count)
		return;
	profile_heading(out, view, "COPIES");
	buffer_puts(out, "direction  memory      count     bytes      time          rate\n");
	uint32_t shown = rows_shown(view, profile->copy_count);
	for (uint32_t i = 0; i < shown; i++) {
		const struct profile_copy *copy = &profile->copies[i];
		int pinned = profile_copy_is_pinned(&profile->names, copy->name);
		char number[NUMBER_SIZE];
		profile_cell(out, profile_direction_names[profile_copy_direction(&profile->names, copy->name)], 10);
		profile_cell(out, pinned > 0 ? "pinned" : pinned == 0 ? "pageable" : "–", 8);
		profile_cell(out, format_grouped(number, copy->count), -8);
		profile_cell(out, copy->bytes_count ? format_bytes(number, (double)copy->bytes) : "–", -9);
		number_cell(out, (double)copy->total_ns, 9, true);
		bool has_rate = copy->bytes_count && copy->total_ns;
		buffer_printf(out, "%11s%s",
			has_rate ? format_bytes(number, (double)copy->bytes * 1e9 / (double)copy->total_ns) : "–",
			has_rate ? "/s" : "");
		profile_end_row(out);
	}
	more(out, shown, profile->copy_count, "row");
}

static void print_gaps(struct buffer *out, const struct profile_analysis *analysis, const struct profile_view *view)
{
	const struct profile_idle *idle = &analysis->idle;
	const struct profile_names *names = &analysis->profile.names;
	char text[NAME_SIZE], number[NUMBER_SIZE], gpu[PROFILE_GPU_NAME_SIZE];
	if (!idle->gap_count)
		return;
	profile_heading(out, view, "LONGEST GAPS");
	bool has_several = idle->gpu_count > 1;
	buffer_puts(out,
		has_several ? "GPU           at    length cause         the host was in\n"
					: "       at    length cause         the host was in\n");
	for (uint32_t i = 0; i < idle->gap_count && i < (view->limit ? view->limit : GAPS_SHOWN); i++) {
		const struct profile_gap *gap = &idle->gaps[i];
		if (has_several)
			profile_cell(out, profile_gpu_name(&analysis->profile, &idle->gpus[gap->gpu], gpu), 6);
		number_cell(out, (double)(gap->start_ns - analysis->profile.start_ns), 9, true);
		number_cell(out, (double)(gap->end_ns - gap->start_ns), 9, true);
		profile_cell(out, idle->gpus[gap->gpu].has_split ? profile_idle_names[gap->kind] : "–", 13);
		profile_names_show(names, gap->host, text, sizeof text);
		profile_cell(out, !gap->host ? "no operator: Python, or outside the profiler" : text,
			view->width - 36 - (has_several ? 7 : 0));
		profile_end_row(out);
		if (gap->line)
			buffer_printf(
				out, "%*sin %s\n", has_several ? 42 : 35, "", profile_names_show(names, gap->line, text, sizeof text));
	}
	if (idle->gaps_found > GAPS_SHOWN)
		buffer_printf(out, "  … %s gaps in all\n", format_grouped(number, idle->gaps_found));
}

/* -- memory -- */

static void print_curve(struct buffer *out, const struct profile_memory *memory, int width)
{
	static const char *const levels[] = { "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
	int points = width < PROFILE_CURVE_SIZE ? width : PROFILE_CURVE_SIZE;
	int64_t last = memory->start_bytes > 0 ? memory->start_bytes : 0;
	buffer_puts(out, "  ");
	for (int i = 0; i < points; i++) {
		int64_t highest = -1;
		for (int k = i * PROFILE_CURVE_SIZE / points; k < (i + 1) * PROFILE_CURVE_SIZE / points; k++)
			highest = memory->curve[k] > highest ? memory->curve[k] : highest;
		last = highest >= 0 ? highest : last;
		double part = memory->peak_bytes > 0 ? (double)last / (double)memory->peak_bytes : 0;
		buffer_puts(out, levels[(int)(part * 7.99)]);
	}
	buffer_puts(out, "\n");
}

static void print_memory(struct buffer *out, const struct profile_analysis *analysis, const struct profile_view *view)
{
	const struct profile_names *names = &analysis->profile.names;
	char number[NUMBER_SIZE], label[24], text[NAME_SIZE];
	for (uint32_t i = 0; i < analysis->memories.count; i++) {
		const struct profile_memory *memory = &analysis->memories.devices[i];
		if (i == 0)
			profile_heading(out, view, "MEMORY");
		buffer_printf(out, "%s: peak %s", memory->device_type > 0 ? profile_gpu_label(memory->device, label) : "CPU",
			format_bytes(number, (double)memory->peak_bytes));
		buffer_printf(out, " at %s", time_text(number, (double)(memory->peak_at_ns - analysis->profile.start_ns)));
		if (memory->device_type > 0 && analysis->profile.peak_reserved_bytes > 0)
			buffer_printf(out, ", reserved %s", format_bytes(number, analysis->profile.peak_reserved_bytes));
		buffer_printf(
			out, "; %s allocation%s\n", format_grouped(number, memory->allocations), plural(memory->allocations));
		print_curve(out, memory, view->width - 2);
		for (uint32_t k = 0; k < memory->holder_count && k < HOLDERS_SHOWN; k++) {
			const struct profile_holder *holder = &memory->holders[k];
			buffer_printf(out, "%11s  ", format_bytes(number, (double)holder->bytes));
			size_t length = (size_t)snprintf(text, sizeof text, "outside operators");
			if (holder->op)
				length = strlen(profile_names_show(names, holder->op, text, sizeof text));
			if (holder->line && length + 8 < sizeof text) {
				memcpy(text + length, " in ", 5);
				profile_names_show(names, holder->line, text + length + 4, sizeof text - length - 4);
			}
			profile_cell(out, text, view->width - 14);
			profile_end_row(out);
		}
		if (memory->peak_bytes > memory->seen_bytes)
			buffer_printf(out, "%11s  allocated before the trace\n",
				format_bytes(number, (double)(memory->peak_bytes - memory->seen_bytes)));
	}
}

static bool has_kind(const struct profile_analysis *analysis, unsigned kinds)
{
	for (uint32_t i = 0; i < analysis->ops.count; i++)
		if (analysis->ops.rows[i].count && 1u << profile_kind_of(analysis->ops.rows[i].name) & kinds)
			return true;
	return false;
}

void profile_as_text(struct buffer *out, struct profile_analysis *analysis, const struct profile_view *view)
{
	const unsigned operators = 1u << PROFILE_OP | 1u << PROFILE_ANNOTATION;
	print_head(out, analysis, view->width);
	for (uint32_t i = 0; i < analysis->idle.gpu_count; i++)
		print_gpu(out, &analysis->profile, &analysis->idle.gpus[i], view->width);
	if (!analysis->idle.gpu_count)
		buffer_puts(out, "no GPU work in this trace: times are of the CPU\n");
	print_steps(out, &analysis->idle);
	print_advice(out, analysis, view);
	if (analysis->ops.group == GROUP_MODULE)
		profile_modules_as_text(out, analysis, view);
	if (has_kind(analysis, operators))
		print_ops(out, analysis, view, "OPERATORS", operators);
	else
		print_ops(out, analysis, view, "PYTHON FUNCTIONS", 1u << PROFILE_PYTHON);
	if (!analysis->ops.count && !analysis->idle.gpu_count && !analysis->memories.count)
		buffer_puts(out, "\nThe trace has no events that last: there is nothing to show.\n");
	print_kernels(out, analysis, view);
	print_copies(out, analysis, view);
	print_gaps(out, analysis, view);
	print_memory(out, analysis, view);
}
