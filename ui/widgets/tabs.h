/* tabs.h: a row of tabs: full names where they fit, else short ones. */
#ifndef PMTOP_UI_WIDGETS_TABS_H
#define PMTOP_UI_WIDGETS_TABS_H

#include <stdbool.h>

#include "ui/core/canvas.h"

struct tab {
	const char *name, *short_name;
	char digit;
	int warnings; /* shown beside its name; 0 = none */
	bool is_hidden;
};

void tabs_draw(const struct tab *tabs, int count, struct canvas *canvas, struct rect row, int active);
/* The tab at x, −1 for none. */
int tabs_at(const struct tab *tabs, int count, struct rect row, int x);

#endif
