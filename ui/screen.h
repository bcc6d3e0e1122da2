/* screen.h: the whole screen: header, tabs, the chosen view, hints; keys that work everywhere; pause. Draws on a canvas, knows no terminal. */
#ifndef PMTOP_UI_SCREEN_H
#define PMTOP_UI_SCREEN_H

#include <stdbool.h>
#include <stdint.h>

#include "ui/view.h"

struct screen;

/* What a key asked of the program around the screen. */
enum screen_wish { WISH_NOTHING, WISH_QUIT, WISH_WRITE };

struct screen *screen_new(struct model *model, const struct alerts *alerts, const struct settings *settings);
void screen_free(struct screen *screen);
/* Draws the whole of `canvas`. `period_ns`: the refresh, shown in the header. */
void screen_draw(struct screen *screen, struct canvas *canvas, int64_t realtime_ns, int64_t period_ns);
/* The next picture is the last, or is held against another: nothing in it stands since the one before. */
void screen_draw_anew(struct screen *screen);
enum screen_wish screen_key(struct screen *screen, struct key_event event, const struct canvas *canvas);
/* The view that is open, as CSV; false where it has nothing to write. */
bool screen_write(const struct screen *screen, struct buffer *out);
const char *screen_view_name(const struct screen *screen);
void screen_message(struct screen *screen, const char *text);
bool screen_is_paused(const struct screen *screen);
int screen_run(const struct screen *screen);        /* index into model->runs, −1 */
void screen_choose_run(struct screen *screen, int run);
/* By name, whatever its case; false where no view has it. */
bool screen_open_view(struct screen *screen, const char *name);

#endif
