/* fleet_serve.h: `pmtop collect --relay`: the other end of fleet_relay.h. It starts the processes that it is asked for,
 * and passes on what they read and write, without a look at it. */
#ifndef PMTOP_FLEET_REACH_FLEET_SERVE_H
#define PMTOP_FLEET_REACH_FLEET_SERVE_H

#include <stdbool.h>

/* Serves standard input, output and error until standard input ends, `signal_fd` is readable or memory runs out
 * (false). Then all processes are asked to end. While the reader is slow, processes wait: less than 2 MB are buffered.
 */
bool fleet_serve(int signal_fd);

#endif
