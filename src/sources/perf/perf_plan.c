#include "src/sources/perf/perf_plan.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/files/file.h"
#include "src/sources/perf/perf_events.h"

/* -- the machine -- */

void plan_machine_read(const char *proc_root, struct plan_machine *out)
{
	char path[4096], text[32], *end;
	size_t length;
	*out = (struct plan_machine){ .proc_root = proc_root, .paranoid = PARANOID_UNKNOWN };
	perf_cpu_read(proc_root, &out->cpu);
	snprintf(path, sizeof path, "%s/sys/kernel/perf_event_paranoid", proc_root);
	if (file_read(AT_FDCWD, path, text, sizeof text, &length) != STATUS_OK)
		return;
	long level = strtol(text, &end, 10);
	if (end != text && level >= -1 && level <= 9)
		out->paranoid = (int)level;
}

void plan_explain_denied(const struct plan_machine *machine, int error, int level, struct reason *out)
{
	char remedy[sizeof out->remedy];
	if (machine->paranoid > level) {
		snprintf(remedy, sizeof remedy,
			"sudo sysctl kernel.perf_event_paranoid=%d, or sudo setcap cap_perfmon=ep on pmtop", level);
		reason_set(out, STATUS_DENIED, remedy, "perf_event_paranoid is %d: without CAP_PERFMON %s", machine->paranoid,
			level >= 2       ? "nothing may be counted (figures from /proc continue)"
				: level == 1 ? "only user space is counted"
							 : "no whole CPU or socket may be counted");
	} else {
		reason_set(out, STATUS_DENIED,
			"allow perf_event_open in the container's seccomp profile, or run pmtop outside of it",
			"the kernel refused perf_event_open (%s), probably a seccomp filter (figures from /proc continue)",
			perf_errno_name(error));
	}
}

static bool is_denied(int error) { return error == EACCES || error == EPERM; }

static bool is_absent(int error) { return error == ENOENT || error == EOPNOTSUPP || error == ENODEV || error == ENXIO; }

/* -- the draft of a plan -- */

enum { GROUP_NONE = -1 };

struct draft {
	struct perf_plan *plan;
	const struct perf_opener *opener;
	const struct plan_machine *machine;
	int fds[PLAN_COUNTERS_MAX]; /* stay open, so that the kernel reports when a group is full */
	/* the group in perf_default_events of the newest group; GROUP_NONE: no counter joins it */
	int default_group;
	unsigned group_size;
	int error;                   /* of the last failure */
	int errors[PERF_ROLE_COUNT]; /* why a role has no counter; 0 = it has one, or none was needed */
	struct reason reasons[PERF_ROLE_COUNT];
};

void perf_plan_add_missing(struct perf_plan *plan, const char *figure, const struct reason *reason)
{
	if (plan->missing_count == PLAN_MISSING_MAX)
		return;
	struct plan_missing *missing = &plan->missing[plan->missing_count++];
	snprintf(missing->figure, sizeof missing->figure, "%s", figure);
	missing->reason = *reason;
}

bool perf_plan_add_event(struct perf_plan *plan, enum perf_role role, const char *name)
{
	if (plan->event_count == PERF_EVENTS_MAX)
		return false;
	struct plan_event *event = &plan->events[plan->event_count++];
	event->role = role;
	snprintf(event->name, sizeof event->name, "%s", name);
	return true;
}

static void draft_begin(struct draft *draft)
{
	*draft->plan = (struct perf_plan){ .is_user_only = draft->plan->is_user_only };
	draft->default_group = GROUP_NONE;
	draft->group_size = 0;
	memset(draft->errors, 0, sizeof draft->errors);
}

static void draft_cut(struct draft *draft, unsigned counters)
{
	struct perf_plan *plan = draft->plan;
	while (plan->counter_count > counters)
		draft->opener->close(draft->opener->context, draft->fds[--plan->counter_count]);
}

/* Closes the counters; the plan remains. */
static void draft_close(const struct draft *draft)
{
	for (unsigned i = 0; i < draft->plan->counter_count; i++)
		draft->opener->close(draft->opener->context, draft->fds[i]);
}

/* Adds the counter to the newest group if that is of this kind and the CPU has room, otherwise to a new group.
 * Returns 0 or the error. */
static int draft_open(struct draft *draft, const struct perf_code *code, int default_group)
{
	struct perf_plan *plan = draft->plan;
	const struct perf_opener *opener = draft->opener;
	bool joins =
		default_group != GROUP_NONE && default_group == draft->default_group && draft->group_size < PERF_GROUP_MAX;
	if (plan->counter_count == PLAN_COUNTERS_MAX)
		return E2BIG;
	int fd = joins ? opener->open(opener->context, code, 0, -1, draft->fds[plan->counter_count - draft->group_size])
				   : -EINVAL;
	if (fd == -EINVAL || fd == -ENOSPC) {
		joins = false;
		fd = opener->open(opener->context, code, 0, -1, -1);
	}
	if (fd < 0)
		return -fd;
	if (!joins) {
		plan->group_count++;
		draft->group_size = 0;
		draft->default_group = default_group;
	}
	draft->group_size++;
	draft->fds[plan->counter_count] = fd;
	return 0;
}

