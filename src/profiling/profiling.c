#include "src/profiling/profiling.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/sources/proc/environment.h"

/* A trace through Kineto has at most so many steps for the sake of one batch. */
enum { POLL_MAX_S = 12, HOST_SIZE = 65, KINETO_STEPS_MAX = 60, JOB_LEAD_MS = 3000 };

/* Of the time until a batch, by the mean step. */
#define BATCH_TIME_ERROR 0.05
#define LOOK_EVERY_NS (100 * NS_PER_MS)
/* The file of a program that has ended may still come. */
#define AFTER_END_NS NS_PER_S

/* -- where the program is -- */

static bool is_same_file(int a_fd, const char *a, int b_fd, const char *b)
{
	struct stat x, y;
	return fstatat(a_fd, a, &x, 0) == 0 && fstatat(b_fd, b, &y, 0) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

static bool sees_same_files(const struct target_member *member)
{
	return is_same_file(member->directory_fd, "root", AT_FDCWD, "/") &&
		is_same_file(member->directory_fd, "ns/mnt", AT_FDCWD, "/proc/self/ns/mnt");
}

static bool sees_same_names(const struct target_member *member)
{
	return is_same_file(member->directory_fd, "ns/net", AT_FDCWD, "/proc/self/ns/net");
}

/* "HOST_PID_rank1.TIME.pt.trace.json", as torch's own handler names traces. */
static void name_trace(const struct profiling *profiling, char out[TRACE_PATH_SIZE])
{
	struct variable found[] = { { .name = "RANK" }, { .name = "WORLD_SIZE" } };
	char host[HOST_SIZE] = "host", rank[32] = "";
	gethostname(host, sizeof host - 1);
	for (size_t i = 0; i < profiling->target->member_count; i++)
		if (profiling->target->members[i].pid == profiling->pid)
			environment_read(profiling->target->members[i].directory_fd, found, 2);
	if (found[1].is_set && strcmp(found[1].value, "1") != 0 && strspn(found[0].value, "0123456789") < 10 &&
		found[0].value[0] && !found[0].value[strspn(found[0].value, "0123456789")])
		snprintf(rank, sizeof rank, "_rank%.10s", found[0].value);
	snprintf(out, TRACE_PATH_SIZE, "%.3800s/%s_%d%s.%lld.pt.trace.json", profiling->order.folder, host,
		(int)profiling->pid, rank, (long long)clock_realtime_ns());
}

/* -- the package -- */

static enum status begin_package(
	struct profiling *profiling, const struct target_member *member, struct reason *why_not)
{
	struct profiling_order order = profiling->order;
	bool is_same = sees_same_files(member);
	if (!is_same && !order.is_chosen)
		order.folder = "/tmp";
	enum status status =
		package_open(&profiling->package, member->directory_fd, member->pid, profiling->target->uid, &order, why_not);
	if (status == STATUS_OK && !is_same)
		snprintf(profiling->prefix, sizeof profiling->prefix, "/proc/%d/root", (int)member->pid);
	return status;
}

static enum status step_package(struct profiling *profiling, int64_t now_ns, struct reason *why_not)
{
	unsigned steps = profiling->order.steps ? profiling->order.steps : 1;
	enum status status = package_read(&profiling->package, why_not);
	profiling->is_given = profiling->package.has_begun;
	if (status == STATUS_AGAIN && now_ns - profiling->begun_ns > profiling->order.limit_ns)
		return reason_set(why_not, STATUS_UNSUPPORTED, "--for=10m waits longer",
			"process %d has not finished %u training step%s within %.0f s: the request was withdrawn",
			(int)profiling->pid, steps, steps == 1 ? "" : "s", (double)profiling->order.limit_ns / 1e9);
	if (status != STATUS_OK)
		return status;
	snprintf(profiling->path, sizeof profiling->path, "%s%s", profiling->prefix, profiling->package.path);
	return trace_file_is_regular(profiling->path)
		? STATUS_OK
		: reason_set(why_not, STATUS_DAMAGED, NULL, "what the program wrote, %.150s, is no file", profiling->path);
}

/* -- Kineto -- */

static enum status refuse_snapshot(const struct target_member *member, struct reason *why_not)
{
	return reason_set(why_not, STATUS_UNSUPPORTED,
		"start it by pmtop -- COMMAND, or call pmtop.torch.instrument(profile_on_request=True)",
		"pid %d takes no requests", (int)member->pid);
}

static enum status refuse(const struct target_member *member, struct reason *why_not)
{
	return reason_set(why_not, STATUS_UNSUPPORTED,
		"start it by KINETO_USE_DAEMON=1 COMMAND (PyTorch 2.7 or newer), or by pmtop --profile -- COMMAND, or call "
		"pmtop.torch.instrument(profile_on_request=True)",
		"KINETO_USE_DAEMON is not set for pid %d", (int)member->pid);
}

static enum status refuse_container(const struct target_member *member, const char *what, struct reason *why_not)
{
	return reason_set(why_not, STATUS_UNSUPPORTED, "run pmtop inside the container",
		"process %d is in another %s namespace, where its PyTorch cannot reach pmtop", (int)member->pid, what);
}

static enum status open_kineto(struct profiling *profiling, const struct target_member *member,
	const char *socket_folder, const char *trace_folder, struct reason *why_not)
{
	uid_t uid = profiling->target->uid;
	enum status status = trace_folder_make(profiling->private_folder, trace_folder, uid, why_not);
	if (status != STATUS_OK) {
		profiling->private_folder[0] = '\0';
		return status;
	}
	profiling->pid = member->pid;
	struct profiling *owner = profiling->order.beside ? profiling->order.beside->sharer : NULL;
	if (owner && kineto_is_at(&owner->kineto, socket_folder, uid)) {
		profiling->sharer = owner;
		profiling->next = owner->next;
		owner->next = profiling;
		return STATUS_OK;
	}
	profiling->sharer = profiling;
	return kineto_open(&profiling->kineto, socket_folder, uid, why_not);
}

enum { KINETO_DAEMON, KINETO_SOCKETS, KINETO_TRACES, KINETO_VARIABLES };

/* The first process with KINETO_USE_DAEMON, which can reach pmtop, and its variables. */
static enum status find_kineto(const struct target *target, struct variable found[KINETO_VARIABLES],
	const struct target_member **member, struct reason *why_not)
{
	static const char *const names[] = { "KINETO_USE_DAEMON", "KINETO_IPC_SOCKET_DIR", "KINETO_ONDEMAND_TRACE_DIR" };
	for (size_t i = 0; i < target->member_count; i++) {
		*member = &target->members[i];
		for (int k = 0; k < KINETO_VARIABLES; k++)
			found[k] = (struct variable){ .name = names[k] };
		environment_read((*member)->directory_fd, found, KINETO_VARIABLES);
		if (!found[KINETO_DAEMON].is_set)
			continue;
		if (!sees_same_files(*member))
			return refuse_container(*member, "mount", why_not);
		return found[KINETO_SOCKETS].value[0] || sees_same_names(*member)
			? STATUS_OK
			: refuse_container(*member, "network", why_not);
	}
	if (faccessat(target->members[0].directory_fd, "environ", R_OK, AT_EACCESS) == 0)
		return refuse(&target->members[0], why_not);
	target_explain_denied(target, &target->members[0], why_not);
	return STATUS_DENIED;
}

static enum status begin_kineto(struct profiling *profiling, struct reason *why_not)
{
	struct variable found[KINETO_VARIABLES];
	const struct target_member *member;
	enum status status = find_kineto(profiling->target, found, &member, why_not);
	if (status != STATUS_OK)
		return status;
	return open_kineto(profiling, member, found[KINETO_SOCKETS].value[0] ? found[KINETO_SOCKETS].value : NULL,
		found[KINETO_TRACES].value[0] == '/' ? found[KINETO_TRACES].value : "/tmp", why_not);
}

static bool has_member(const struct target *target, pid_t pid)
{
	for (size_t i = 0; i < target->member_count; i++)
		if (target->members[i].pid == pid)
			return true;
	return false;
}

static bool is_job(struct profiling *profiling, pid_t pid)
{
	if (profiling->is_given)
		return profiling->pid == pid;
	if (!has_member(profiling->target, pid))
		target_refresh(profiling->target);
	bool is_member = has_member(profiling->target, pid);
	if (is_member)
		profiling->pid = pid;
	return is_member;
}

/* Kineto begins when the job polls. The steps until the batch that the trace shall have, and some more: when it is
 * expected is known within a few per cent of the time since the estimate. 0: that is too far away at this poll. */
static unsigned count_steps(const struct profiling_order *order)
{
	const struct profiling_start *start = &order->start;
	double now_ms = (double)clock_realtime_ns() / (double)NS_PER_MS, step_ms = start->step_s * 1e3;
	double every_ms = (double)start->every * step_ms, at_ms = (double)start->realtime_ms;
	if (!start->is_batch || !(every_ms > 0))
		return order->steps;
	if (at_ms < now_ms + step_ms)
		at_ms += ceil((now_ms + step_ms - at_ms) / every_ms) * every_ms;
	double error_ms = BATCH_TIME_ERROR * (at_ms - (double)start->estimated_ms);
	double steps = fmin((at_ms - now_ms + error_ms) / step_ms + order->steps, (double)start->every + order->steps);
	return steps <= KINETO_STEPS_MAX ? (unsigned)ceil(steps) : 0;
}

/* The ranks of a job begin together, once all have polled. */
static int64_t start_of_job(const struct profiling_start *start)
{
	return start->is_batch || !start->realtime_ms ? 0 : start->realtime_ms + KINETO_PERIOD_S * 1000 + JOB_LEAD_MS;
}

static const char *find_configuration(void *context, pid_t pid)
{
	struct profiling *owner = context, *asked = owner;
	while (asked && !is_job(asked, pid))
		asked = asked->next;
	owner->polled = asked;
	if (!asked || asked->is_given)
		return asked ? "" : NULL;
	unsigned steps = count_steps(&asked->order);
	asked->has_polled = true;
	if (!steps)
		return "";
	asked->steps = steps;
	kineto_configure(owner->configuration, asked->private_folder, steps, start_of_job(&asked->order.start));
	return owner->configuration;
}

static void answer_polls(struct profiling *owner, int64_t now_ns)
{
	enum kineto_poll poll;
	while ((poll = kineto_answer(&owner->kineto, find_configuration, owner)) != KINETO_NONE) {
		struct profiling *asked = owner->polled;
		if (poll == KINETO_BUSY && !asked->is_given)
			asked->was_busy = true;
		if (poll == KINETO_GIVEN) {
			asked->is_given = true;
			asked->given_ns = now_ns;
		}
	}
}

static enum status check_poll(const struct profiling *profiling, int64_t now_ns, struct reason *why_not)
{
	bool waits = profiling->has_polled && !profiling->was_busy; /* for a batch */
	if (now_ns - profiling->begun_ns <= (waits ? profiling->order.limit_ns : POLL_MAX_S * NS_PER_S))
		return STATUS_AGAIN;
	if (waits)
		return reason_set(why_not, STATUS_UNSUPPORTED, NULL, "no poll of process %d came shortly before a slow batch",
			(int)profiling->pid);
	if (profiling->was_busy)
		return reason_set(why_not, STATUS_UNSUPPORTED, "try again when that trace is complete",
			"the PyTorch profiler of process %d is running already", (int)profiling->pid);
	return reason_set(why_not, STATUS_UNSUPPORTED, "it must have imported PyTorch 2.7 or newer, built with Kineto",
		"process %d has KINETO_USE_DAEMON, but has not polled within %d s", (int)profiling->pid, POLL_MAX_S);
}

static enum status check_trace(struct profiling *profiling, int64_t now_ns, struct reason *why_not)
{
	char found[TRACE_PATH_SIZE];
	if (now_ns - profiling->looked_ns >= LOOK_EVERY_NS) {
		profiling->looked_ns = now_ns;
		if (trace_folder_find(profiling->private_folder, &profiling->size, found, sizeof found)) {
			name_trace(profiling, profiling->path);
			return trace_file_move(found, profiling->path, why_not);
		}
	}
	if (now_ns - profiling->given_ns <= profiling->order.limit_ns)
		return STATUS_AGAIN;
	char remedy[sizeof why_not->remedy];
	snprintf(remedy, sizeof remedy, "--for=10m waits longer; the trace will be in %.150s", profiling->private_folder);
	return reason_set(why_not, STATUS_UNSUPPORTED, remedy, "process %d has not finished %u steps within %.0f s",
		(int)profiling->pid, profiling->order.steps, (double)profiling->order.limit_ns / 1e9);
}

static enum status step_kineto(struct profiling *profiling, int64_t now_ns, struct reason *why_not)
{
	answer_polls(profiling->sharer, now_ns);
	return profiling->is_given ? check_trace(profiling, now_ns, why_not) : check_poll(profiling, now_ns, why_not);
}

/* -- both -- */

enum status profiling_begin(struct profiling *profiling, struct target *target, const struct profiling_order *order,
	int64_t now_ns, struct reason *why_not)
{
	*profiling = (struct profiling){ .order = *order,
		.target = target,
		.begun_ns = now_ns,
		.package = { .fd = -1 },
		.kineto = { .fd = -1 },
		.size = -1 };
	if (target_refresh(target) != STATUS_OK || target->member_count == 0)
		return reason_set(why_not, STATUS_NOT_FOUND, NULL, "process %d has ended", (int)target->pid);
	const struct target_member *first = &target->members[0];
	profiling->pid = first->pid;
	if (first->has_stat && (first->stat.state == 'T' || first->stat.state == 't'))
		return reason_set(why_not, STATUS_UNSUPPORTED, "kill -CONT lets it run",
			"process %d is stopped and does no steps", (int)first->pid);
	for (size_t i = 0; i < target->member_count; i++) {
		enum status status = begin_package(profiling, &target->members[i], why_not);
		if (status == STATUS_OK)
			profiling->pid = target->members[i].pid;
		if (status != STATUS_NOT_FOUND)
			return status;
	}
	return order->steps ? begin_kineto(profiling, why_not) : refuse_snapshot(first, why_not);
}

enum status profiling_check(struct target *target, char way[PROFILING_WORDS_SIZE], struct reason *why_not)
{
	struct variable found[KINETO_VARIABLES];
	const struct target_member *member;
	if (target_refresh(target) != STATUS_OK || target->member_count == 0)
		return reason_set(why_not, STATUS_NOT_FOUND, NULL, "process %d has ended", (int)target->pid);
	for (size_t i = 0; i < target->member_count; i++) {
		member = &target->members[i];
		if (!package_is_there(member->directory_fd, member->pid, target->uid))
			continue;
		snprintf(way, PROFILING_WORDS_SIZE, "the pmtop package in process %d takes requests", (int)member->pid);
		return STATUS_OK;
	}
	enum status status = find_kineto(target, found, &member, why_not);
	if (status == STATUS_OK)
		snprintf(way, PROFILING_WORDS_SIZE, "process %d has KINETO_USE_DAEMON: its PyTorch asks every %d s",
			(int)member->pid, KINETO_PERIOD_S);
	return status;
}

enum status profiling_step(struct profiling *profiling, int64_t now_ns, struct reason *why_not)
{
	enum status status =
		profiling->package.fd >= 0 ? step_package(profiling, now_ns, why_not) : step_kineto(profiling, now_ns, why_not);
	if (status != STATUS_AGAIN || target_refresh(profiling->target) == STATUS_OK)
		return status;
	profiling->ended_ns = profiling->ended_ns ? profiling->ended_ns : now_ns;
	if (now_ns - profiling->ended_ns <= AFTER_END_NS)
		return STATUS_AGAIN;
	return reason_set(
		why_not, STATUS_NOT_FOUND, NULL, "process %d has ended before its trace was complete", (int)profiling->pid);
}

int profiling_fd(const struct profiling *profiling)
{
	return profiling->package.fd >= 0 ? profiling->package.fd : profiling->sharer ? profiling->sharer->kineto.fd : -1;
}

const char *profiling_words(const struct profiling *profiling, char out[PROFILING_WORDS_SIZE])
{
	bool is_package = profiling->package.fd >= 0;
	const struct profiling_start *start = &profiling->order.start;
	if (is_package && profiling->is_given && !profiling->package.done && start->is_batch)
		snprintf(out, PROFILING_WORDS_SIZE, "profiling 0/%u: waiting for batch %llu", profiling->order.steps,
			(unsigned long long)start->batch);
	else if (!profiling->is_given)
		snprintf(out, PROFILING_WORDS_SIZE,
			is_package ? "waiting for the end of a step" : "waiting for the job's poll (every %d s)", KINETO_PERIOD_S);
	else if (!is_package && start_of_job(start))
		snprintf(out, PROFILING_WORDS_SIZE, "profiling %d ms, with the other ranks", KINETO_WINDOW_MS);
	else if (is_package)
		snprintf(out, PROFILING_WORDS_SIZE, "profiling %u/%u steps", profiling->package.done, profiling->order.steps);
	else
		snprintf(out, PROFILING_WORDS_SIZE, "profiling %u steps", profiling->steps);
	return out;
}

void profiling_end(struct profiling *profiling)
{
	package_close(&profiling->package);
	kineto_close(&profiling->kineto);
	if (profiling->private_folder[0] && (!profiling->is_given || profiling->path[0]))
		trace_folder_remove(profiling->private_folder);
}
