/* perf_plan.h: which counters can be used here: found by opening each counter once on pmtop itself, because only
 * that shows whether CPU, hypervisor, kernel and rights allow it. Refused counters are stored with the reason.
 *
 * perf_event_paranoid (Linux Documentation/admin-guide/sysctl/kernel.rst): −1 all; from 1 on no whole CPU; from 2 on
 * user space only; the distributions' 3 and 4: nothing without CAP_PERFMON. */
#ifndef PMTOP_SOURCES_PERF_PERF_PLAN_H
#define PMTOP_SOURCES_PERF_PERF_PLAN_H

#include <stdbool.h>

#include "src/sources/choices.h"
#include "src/sources/perf/perf_events.h"

enum { PLAN_COUNTERS_MAX = 48, PLAN_MISSING_MAX = 24, PLAN_NAME_SIZE = 64 };

struct plan_counter {
	struct perf_code code;
	unsigned event; /* the event that it is a part of */
	double weight;
	unsigned group;
};

struct plan_event {
	enum perf_role role;
	char name[PLAN_NAME_SIZE];
};

struct plan_missing {
	char figure[48];
	struct reason reason;
};

struct perf_plan {
	unsigned event_count, counter_count, group_count, missing_count;
	struct plan_event events[PERF_EVENTS_MAX];
	struct plan_counter counters[PLAN_COUNTERS_MAX]; /* counters of a group are adjacent; the first leads it */
	struct plan_missing missing[PLAN_MISSING_MAX];
	bool is_user_only; /* only user space is counted: names end in ":u" */
	bool is_refused;   /* nothing may be counted; missing[0] is the reason */
};

struct plan_machine {
	const char *proc_root;
	int paranoid; /* perf_event_paranoid, or PARANOID_UNKNOWN */
	struct perf_cpu cpu;
};
enum { PARANOID_UNKNOWN = -100 };

void plan_machine_read(const char *proc_root, struct plan_machine *out);
void perf_plan_make(struct perf_plan *plan, const struct perf_opener *opener, const struct plan_machine *machine,
	const struct source_choices *choices);
void perf_plan_add_missing(struct perf_plan *plan, const char *figure, const struct reason *reason);
/* Adds an event that has no counters per thread. False: there is no room. */
bool perf_plan_add_event(struct perf_plan *plan, enum perf_role role, const char *name);
/* Explains why the kernel refused (EACCES, EPERM) a counter that needs at most this level. */
void plan_explain_denied(const struct plan_machine *machine, int error, int level, struct reason *out);

#endif
