/* legend.h: the meaning of every mark that the views draw; the help of a view shows its marks first. */
#ifndef PMTOP_UI_WIDGETS_LEGEND_H
#define PMTOP_UI_WIDGETS_LEGEND_H

#include "ui/core/canvas.h"
#include "ui/widgets/view.h"

enum legend_view {
#define LEGEND_VIEW(name) LEGEND_##name,
	VIEWS(LEGEND_VIEW)
#undef LEGEND_VIEW
		LEGEND_VIEWS
};

struct legend_row {
	const char *marks;         /* each of these characters has this meaning */
	const char *block, *ascii; /* with blocks and in ASCII; NULL: the same, and its substitute */
	enum role role;
	unsigned views; /* bits of enum legend_view */
	const char *what;
};
/* The row after *at that belongs to the view, from *at = 0 on; NULL at the end. */
const struct legend_row *legend_next(const struct view *view, size_t *at);
const char *legend_marks(const struct legend_row *row, enum charset charset);

#endif
