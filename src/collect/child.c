#include "src/collect/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
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
#include "src/samples/stream.h"
#include "src/sources/target/target.h"

/* A reading takes so much at most: what is more waits in the pipe, and its sender with it. */
enum {
	READ_AT_ONCE = 64 * 1024,
	READ_MAX = 256 * 1024,
	PIPE_BYTES = 256 * 1024,
	NONSENSE_MAX = 64 * 1024,
	NAME_SIZE = 48,
	DRAIN_MS = 20
};
#define SILENCE_DEFAULT_NS (10 * NS_PER_S)
/* Between the end of its stream and its own. */
#define END_MAX_NS NS_PER_S
/* Its first word is late: until then nobody wonders. */
#define LATE_NS (3 * NS_PER_S)
/* After the target has ended. */
#define DRAIN_MAX_NS (2 * NS_PER_S)

struct child {
	char name[NAME_SIZE];
	const struct target *target;
	pid_t pid;                                                    /* 0: it has ended, and this was taken note of */
	int fd, status;                                               /* status: as waitpid gives it */
	int64_t silence_ns, start_ns, heard_ns, ended_ns, drained_ns; /* 0 = not yet */
	bool has_emitted;                                             /* its first dictionary has been passed on */
	const char *figure;                                           /* NULL: none */
	bool is_late_emitted;
	struct stream_reader *reader;
	struct sample_set set; /* may hold a part of one between two readings */
	struct reason why;
	char *room;
};

/* Of the process, as its children are: killed, and not gone yet. */
static atomic_uint held;

/* -- starting -- */

enum status child_open(
	const struct child_command *command, const struct target *target, void **state, struct reason *why_not)
{
	int ends[2] = { -1, -1 };
	if (target && target->has_ended)
		return reason_set(why_not, STATUS_END, NULL, "%s is not started again: the target has ended", command->name);
	if (atomic_load(&held) >= CHILDREN_HELD_MAX)
		return reason_set(why_not, STATUS_IO, "see dmesg: a driver may hold them",
			"%s is not started again: %u before it were killed and have not ended", command->name, atomic_load(&held));
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

/* What it started is in its group, whose number is nobody else's until the child has been taken note of. */
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

static void *wait_for_it(void *pid)
{
	while (waitpid((pid_t)(intptr_t)pid, NULL, 0) < 0 && errno == EINTR)
		;
	atomic_fetch_sub(&held, 1);
	return NULL;
}

/* What was killed goes when the kernel lets it; a thread of its own waits for that, with next to no stack and all
 * signals blocked. */
static void leave_behind(pid_t pid)
{
	pthread_attr_t attributes;
	pthread_t thread;
	sigset_t all, before;
	atomic_fetch_add(&held, 1);
	pthread_attr_init(&attributes);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attributes, 64 * 1024);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	if (pthread_create(&thread, &attributes, wait_for_it, (void *)(intptr_t)pid) != 0)
		atomic_fetch_sub(&held, 1);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attributes);
}

static void say_end(struct child *child)
{
	bool is_killed = WIFSIGNALED(child->status);
	const char *nonsense = !stream_reader_header(child->reader) && stream_reader_losses(child->reader)->bytes
		? ", and what it said is no stream of pmtop"
		: "";
	reason_set(&child->why, STATUS_IO, NULL,
		is_killed ? "%s was ended by signal %d (%s)%s" : "%s ended with status %d%s%s", child->name,
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
			leave_behind(child->pid);
	}
	stream_reader_free(child->reader);
	sample_set_release(&child->set);
	free(child->room);
	free(child);
}

void child_explain(const void *state, struct reason *out) { *out = ((const struct child *)state)->why; }

/* -- its stream -- */

/* How many bytes came; −1: no more will. */
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
			return reason_set(&child->why, STATUS_UNSUPPORTED, NULL, "%s speaks another language: %.150s", child->name,
				stream_reader_refusal(child->reader));
		case STREAM_HEADED:
		case STREAM_INDEXED: break;
		case STREAM_WAIT:
		case STREAM_END:
			if (!stream_reader_header(child->reader) && stream_reader_losses(child->reader)->bytes > NONSENSE_MAX)
				return reason_set(&child->why, STATUS_DAMAGED, NULL, "what %s says is no stream of pmtop", child->name);
			return STATUS_OK;
		}
	}
}

/* Its output is at its end, it says nothing, or the target is over. */
static enum status supervise(struct child *child, int64_t now_ns, bool is_over, enum status status)
{
	char silence[NUMBER_SIZE];
	if (is_over) {
		child->ended_ns = child->ended_ns ? child->ended_ns : now_ns;
		if (has_ended(child)) {
			if (child->target && child->target->has_ended && child->status == 0)
				return STATUS_END;
			say_end(child);
			return STATUS_IO;
		}
		if (now_ns - child->ended_ns > END_MAX_NS)
			return reason_set(&child->why, STATUS_IO, NULL, "%s closed its output and goes on", child->name);
		return status;
	}
	if (now_ns - child->heard_ns > (child->has_emitted ? child->silence_ns : child->start_ns))
		return reason_set(&child->why, STATUS_IO, NULL, "%s said nothing for %s and was killed", child->name,
			format_seconds(silence, seconds_between(child->heard_ns, now_ns)));
	return status;
}

/* So that a driver that hangs at the start is not taken for one that is not there. */
static void emit_late(struct child *child, int64_t now_ns, struct sample_set *out)
{
	char text[128];
	bool is_late = !child->has_emitted && now_ns - child->heard_ns > LATE_NS;
	if (!child->figure || is_late == child->is_late_emitted)
		return;
	child->is_late_emitted = is_late;
	snprintf(text, sizeof text, "%s has not answered yet: a driver may be starting, or hang", child->name);
	sample_set_missing(
		out, now_ns, child->figure, is_late ? text : NULL, is_late ? "wait; or dmesg tells of the driver" : NULL);
}

/* The collector reads without pauses then. */
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
	/* Until it has told something the source is not known to work. */
	if (status == STATUS_OK)
		status =
			supervise(child, now_ns, is_over, out->count == before && !child->has_emitted ? STATUS_AGAIN : STATUS_OK);
	if (status == STATUS_OK || status == STATUS_AGAIN)
		emit_late(child, now_ns, out);
	return is_late && (status == STATUS_OK || status == STATUS_AGAIN) ? STATUS_END : status;
}
