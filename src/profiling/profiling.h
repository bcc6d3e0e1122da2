/* profiling.h: one request to a running PyTorch program for a trace of its next steps, or for a memory snapshot, which
 * takes the first way only. Two ways, in this order:
 *
 *   package.h   a program with pmtop.torch.instrument(profile_on_request=True)
 *   kineto.h    any PyTorch 2.7 or newer that was started with KINETO_USE_DAEMON in its environment
 *
 * profiling_begin() chooses the way, profiling_step() goes on without waiting, about ten times a second and whenever
 * profiling_fd() is readable. */
#ifndef PMTOP_PROFILING_PROFILING_H
#define PMTOP_PROFILING_PROFILING_H

#include <stdbool.h>
#include <stdint.h>

#include "src/base/status.h"
#include "src/profiling/kineto.h"
#include "src/profiling/order.h"
#include "src/profiling/package.h"
#include "src/profiling/trace_file.h"
#include "src/sources/target/target.h"

enum { PROFILING_WORDS_SIZE = 96, PROFILING_PATH_SIZE = TRACE_PATH_SIZE + 64 };

struct profiling {
	struct profiling_order order;
	struct target *target; /* the caller's */
	pid_t pid;             /* of the program: the target or one of its descendants */
	bool is_given;         /* the program has the request */
	bool was_busy;         /* its profiler was running when it polled */
	bool has_polled;
	unsigned steps; /* that Kineto was asked for */
	int64_t begun_ns, given_ns, looked_ns, ended_ns;
	struct package package;
	struct kineto kineto;     /* fd −1: none, or `sharer` has the socket */
	struct profiling *sharer; /* whose Kineto socket this request uses: its own, or that of order.beside; NULL: none */
	struct profiling *next;   /* of those that share a socket: its owner first */
	struct profiling *polled; /* of the owner: whose process sent the datagram that is being answered */
	char configuration[KINETO_CONFIGURATION_SIZE]; /* that answer */
	char private_folder[TRACE_FOLDER_SIZE];        /* for Kineto's file; empty: none */
	char prefix[64];                               /* before a path of the program: "/proc/PID/root" or empty */
	off_t size;
	char path[PROFILING_PATH_SIZE]; /* of the file, once it is complete */
};

/* UNSUPPORTED: the program takes no request; the remedy says how to start it. */
enum status profiling_begin(struct profiling *profiling, struct target *target, const struct profiling_order *order,
	int64_t now_ns, struct reason *why_not);
/* OK: profiling->path is the file; AGAIN: not yet; else it has failed. */
enum status profiling_step(struct profiling *profiling, int64_t now_ns, struct reason *why_not);
/* Whether a request is possible, without one. OK: `way` says how; else the remedy says how to start the program. */
enum status profiling_check(struct target *target, char way[PROFILING_WORDS_SIZE], struct reason *why_not);
int profiling_fd(const struct profiling *profiling);
/* "waiting for the job's poll (every 5 s)", "profiling 2/3 steps" */
const char *profiling_words(const struct profiling *profiling, char out[PROFILING_WORDS_SIZE]);
/* Withdraws what is not complete. A trace that Kineto still writes stays in profiling->private_folder. */
void profiling_end(struct profiling *profiling);

#endif
