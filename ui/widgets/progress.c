#include "ui/widgets/progress.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "src/base/clock.h"
#include "src/explain/stall.h"
#include "src/model/run/steps/tracks.h"
#include "ui/core/layout.h"
#include "ui/widgets/parts.h"

/* -- a batch that does not end -- */

/* The newest batch that has begun, of any mode. */
static const struct batch *last_batch(const struct run *run)
{
	const struct batch *last = NULL;
	for (unsigned i = 0; i < run->track_count; i++) {
		const struct track *track = &run->tracks[i];
		const struct batch *batch = track->end > 0 ? track_batch(track, track->end - 1) : NULL;

		if (batch && (!last || batch->begin_ns > last->begin_ns))
			last = batch;
	}
	return last;
}

/* Of the current mode if it has steps, else of the main one. */
static double baseline_step(const struct run *run)
{
	const struct track *track = run_track_of(run, run->state.mode);
	return track && track->recent.count > 0 ? track->recent.p50_s : run_main(run)->recent.p50_s;
}

/* The innermost of "backward › all_reduce". */
static const char *innermost(const char *stack)
{
	static const char between[] = " › ";
	const char *last = stack;
	for (const char *next = strstr(last, between); next; next = strstr(last, between))
		last = next + sizeof between - 1;
	return last;
}

bool progress_hang(const struct scene *scene, const struct run *run, char *out, size_t size)
{
	struct stall stall;
	char elapsed[NUMBER_SIZE];
	if (!stall_find(scene->model, run, &stall))
		return false;
	parts_waiting(elapsed, stall.seconds);
	if (stall.stack[0] != '\0')
		snprintf(out, size, "in %s for %s", innermost(stall.stack), elapsed);
	else if (!stall.is_between)
		snprintf(out, size, "in batch %llu for %s", (unsigned long long)run->state.batch_index, elapsed);
	else
		snprintf(out, size, "no batch for %s", elapsed);
	return true;
}

/* -- the end -- */

bool progress_ended(const struct scene *scene, const struct run *run, int64_t *when_ns)
{
	const struct model *model = scene->model;
	const struct batch *last = run ? last_batch(run) : NULL;
	int64_t epoch_ns = run && run->epoch_count > 0 ? run->epochs[run->epoch_count - 1].end_ns : 0;
	*when_ns = model->target_ended ? model->target_ended_ns : 0;
	if (!model->target_ended && (!run || (run->is_live && !run->state.is_ended)))
		return false;
	if (*when_ns == 0 && last)
		*when_ns = last->end_ns > epoch_ns ? last->end_ns : epoch_ns;
	return true;
}

static void summary_pieces(const struct scene *scene, const struct run *run, int64_t when_ns, struct line *line)
{
	const struct track *track = run_main(run);
	double peak_bytes = scene->model->memory.tree_peak_bytes;
	char text[NUMBER_SIZE];
	line_add(line, 0, ROLE_STRONG, "ended %s", parts_clock(text, scene, when_ns));
	if (run->ended[0] != '\0' && !run->has_ended_orderly)
		line_add(line, 1, ROLE_WARNING, "%s", run->ended);
	line_add(line, 1, ROLE_NORMAL, "%s batches",
		parts_batches(text, scene, run_inferred(run).is_at_least, (double)track->count));
	uint32_t epochs = run_epoch_number(run, run->state.epochs_begun);
	if (epochs > 0)
		line_add(line, 4, ROLE_NORMAL, "%u epochs", epochs);
	/* Steps that pmtop infers may have begun before it did. */
	if (!run->is_counted && run->start_ns > 0 && when_ns > run->start_ns)
		line_add(line, 2, ROLE_NORMAL, "took %s", format_seconds(text, seconds_between(run->start_ns, when_ns)));
	line_add(line, 3, ROLE_NORMAL, "mean step %s", parts_time(text, track->step.mean_s, track->step.mean_s));
	line_add(line, 3, track->flagged_count > 0 ? ROLE_FLAG : ROLE_NORMAL, "%llu flagged",
		(unsigned long long)track->flagged_count);
	if (!isnan(run->loss))
		line_add(line, 2, ROLE_NORMAL, "loss %s", parts_loss(text, run->loss));
	if (!isnan(peak_bytes) && peak_bytes > 0)
		line_add(line, 4, ROLE_NORMAL, "peak %s", format_bytes(text, peak_bytes));
}

