/* live_request.h: a request for a trace or a memory snapshot while a run is watched. The texts are for the status line.
 */
#ifndef PMTOP_PROFILING_LIVE_REQUEST_H
#define PMTOP_PROFILING_LIVE_REQUEST_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "src/profiling/profiling.h"

enum { LIVE_REQUEST_STEPS = 3, LIVE_REQUEST_TEXT_SIZE = 160, LIVE_REQUEST_MS = 100 };

struct live_request {
	bool is_open;
	struct target target;
	struct profiling profiling;
	char folder[PATH_MAX];              /* the working directory */
	char trace[PROFILING_PATH_SIZE];    /* the newest one; empty: none yet */
	char snapshot[PROFILING_PATH_SIZE]; /* likewise */
	size_t snapshot_count;              /* so far */
	bool is_snapshot_newest;            /* the newest file is a snapshot */
	const char *how;                    /* how to open a trace here: "key T opens it"; NULL: by pmtop trace only */
};

/* Asks the process; the order needs no folder. False: refused, with the reason in `text`. */
bool live_request_begin(struct live_request *request, pid_t pid, const struct profiling_order *order, int64_t now_ns,
	char text[LIVE_REQUEST_TEXT_SIZE]);
/* Asks the process for its next steps; if a request is open, withdraws it. Fills `text` if there is something to say: a
 * refusal. */
void live_request_toggle(struct live_request *request, pid_t pid, int64_t now_ns, char text[LIVE_REQUEST_TEXT_SIZE]);
/* Goes on; to be called every LIVE_REQUEST_MS while is_open. Returns true once it has ended, with the path or the
 * reason in `text`. */
bool live_request_step(struct live_request *request, int64_t now_ns, char text[LIVE_REQUEST_TEXT_SIZE]);
/* Withdraws it. */
void live_request_end(struct live_request *request);

#endif