static int draft_add_counter(struct draft *draft, struct perf_code code, double weight, int default_group)
{
	struct perf_plan *plan = draft->plan;
	code.no_kernel |= plan->is_user_only;
	int error = draft_open(draft, &code, default_group);
	if (error == 0)
		plan->counters[plan->counter_count++] =
			(struct plan_counter){ code, plan->event_count, weight, plan->group_count - 1 };
	return error;
}

static void add_event(struct draft *draft, enum perf_role role, const char *name, bool is_marked)
{
	char shown[PLAN_NAME_SIZE];
	snprintf(shown, sizeof shown, "%.*s%s", (int)sizeof shown - 3, name, is_marked ? ":u" : "");
	perf_plan_add_event(draft->plan, role, shown);
}

/* -- the default events -- */

/* Returns 0 or an error; ENOENT if libpfm4 has no such name. */
static int encode_part(struct draft *draft, const struct perf_part *part, struct perf_code *out, struct reason *why_not)
{
	const struct perf_opener *opener = draft->opener;
	if (!part->names[0]) {
		*out = part->code;
		return 0;
	}
	for (size_t i = 0; i < PERF_PART_NAMES && part->names[i]; i++)
		if (opener->encode(opener->context, part->names[i], out, why_not) == STATUS_OK)
			return 0;
	return ENOENT;
}

static int try_default(struct draft *draft, const struct perf_default *standard, struct reason *why_not)
{
	struct perf_plan *plan = draft->plan;
	unsigned counters = plan->counter_count, groups = plan->group_count, size = draft->group_size;
	int group = draft->default_group, error = plan->event_count < PERF_EVENTS_MAX ? 0 : E2BIG;
	struct perf_code codes[PERF_PARTS_MAX];
	*why_not = (struct reason){ "", "" };
	for (unsigned i = 0; i < standard->part_count && error == 0; i++)
		error = encode_part(draft, &standard->parts[i], &codes[i], why_not);
	for (unsigned i = 0; i < standard->part_count && error == 0; i++)
		error = draft_add_counter(draft, codes[i], standard->parts[i].weight, (int)standard->group);
	if (error == 0) {
		add_event(draft, standard->role, standard->name, plan->is_user_only && standard->role != PERF_ROLE_TASK_CLOCK);
		return 0;
	}
	draft_cut(draft, counters);
	plan->group_count = groups;
	draft->default_group = group;
	draft->group_size = size;
	return error;
}

static void add_default(struct draft *draft, bool is_software_only)
{
	size_t count;
	const struct perf_default *events = perf_default_events(&count);
	bool has[PERF_ROLE_COUNT] = { false };
	for (size_t i = 0; i < count; i++) {
		const struct perf_default *standard = &events[i];
		struct reason why_not;
		if (has[standard->role] || !perf_default_fits(standard, &draft->machine->cpu) ||
			(is_software_only && !perf_role_is_software(standard->role)))
			continue;
		if (standard->is_in_kernel && draft->plan->is_user_only)
			continue;
		int error = try_default(draft, standard, &why_not);
		has[standard->role] = error == 0;
		draft->errors[standard->role] = error;
		draft->reasons[standard->role] = why_not;
	}
}

/* -- the user's events -- */

static void explain_open(const struct plan_machine *machine, int error, const char *what, struct reason *out)
{
	if (is_denied(error))
		plan_explain_denied(machine, error, 2, out);
	else if (is_absent(error))
		reason_set(out, STATUS_NOT_FOUND, machine->cpu.is_virtual ? "run on the host, or enable the virtual PMU" : "",
			"%s offers no counter for %s (%s)", machine->cpu.is_virtual ? "this virtual machine" : "this kernel", what,
			perf_errno_name(error));
	else if (error == EBUSY)
		reason_set(
			out, STATUS_AGAIN, "stop the other profiler, or wait", "another program uses the CPU's counters (EBUSY)");
	else if (error == EMFILE || error == ENFILE)
		reason_set(out, STATUS_AGAIN, "raise the limit (ulimit -n)", "no file descriptor left");
	else
		reason_set(out, STATUS_IO, "", "perf_event_open failed (%s)", perf_errno_name(error));
}

static void add_chosen(struct draft *draft, const char *name)
{
	struct perf_code code = { 0 };
	struct reason why_not = { "", "" };
	if (draft->plan->event_count == PERF_EVENTS_MAX)
		return;
	if (draft->opener->encode(draft->opener->context, name, &code, &why_not) != STATUS_OK) {
		perf_plan_add_missing(draft->plan, name, &why_not);
		return;
	}
	enum perf_role role = perf_code_role(&code);
	bool was_all = !code.no_kernel;
	/* Software events are in the list already. */
	if (perf_role_is_software(role))
		return;
	int error = draft_add_counter(
		draft, code, 1, role == PERF_ROLE_CYCLES || role == PERF_ROLE_INSTRUCTIONS ? (int)PERF_ROLE_COUNT : GROUP_NONE);
	if (error == 0) {
		add_event(draft, role, name, draft->plan->is_user_only && was_all);
		return;
	}
	explain_open(draft->machine, error, name, &why_not);
	perf_plan_add_missing(draft->plan, name, &why_not);
}

