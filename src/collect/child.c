#include "src/collect/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/base/files/start.h"
#include "src/base/text.h"
#include "src/base/thread.h"
#include "src/samples/stream.h"
#include "src/samples/stream_read.h"
#include "src/sources/target/target.h"

/* READ_MAX limits one reading: more data waits in the pipe, and blocks the sender. */
enum {
	READ_AT_ONCE = 64 * 1024,
	READ_MAX = 256 * 1024,
	PIPE_BYTES = 256 * 1024,
	NONSENSE_MAX = 64 * 1024,
	NAME_SIZE = 48,
	DRAIN_MS = 20
};
#define SILENCE_DEFAULT_NS (10 * NS_PER_S)
/* Maximum time between the end of the stream and of the process. */
#define END_MAX_NS NS_PER_S
/* A start that takes longer is reported. */
#define LATE_NS (3 * NS_PER_S)
/* Maximum time to read the rest after the target has ended. */
#define DRAIN_MAX_NS (2 * NS_PER_S)

struct child {
	char name[NAME_SIZE];
	const struct target *target;
	pid_t pid;                                                    /* 0: it has ended and was reaped */
	int fd, status;                                               /* status: of waitpid */
	int64_t silence_ns, start_ns, heard_ns, ended_ns, drained_ns; /* 0 = not yet */
	bool has_emitted;                                             /* its first dictionary was passed on */
	const char *figure;                                           /* NULL: none */
	bool is_late_emitted;
	struct stream_reader *reader;
	struct sample_set set; /* may be incomplete between two readings */
	struct reason why;
	char *room;
};

/* Killed children that have not ended yet, in the whole program. */
static atomic_uint unreaped_count;

/* -- starting -- */

enum status child_open(
	const struct child_command *command, const struct target *target, void **state, struct reason *why_not)
{
	int ends[2] = { -1, -1 };
	if (target && target->has_ended)
		return reason_set(why_not, STATUS_END, NULL, "%s was not restarted: the target has ended", command->name);
	if (atomic_load(&unreaped_count) >= CHILDREN_HELD_MAX)
		return reason_set(why_not, STATUS_IO, "check dmesg: a driver may block them",
			"%s was not restarted: %u killed processes have not ended yet", command->name,
			atomic_load(&unreaped_count));
	struct child *child = calloc(1, sizeof *child);
	if (!child)
		return reason_set(why_not, STATUS_NO_MEMORY, NULL, "out of memory");
	snprintf(child->name, sizeof child->name, "%s", command->name);
	child->target = target;
	child->silence_ns = command->silence_ns ? command->silence_ns : SILENCE_DEFAULT_NS;
	child->figure = command->figure;
	child->start_ns = command->start_ns ? command->start_ns : child->silence_ns;
	child->fd = -1;
	child->reader = stream_reader_new();
	child->room = malloc(READ_AT_ONCE);
	int error = !child->reader || !child->room ? ENOMEM
		: pipe2(ends, O_CLOEXEC) < 0           ? errno
											   : start_program(command->words, environ, ends[1], &child->pid);
	if (ends[1] >= 0)
		close(ends[1]);
	child->fd = ends[0];
	if (error) {
		child->pid = 0;
		child_close(child);
		return reason_set(
			why_not, STATUS_IO, NULL, "%s (%s) was not started: %s", command->name, command->words[0], strerror(error));
	}
	fcntl(child->fd, F_SETFL, O_NONBLOCK);
	fcntl(child->fd, F_SETPIPE_SZ, PIPE_BYTES);
	*state = child;
	return STATUS_OK;
}

/* -- its end -- */

/* Kills the child and all that it started. The group id cannot be reused before the child is reaped. */
static void kill_group(const struct child *child) { kill(-child->pid, SIGKILL); }

