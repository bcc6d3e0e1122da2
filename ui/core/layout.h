/* layout.h: cuts rectangles into smaller ones. A size is never negative: a part that does not fit is cut, and the
 * rest is empty. */
#ifndef PMTOP_UI_CORE_LAYOUT_H
#define PMTOP_UI_CORE_LAYOUT_H

#include <stdbool.h>

#include "ui/core/canvas.h"

/* Takes `size` rows or columns off one side of *rest and returns them. */
struct rect rect_take_top(struct rect *rest, int size);
struct rect rect_take_bottom(struct rect *rest, int size);
struct rect rect_take_left(struct rect *rest, int size);
struct rect rect_take_right(struct rect *rest, int size);
/* One row, counted from the top (negative: from the bottom, −1 = the last); empty if there is no such row. */
struct rect rect_row(struct rect rect, int row);
bool rect_has(struct rect rect, int x, int y);

#endif
