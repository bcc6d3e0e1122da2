/* The source "ras": all ranks of all nodes, from NCCL's RAS service (ras_client.h).
 *
 * An answer may take ten seconds, so a thread asks. It starts with the target's first process, asks one process that
 * has libnccl mapped, and every 5 s: NCCL asks all processes of the job for each answer.
 *
 *   read (collector's thread)  ── processes ──▶  ┌ its thread ┐  ras_ask, ras_answer_read
 *                              ◀── RAS… records ─┘            └  (processes and answer are under `lock`) */
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/base/files/file.h"
#include "src/sources/ras/ras_answer.h"
#include "src/sources/ras/ras_client.h"
#include "src/sources/ras/ras_processes.h"
#include "src/sources/own_thread.h"
#include "src/sources/source.h"
#include "src/sources/target/target.h"

/* Another job of this machine may answer at the same address: that is said after several answers. */
enum { STRANGERS_MAX = 3, LARGE_ROWS = 1024 };

#define READ_NS (500 * NS_PER_MS)
#define PERIOD_NS (5 * NS_PER_S)
#define PERIOD_LARGE_NS (10 * NS_PER_S)
#define SEARCH_MIN_NS (1 * NS_PER_S)
#define ANSWER_LIMIT_NS (15 * NS_PER_S)

struct ras_source_state {
	struct target *target;
	struct own_thread thread;
	/* protected by its lock */
	struct ras_processes processes;
	struct ras_answer answer;
	int32_t asked_pid;
	bool has_answer, is_new; /* is_new: not emitted yet */
	int64_t answer_ns;
	struct reason missing, emitted; /* empty = nothing is missing */
	/* used by the thread only */
	unsigned strangers;
};

/* -- the thread -- */

/* A copy with a descriptor of its own: the process may end meanwhile. False: there are not that many. */
static bool borrow(struct ras_source_state *state, size_t at, struct ras_candidate *out)
{
	pthread_mutex_lock(&state->thread.lock);
	bool is_there = at < state->processes.count;
	if (is_there) {
		*out = state->processes.list[at];
		out->fd = fcntl(out->fd, F_DUPFD_CLOEXEC, 0);
	}
	pthread_mutex_unlock(&state->thread.lock);
	return is_there;
}

static void give_back(struct ras_source_state *state, const struct ras_candidate *borrowed)
{
	pthread_mutex_lock(&state->thread.lock);
	for (size_t i = 0; i < state->processes.count; i++) {
		struct ras_candidate *same = &state->processes.list[i];
		if (same->process.pid != borrowed->process.pid || same->start_ticks != borrowed->start_ticks ||
			same->generation != borrowed->generation)
			continue;
		int fd = same->fd;
		bool is_retained = same->is_retained;
		*same = *borrowed;
		same->fd = fd;
		same->is_retained = is_retained;
	}
	pthread_mutex_unlock(&state->thread.lock);
}

/* The first process that has libnccl mapped. False: none has. Of the others, only their pids are read. */
static bool choose(struct ras_source_state *state, int64_t now_ns, struct ras_candidate *out)
{
	struct ras_candidate candidate;
	bool is_found = false;
	for (size_t i = 0; !atomic_load(&state->thread.is_stopping) && borrow(state, i, &candidate); i++) {
		if (candidate.fd < 0)
			continue;
		ras_candidate_read_pid(&candidate);
		bool is_chosen = !is_found && ras_candidate_search(&candidate, now_ns);
		give_back(state, &candidate);
		if (is_chosen)
			*out = candidate;
		else
			close(candidate.fd);
		is_found |= is_chosen;
	}
	return is_found;
}

static size_t list_processes(struct ras_source_state *state, struct ras_process list[RAS_PROCESSES_MAX])
{
	pthread_mutex_lock(&state->thread.lock);
	size_t count = state->processes.count;
	for (size_t i = 0; i < count; i++)
		list[i] = state->processes.list[i].process;
	pthread_mutex_unlock(&state->thread.lock);
	return count;
}

static void note_missing(struct ras_source_state *state, const struct reason *why)
{
	pthread_mutex_lock(&state->thread.lock);
	state->missing = *why;
	pthread_mutex_unlock(&state->thread.lock);
}

static void take_answer(struct ras_source_state *state, const struct ras_candidate *asked, struct ras_answer *answer)
{
	struct ras_process list[RAS_PROCESSES_MAX];
	struct reason why = { "", "" };
	bool is_ours = ras_answer_join(answer, list, list_processes(state, list)) || answer->group_count == 0;
	state->strangers = is_ours ? 0 : state->strangers + 1;
	if (!is_ours) {
		ras_answer_release(answer);
		reason_set(&why, STATUS_NOT_FOUND, "give each job a port of its own: NCCL_RAS_ADDR=localhost:PORT",
			"NCCL's RAS answers for another job than that of process %d", (int)asked->process.pid);
		if (state->strangers >= STRANGERS_MAX)
			note_missing(state, &why);
		return;
	}
	pthread_mutex_lock(&state->thread.lock);
	ras_answer_release(&state->answer);
	state->answer = *answer;
	state->asked_pid = asked->process.pid;
	state->answer_ns = clock_monotonic_ns();
	state->has_answer = state->is_new = true;
	state->missing = why;
	pthread_mutex_unlock(&state->thread.lock);
}

