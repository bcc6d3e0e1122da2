/* fleet_frame.h: how pmtop fleet and a relay (`pmtop collect --relay`) share one connection for many processes.
 *
 * Both directions of standard input and output are frames: "pmtR", kind, serial, channel (16 bits), length of the
 * payload (32 bits), payload; little-endian. A channel is a host of the relay, counted from 0; a serial is one start of
 * its process: frames of an earlier start, still on their way, have another. The first frame of a relay is HELLO;
 * before it a login shell may print.
 *
 * Standard error has lines, which hosts' clocks need at once: "@CHANNEL.SERIAL LINE" is a line of that process, any
 * other line is of the relay, or of what reaches it. */
#ifndef PMTOP_FLEET_REACH_FLEET_FRAME_H
#define PMTOP_FLEET_REACH_FLEET_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buffer;

#define FLEET_FRAME_KINDS(X) \
	X(HELLO) /* the version of the frames, as decimal digits */ \
	X(BEAT)  /* each second: the relay goes on */ \
	X(START) /* to the relay: a command line for sh */ \
	X(STOP)  /* to the relay: kill the process */ \
	X(INPUT) /* to the relay: for its standard input */ \
	X(DATA)  /* of its standard output */ \
	X(ENDED) /* its status, as waitpid(2) has it, as decimal digits; empty: unknown */

enum fleet_frame_kind {
	FLEET_FRAME_NONE,
#define FLEET_FRAME_ID(id) FLEET_FRAME_##id,
	FLEET_FRAME_KINDS(FLEET_FRAME_ID)
#undef FLEET_FRAME_ID
		FLEET_FRAME_KIND_COUNT
};

enum { FLEET_FRAME_HEAD = 12, FLEET_FRAME_MAX = 64 * 1024, FLEET_FRAME_VERSION = 1, FLEET_CHANNELS_MAX = 512 };

struct fleet_frame {
	enum fleet_frame_kind kind;
	uint8_t serial;
	uint16_t channel;
	size_t length;
	const char *payload; /* into the bytes */
};

enum fleet_frame_found {
	FLEET_FRAME_FOUND,
	FLEET_FRAME_PART,   /* more bytes are needed */
	FLEET_FRAME_DAMAGED /* this is no frame */
};

/* The frame at the begin of the bytes. */
enum fleet_frame_found fleet_frame_read(const char *bytes, size_t length, struct fleet_frame *out);
/* How many bytes before the first frame, or before a possible begin of one, are something else. */
size_t fleet_frame_skip(const char *bytes, size_t length);
/* At most FLEET_FRAME_MAX bytes of payload. */
void fleet_frame_write(struct buffer *out, const struct fleet_frame *frame);
/* Decimal digits in a payload; false: there is something else. */
bool fleet_frame_number(const struct fleet_frame *frame, int *out);
/* Reads the tag of a line; returns what follows it, or NULL: it has none. */
const char *fleet_frame_line(const char *line, uint16_t *channel, uint8_t *serial);

#endif
