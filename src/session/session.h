/* session.h: watches one run from start to end, for all commands that do so. Main thread only.
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
#include "src/died/died_watch.h"
#include "src/profiling/live_request.h"
#include "src/rules/alerts.h"
#include "src/rules/rule_book.h"
#include "src/session/asking/own_snapshot.h"
#include "src/session/asking/traced.h"
#include "src/session/children/launch.h"
#include "src/session/command.h"
#include "src/session/slow_profile.h"
#include "src/sources/choices.h"

struct hooks;
struct chosen_loop;

struct session {
	struct settings settings; /* a copy, with the user's rules */
	struct rule_book *rules;
	struct hooks *hooks;         /* NULL: no hooks are set, or the command starts none */
	struct target target;        /* of a live run */
	struct collector *collector; /* live; NULL in a replay */
	struct player *player;       /* a recording or a stream; NULL live */
	/* the player's file as named on the command line; NULL = do not print its damage */
	const char *replayed;
	struct recording recording;
	struct source_choices choices;
	struct chosen_loop *loops; /* all texts that choices.loop had, but that of the command line */
	struct recorder_options recorder_options;
	bool has_read; /* the first set has been taken */
	struct model *model;
	struct alerts alerts;
	int64_t judged_ns; /* the model's time when alerts were last updated; 0 = never */
	/* before this model time, alerts are updated rarely: a replay is seeking to a later time */
	int64_t judge_from_ns;
	struct model_options model_options;
	struct sample_set set;       /* the one being applied */
	char region_path[512];       /* of an ended run (-s) */
	char wanted_run[128];        /* -s: the run to show, by name; empty = the first */
	pid_t wanted_pid;            /* -s NAME.PID; 0 = any */
	struct launch launch;        /* the command that pmtop started (-- COMMAND) */
	char **command;              /* its words; NULL: there is none */
	struct died_watch died;      /* of that command, or of the process attached to, until its end is noted */
	struct died_evidence *ended; /* how it ended; NULL: it goes on */
	bool says_end;               /* on standard error: a screen hid its end */
	struct live_request request; /* for a trace or a snapshot: session_profile.h */
	struct slow_profile slow;
	struct own_snapshots snapshots;
	struct traced traced;
	bool is_on_screen; /* news go to the screen, not to standard error */
	char news[512];    /* to be shown on the screen; empty = none */
};

/* Opens the target in `options` and starts to watch it. The first readings are applied when it returns. Unless it
 * returns EXIT_OK, it has printed the error on standard error. */
enum exit_code session_open(struct session *session, const struct options *options, const struct settings *settings);
/* FILE:LINE: the iterations of this loop are the steps from now on; "": pmtop chooses. */
void session_choose_loop(struct session *session, const char *loop);
/* Applies a set to the model and, a few times a second of model time, evaluates the rules. */
void session_apply(struct session *session, const struct sample_set *set);
/* Updates the hooks, and reports whether the command's PyTorch is instrumented. To be called after each wait. */
void session_tick(struct session *session);
/* The longest wait until the next tick, in milliseconds; −1 = no limit. */
int session_tick_ms(const struct session *session);
/* Clears *set and takes the next waiting one, which is recorded but not yet applied. Returns false if none waits. */
bool session_take(struct session *session, struct sample_set *set);
/* Copies the numbers of damaged blocks and bytes into the model. */
void session_note_damage(struct session *session);
/* Takes the next waiting set and applies it. Returns false if none waits. */
bool session_step(struct session *session);
/* A descriptor that is readable while a set waits (−1 = none), and the longest wait on it (−1 = no limit). */
int session_fd(const struct session *session);
int session_wait_ms(const struct session *session);
/* Waits at most `timeout_ms` (−1 = no limit) for a set; returns true if one waits or the target has ended. Ends sooner
 * if a request for a trace has to go on. */
bool session_wait(const struct session *session, int timeout_ms);
/* Whether the target has ended and no set waits. */
bool session_has_ended(const struct session *session);
/* Index of the run to show by default; −1 = no instrumented run. */
int session_run(const struct session *session);
/* The time of the model's newest figures, in nanoseconds since 1970. */
int64_t session_realtime_ns(const struct session *session);
/* Opens a second session of the same recording, at its beginning. It shares the settings and rules of `session`, which
 * must outlive it. Returns false for a pipe, which can be read only once, or out of memory. */
bool session_again(const struct session *session, struct session *out);
/* Exchanges the players and models of two sessions of one recording. */
void session_swap(struct session *a, struct session *b);
void session_again_close(struct session *again);
/* Ends the session. If pmtop started a command, waits for it and returns its exit status as a shell does. */
enum exit_code session_close(struct session *session);

#endif
