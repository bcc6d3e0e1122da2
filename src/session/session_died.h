/* session_died.h: how the watched process has ended: for the model, `pmtop why-died` and standard error. */
#ifndef PMTOP_SESSION_SESSION_DIED_H
#define PMTOP_SESSION_SESSION_DIED_H

#include "src/session/session.h"

/* Right after the start of `command`, or (NULL) when process `pid` is attached to. */
void session_died_begin(struct session *session, pid_t pid, char **command);
/* Once it has ended: fills in session->ended and the model's `end`. Again: does nothing. */
void session_died_note(struct session *session);
/* Before the model is freed: the same, and what the model knows of a command that goes on. */
void session_died_take(struct session *session);
/* `status`: of waitpid, for a command that pmtop started and has waited for. Prints and writes what was noted. */
void session_died_end(struct session *session, int status);

#endif
