/* screen.h: the whole screen: header, tabs, the open view, key hints; global keys; pause. Draws on a canvas and
 * knows no terminal. */
#ifndef PMTOP_UI_SCREEN_H
#define PMTOP_UI_SCREEN_H

#include <stdbool.h>
#include <stdint.h>

#include "src/base/log_lines.h"
#include "ui/setup/setup.h"
#include "ui/widgets/loop_picker.h"
#include "ui/widgets/replay_line.h"
#include "ui/widgets/view.h"

struct screen;

/* An action that a key requests from the caller. */
enum screen_wish { WISH_NOTHING, WISH_QUIT, WISH_WRITE, WISH_RECORD, WISH_PROFILE, WISH_TRACE, WISH_BACK };

struct screen *screen_new(struct model *model, const struct alerts *alerts, const struct settings *settings);
void screen_free(struct screen *screen);
/* Draws the whole of `canvas`. `period_ns`: the refresh, shown in the header. */
void screen_draw(struct screen *screen, struct canvas *canvas, int64_t realtime_ns, int64_t period_ns);
/* Makes the next frame redraw every panel: it is the last one, or a test compares it. */
void screen_redraw(struct screen *screen);
enum screen_wish screen_key(struct screen *screen, struct key_event event, const struct canvas *canvas);
/* Writes the open view as CSV; false if it has nothing to write. */
bool screen_write(const struct screen *screen, struct buffer *out);
const char *screen_view_name(const struct screen *screen);
/* Bits of enum view_need: of the view that is shown. */
unsigned screen_needs(const struct screen *screen);
/* The process whose loops the user views, to choose the one with the steps; 0: none, −1: of any that has some. */
int32_t screen_wants_loops_of(const struct screen *screen);
/* True once after the user chose a loop: FILE:LINE, or "" if pmtop chooses. */
bool screen_take_loop(struct screen *screen, char out[LOOP_CHOICE_SIZE]);
void screen_message(struct screen *screen, const char *text);
/* Replaces the message `before` if it is still shown. */
void screen_message_again(struct screen *screen, const char *before, const char *text);
/* Sets the recording shown in the header; false: none. */
void screen_set_recording(struct screen *screen, bool goes_on, double bytes);
/* What the header shows of a request for a trace; "": none. */
void screen_set_request(struct screen *screen, const char *text);
/* The newest memory snapshot of the program; the caller's, NULL: none. */
void screen_set_snapshot(struct screen *screen, const struct snapshot_digest *snapshot);
bool screen_shows_memory(const struct screen *screen);
/* Opens its page in the view Memory, or closes it. */
void screen_toggle_snapshot(struct screen *screen);
/* True once after the user flagged or unflagged a batch. */
bool screen_take_flag(struct screen *screen, struct hand_flag *out);
bool screen_is_paused(const struct screen *screen);
int screen_run(const struct screen *screen); /* index into model->runs, −1 */
void screen_choose_run(struct screen *screen, int run);
/* By name, ignoring case; false if there is no such view. */
bool screen_open_view(struct screen *screen, const char *name);

/* The overlay of an earlier run; owned by the caller. */
void screen_set_earlier(struct screen *screen, const struct earlier *earlier);

/* The output of the command that pmtop started, for the key `l`; both owned by the caller. */
void screen_set_log(struct screen *screen, const struct log_lines *lines, const char *path);
/* Whether the newest output is shown: only then the caller reads more of it. */
bool screen_follows_log(const struct screen *screen);

/* The set-up screen, for the keys F2 and S; owned by the caller. */
void screen_set_setup(struct screen *screen, struct setup *setup);

/* -- a replay -- */

/* Draws this line above the last one from now on; owned by the caller. */
void screen_set_replay(struct screen *screen, struct replay_line *line);
/* Replaces the model that is shown. */
void screen_set_model(struct screen *screen, struct model *model);
/* After a jump in time: plots start with new scales. */
void screen_moved(struct screen *screen);
bool screen_is_typing(const struct screen *screen);
/* Whether n and N go through search matches or a warning's batches. */
bool screen_has_matches(const struct screen *screen);
/* The selected batch, by its ordinal; false at the live end. */
bool screen_focused(const struct screen *screen, uint64_t *ordinal);
void screen_focus(struct screen *screen, int run, uint64_t ordinal);
/* Whether the screen shows the batches of this run and mode. */
bool screen_shows_batches_of(const struct screen *screen, unsigned run, uint32_t mode);

#endif
