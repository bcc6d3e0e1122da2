/* ras_client.h: asks NCCL's RAS service (NVIDIA/nccl, src/ras/client_support.cc) for the state of all communicators.
 *
 * NCCL 2.24 and newer listens on localhost:28028, or NCCL_RAS_ADDR; JSON came with 2.28.7. Lines end in '\n':
 *
 *   CLIENT PROTOCOL 2   ─▶   ◀─ SERVER PROTOCOL 2
 *   SET FORMAT json     ─▶   ◀─ OK, or ERROR: Unknown command …
 *   TIMEOUT 5           ─▶   ◀─ OK
 *   STATUS              ─▶   ◀─ JSON, then NCCL closes the connection
 *
 * The service may be anything, and may answer slowly or not at all. It is on this machine: pmtop connects to no other
 * one. */
#ifndef PMTOP_SOURCES_RAS_RAS_CLIENT_H
#define PMTOP_SOURCES_RAS_RAS_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "src/base/buffer.h"
#include "src/base/status.h"

enum { RAS_ADDRESSES_MAX = 2, RAS_ADDRESS_TEXT_SIZE = 64, RAS_ANSWER_MAX = 8 << 20 };

struct ras_addresses {
	char text[RAS_ADDRESS_TEXT_SIZE]; /* for a person */
	size_t count;
	struct {
		struct sockaddr_storage address;
		socklen_t length;
	} list[RAS_ADDRESSES_MAX]; /* to try one after the other */
};

/* "localhost:28028", "10.0.0.7:5000", "[::1]:5000"; NULL or empty: NCCL's default. False: none of these; names of hosts
 * are not looked up. */
bool ras_addresses_parse(const char *text, struct ras_addresses *out);

struct ras_question {
	const struct ras_addresses *addresses;
	int network_fd;   /* /proc/PID/ns/net to connect from; −1 = pmtop's own */
	int wake_fd;      /* the question ends (STATUS_END) once this is readable */
	int64_t limit_ns; /* for the whole conversation */
};

/* Appends the JSON to `answer`. NOT_FOUND: nothing listens; DENIED: no right to enter the namespace; UNSUPPORTED: NCCL
 * without JSON; AGAIN: no answer in time; DAMAGED: not NCCL's protocol, or too long; INVALID: not an address of this
 * machine; END, IO. For a thread of its own: it enters the namespace for a moment. */
enum status ras_ask(const struct ras_question *question, struct buffer *answer, struct reason *why_not);

#endif
