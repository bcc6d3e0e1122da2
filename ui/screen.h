/* screen.h: the whole screen: header, tabs, the chosen view, hints; keys that work everywhere; pause. Draws on a
 * canvas, knows no terminal. */
#ifndef PMTOP_UI_SCREEN_H
#define PMTOP_UI_SCREEN_H

#include <stdbool.h>
#include <stdint.h>

#include "ui/widgets/replay_line.h"
#include "ui/widgets/view.h"

struct screen;

/* What a key asked of the program around the screen. */
enum screen_wish { WISH_NOTHING, WISH_QUIT, WISH_WRITE, WISH_RECORD };

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
/* Bits of enum view_need: of the view that is shown. */
unsigned screen_needs(const struct screen *screen);
void screen_message(struct screen *screen, const char *text);
/* The same in place of `before`, where that is still shown. */
void screen_message_again(struct screen *screen, const char *before, const char *text);
/* What the header says of a recording; false: nothing is recorded. */
void screen_set_recording(struct screen *screen, bool goes_on, double bytes);
/* True once, after a batch was flagged or unflagged by hand. */
bool screen_take_flag(struct screen *screen, struct hand_flag *out);
bool screen_is_paused(const struct screen *screen);
int screen_run(const struct screen *screen); /* index into model->runs, −1 */
void screen_choose_run(struct screen *screen, int run);
/* By name, whatever its case; false where no view has it. */
bool screen_open_view(struct screen *screen, const char *name);

/* An earlier run beside the one that is shown; it belongs to the caller. */
void screen_set_earlier(struct screen *screen, const struct earlier *earlier);

/* -- a replay -- */

/* Its line is drawn from now on, above the last one; it belongs to the caller. */
void screen_set_replay(struct screen *screen, struct replay_line *line);
/* Another model in the place of the one that was shown. */
void screen_set_model(struct screen *screen, struct model *model);
/* To another time: plots begin with scales of their own. */
void screen_moved(struct screen *screen);
bool screen_is_typing(const struct screen *screen);
/* n and N mean something else here: matches of a search, or what a warning is about. */
bool screen_has_matches(const struct screen *screen);
/* The batch that is looked at, by its ordinal; false at the live end. */
bool screen_focused(const struct screen *screen, uint64_t *ordinal);
void screen_focus(struct screen *screen, int run, uint64_t ordinal);
/* Whether the batches of this run and mode are those that are looked at. */
bool screen_shows_batches_of(const struct screen *screen, unsigned run, uint32_t mode);

#endif
