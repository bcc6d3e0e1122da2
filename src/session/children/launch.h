/* launch.h: starts the command after --. Main thread only. */
#ifndef PMTOP_SESSION_CHILDREN_LAUNCH_H
#define PMTOP_SESSION_CHILDREN_LAUNCH_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "src/base/status.h"
#include "src/profiling/kineto_idle.h"
#include "src/session/children/launch_python.h"
#include "src/session/children/log_limit.h"
#include "src/session/children/relay.h"

enum { LAUNCH_FOLDER_SIZE = 400 };

/* Of the command's environment. */
enum launch_change {
	LAUNCH_INSTRUMENTS = 1, /* src/python/launch */
	LAUNCH_PROFILES = 2,    /* PyTorch asks for work: pmtop profile */
};

struct launch {
	pid_t child;   /* 0 = none */
	char log[512]; /* the file with its output; empty: it shares pmtop's output */
	struct log_limit limit;
	struct relay relay;
	struct launch_python python;
	struct kineto_idle kineto;
};

/* $XDG_STATE_HOME/pmtop (~/.local/state/pmtop), which it makes; empty: there is no home. */
void launch_folder(char folder[LAUNCH_FOLDER_SIZE]);
/* Starts the command. `is_output_ours`: its output goes to a private file, because pmtop needs standard output; where
 * that is a terminal, the command has one too (relay.h). `changes`: of enum launch_change. */
enum status launch_start(
	struct launch *launch, char **command, bool is_output_ours, unsigned changes, struct reason *why_not);
/* From now on Ctrl-C and Ctrl-\ are for the command alone, whose end launch_wait() awaits. */
void launch_ignore_keys(const struct launch *launch);
/* Bounds the log; true: *news says that it does so from now on, or cannot. */
bool launch_limit_log(struct launch *launch, struct reason *news);
/* Whether the command has ended by an error or a signal: `text` says which. */
bool launch_has_failed(const struct launch *launch, char *text, size_t size);
/* Waits for the command to end and returns its status of waitpid; 0: there is none. The caller ends `python`. */
int launch_wait(struct launch *launch);

#endif
