/* collector_watch.h: a sampler that is blocked in a read, and how it is replaced. */
#ifndef PMTOP_COLLECT_COLLECTOR_WATCH_H
#define PMTOP_COLLECT_COLLECTOR_WATCH_H

#include <stdint.h>

struct collector;

/* The watcher thread: replaces a sampler that hangs in a read. */
void collector_watch(void *collector);
/* Sampler thread. Reports each file that does not answer as a missing figure, with the time since it stopped answering,
 * until it answers again. */
void collector_show_silent(struct collector *collector, int64_t now_ns);

#endif
