/* session_profile.h: the request of a session for a trace or a memory snapshot: the key P, --profile-slow, or the
 * `action` of a rule. */
#ifndef PMTOP_SESSION_SESSION_PROFILE_H
#define PMTOP_SESSION_SESSION_PROFILE_H

#include "src/session/session.h"

/* Asks the process for its next steps, or withdraws the open request. Fills `text` with what there is to say; "":
 * nothing. */
void session_profile_toggle(struct session *session, pid_t pid, char text[LIVE_REQUEST_TEXT_SIZE]);
/* Goes on with the request, or begins one that slow_profile.h or own_snapshot.h wants. To be called after each wait.
 * Fills `text` likewise. */
void session_profile_step(struct session *session, char text[LIVE_REQUEST_TEXT_SIZE]);
/* For the header: "profiling 2/3 steps"; "": no request is open. */
const char *session_profile_words(const struct session *session, char out[PROFILING_WORDS_SIZE]);
/* A descriptor to wait for (−1 = none), and the longest wait in milliseconds (−1 = no limit). */
int session_profile_fd(const struct session *session);
int session_profile_ms(const struct session *session);

#endif
