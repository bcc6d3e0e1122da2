/* perf_traffic.h: bytes between memory and the CPUs, as the memory controllers count them: of a whole socket, whoever
 * causes them.
 *
 * Counters: every /sys/bus/event_source/devices/PMU of a known kind, on the CPUs that its `cpumask` names (one a
 * socket), with the codes and scales that the kernel gives for them in `events` and `format` (Linux
 * Documentation/ABI/testing/sysfs-bus-event_source-devices-*). AMD's have no `events`: CAS commands, of 64 bytes each
 * (Processor Programming Reference of family 19h, UMC performance counters). */
#ifndef PMTOP_SOURCES_PERF_PERF_TRAFFIC_H
#define PMTOP_SOURCES_PERF_PERF_TRAFFIC_H

#include <stdbool.h>
#include <stddef.h>

#include "src/sources/perf/perf_plan.h"

struct perf_traffic;

/* NULL: nothing to count, or it may not be counted; then *why_not is filled in. `sys_root`: "/sys", or a fixture. */
struct perf_traffic *perf_traffic_open(
	const struct perf_opener *opener, const struct plan_place *place, const char *sys_root, struct reason *why_not);
void perf_traffic_close(struct perf_traffic *traffic);
void perf_traffic_read(struct perf_traffic *traffic);

size_t perf_traffic_sockets(const struct perf_traffic *traffic);
/* Since counting began. False: one of its counters had no turn yet. */
bool perf_traffic_sum(const struct perf_traffic *traffic, size_t at, int *socket, double *bytes, double *counted_ratio);

/* "event=0x04,umask=0x0f" by the format files of a PMU's folder, into config, config1 and config2. False: it names a
 * term that the PMU has not. */
bool perf_terms_parse(int pmu_fd, const char *terms, struct perf_code *out);

#endif
