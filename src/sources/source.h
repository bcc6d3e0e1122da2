/* source.h: the interface of a source, which reads one part of the system (processes, GPUs, the region of a run) on
 * a timer.
 *
 * A source turns what it reads into records of a sample set. It stores no history and computes no rates. The
 * collector owns its thread and decides when it runs; all calls for one state come from that thread. */
#ifndef PMTOP_SOURCES_SOURCE_H
#define PMTOP_SOURCES_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

#include "src/base/status.h"
#include "src/samples/sample_set.h"

struct target; /* the watched process and its descendants: target.h */

struct source {
	const char *name;  /* as `pmtop doctor` prints it */
	int64_t period_ns; /* read about this often, at the nearest refresh; 0 = at every refresh */
	/* opening may take a while (STATUS_AGAIN): a caller that needs one complete picture waits a little for it */
	bool is_awaited;

	/* Opens what can be opened. On failure fills in the reason and a remedy, for the user. */
	enum status (*open)(struct target *target, void **state, struct reason *why_not);
	/* Appends what was read; omits a figure that could not be read. STATUS_END: there will be no more records;
	 * STATUS_AGAIN: no records yet, and it is unknown whether the source works. */
	enum status (*read)(void *state, int64_t now_ns, struct sample_set *out);
	/* Called between two readings, and right after each: appends only what would be lost before the next reading
	 * (into the same set). Returns the time of its next call; INT64_MAX: not before the next reading. NULL: nothing
	 * can be lost. */
	int64_t (*sample)(void *state, int64_t now_ns, struct sample_set *out);
	/* Why the last read failed; NULL: its status is the reason. */
	void (*explain)(const void *state, struct reason *out);
	/* Appends again all records that are still valid, except figures, processes, instances and missing figures: the
	 * collector stores those itself. NULL: there is nothing else. */
	enum status (*emit_all)(void *state, int64_t now_ns, struct sample_set *out);
	void (*close)(void *state);
};

/* About four times a second: for what need not be read at each of ten refreshes a second. */
#define SOURCE_SLOW_NS INT64_C(260000000)

#define SOURCES(X) \
	X(process) \
	X(system) \
	X(cgroup) \
	X(perf) \
	X(stacks) \
	X(collectives) \
	X(ras) \
	X(energy) \
	X(region) \
	X(gpu)

#define DECLARE_SOURCE(name) extern const struct source name##_source;
SOURCES(DECLARE_SOURCE)
#undef DECLARE_SOURCE

#endif
