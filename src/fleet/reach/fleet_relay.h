/* fleet_relay.h: a host that reaches other hosts for this machine: `pmtop collect --relay` there starts one process a
 * host and sends what they write, in frames (fleet_frame.h). No call waits.
 *
 *   none → starting → ready
 *             └────────┴→ failed, with a reason; fleet_relay_stop makes it none */
#ifndef PMTOP_FLEET_REACH_FLEET_RELAY_H
#define PMTOP_FLEET_REACH_FLEET_RELAY_H

#include <stdbool.h>
#include <stdint.h>

#include "src/base/buffer.h"
#include "src/fleet/reach/fleet_frame.h"
#include "src/fleet/reach/fleet_process.h"

enum fleet_relay_state { FLEET_RELAY_NONE, FLEET_RELAY_STARTING, FLEET_RELAY_READY, FLEET_RELAY_FAILED };

enum { FLEET_RELAY_REASON_SIZE = 160 };

struct fleet_relay {
	const char *name; /* of the host that it runs on */
	enum fleet_relay_state state;
	char reason[FLEET_RELAY_REASON_SIZE]; /* of FAILED */
	struct fleet_process process;
	struct fleet_said said;
	int64_t started_ns, heard_ns, closed_ns;
	struct buffer in, out; /* bounded: not parsed yet, not written yet */
	size_t skipped;        /* bytes before HELLO */
	uint64_t head_bytes;   /* received, beside the streams of the hosts */
};

/* What came from a process of the relay. */
struct fleet_relay_taker {
	void *context;
	/* DATA or ENDED. False: the relay was not asked for this. */
	bool (*frame)(void *context, const struct fleet_frame *frame);
	void (*line)(void *context, uint16_t channel, uint8_t serial, const char *line);
};

void fleet_relay_init(struct fleet_relay *relay);
void fleet_relay_start(struct fleet_relay *relay, const char *name, const char *command, int64_t now_ns);
/* Queues a frame. */
void fleet_relay_send(struct fleet_relay *relay, const struct fleet_frame *frame);
/* Reads its standard error: false: there may be more. */
bool fleet_relay_read_errors(struct fleet_relay *relay, const struct fleet_relay_taker *taker, int64_t now_ns);
/* Reads its frames, writes what is queued, updates its state. */
void fleet_relay_step(struct fleet_relay *relay, const struct fleet_relay_taker *taker, int64_t now_ns);
/* Kills what still runs. Returns a process that is to be reaped; 0 = none. */
pid_t fleet_relay_stop(struct fleet_relay *relay);
/* Asks it to end. */
void fleet_relay_release(struct fleet_relay *relay);

#endif
