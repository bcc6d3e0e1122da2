/* session_died.h: notes how the command that pmtop started has ended, for `pmtop why-died`. */
#ifndef PMTOP_SESSION_SESSION_DIED_H
#define PMTOP_SESSION_SESSION_DIED_H

#include "src/session/session.h"

/* Right after the start. */
void session_died_begin(struct session *session, char **command);
/* Before the model is freed; NULL if nothing is to be noted. */
struct died_evidence *session_died_take(const struct session *session);
/* After the end, with its status of waitpid. Takes `evidence`, which may be NULL. */
void session_died_end(struct session *session, struct died_evidence *evidence, int status);

#endif
