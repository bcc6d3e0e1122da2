/* fleet_host.h: one host of the fleet: the process that brings its stream, its state, its clock, its ranks. The process
 * is one of this machine, or one of a relay (fleet_relay.h), which passes on what it reads and writes.
 *
 *   waiting → starting → live ⇄ silent
 *                 └────────┴──────┴→ ended → (after a back-off) starting
 *
 * No call waits for a host. What is read in one step is bounded; the rest waits in the pipe, and then the host waits.
 */
#ifndef PMTOP_FLEET_FLEET_HOST_H
#define PMTOP_FLEET_FLEET_HOST_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "src/base/buffer.h"
#include "src/fleet/fleet_clock.h"
#include "src/fleet/fleet_rank.h"
#include "src/fleet/reach/fleet_process.h"
#include "src/fleet/reach/fleet_relay.h"
#include "src/fleet/reach/fleet_said.h"
#include "src/samples/sample_set.h"

#define FLEET_HOST_STATES(X) \
	X(WAITING, "waiting")   /* for its first start */ \
	X(STARTING, "starting") /* its process runs, no samples came yet */ \
	X(LIVE, "live") \
	X(SILENT, "silent") /* no samples for fleet_host_silence_ns */ \
	X(ENDED, "ended")   /* `reason` says how; started again at retry_ns */

enum fleet_host_state {
#define FLEET_HOST_STATE_ID(id, name) FLEET_HOST_##id,
	FLEET_HOST_STATES(FLEET_HOST_STATE_ID)
#undef FLEET_HOST_STATE_ID
		FLEET_HOST_STATE_COUNT
};

enum { FLEET_HOST_RANKS = 64, FLEET_NAME_SIZE = 128, FLEET_REASON_SIZE = 200 };

struct stream_reader;

struct fleet_tee; /* fleet_tee.h */

struct fleet_host {
	char name[FLEET_NAME_SIZE];
	char *command;    /* for sh */
	char *relay_line; /* the command that makes it a relay; NULL: there are none */
	enum fleet_host_state state;
	char reason[FLEET_REASON_SIZE]; /* of SILENT, ENDED, while it is being tried again, or `detour`; "" = none */
	char detour[FLEET_REASON_SIZE]; /* why its last relay is not used */
	struct fleet_process process;   /* of this machine */
	struct fleet_relay *relay;      /* whose process it is; NULL: of this machine */
	const char *relay_command;      /* what the relay runs */
	uint16_t channel;               /* of its relays */
	uint8_t serial;                 /* of the start, for the relay */
	bool is_direct;                 /* its relay did not reach it */
	bool has_status;                /* of a relay's process that has ended */
	int status;                     /* −1 = unknown */
	int64_t since_ns;               /* of the state */
	/* set_ns: when the newest samples came, 0 = none yet; closed_ns: when its output was closed, 0 = it is open */
	int64_t started_ns, set_ns, closed_ns, retry_ns;
	int64_t period_ns; /* between its samples, as asked for */
	int64_t pause_ns;  /* from its end to retry_ns; 0 = none */
	unsigned failures; /* since it sent samples for a minute */
	uint64_t starts;
	struct stream_reader *reader; /* NULL: no process */
	struct sample_set set;        /* its storage is lent by the fleet, unless a set is incomplete */
	bool has_dictionary;
	uint64_t bytes, rate_bytes, nonsense_bytes, wrong_times;
	int64_t rate_ns;
	double bytes_per_s; /* NAN until measured */
	struct fleet_said said;
	unsigned wakes; /* by its errors, since the last step */
	struct fleet_clock clock;
	struct fleet_offset offset;
	char machine[64], version[24]; /* as its stream says */
	int32_t target_pid;
	unsigned rank_count;
	struct fleet_rank *ranks[FLEET_HOST_RANKS];
	struct fleet_tee *tee; /* takes a copy of the stream; NULL */
};

const char *fleet_host_state_name(enum fleet_host_state state);
/* `command` is taken, to be freed. */
void fleet_host_init(struct fleet_host *host, const char *name, char *command, int64_t period_ns);
void fleet_host_release(struct fleet_host *host);
/* Without samples for so long a host is silent. */
int64_t fleet_host_silence_ns(const struct fleet_host *host);
/* Starts its process, by its relay if it has one. A failure is a state of the host. */
void fleet_host_start(struct fleet_host *host, int64_t now_ns);
/* Reads what has come on its standard error: answers about its clock, messages. Returns false if it writes so much that
 * it should not be answered at once any more. */
bool fleet_host_read_errors(struct fleet_host *host, int64_t now_ns);
/* Reads its stream, asks its clock, updates its state. `lent`, `room`: shared storage. Returns a process that was
 * killed and is to be reaped; 0 = none. */
pid_t fleet_host_step(
	struct fleet_host *host, int64_t now_ns, int64_t wall_ns, struct sample_set *lent, char *room, size_t room_size);
/* Passes a copy of its stream to `tee`, from a dictionary on that the host is asked for; NULL ends that. Takes it. */
void fleet_host_tee(struct fleet_host *host, struct fleet_tee *tee);
/* What its relay brings: bytes of its stream, a line of its standard error, its end. */
void fleet_host_take(
	struct fleet_host *host, const char *bytes, size_t length, int64_t now_ns, struct sample_set *lent);
void fleet_host_take_line(struct fleet_host *host, const char *line, int64_t now_ns);
void fleet_host_take_end(struct fleet_host *host, int status, int64_t now_ns);
/* Its relay has failed: it is to be started again at once, another way. */
void fleet_host_lose_relay(struct fleet_host *host, const char *reason, int64_t now_ns);
/* Takes a set of its stream, as fleet_host_step does with each. */
void fleet_host_apply(struct fleet_host *host, const struct sample_set *set, int64_t now_ns);

#endif
