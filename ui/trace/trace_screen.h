/* trace_screen.h: the screen of `pmtop trace`: header, tabs, the open tab or page, key hints. Draws on a canvas and
 * knows no terminal. */
#ifndef PMTOP_UI_TRACE_TRACE_SCREEN_H
#define PMTOP_UI_TRACE_TRACE_SCREEN_H

#include <stdbool.h>
#include <stddef.h>

#include "src/trace/output/profile_view.h"
#include "ui/core/canvas.h"
#include "ui/core/keys.h"

struct trace_screen;

/* `ranks`: at least one; borrowed, and changed only by the screen while it exists. `sort`: of the operators, at first.
 * NULL: no memory. */
struct trace_screen *trace_screen_new(struct profile_analysis *const *ranks, size_t count, enum profile_sort sort);
void trace_screen_free(struct trace_screen *screen);
void trace_screen_draw(struct trace_screen *screen, struct canvas *canvas);
/* False: the user quits. */
bool trace_screen_key(struct trace_screen *screen, struct key_event event, const struct canvas *canvas);
/* Shown in the last line until the next key. */
void trace_screen_message(struct trace_screen *screen, const char *text);

#endif
