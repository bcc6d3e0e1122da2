/* perf_plan.h: what will be counted here: found by opening each counter once on ourselves, for that alone tells whether
 * CPU, hypervisor, kernel and rights allow it. What they do not is kept with its reason.
 *
 * perf_event_paranoid (Linux Documentation/admin-guide/sysctl/kernel.rst): −1 all; from 1 on no whole CPU; from 2 on
 * user space only; the distributions' 3 and 4: nothing, but for CAP_PERFMON. */
#ifndef PMTOP_SOURCES_PERF_PERF_PLAN_H
#define PMTOP_SOURCES_PERF_PERF_PLAN_H

#include <stdbool.h>

#include "src/sources/choices.h"
#include "src/sources/perf/perf_events.h"

enum { PLAN_COUNTERS_MAX = 48, PLAN_LACKS_MAX = 24, PLAN_NAME_SIZE = 64 };

struct plan_counter {
	struct perf_code code;
	unsigned event; /* that it is a part of */
	double weight;
	unsigned group;
};

struct plan_event {
	enum perf_role role;
	char name[PLAN_NAME_SIZE];
};

struct plan_lack {
	char figure[48];
	struct reason reason;
};

struct perf_plan {
	unsigned event_count, counter_count, group_count, lack_count;
	struct plan_event events[PERF_EVENTS_MAX];
	struct plan_counter counters[PLAN_COUNTERS_MAX]; /* of one group side by side; the first leads it */
	struct plan_lack lacks[PLAN_LACKS_MAX];
	bool is_user_only; /* the kernel's part is not counted: names end in ":u" */
	bool is_refused;   /* nothing may be counted; lacks[0] says why */
};

struct plan_place {
	const char *proc_root;
	int paranoid; /* its level; PARANOID_UNKNOWN */
	struct perf_cpu cpu;
};
enum { PARANOID_UNKNOWN = -100 };

void plan_place_read(const char *proc_root, struct plan_place *out);
void perf_plan_make(struct perf_plan *plan, const struct perf_opener *opener, const struct plan_place *place,
	const struct source_choices *choices);
void perf_plan_lack(struct perf_plan *plan, const char *figure, const struct reason *reason);
/* One more event that has no counters of a thread. False: there is no room. */
bool perf_plan_add_event(struct perf_plan *plan, enum perf_role role, const char *name);
/* Why the kernel refused (EACCES, EPERM) what needs at most this level. */
void plan_explain_denied(const struct plan_place *place, int error, int level, struct reason *out);

#endif
