/* kineto.h: the daemon's side of Kineto's on-demand interface, over datagrams of AF_UNIX. PyTorch takes part if its
 * environment has KINETO_USE_DAEMON. Format and names: libkineto/src/IpcFabricConfigClient.cpp and dynolog's
 * ipcfabric.
 *
 * A datagram is a header (kineto_header) and a body of header.size bytes. The job sends "req" every 5 s and waits 90 ms
 * for the answer, another "req" whose body is a configuration or empty. The job aborts if an answer comes from an
 * address that does not begin with its KINETO_IPC_SOCKET_DIR: the socket is bound by exactly that name. */
#ifndef PMTOP_PROFILING_KINETO_H
#define PMTOP_PROFILING_KINETO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/un.h>

#include "src/base/status.h"

enum { KINETO_PERIOD_S = 5, KINETO_TYPE_SIZE = 32, KINETO_CONFIGURATION_SIZE = 1024 };

struct kineto_header {
	uint64_t size;
	char type[KINETO_TYPE_SIZE];
};

struct kineto_request {
	int32_t type; /* KINETO_ACTIVITIES is absent while its profiler is busy */
	int32_t pid_count;
	int64_t job;
	/* int32_t pids[pid_count]: the process and its ancestors, as its PID namespace numbers them */
};

enum { KINETO_ACTIVITIES = 2 };

struct kineto {
	int fd;
	uid_t uid; /* only a process of this user gets a configuration */
	struct sockaddr_un address;
	bool replaces_idle; /* it has taken the place of a socket of kineto_idle.h */
};

/* What a datagram was. Every well-formed request is answered; what is malformed is not. */
enum kineto_poll {
	KINETO_NONE,  /* no datagram was there */
	KINETO_OTHER, /* another process, or malformed */
	KINETO_BUSY,  /* the job's profiler is running already */
	KINETO_GIVEN, /* the job has the configuration */
	KINETO_IDLE,  /* the job polled, and there was no configuration to give */
};

/* `folder`: the job's KINETO_IPC_SOCKET_DIR; NULL: the abstract name. `uid`: the job's user. INVALID: the folder cannot
 * be used; UNSUPPORTED: another daemon (dynolog) has the name. */
enum status kineto_open(struct kineto *kineto, const char *folder, uid_t uid, struct reason *why_not);
/* Takes one datagram and answers it. find(context, pid) returns the configuration for this process; "": nothing now;
 * NULL: it is none of the job's. */
enum kineto_poll kineto_answer(struct kineto *kineto, const char *(*find)(void *context, pid_t pid), void *context);
void kineto_close(struct kineto *kineto);
/* Whether it is open for jobs of that user with that KINETO_IPC_SOCKET_DIR. */
bool kineto_is_at(const struct kineto *kineto, const char *folder, uid_t uid);

enum { KINETO_WINDOW_MS = 500 };

/* The text that asks for a trace in `folder`/trace_PID.json: of the next `steps` steps, or, if `start_ms` (since 1970)
 * is not 0, of KINETO_WINDOW_MS from then on: by steps, several jobs cannot begin together. PyTorch takes 500 ms
 * instead of steps if the job has not called optimizer.step() yet. */
void kineto_configure(char out[KINETO_CONFIGURATION_SIZE], const char *folder, unsigned steps, int64_t start_ms);

#endif
