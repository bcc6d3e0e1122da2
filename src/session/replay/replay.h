/* replay.h: a recording on the screen: its clock, its keys, and the replay line. Main thread only.
 *
 *   replay_step: clock or goal → sets that are due → session → the model that is drawn
 *   timeline:    a thread that reads the whole recording once → flags, outline, gaps → replay_show →
 * ui/widgets/replay_line
 *
 * A file plays from its beginning; one that is still being recorded is followed at its end; a pipe is shown as its sets
 * arrive. */
#ifndef PMTOP_SESSION_REPLAY_REPLAY_H
#define PMTOP_SESSION_REPLAY_REPLAY_H

#include <stdbool.h>
#include <stdint.h>

#include "src/session/session.h"
#include "ui/screen.h"

struct replay;

/* For a session with a player, which must outlive the replay. Uses --at and --speed. Unless it returns EXIT_OK, it has
 * printed the error. */
enum exit_code replay_open(
	struct session *session, const struct options *options, struct screen *screen, struct replay **out);
void replay_close(struct replay *replay);
/* Applies the sets that are due, for at most one time slice. Returns true if there is something to draw. */
bool replay_step(struct replay *replay);
/* The longest wait until replay_step has work; −1 = until a key or session_fd. */
int replay_wait_ms(const struct replay *replay);
/* Returns false for a pipe: the screen takes, waits for and buffers its sets like those of a live run, and does not
 * call replay_step and replay_wait_ms. */
bool replay_is_file(const struct replay *replay);
/* To be called before each drawing: updates the replay line for a screen of this width. */
void replay_show(struct replay *replay, int width);

/* -- within src/session/replay -- */

struct goal;

/* The replay's clock now, in the recording's time. */
int64_t replay_position_ns(const struct replay *replay);
void replay_put(struct replay *replay, int64_t at_ns);
void replay_seek(struct replay *replay, const struct goal *goal);

/* Ends a seek: a forward one stays at the time reached, a backward one returns to where it began. */
void replay_stop_seek(struct replay *replay);

#endif