/* Nothing that listens is no fault: PyTorch loads NCCL without using it. */
static void ask(struct ras_source_state *state, const struct ras_candidate *asked)
{
	struct ras_addresses addresses;
	struct ras_answer answer;
	struct buffer text = BUFFER_INIT;
	struct reason why = { "", "" };
	int network_fd = -1;
	enum status status = ras_candidate_address(asked, &addresses, &why);
	if (status == STATUS_OK && (network_fd = file_open(asked->fd, "ns/net", O_RDONLY)) < 0)
		status = reason_set(
			&why, STATUS_DENIED, NULL, "the network namespace of process %d cannot be read", (int)asked->process.pid);
	if (status == STATUS_OK) {
		struct ras_question question = { &addresses, network_fd, state->thread.wake_fd, ANSWER_LIMIT_NS };
		status = ras_ask(&question, &text, &why);
		why = status == STATUS_NOT_FOUND || status == STATUS_END ? (struct reason){ "", "" } : why;
	}
	if (status == STATUS_OK && text.data)
		status = ras_answer_read(text.data, text.length, &answer, &why);
	if (status == STATUS_OK)
		take_answer(state, asked, &answer);
	else
		note_missing(state, &why);
	if (network_fd >= 0)
		close(network_fd);
	buffer_release(&text);
}

static int64_t until_search_ns(struct ras_source_state *state, int64_t now_ns)
{
	pthread_mutex_lock(&state->thread.lock);
	int64_t next_ns = ras_processes_next_ns(&state->processes);
	pthread_mutex_unlock(&state->thread.lock);
	return next_ns - now_ns > SEARCH_MIN_NS ? next_ns - now_ns : SEARCH_MIN_NS;
}

static void ask_until_stopped(void *argument)
{
	struct ras_source_state *state = argument;
	while (!atomic_load(&state->thread.is_stopping)) {
		struct ras_candidate asked;
		int64_t now_ns = clock_monotonic_ns(), wait_ns;
		if (choose(state, now_ns, &asked)) {
			ask(state, &asked);
			close(asked.fd);
			bool is_slow = clock_monotonic_ns() - now_ns > NS_PER_S || state->answer.row_count > LARGE_ROWS;
			wait_ns = is_slow ? PERIOD_LARGE_NS : PERIOD_NS;
		} else {
			wait_ns = until_search_ns(state, now_ns);
		}
		own_thread_wait(&state->thread, wait_ns);
	}
}

/* -- the source -- */

static void release(struct ras_source_state *state)
{
	ras_processes_release(&state->processes);
	ras_answer_release(&state->answer);
	free(state);
}

/* A thread that is blocked in a read is left behind with the memory that it uses. */
static void ras_close(void *argument)
{
	struct ras_source_state *state = argument;
	if (own_thread_end(&state->thread))
		release(state);
}

static enum status ras_open(struct target *target, void **argument, struct reason *why_not)
{
	struct ras_source_state *state = calloc(1, sizeof *state);
	if (!state)
		return reason_set(why_not, STATUS_NO_MEMORY, NULL, "out of memory");
	own_thread_init(&state->thread);
	state->target = target;
	*argument = state;
	return STATUS_OK;
}

/* Under the lock. */
static void emit_missing(struct ras_source_state *state, int64_t now_ns, struct sample_set *out)
{
	if (strcmp(state->missing.text, state->emitted.text) == 0)
		return;
	state->emitted = state->missing;
	bool is_missing = state->missing.text[0];
	sample_set_missing(out, now_ns, "NCCL RAS", is_missing ? state->missing.text : NULL,
		is_missing && state->missing.remedy[0] ? state->missing.remedy : NULL);
}

/* Only real processes have sockets, not those of a fixture. */
static enum status ras_read(void *argument, int64_t now_ns, struct sample_set *out)
{
	struct ras_source_state *state = argument;
	if (state->target->pid == 0 || strcmp(state->target->proc_root, "/proc") != 0)
		return STATUS_END;
	pthread_mutex_lock(&state->thread.lock);
	size_t before = state->processes.count;
	bool is_due = ras_processes_take(&state->processes, state->target) || state->processes.count > before;
	bool has_any = state->processes.count > 0;
	if (state->is_new)
		ras_answer_emit(&state->answer, state->asked_pid, state->answer_ns, out);
	state->is_new = false;
	emit_missing(state, now_ns, out);
	pthread_mutex_unlock(&state->thread.lock);
	if (is_due)
		own_thread_wake(&state->thread);
	if (has_any && !state->thread.is_started && own_thread_start(&state->thread, ask_until_stopped, state) != 0)
		return STATUS_IO;
	return state->target->has_ended ? STATUS_END : STATUS_OK;
}

static void explain(const void *argument, struct reason *out)
{
	(void)argument;
	reason_set(out, STATUS_IO, "raise the limits (ulimit -n, -u, -v)", "a thread could not be started");
}

static enum status ras_emit_all(void *argument, int64_t now_ns, struct sample_set *out)
{
	struct ras_source_state *state = argument;
	(void)now_ns;
	pthread_mutex_lock(&state->thread.lock);
	if (state->has_answer)
		ras_answer_emit(&state->answer, state->asked_pid, state->answer_ns, out);
	pthread_mutex_unlock(&state->thread.lock);
	return STATUS_OK;
}

const struct source ras_source = {
	.name = "ras",
	.period_ns = READ_NS,
	.open = ras_open,
	.read = ras_read,
	.explain = explain,
	.emit_all = ras_emit_all,
	.close = ras_close,
};
