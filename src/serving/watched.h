/* watched.h: the runs that the exporter watches: the one that the command line names, or all of this machine, found
 * again every ten seconds. Main thread only; each run is a session of its own. */
#ifndef PMTOP_SERVING_WATCHED_H
#define PMTOP_SERVING_WATCHED_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/export/scrape/scrape.h"
#include "src/session/command.h"

enum { WATCHED_MAX = 32 };
/* A run that has ended is shown for so long, so that its end is scraped. */
#define WATCHED_ENDED_NS (60 * INT64_C(1000000000))

struct watched;

/* Unless it returns EXIT_OK, it has printed the error. */
enum exit_code watched_open(const struct options *options, const struct settings *settings, struct watched **out);
/* The exit code of a command that pmtop started, else EXIT_OK. */
enum exit_code watched_close(struct watched *watched);
unsigned watched_poll(const struct watched *watched, struct pollfd out[WATCHED_MAX]);
/* Until the next search or the end of a recording's pause, in milliseconds; −1 = no limit. */
int watched_wait_ms(const struct watched *watched, int64_t now_ns);
/* Takes what has come, and searches when it is time. Returns true if anything has changed. */
bool watched_step(struct watched *watched, int64_t now_ns);
size_t watched_sources(const struct watched *watched, struct scrape_source out[WATCHED_MAX]);
/* Runs that the latest search found and that are not watched. */
size_t watched_left_out(const struct watched *watched);
/* The command that pmtop started; 0: none. */
pid_t watched_child(const struct watched *watched);
/* The run that the command line names is over; never true of all runs. */
bool watched_has_ended(const struct watched *watched);

#endif
