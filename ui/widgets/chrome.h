/* chrome.h: what stands around every view: the header, the tabs, the last line. */
#ifndef PMTOP_UI_WIDGETS_CHROME_H
#define PMTOP_UI_WIDGETS_CHROME_H

#include "ui/widgets/view.h"

extern const struct view *const all_views[];
extern const int view_count;

/* Who is watched, whether it lives, what the monitor costs, the time. */
void chrome_header(
	const struct scene *scene, struct canvas *canvas, struct rect row, int64_t clock_ns, int64_t period_ns);
void chrome_tabs(const struct scene *scene, struct canvas *canvas, struct rect row, int active);
/* The view whose tab is under x, −1 for none. */
int chrome_tab_at(const struct scene *scene, struct rect row, int x);
/* The keys that work here; or the message, or what is being searched. `typed` is NULL unless a search is being
 * typed. */
void chrome_last_line(
	const struct scene *scene, const struct view *view, struct canvas *canvas, struct rect row, const char *typed);
/* All there is room for on a very small screen: one line. */
void chrome_one_line(const struct scene *scene, struct canvas *canvas);

#endif
