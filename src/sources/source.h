/* source.h: one part of the world, read on a timer.
 *
 * A source turns what it reads into records of a sample set and keeps nothing else: no history, no rates. The collector
 * owns its pace and its thread; all calls for one state come from that one thread. */
#ifndef PMTOP_SOURCES_SOURCE_H
#define PMTOP_SOURCES_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

#include "src/base/status.h"
#include "src/samples/sample_set.h"

struct target; /* the watched process and its children: target.h */

struct source {
	const char *name;  /* as `pmtop doctor` prints it */
	int64_t period_ns; /* read about this often, at the refresh that is nearest; 0 = at every refresh */
	/* it may take a while to begin (STATUS_AGAIN): who wants one complete picture waits for it, a little */
	bool is_awaited;

	/* Opens what can be opened. Otherwise says why not, for a person, and how it could be. */
	enum status (*open)(struct target *target, void **state, struct reason *why_not);
	/* Appends what was read; a figure that could not be read is not appended. STATUS_END: nothing more will come;
	 * STATUS_AGAIN: nothing yet, and whether it works is not known. */
	enum status (*read)(void *state, int64_t now_ns, struct sample_set *out);
	/* Between two readings, and right after each: appends what would be lost before the next one, and nothing else (it
	 * comes into the same set). Returns when it is to be called again; INT64_MAX: not before the next reading. NULL:
	 * nothing of it gets lost. */
	int64_t (*sample)(void *state, int64_t now_ns, struct sample_set *out);
	/* Why the last read failed; NULL: its status says it. */
	void (*explain)(const void *state, struct reason *out);
	/* Appends all that was told before and still stands, but for figures, processes, instances and what is missing: of
	 * these the collector keeps account. NULL: there is nothing else. */
	enum status (*emit_all)(void *state, int64_t now_ns, struct sample_set *out);
	void (*close)(void *state);
};

/* About four times a second: for what need not be read at each of ten refreshes. */
#define SOURCE_SLOW_NS INT64_C(260000000)

#define SOURCES(X) \
	X(process) \
	X(system) \
	X(cgroup) \
	X(perf) \
	X(stacks) \
	X(energy) \
	X(region) \
	X(gpu)

#define DECLARE_SOURCE(name) extern const struct source name##_source;
SOURCES(DECLARE_SOURCE)
#undef DECLARE_SOURCE

#endif
