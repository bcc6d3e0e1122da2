#include <stdio.h>
#include <string.h>

#include "ui/core/layout.h"
#include "ui/core/table.h"
#include "ui/views/overview/panels.h"
#include "ui/widgets/parts.h"

enum epoch_cell { CELL_EPOCH, CELL_STATE, CELL_BATCHES, CELL_TOTAL, CELL_MEAN, CELL_MIN, CELL_MAX, EPOCH_CELLS };

enum { AT_LEAST_WIDTH = 16 }; /* "at least 1,204" */

static const struct table_column columns[EPOCH_CELLS] = {
	[CELL_EPOCH] = { "EPOCH", 7, 0, false, false },
	[CELL_STATE] = { "ENDED", 10, 1, true, true },
	[CELL_BATCHES] = { "BATCHES", 9, 0, false, false },
	[CELL_TOTAL] = { "TOTAL", 9, 0, false, false },
	[CELL_MEAN] = { "MEAN", 9, 0, false, false },
	[CELL_MIN] = { "MIN", 9, 2, false, false },
	[CELL_MAX] = { "MAX", 9, 2, false, false },
};

/* Epochs of other modes have no number. That of an inferred run may be unknown. */
static const char *epoch_name(const struct run *run, const struct epoch *epoch, char out[NUMBER_SIZE])
{
	char number[RUN_EPOCH_NAME_SIZE];
	bool is_main = epoch->mode == run_main(run)->mode;
	snprintf(
		out, NUMBER_SIZE, "%.12s", is_main ? run_epoch_name(run, epoch->ordinal, number) : run_name(run, epoch->mode));
	return out;
}

static const char *epoch_cell(const struct scene *scene, const struct run *run, const struct epoch *epoch,
	enum epoch_cell cell, char out[NUMBER_SIZE])
{
	switch (cell) {
	case CELL_EPOCH: return epoch_name(run, epoch, out);
	case CELL_STATE: return epoch->end_ns == 0 ? "running" : parts_clock(out, scene, epoch->end_ns);
	case CELL_BATCHES: return parts_batches(out, scene, run_epoch_is_at_least(run, epoch), (double)epoch->batches);
	case CELL_TOTAL: return format_seconds(out, epoch->total_s);
	case CELL_MEAN: return format_seconds(out, epoch->mean_s);
	case CELL_MIN: return format_seconds(out, epoch->min_s);
	case CELL_MAX: return format_seconds(out, epoch->max_s);
	default: return "";
	}
}

void panel_epochs(const struct scene *scene, const struct run *run, struct canvas *canvas, struct rect rect)
{
	char text[NUMBER_SIZE];
	struct table_column chosen[EPOCH_CELLS];
	struct table table;
	struct line right;
	line_start(&right, " · ");
	line_add(&right, 0, ROLE_NORMAL, "newest first");
	if (run->epochs_dropped > 0)
		line_add(&right, 1, ROLE_NORMAL, "%s earlier unknown", parts_thousands(text, (double)run->epochs_dropped));
	struct rect inside = parts_panel(canvas, rect, "Epochs, by batch time", &right, ROLE_TITLE),
				header = rect_take_top(&inside, 1);

	memcpy(chosen, columns, sizeof chosen);
	if (scene->is_ascii && run_inferred(run).is_at_least)
		chosen[CELL_BATCHES].width = AT_LEAST_WIDTH;
	table_fit(&table, chosen, EPOCH_CELLS, header);
	if (header.height > 0)
		table_header(&table, canvas, header.y, -1, false);
	for (int i = 0; i < inside.height && (size_t)i < run->epoch_count; i++) {
		const struct epoch *epoch = &run->epochs[run->epoch_count - 1 - (size_t)i];
		enum role role = epoch->end_ns == 0 ? ROLE_STRONG : ROLE_NORMAL;

		for (int cell = 0; cell < EPOCH_CELLS; cell++)
			table_cell(
				&table, canvas, inside.y + i, cell, role, epoch_cell(scene, run, epoch, (enum epoch_cell)cell, text));
	}
}
