/* replay.h: a recording on the screen: its clock, its keys, and the line that shows where we are. Main thread only.
 *
 *   replay_step: clock or goal → sets that are due → session → the model that is drawn
 *   timeline:    a thread that goes through the whole recording once → flags, outline, gaps → replay_show →
 * ui/widgets/replay_line
 *
 * A file is played from its beginning, or where its recorder still writes it, followed at its end; what comes through a
 * pipe is shown as it comes. */
#ifndef PMTOP_SESSION_REPLAY_REPLAY_H
#define PMTOP_SESSION_REPLAY_REPLAY_H

#include <stdbool.h>

#include "src/session/session.h"
#include "ui/screen.h"

struct replay;

/* Of a session with a player, which must outlive it. EXIT_OK, or the line was said (--at and --speed are looked at
 * here). */
enum exit_code replay_open(
	struct session *session, const struct options *options, struct screen *screen, struct replay **out);
void replay_close(struct replay *replay);
/* Whether the key was for the replay. */
bool replay_key(struct replay *replay, struct key_event event);
/* Applies what is due, for at most a moment. True: there is something to draw. */
bool replay_step(struct replay *replay);
/* For how long a wait may last until there is something to do; −1 = until a key, or until session_fd. */
int replay_wait_ms(const struct replay *replay);
/* False: a pipe; its sets are taken, held back by a pause and waited for as a live run's are, and there is nothing to
 * step or to wait for here. */
bool replay_is_file(const struct replay *replay);
/* Before each drawing: what the line says, for a screen of this width. */
void replay_show(struct replay *replay, int width);

#endif