static bool has_ended(struct child *child)
{
	siginfo_t info = { 0 };
	if (child->pid && waitid(P_PID, (id_t)child->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid) {
		kill_group(child);
		waitpid(child->pid, &child->status, 0);
		child->pid = 0;
	}
	return child->pid == 0;
}

static void *reap(void *pid)
{
	while (waitpid((pid_t)(intptr_t)pid, NULL, 0) < 0 && errno == EINTR)
		;
	atomic_fetch_sub(&unreaped_count, 1);
	return NULL;
}

/* A killed process ends when the kernel lets it: a thread reaps it. */
static void reap_later(pid_t pid)
{
	atomic_fetch_add(&unreaped_count, 1);
	if (thread_start_detached(reap, (void *)(intptr_t)pid) != 0)
		atomic_fetch_sub(&unreaped_count, 1);
}

static void explain_end(struct child *child)
{
	bool is_killed = WIFSIGNALED(child->status);
	const char *nonsense = !stream_reader_header(child->reader) && stream_reader_losses(child->reader)->bytes
		? ", and its output is not a pmtop stream"
		: "";
	reason_set(&child->why, STATUS_IO, NULL,
		is_killed ? "%s was killed by signal %d (%s)%s" : "%s ended with status %d%s%s", child->name,
		is_killed ? WTERMSIG(child->status) : WEXITSTATUS(child->status),
		is_killed ? strsignal(WTERMSIG(child->status)) : "", nonsense);
}

void child_close(void *state)
{
	struct child *child = state;
	if (child->fd >= 0)
		close(child->fd);
	if (child->pid) {
		kill_group(child);
		if (!has_ended(child))
			reap_later(child->pid);
	}
	stream_reader_free(child->reader);
	sample_set_release(&child->set);
	free(child->room);
	free(child);
}

void child_explain(const void *state, struct reason *out) { *out = ((const struct child *)state)->why; }

/* -- its stream -- */

/* Returns the number of bytes read; −1: end of the stream. */
static ssize_t feed(struct child *child)
{
	ssize_t length = read(child->fd, child->room, READ_AT_ONCE);
	if (length < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -1;
	if (length == 0)
		return -1;
	return stream_reader_feed(child->reader, child->room, (size_t)length) == STATUS_OK ? length : -1;
}

static enum status take_sets(struct child *child, struct sample_set *out)
{
	for (;;) {
		bool has_gap = false;
		switch (stream_reader_next(child->reader, &child->set, &has_gap)) {
		case STREAM_DICTIONARY:
			if (child->has_emitted && !has_gap)
				break;
			child->has_emitted = true;
			/* fall through */
		case STREAM_TICK:
			if (!sample_set_move(out, &child->set))
				return reason_set(&child->why, STATUS_NO_MEMORY, NULL, "out of memory");
			break;
		case STREAM_REFUSED:
			return reason_set(&child->why, STATUS_UNSUPPORTED, NULL, "%s sent an unreadable stream: %.150s",
				child->name, stream_reader_refusal(child->reader));
		case STREAM_HEADED:
		case STREAM_INDEXED: break;
		case STREAM_WAIT:
		case STREAM_END:
			if (!stream_reader_header(child->reader) && stream_reader_losses(child->reader)->bytes > NONSENSE_MAX)
				return reason_set(
					&child->why, STATUS_DAMAGED, NULL, "the output of %s is not a pmtop stream", child->name);
			return STATUS_OK;
		}
	}
}

/* Fails the source if the child has ended or sends nothing. `is_over`: the stream is at its end. */
static enum status supervise(struct child *child, int64_t now_ns, bool is_over, enum status status)
{
	char silence[NUMBER_SIZE];
	if (is_over) {
		child->ended_ns = child->ended_ns ? child->ended_ns : now_ns;
		if (has_ended(child)) {
			if (child->target && child->target->has_ended && child->status == 0)
				return STATUS_END;
			explain_end(child);
			return STATUS_IO;
		}
		if (now_ns - child->ended_ns > END_MAX_NS)
			return reason_set(&child->why, STATUS_IO, NULL, "%s closed its output but keeps running", child->name);
		return status;
	}
	if (now_ns - child->heard_ns > (child->has_emitted ? child->silence_ns : child->start_ns))
		return child->target && child->target->has_ended
			? STATUS_END
			: reason_set(&child->why, STATUS_IO, NULL, "%s sent nothing for %s and was killed", child->name,
				  format_seconds(silence, seconds_between(child->heard_ns, now_ns)));
	return status;
}

/* Reports a slow start, so that the user can distinguish a hanging driver from a missing one. */
static void emit_late(struct child *child, int64_t now_ns, struct sample_set *out)
{
	char text[128];
	bool is_late = !child->has_emitted && now_ns - child->heard_ns > LATE_NS;
	if (!child->figure || is_late == child->is_late_emitted)
		return;
	child->is_late_emitted = is_late;
	snprintf(text, sizeof text, "%s has not answered yet: a driver may be starting or hanging", child->name);
	sample_set_missing(
		out, now_ns, child->figure, is_late ? text : NULL, is_late ? "wait, or check dmesg for driver errors" : NULL);
}

/* After the target's end: the collector reads without pauses, so this waits for data. True: the time is over. */
static bool is_drained(struct child *child, int64_t now_ns)
{
	struct pollfd ready = { .fd = child->fd, .events = POLLIN };
	if (!child->target || !child->target->has_ended)
		return false;
	child->drained_ns = child->drained_ns ? child->drained_ns : now_ns;
	poll(child->ended_ns ? NULL : &ready, child->ended_ns ? 0 : 1, DRAIN_MS);
	return now_ns - child->drained_ns > DRAIN_MAX_NS;
}

enum status child_read(void *state, int64_t now_ns, struct sample_set *out)
{
	struct child *child = state;
	size_t before = out->count;
	bool is_over = child->ended_ns != 0, is_late = is_drained(child, now_ns);
	enum status status = STATUS_OK;
	child->heard_ns = child->heard_ns ? child->heard_ns : now_ns;
	for (size_t taken = 0; taken < READ_MAX && !is_over && status == STATUS_OK;) {
		ssize_t length = feed(child);
		is_over = length < 0;
		if (is_over)
			stream_reader_finish(child->reader);
		status = take_sets(child, out);
		if (length <= 0)
			break;
		child->heard_ns = now_ns;
		taken += (size_t)length;
	}
	/* STATUS_AGAIN until the child has delivered something: the source may not work at all. */
	if (status == STATUS_OK)
		status =
			supervise(child, now_ns, is_over, out->count == before && !child->has_emitted ? STATUS_AGAIN : STATUS_OK);
	if (status == STATUS_OK || status == STATUS_AGAIN)
		emit_late(child, now_ns, out);
	return is_late && (status == STATUS_OK || status == STATUS_AGAIN) ? STATUS_END : status;
}
