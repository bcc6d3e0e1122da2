/* code_parts.h: parts of the Code view, also used by the overview without instrumentation. */
#ifndef PMTOP_UI_VIEWS_CODE_CODE_PARTS_H
#define PMTOP_UI_VIEWS_CODE_CODE_PARTS_H

#include "ui/core/table.h"
#include "ui/widgets/view.h"

/* The shown samples: whose code, and over which time. */
struct code_sampled {
	const struct code *code;
	const struct code_group *group;
	uint32_t index; /* of the group */
	bool is_whole;  /* since pmtop attached, not only the last minute */
	double seconds; /* total that shares refer to; 0 = no samples */
};

/* -- lines as a table -- */
enum code_cell {
	CODE_CELL_SHARE,
	CODE_CELL_BAR,
	CODE_CELL_ALL,
	CODE_CELL_LOCATION,
	CODE_CELL_TEXT,
	CODE_CELL_PHASE,
	CODE_CELLS
};
enum { CODE_ROWS_MAX = 1024 };
/* Indices into code->lines of lines with samples, sorted by a column. */
struct code_rows {
	size_t count;
	uint16_t indices[CODE_ROWS_MAX];
};

#endif