/* -- the two lines -- */

enum { ROWS = 2, COLUMNS = 3, CELL_SIZE = 80 };

struct cells {
	char text[ROWS][COLUMNS][CELL_SIZE];
};

/* All words of one length, so that the columns do not move. */
static const char *trend_word(const struct run *run, bool is_roomy)
{
	static const char *const words[][2] = { { "↓", "falling" }, { "→", "steady " }, { "↑", "rising " } };
	int trend = run->loss_trend > 0 ? 2 : run->loss_trend < 0 ? 0 : 1;
	return isnan(run->loss_trend) ? (is_roomy ? "       " : " ") : words[trend][is_roomy];
}

/* "validation 12/40": the total is that of the previous validation pass. */
static void validation_cell(const struct run *run, char *out, size_t size)
{
	const struct track *track = run_track_of(run, run->state.mode);
	bool is_newest = track && track == &run->tracks[run->newest_track];
	unsigned long long done = is_newest ? track->pass_count : 0,
					   before = track == NULL ? 0
		: is_newest                           ? track->pass_before
											  : track->pass_count;
	if (before >= done && before > 0)
		snprintf(out, size, "%.40s %llu/%llu", run_name(run, run->state.mode), done, before);
	else
		snprintf(out, size, "%.40s %llu", run_name(run, run->state.mode), done);
}

static void batch_cell(const struct scene *scene, const struct run *run, char *out, size_t size)
{
	const struct run_state *state = &run->state;
	char planned[NUMBER_SIZE];
	uint64_t count = state->epochs_begun > 0 ? state->batches_in_epoch : run_main(run)->count;
	uint64_t total = run_has_epochs(run) ? run->epoch_length : run_batches_planned(run);
	int width = snprintf(planned, sizeof planned, "%llu", (unsigned long long)total);
	if (!is_main_mode(run, state->mode))
		validation_cell(run, out, size);
	else if (total > 0)
		snprintf(out, size, "%*llu/%s batches", width, (unsigned long long)count, planned);
	else
		snprintf(out, size, "%5s batches", parts_batches(planned, scene, run_inferred(run).is_at_least, (double)count));
}

/* "41 s", "3:03", "4 h 03": no fractions, they would flicker. */
/* Each number has its unit: 8:17 would read as hours beside 4 h 14. */
static const char *eta(char out[NUMBER_SIZE], double seconds)
{
	if (!(seconds >= 60) || seconds >= 100 * 86400.0)
		return seconds < 60 ? parts_waiting(out, seconds) : format_seconds(out, seconds);
	int whole = (int)(seconds + 0.5), minutes = (int)(seconds / 60 + 0.5), hours = (int)(seconds / 3600 + 0.5);
	if (whole < 3600)
		snprintf(out, NUMBER_SIZE, "%dm %02ds", whole / 60, whole % 60);
	else if (minutes < 24 * 60)
		snprintf(out, NUMBER_SIZE, "%dh %02dm", minutes / 60, minutes % 60);
	else
		snprintf(out, NUMBER_SIZE, "%dd %02dh", hours / 24, hours % 24);
	return out;
}

