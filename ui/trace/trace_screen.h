/* trace_screen.h: the screen of `pmtop trace`: header, tabs, the open tab or page, key hints. Draws on a canvas and
 * knows no terminal. */
#ifndef PMTOP_UI_TRACE_TRACE_SCREEN_H
#define PMTOP_UI_TRACE_TRACE_SCREEN_H

#include <stdbool.h>
#include <stddef.h>

#include "src/base/buffer.h"
#include "src/trace/output/profile_view.h"
#include "ui/core/canvas.h"
#include "ui/core/keys.h"

struct trace_screen;

/* `ranks`: at least one; borrowed, and changed only by the screen while it exists. Of the view: how operators are
 * grouped and sorted, at first, and the rows a table. NULL: no memory. */
struct trace_screen *trace_screen_new(
	struct profile_analysis *const *ranks, size_t count, const struct profile_view *view);
void trace_screen_free(struct trace_screen *screen);
void trace_screen_draw(struct trace_screen *screen, struct canvas *canvas);
/* False: the user quits. */
bool trace_screen_key(struct trace_screen *screen, struct key_event event, const struct canvas *canvas);
/* Shown in the last line until the next key. */
void trace_screen_message(struct trace_screen *screen, const char *text);
/* Whether the last key was w: the caller saves the table. */
bool trace_screen_wants_csv(const struct trace_screen *screen);
/* The table of the open tab as CSV, and the tab's name. False: it has none, or no memory. */
bool trace_screen_write(struct trace_screen *screen, struct buffer *csv, const char **name);

#endif
