/* nvidia_events.h: events of the driver: XID errors, changed clocks. */
#ifndef PMTOP_SOURCES_GPU_NVIDIA_NVIDIA_EVENTS_H
#define PMTOP_SOURCES_GPU_NVIDIA_NVIDIA_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

struct nvidia;
struct nvidia_events;
struct sample_set;

struct nvidia_events *nvidia_events_open(const struct nvidia *nvidia);
void nvidia_events_take(struct nvidia *nvidia, int64_t now_ns, struct sample_set *out);

/* False: its thread is blocked inside the driver, so the library must not be shut down. */
bool nvidia_events_close(struct nvidia_events *events);

#endif