static void fill_cells(
	const struct scene *scene, const struct run *run, bool is_ended, bool is_roomy, struct cells *cells)
{
	const struct track *track = run_main(run);
	char text[NUMBER_SIZE];
	memset(cells, 0, sizeof *cells);
	batch_cell(scene, run, cells->text[0][0], CELL_SIZE);
	if (run_has_epochs(run) || !isnan(run->loss))
		snprintf(cells->text[1][0], CELL_SIZE, "loss %s %s", parts_loss(text, run->loss), trend_word(run, is_roomy));
	if (!is_ended) {
		bool has_epochs = run_has_epochs(run);
		snprintf(cells->text[0][1], CELL_SIZE, "ETA %-7s", eta(text, has_epochs ? run->epoch_eta_s : run->run_eta_s));
		if (has_epochs)
			snprintf(cells->text[1][1], CELL_SIZE, "ETA %-7s", eta(text, run->run_eta_s));
	}
	snprintf(cells->text[0][2], CELL_SIZE, "%5s it/s", format_rate(text, track->rate_per_s));
	if (!isnan(track->samples_per_s))
		snprintf(cells->text[1][2], CELL_SIZE, "%5s samples/s", format_rate(text, track->samples_per_s));
}

static int column_width(const struct cells *cells, int column)
{
	int first = (int)text_cells(cells->text[0][column]), second = (int)text_cells(cells->text[1][column]);
	return first > second ? first : second;
}

/* Drawn as a line: blocks in two rows would touch. */
static void draw_bar(struct canvas *canvas, int x, int y, int width, double ratio, bool is_planned)
{
	int halves = isnan(ratio) ? 0 : (int)lrint((ratio < 0 ? 0 : ratio > 1 ? 1 : ratio) * 2 * width);
	bool is_ascii = canvas->charset == CHARSET_ASCII;
	char text[NUMBER_SIZE];
	for (int cell = 0; cell < width; cell++) {
		bool is_done = 2 * cell + 1 < halves, is_half = 2 * cell + 1 == halves;

		if (is_done || is_half)
			canvas_put(canvas, x + cell, y, is_ascii ? '=' : is_done ? 0x2501 : 0x2578, ROLE_ACCENT);
		else
			canvas_put(canvas, x + cell, y, is_ascii ? '.' : 0x2500, ROLE_BORDER);
	}
	if (!is_planned)
		canvas_text(canvas, x + 2, y, width - 4, ROLE_DIM, width >= 19 ? " total unknown " : " unknown ");
	canvas_text_right(canvas, x + width, y, 6, ROLE_STRONG, format_percent(text, ratio));
}

/* Between two epochs, and after the last, the ratio of the epoch that ended. */
static double epoch_ratio(const struct run *run)
{
	if (!isnan(run->epoch_done_ratio) || run->epoch_length == 0)
		return run->epoch_done_ratio;
	return (double)run->state.batches_in_epoch / (double)run->epoch_length;
}

static void draw_second_line(
	const struct scene *scene, const struct run *run, struct canvas *canvas, struct rect row, int after_bar)
{
	char hang[160], baseline[NUMBER_SIZE];
	int64_t when_ns;
	struct line line;
	if (progress_ended(scene, run, &when_ns)) {
		canvas_fill(canvas, row, ' ', ROLE_NORMAL);
		line_start(&line, " · ");
		summary_pieces(scene, run, when_ns, &line);
		line_draw(&line, canvas, row.x, row.y, row.width);
	} else if (progress_hang(scene, run, hang, sizeof hang)) {
		double baseline_s = baseline_step(run);
		rect_take_left(&row, after_bar);
		canvas_fill(canvas, row, ' ', ROLE_NORMAL);
		line_start(&line, " · ");
		line_add(&line, 0, ROLE_CRITICAL, "⚠ %s", hang);
		line_add(&line, 1, ROLE_NORMAL, "median step %s", parts_time(baseline, baseline_s, baseline_s));
		line_draw(&line, canvas, row.x, row.y, row.width);
	}
}

