#include <math.h>
#include <stdio.h>
#include <string.h>

#include "src/model/run/steps/baseline.h"
#include "src/model/run/steps/tracks.h"
#include "ui/core/layout.h"
#include "ui/views/overview/panel_workers.h"
#include "ui/views/overview/panels.h"
#include "ui/widgets/batch_focus.h"
#include "ui/widgets/parts.h"

/* Where a step goes: each phase's share of all time and its mean per step. For a phase that only some steps have,
 * the row adds its mean over those steps. */
enum { PHASE_ROWS_MAX = 64 };

/* Sums over the steps that track_phases counted. */
struct where_sum {
	size_t batches;
	double seconds, cpu_s;
};

static void add_batch(const struct batch *batch, const struct phase_row *rows, size_t count, struct where_sum *sums)
{
	for (unsigned i = 0; i < batch->phase_count; i++) {
		const struct phase_time *phase = &batch->phases[i];

		for (size_t row = 0; row < count; row++) {
			if (rows[row].name != phase->name || rows[row].parent != phase->parent)
				continue;
			sums[row].batches++;
			sums[row].seconds += (double)phase->seconds;
			sums[row].cpu_s += isfinite(phase->cpu_s) ? (double)phase->cpu_s : 0;
			break;
		}
	}
}

/* The newest finished steps without the warm-up (unless there is nothing else): the same ones as in track_phases. */
static size_t add_up(
	const struct track *track, size_t batches, const struct phase_row *rows, size_t count, struct where_sum *sums)
{
	uint64_t first, end;
	size_t seen = 0;
	memset(sums, 0, count * sizeof *sums);
	batch_range(track, &first, &end);
	for (int with_warmup = 0; with_warmup < 2 && seen == 0; with_warmup++)
		for (uint64_t ordinal = end; ordinal-- > first && seen < batches;) {
			const struct batch *batch = track_batch(track, ordinal);

			if (!batch || isnan(batch->step_s) || (batch->is_warmup && !with_warmup))
				continue;
			add_batch(batch, rows, count, sums);
			seen++;
		}
	return seen;
}

static size_t keep_shallow(struct phase_row *rows, size_t count, unsigned depth)
{
	size_t retained = 0;
	for (size_t i = 0; i < count; i++)
		if (rows[i].depth <= depth)
			rows[retained++] = rows[i];
	return retained;
}

static size_t drop_min(struct phase_row *rows, size_t count)
{
	size_t min = 0;
	for (size_t i = 1; i < count; i++)
		if (rows[i].share_ratio < rows[min].share_ratio)
			min = i;
	memmove(&rows[min], &rows[min + 1], (count - min - 1) * sizeof *rows);
	return count - 1;
}

/* Drops the deepest rows until the rest fits. */
static size_t rows_that_fit(struct phase_row *rows, size_t count, int height)
{
	unsigned deepest = 0;
	for (size_t i = 0; i < count; i++)
		deepest = rows[i].depth > deepest ? rows[i].depth : deepest;
	while (deepest > 0 && (int)count > height)
		count = keep_shallow(rows, count, --deepest);
	while ((int)count > height && height > 0)
		count = drop_min(rows, count);
	return count;
}

struct where_layout {
	int name, bar, seconds;
	double full_ratio, like;
	bool has_cpu;
};

static struct where_layout lay_out_where(const struct run *run, const struct phase_row *rows, size_t count, int width)
{
	struct where_layout layout = { .name = 8, .seconds = 10, .full_ratio = 0.5, .like = run_main(run)->step.p50_s / 4 };
	for (size_t i = 0; i < count; i++) {
		int cells = (int)text_cells(run_name(run, rows[i].name)) + 2 * (int)rows[i].depth;

		layout.name = cells > layout.name ? cells : layout.name;
		layout.full_ratio = rows[i].share_ratio > layout.full_ratio ? rows[i].share_ratio : layout.full_ratio;
		layout.has_cpu |= !isnan(rows[i].cpu_s) && width >= 66;
	}
	if (layout.name > width / 3)
		layout.name = width / 3;
	layout.bar = width - layout.name - 1 - 6 - layout.seconds - 2 - (layout.has_cpu ? 14 : 0);
	return layout;
}

