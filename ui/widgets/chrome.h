/* chrome.h: the frame of every view: the header, the tabs, the last line. */
#ifndef PMTOP_UI_WIDGETS_CHROME_H
#define PMTOP_UI_WIDGETS_CHROME_H

#include "ui/widgets/view.h"

extern const struct view *const all_views[];
extern const int view_count;

/* Target, state, pmtop's own CPU use, the time. */
void chrome_header(
	const struct scene *scene, struct canvas *canvas, struct rect row, int64_t clock_ns, int64_t period_ns);
void chrome_tabs(const struct scene *scene, struct canvas *canvas, struct rect row, int active);
/* The view whose tab is at x, −1 for none. */
int chrome_tab_at(const struct scene *scene, struct rect row, int x);
/* "n/N next flagged  Enter why": the first word of each is the key. Whole entries only. Returns what is left of the
 * row. */
struct rect chrome_hints(struct canvas *canvas, struct rect row, const char *hints);
/* Key hints; or the message, or the search text. `typed` is NULL unless the user is typing a search. */
void chrome_last_line(
	const struct scene *scene, const struct view *view, struct canvas *canvas, struct rect row, const char *typed);
/* The whole screen in one line, for very small terminals. */
void chrome_one_line(const struct scene *scene, struct canvas *canvas);

#endif