/* A run without epochs has one line, of all its batches. */
static void write_label(const struct run *run, char label[NUMBER_SIZE])
{
	char epoch[RUN_EPOCH_NAME_SIZE];
	run_epoch_name(run, run->state.epochs_begun, epoch);
	if (!run_has_epochs(run))
		snprintf(label, NUMBER_SIZE, "Run ");
	else if (run->state.epochs_planned > 0)
		snprintf(label, NUMBER_SIZE, "Epoch %s/%u ", epoch, run->state.epochs_planned);
	else
		snprintf(label, NUMBER_SIZE, "Epoch %s ", epoch);
}

void progress_draw(const struct scene *scene, const struct run *run, struct canvas *canvas, struct rect rect)
{
	int64_t when_ns;
	bool is_ended = progress_ended(scene, run, &when_ns);
	struct cells cells;
	char label[NUMBER_SIZE];
	bool is_planned = run->state.epochs_planned > 0 || run_batches_planned(run) > 0 || isfinite(run->run_done_ratio);
	int columns = COLUMNS, used = 0, gap = parts_is_roomy(canvas) ? 3 : 2;
	fill_cells(scene, run, is_ended, parts_is_roomy(canvas), &cells);
	write_label(run, label);
	int label_width = (int)text_cells(label), min = label_width + 12 + 6;

	for (int column = 0; column < columns; column++)
		used += column_width(&cells, column) + gap;
	while (columns > 0 && min + used > rect.width)
		used -= column_width(&cells, --columns) + gap;
	int bar = rect.width - label_width - 6 - used, max = rect.width * 9 / 20;

	bar = bar > max ? max : bar;
	canvas_text(canvas, rect.x, rect.y, rect.width, ROLE_STRONG, label);
	if (!run_has_epochs(run))
		draw_bar(canvas, rect.x + label_width, rect.y, bar, run->run_done_ratio, is_planned);
	else
		draw_bar(canvas, rect.x + label_width, rect.y, bar, epoch_ratio(run), run->epoch_length > 0);
	if (rect.height > 1 && run_has_epochs(run)) {
		canvas_text(canvas, rect.x, rect.y + 1, rect.width, ROLE_STRONG, "Run");
		draw_bar(canvas, rect.x + label_width, rect.y + 1, bar, run->run_done_ratio, is_planned);
	}
	for (int column = 0, x = rect.x + label_width + bar + 6 + gap; column < columns; column++) {
		for (int row = 0; row < ROWS && row < rect.height; row++)
			canvas_text(canvas, x, rect.y + row, column_width(&cells, column), ROLE_NORMAL, cells.text[row][column]);
		x += column_width(&cells, column) + gap;
	}
	if (rect.height > 1)
		draw_second_line(scene, run, canvas, rect_row(rect, 1), label_width + bar + 6 + gap);
}

void progress_pieces(const struct scene *scene, const struct run *run, struct line *line)
{
	const struct track *track = run_main(run);
	char text[160], number[NUMBER_SIZE], epoch[RUN_EPOCH_NAME_SIZE];
	int64_t when_ns;
	if (progress_ended(scene, run, &when_ns)) {
		summary_pieces(scene, run, when_ns, line);
		return;
	}
	if (progress_hang(scene, run, text, sizeof text))
		line_add(line, 0, ROLE_CRITICAL, "⚠ %s", text);
	line_add(line, 1, ROLE_NORMAL, "%s", parts_time(number, track->recent.p50_s, track->recent.p50_s));
	double ratio = run_has_epochs(run) ? run->epoch_done_ratio : run->run_done_ratio;
	if (run_has_epochs(run))
		line_add(line, 3, ROLE_NORMAL, "epoch %s", run_epoch_name(run, run->state.epochs_begun, epoch));
	if (!isnan(ratio))
		line_add(line, 2, ROLE_NORMAL, "%s", format_percent(number, ratio));
	if (!isnan(run->run_eta_s))
		line_add(line, 4, ROLE_NORMAL, "ETA %s", eta(number, run->run_eta_s));
}
