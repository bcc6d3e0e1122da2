/* code_tree.h: the calls of a line as a tree of functions; and all functions by self time. */
#ifndef PMTOP_UI_VIEWS_CODE_CODE_TREE_H
#define PMTOP_UI_VIEWS_CODE_CODE_TREE_H

#include "ui/core/canvas.h"

struct code_line;
struct code_sampled;

/* What the line calls, the most expensive call first, as a tree. */
void code_tree_panel(
	const struct code_sampled *sample, const struct code_line *line, struct canvas *canvas, struct rect rect);
void code_functions_panel(const struct code_sampled *sample, struct canvas *canvas, struct rect rect);

#endif
