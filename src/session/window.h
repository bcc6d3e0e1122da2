/* window.h: --since and --until of a recording, as times. */
#ifndef PMTOP_SESSION_WINDOW_H
#define PMTOP_SESSION_WINDOW_H

#include <stdint.h>

#include "src/session/command.h"
#include "src/session/session.h"

/* CLOCK_MONOTONIC, since ≤ t < until; INT64_MIN and INT64_MAX where nothing was said. "#624" and "@7" as --until
 * include that batch, and that epoch. For those the recording is read once more. EXIT_OK, or the line was said on
 * standard error. */
enum exit_code window_of(
	const struct session *session, const struct options *options, int64_t *since_ns, int64_t *until_ns);

#endif
