/* window.h: converts --since and --until of a recording to times. */
#ifndef PMTOP_SESSION_WINDOW_H
#define PMTOP_SESSION_WINDOW_H

#include <stdint.h>

#include "src/session/command.h"
#include "src/session/session.h"

/* The times are of CLOCK_MONOTONIC, since ≤ t < until; INT64_MIN and INT64_MAX if an option is missing. --until=#624
 * and --until=@7 include that batch and that epoch; for these the recording is read once more. Unless it returns
 * EXIT_OK, it has printed the error on standard error. */
enum exit_code window_of(
	const struct session *session, const struct options *options, int64_t *since_ns, int64_t *until_ns);

#endif
