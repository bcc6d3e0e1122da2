/* perf_traffic.h: bytes between memory and the CPUs, from the counters of the memory controllers: of a whole socket,
 * all processes together.
 *
 * Counters: every /sys/bus/event_source/devices/PMU of a known kind, on the CPUs that its `cpumask` names (one per
 * socket), with the codes and scales in the kernel's `events` and `format` (Linux
 * Documentation/ABI/testing/sysfs-bus-event_source-devices-*). AMD's have no `events`: CAS commands, of 64 bytes
 * each (Processor Programming Reference of family 19h, UMC performance counters). */
#ifndef PMTOP_SOURCES_PERF_PERF_TRAFFIC_H
#define PMTOP_SOURCES_PERF_PERF_TRAFFIC_H

#include <stdbool.h>
#include <stddef.h>

#include "src/sources/perf/perf_plan.h"

struct perf_traffic;

/* NULL: no counters, or no permission; then *why_not is filled in. `sys_root`: "/sys", or a fixture. */
struct perf_traffic *perf_traffic_open(
	const struct perf_opener *opener, const struct plan_machine *machine, const char *sys_root, struct reason *why_not);
void perf_traffic_close(struct perf_traffic *traffic);
void perf_traffic_read(struct perf_traffic *traffic);

size_t perf_traffic_sockets(const struct perf_traffic *traffic);
/* The sum since counting began. False: one of its counters had no turn yet. */
bool perf_traffic_sum(const struct perf_traffic *traffic, size_t at, int *socket, double *bytes, double *counted_ratio);

/* Encodes "event=0x04,umask=0x0f" by the format files in a PMU's folder into config, config1 and config2. False: the
 * PMU does not have one of the terms. */
bool perf_terms_parse(int pmu_fd, const char *terms, struct perf_code *out);

#endif