/* "0.124 s in 10 % of batches", right of the bar, for a phase that many batches do not have. */
static void draw_seldom(double share_ratio, const struct where_sum *sum, size_t batches,
	const struct where_layout *layout, int filled, struct canvas *canvas, struct rect row)
{
	char words[2 * NUMBER_SIZE + 16], text[NUMBER_SIZE], part[NUMBER_SIZE];
	if (sum->batches == 0 || sum->batches * 10 >= batches * 9 || share_ratio < 0.001)
		return;
	snprintf(words, sizeof words, "%s in %s of batches",
		parts_time(text, sum->seconds / (double)sum->batches, layout->like),
		format_percent(part, (double)sum->batches / (double)batches));
	if (filled + 2 + (int)text_cells(words) <= row.width)
		canvas_text_right(canvas, row.x, row.y, row.width - 1, ROLE_DIM, words);
}

static void draw_where_row(const struct scene *scene, const struct run *run, struct canvas *canvas, struct rect row,
	const struct phase_row *phase, const struct where_sum *sum, size_t batches, const struct where_layout *layout,
	enum role role)
{
	double steps = batches > 0 ? (double)batches : NAN;
	bool is_warned = parts_is_warned(scene->alerts, scene->run, phase->name);
	int indent = 2 * (int)phase->depth, x = row.x;
	char text[NUMBER_SIZE];
	canvas_text(canvas, x + indent, row.y, layout->name - indent, phase->depth == 0 ? ROLE_NORMAL : ROLE_DIM,
		run_name(run, phase->name));
	x += layout->name + 1;
	if (layout->bar >= 3) {
		double filled = phase->share_ratio / layout->full_ratio;

		canvas_bar(canvas, x, row.y, layout->bar, filled, role);
		draw_seldom(phase->share_ratio, sum, batches, layout, (int)ceil(filled * layout->bar), canvas,
			(struct rect){ x, row.y, layout->bar, 1 });
		x += layout->bar;
	}
	canvas_text_right(canvas, x, row.y, 6, ROLE_STRONG, format_percent(text, phase->share_ratio));
	canvas_text_right(
		canvas, x + 6, row.y, layout->seconds, ROLE_NORMAL, parts_time(text, sum->seconds / steps, layout->like));
	x += 6 + layout->seconds;
	if (layout->has_cpu && !isnan(phase->cpu_s)) {
		canvas_text(canvas, x, row.y, 5, ROLE_DIM, "  cpu");
		canvas_text_right(canvas, x + 5, row.y, 9, ROLE_DIM, parts_time(text, sum->cpu_s / steps, layout->like));
	}
	x += layout->has_cpu ? 14 : 0;
	if (is_warned)
		canvas_text(canvas, x, row.y, 2, ROLE_WARNING, " ⚠");
}

void panel_where(struct scene *scene, const struct run *run, struct canvas *canvas, struct rect rect)
{
	struct phase_row rows[PHASE_ROWS_MAX];
	size_t batches = 0, count = track_phases(run_main(run), RUN_RECENT, rows, PHASE_ROWS_MAX, &batches);
	enum role role = ROLE_PHASE_0;
	struct line line;
	if (run->is_counted) {
		panel_where_sampled(scene, run, canvas, rect);
		return;
	}
	line_start(&line, " ");
	if (count > 0) {
		line_add(&line, 0, ROLE_NORMAL, "mean of %zu", batches);
		line_add(&line, 1, ROLE_NORMAL, "batches");
		if (run_main(run)->judged.count > 0)
			line_add(&line, 2, ROLE_NORMAL, "after warm-up");
		line_add(&line, 3, ROLE_NORMAL, "· host clock");
	}
	struct rect inside = parts_panel(canvas, rect, "Where a step goes", &line, ROLE_TITLE);

	rect_take_left(&inside, 1);
	if (count == 0) {
		canvas_text(canvas, inside.x, inside.y, inside.width, ROLE_DIM, "waiting for the first batch to end");
		return;
	}
	if (inside.height >= 4 && workers_are_instrumented(scene)) {
		bool is_spare = inside.height >= (int)count + 3;

		panel_workers_line(scene, canvas, rect_row(inside, inside.height - (is_spare ? 2 : 1)));
		inside.height -= !is_spare;
	}
	count = rows_that_fit(rows, count, inside.height);
	struct where_sum sums[PHASE_ROWS_MAX];
	size_t seen = add_up(run_main(run), batches, rows, count, sums);
	struct where_layout layout = lay_out_where(run, rows, count, inside.width);

	for (size_t i = 0; i < count && (int)i < inside.height; i++) {
		if (rows[i].depth == 0)
			role = phase_role(run, rows[i].name);
		draw_where_row(scene, run, canvas, rect_row(inside, (int)i), &rows[i], &sums[i], seen, &layout, role);
	}
	if (inside.height >= (int)count + 2)
		panel_process_line(scene, canvas, rect_row(inside, -1));
}