/* -- what is missing -- */

static const char *hardware_remedy(const struct plan_machine *machine)
{
	return machine->cpu.is_virtual ? "run on the host, or enable the virtual PMU; software events still count"
								   : "boot a kernel with a PMU driver for this CPU; software events still count";
}

static bool has_hardware(const struct perf_plan *plan)
{
	for (unsigned i = 0; i < plan->event_count; i++)
		if (!perf_role_is_software(plan->events[i].role))
			return true;
	return false;
}

static void explain_flops(const struct draft *draft, struct reason *out)
{
	const struct reason *why_not = &draft->reasons[PERF_ROLE_FLOPS];
	if (draft->errors[PERF_ROLE_FLOPS] == 0)
		reason_set(out, STATUS_NOT_FOUND, "list the events of your CPU in pmtop.yaml (counters: events:)",
			"pmtop knows no floating-point counters of this CPU");
	else if (why_not->text[0])
		*out = *why_not;
	else
		explain_open(draft->machine, draft->errors[PERF_ROLE_FLOPS], "floating-point operations", out);
}

static bool plan_has(const struct perf_plan *plan, enum perf_role role)
{
	for (unsigned i = 0; i < plan->event_count; i++)
		if (plan->events[i].role == role)
			return true;
	return false;
}

static void add_missing_hardware(struct draft *draft)
{
	struct reason reason;
	struct perf_plan *plan = draft->plan;
	int error = draft->errors[PERF_ROLE_CYCLES];
	if (!has_hardware(plan) && error) {
		explain_open(draft->machine, error, "cycles", &reason);
		if (is_absent(error))
			reason_set(&reason, STATUS_NOT_FOUND, hardware_remedy(draft->machine),
				"%s offers no hardware counters (%s)",
				draft->machine->cpu.is_virtual ? "this virtual machine's kernel" : "this kernel",
				perf_errno_name(error));
		perf_plan_add_missing(plan, "cycles, instructions", &reason);
		return;
	}
	for (enum perf_role role = PERF_ROLE_CYCLES; role < PERF_ROLE_FLOPS; role++) {
		if (plan_has(plan, role) || !draft->errors[role])
			continue;
		explain_open(draft->machine, draft->errors[role], perf_role_words(role), &reason);
		if (is_absent(draft->errors[role]))
			reason_set(&reason, STATUS_NOT_FOUND, "", "this CPU or its driver has no such counter (%s)",
				perf_errno_name(draft->errors[role]));
		perf_plan_add_missing(plan, perf_role_words(role), &reason);
	}
	if (!plan_has(plan, PERF_ROLE_FLOPS)) {
		explain_flops(draft, &reason);
		perf_plan_add_missing(plan, perf_role_words(PERF_ROLE_FLOPS), &reason);
	}
}

static void add_missing_kernel_part(struct draft *draft)
{
	struct reason reason;
	plan_explain_denied(draft->machine, EACCES, 1, &reason);
	perf_plan_add_missing(draft->plan, "counters of the kernel's part", &reason);
	reason_set(&reason, STATUS_DENIED, reason.remedy[0] ? reason.remedy : NULL,
		"they happen in the kernel, where pmtop may not count");
	perf_plan_add_missing(draft->plan, "context switches, CPU migrations", &reason);
}

/* No event can be counted. */
static void refuse_all(struct draft *draft)
{
	struct reason reason;
	int error = draft->errors[PERF_ROLE_TASK_CLOCK];
	if (error == ENOSYS)
		reason_set(&reason, STATUS_UNSUPPORTED,
			"boot a kernel with CONFIG_PERF_EVENTS; CPU time and faults come from /proc",
			"this kernel has no perf_event_open (ENOSYS)");
	else
		explain_open(draft->machine, error, "CPU time", &reason);
	draft->plan->is_refused = true;
	draft->plan->missing_count = 0;
	perf_plan_add_missing(draft->plan, "counters", &reason);
}

void perf_plan_make(struct perf_plan *plan, const struct perf_opener *opener, const struct plan_machine *machine,
	const struct source_choices *choices)
{
	struct draft draft = { .plan = plan, .opener = opener, .machine = machine };
	plan->is_user_only = false;
	draft_begin(&draft);
	add_default(&draft, true);
	/* The kernel may refuse only to count inside the kernel. */
	if (plan->event_count == 0 && is_denied(draft.errors[PERF_ROLE_TASK_CLOCK])) {
		plan->is_user_only = true;
		draft_begin(&draft);
		add_default(&draft, true);
	}
	draft_close(&draft);
	if (plan->event_count == 0) {
		refuse_all(&draft);
		return;
	}
	draft_begin(&draft);
	add_default(&draft, choices->event_count > 0);
	for (unsigned i = 0; i < choices->event_count; i++)
		add_chosen(&draft, choices->events[i]);
	draft_close(&draft);
	if (choices->event_count == 0)
		add_missing_hardware(&draft);
	if (plan->is_user_only)
		add_missing_kernel_part(&draft);
}
