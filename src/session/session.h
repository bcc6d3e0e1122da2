/* session.h: one watched run from end to end. What every command that watches shares. Main thread only.
 *
 *   target → collector ─┐
 *                       ├→ session_take → session_apply → model, alerts → (the command)
 *   recording → player ─┘       └→ recording (live only) */
#ifndef PMTOP_SESSION_SESSION_H
#define PMTOP_SESSION_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "src/collect/collector.h"
#include "src/model/model.h"
#include "src/playback/player.h"
#include "src/playback/recording.h"
#include "src/rules/alerts.h"
#include "src/rules/rule_book.h"
#include "src/session/command.h"
#include "src/sources/choices.h"

struct hooks;

struct session {
	struct settings settings; /* those given, with the user's rules */
	struct rule_book *rules;
	struct hooks *hooks;         /* NULL: none are set, or this command starts none */
	struct target target;        /* of a live run */
	struct collector *collector; /* live; NULL in a replay */
	struct player *player;       /* a recording, or a stream from elsewhere; NULL live */
	/* what the player reads, as it was asked for; NULL where nobody is to hear of its damage */
	const char *replayed;
	struct recording recording;
	struct source_choices choices;
	struct recorder_options recorder_options;
	bool has_read; /* the first set has been taken */
	struct model *model;
	struct alerts alerts;
	int64_t judged_ns; /* the model's time when alerts were last updated; 0 = never */
	/* before this time of the model they are updated seldom: a replay that is on its way to a later moment */
	int64_t judge_from_ns;
	struct model_options model_options;
	struct sample_set set; /* the one being applied */
	char region_path[512]; /* of an ended run (-s) */
	char wanted_run[128];  /* -s: the run to show, by name; empty = the first */
	pid_t wanted_pid;      /* -s NAME.PID; 0 = any */
	pid_t child;           /* that we started (-- COMMAND); 0 = none */
	char child_log[512];   /* where its output goes while the screen is in use; empty = where ours goes */
};

/* Finds the target that `options` name (a pid, a run, a command to start) and begins to watch it. The first readings
 * are applied when it returns. EXIT_OK, or the line was said on standard error. */
enum exit_code session_open(struct session *session, const struct options *options, const struct settings *settings);
/* Applies a set to the model and, a few times a second of the model's time, judges what it now says. */
void session_apply(struct session *session, const struct sample_set *set);
/* What goes on beside the sets: hooks that run. To be called whenever a wait is over. */
void session_tick(struct session *session);
/* For how long a wait may last until the next tick, in milliseconds; −1 = for ever. */
int session_tick_ms(const struct session *session);
/* Clears *set and takes the next one, to be applied (now or later); it has been recorded by then. False: none waits. */
bool session_take(struct session *session, struct sample_set *set);
/* Copies what the recording has lost so far into the model. */
void session_note_damage(struct session *session);
/* Takes the next waiting set and applies it. False: none waits. */
bool session_step(struct session *session);
/* Readable while a set waits (−1 = nothing to wait on), and for how long a wait on it may last (−1 = for ever). */
int session_fd(const struct session *session);
int session_wait_ms(const struct session *session);
/* Waits at most `timeout_ms` (−1 = for ever) for a set; true when one waits or the target has ended. */
bool session_wait(const struct session *session, int timeout_ms);
/* The target has ended and nothing waits any more. */
bool session_has_ended(const struct session *session);
/* Index of the run to show when nobody chose another; −1 = nothing publishes. */
int session_run(const struct session *session);
/* Records from now on what is taken, as `path` (NULL: a name is made). Live only. */
enum status session_record(struct session *session, const char *path, struct reason *why_not);
/* A batch was flagged or unflagged by hand, which the model knows already. */
void session_flag(struct session *session, unsigned run, uint32_t mode, uint64_t ordinal, bool is_flagged);
/* The date of the model's newest figures, nanoseconds since 1970. */
int64_t session_realtime_ns(const struct session *session);
/* The recording from its beginning again, beside `session`, whose settings and rules it shares and which must outlive
 * it. False: a pipe, which is gone through once, or out of memory. */
bool session_again(const struct session *session, struct session *out);
/* What is played, and what was made of it, change places. */
void session_swap(struct session *a, struct session *b);
void session_again_close(struct session *again);
/* Ends watching. With a command of our own: waits for it and gives its exit status as a shell would. */
enum exit_code session_close(struct session *session);

#endif
