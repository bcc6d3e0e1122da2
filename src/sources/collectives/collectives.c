/* The source "collectives": which collective each rank of the job has entered, from PyTorch's flight recorder in the
 * memory of the processes (flight_recorder.h).
 *
 * Reading another process's memory may block, and a library's symbols take a while, so a thread does both, and a child
 * of that thread reads the memory (remote_reader.h). The thread starts with the first process that may be a rank.
 *
 *   read (collector's thread)  ── processes ──▶          ┌ its thread ┐  flight_recorder_read
 *                              ◀── COLLECTIVE… records ── └            ┘  (tables and records are under `lock`) */
#include <errno.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/base/files/file.h"
#include "src/base/text.h"
#include "src/sources/choices.h"
#include "src/sources/collectives/collectives_tables.h"
#include "src/sources/collectives/flight_locate.h"
#include "src/sources/collectives/flight_world.h"
#include "src/sources/collectives/rank_throttle.h"
#include "src/sources/inferred/job/stacks_present.h"
#include "src/sources/inferred/job/stacks_ranks.h"
#include "src/sources/inferred/stacks_stuck.h"
#include "src/sources/python/remote.h"
#include "src/sources/own_thread.h"
#include "src/sources/source.h"
#include "src/sources/target/target.h"

enum { COLLECTIVES_READER = 3, PENDING_MAX = 8192 };

#define PERIOD_NS (500 * NS_PER_MS)
#define TRY_FIRST_NS (500 * NS_PER_MS)
#define TRY_RANK_MAX_NS (4 * NS_PER_S)
#define TRY_MAX_NS (30 * NS_PER_S)
/* A rank whose recorder has nothing is emitted without collectives after this time. */
#define EMPTY_NS (10 * NS_PER_S)

/* The thread's state of a process. */
struct watched {
	struct stacks_process process;
	int64_t located_ns;        /* when the recorders were found */
	int64_t next_ns, after_ns; /* when it is read, or searched for a recorder; INT64_MAX = never */
	struct stacks_stuck stuck;
	struct rank_throttle throttle; /* used by the thread only */
	bool is_emitted;
	uint64_t registry;     /* of process groups; 0 = unknown */
	size_t recorder_count; /* 0 = none was found yet */
	struct flight_recorder recorders[FLIGHT_RECORDERS_MAX];
	struct collectives_rank ranks[FLIGHT_RECORDERS_MAX]; /* under the lock */
};

struct collectives_state {
	struct target *target;
	struct own_thread thread;
	/* protected by its lock */
	struct stacks_present present;
	struct collectives_tables tables;
	struct sample_set pending;
	struct reason missing, emitted; /* empty = nothing is missing */
	int64_t reader_cpu_ns;
	size_t watched_count;
	struct watched watched[STACKS_PROCESSES_MAX];
	/* used by the thread only */
	struct remote_reader *reader;
	struct flight_symbols symbols;
	struct flight_reading reading;
	/* used by the collector's thread only */
	struct stacks_ranks ranks;
};

static bool is_rank(const struct watched *watched) { return stacks_job_is_rank(&watched->process.job); }

/* -- processes -- */

static void release_watched(struct watched *watched)
{
	rank_throttle_release(&watched->throttle);
	close(watched->process.fd);
}

static void forget(struct collectives_state *state, struct watched *watched)
{
	if (watched->is_emitted)
		collectives_emit_rank(&watched->ranks[0], true, clock_monotonic_ns(), &state->pending);
	release_watched(watched);
}

/* Without variables of a launcher, only a child of another process may be a rank (torch.multiprocessing). The parent is
 * not watched if pmtop is attached to one of its children. */
static bool is_candidate(const struct stacks_present *present, const struct stacks_process *process)
{
	bool is_child = false;
	for (size_t i = 0; i < present->count; i++)
		is_child |= present->list[i].pid == process->parent ||
			(present->list[i].pid != process->pid && present->list[i].parent == process->parent);
	return stacks_job_is_rank(&process->job) || is_child;
}

static bool has_candidate(const struct stacks_present *present)
{
	bool has = false;
	for (size_t i = 0; i < present->count; i++)
		has |= is_candidate(present, &present->list[i]);
	return has;
}

/* Under the lock. */
static void update_watched(struct collectives_state *state)
{
	struct stacks_present *present = &state->present;
	size_t retained = 0;
	present->has_changed = false;
	for (size_t i = 0; i < state->watched_count; i++) {
		const struct stacks_process *process = &state->watched[i].process;
		if (stacks_present_find(present, process->pid, process->start_ticks, process->generation) < present->count) {
			if (retained != i)
				state->watched[retained] = state->watched[i];
			retained++;
		} else {
			forget(state, &state->watched[i]);
		}
	}
	state->watched_count = retained;
	for (size_t i = 0; i < present->count && state->watched_count < STACKS_PROCESSES_MAX; i++) {
		if (present->list[i].fd < 0 || !is_candidate(present, &present->list[i]))
			continue;
		state->watched[state->watched_count++] =
			(struct watched){ .process = present->list[i], .after_ns = TRY_FIRST_NS };
		present->list[i].fd = -1;
	}
}

/* -- finding the recorder -- */

static void retry_later(struct watched *watched, int64_t now_ns)
{
	int64_t max_ns = is_rank(watched) ? TRY_RANK_MAX_NS : TRY_MAX_NS;
	watched->next_ns = now_ns + watched->after_ns;
	watched->after_ns = watched->after_ns < max_ns / 2 ? 2 * watched->after_ns : max_ns;
}

static void note_missing(struct collectives_state *state, const struct watched *watched, const struct reason *why)
{
	if (!is_rank(watched))
		return;
	pthread_mutex_lock(&state->thread.lock);
	state->missing = *why;
	pthread_mutex_unlock(&state->thread.lock);
}

static void locate(struct collectives_state *state, struct watched *watched, int64_t now_ns)
{
	struct flight_places places;
	struct reason why = { "", "" };
	enum status status = flight_locate(watched->process.pid, watched->process.fd, &state->symbols, &places, &why);
	retry_later(watched, now_ns);
	if (status == STATUS_UNSUPPORTED || status == STATUS_INVALID || status == STATUS_DAMAGED) {
		watched->next_ns = INT64_MAX;
		note_missing(state, watched, &why);
	}
	if (status != STATUS_OK)
		return;
	pthread_mutex_lock(&state->thread.lock);
	for (size_t i = 0; i < places.count; i++) {
		watched->recorders[i] =
			(struct flight_recorder){ .pid = watched->process.pid, .pointer = places.list[i].pointer };
		watched->ranks[i] = (struct collectives_rank){
			.pid = watched->process.pid, .job = watched->process.job, .is_device = places.list[i].is_device
		};
	}
	watched->registry = places.registry;
	watched->recorder_count = places.count;
	watched->located_ns = now_ns;
	watched->after_ns = TRY_FIRST_NS;
	watched->next_ns = now_ns;
	pthread_mutex_unlock(&state->thread.lock);
}

/* -- reading it -- */

/* A DataLoader worker that was forked has a copy of its parent's recorder, at the same address. */
static bool is_copy(const struct collectives_state *state, const struct watched *watched, size_t recorder)
{
	for (size_t i = 0; i < state->watched_count; i++) {
		const struct watched *other = &state->watched[i];
		for (size_t k = 0; other->process.pid == watched->process.parent && k < other->recorder_count; k++)
			if (other->recorders[k].object == watched->recorders[recorder].object &&
				other->recorders[k].pointer == watched->recorders[recorder].pointer)
				return true;
	}
	return false;
}

static struct collectives_process process_of(const struct watched *watched)
{
	struct collectives_process process = { .throttled_s = NAN };
	char text[4096];
	size_t length;
	if (file_read(watched->process.fd, "status", text, sizeof text, &length) != STATUS_OK)
		return process;
	const char *state = strstr(text, "\nState:\t"), *switches = strstr(text, "\nvoluntary_ctxt_switches:");
	process.state = state ? state[strlen("\nState:\t")] : '\0';
	process.switches = switches ? strtoull(switches + strlen("\nvoluntary_ctxt_switches:"), NULL, 10) : 0;
	return process;
}

/* Which rank a process is that has no variables of a launcher. */
static void find_world(struct collectives_state *state, struct watched *watched)
{
	struct flight_world world;
	if (watched->is_emitted || is_rank(watched) || !watched->registry ||
		!flight_world_read(watched->process.pid, watched->registry, &world) || world.size < 2)
		return;
	pthread_mutex_lock(&state->thread.lock);
	stacks_job_spawned(watched->process.parent, world.rank, world.size, &watched->process.job);
	for (size_t i = 0; i < watched->recorder_count; i++)
		watched->ranks[i].job = watched->process.job;
	pthread_mutex_unlock(&state->thread.lock);
}

/* Under the lock. */
static void take_reading(
	struct collectives_state *state, struct watched *watched, size_t at, const struct collectives_process *process)
{
	int64_t now_ns = clock_monotonic_ns();
	if (!watched->is_emitted)
		collectives_emit_rank(&watched->ranks[at], false, now_ns, &state->pending);
	watched->is_emitted = true;
	state->missing = (struct reason){ "", "" };
	collectives_emit_reading(&state->tables, &watched->ranks[at], &state->reading, process,
		clock_realtime_ns() - now_ns, now_ns, &state->pending);
}

/* Of a rank that enters no collectives: gloo's send and receive, and RPC, are not recorded. */
static void take_empty(struct collectives_state *state, struct watched *watched)
{
	const struct collectives_process process = process_of(watched);
	int64_t now_ns = clock_monotonic_ns();
	bool is_child = false;
	for (size_t i = 0; i < state->watched_count; i++)
		is_child |= is_rank(&state->watched[i]) && state->watched[i].process.pid == watched->process.parent;
	if ((is_child && !watched->process.job.is_led) || now_ns - watched->located_ns < EMPTY_NS)
		return;
	state->reading.status_count = state->reading.entry_count = 0;
	state->reading.skipped = 0;
	pthread_mutex_lock(&state->thread.lock);
	take_reading(state, watched, 0, &process);
	pthread_mutex_unlock(&state->thread.lock);
}

static enum status fail(struct collectives_state *state, struct watched *watched, enum status status)
{
	struct reason why;
	if (status == STATUS_NOT_FOUND)
		reason_set(&why, status, "unset TORCH_FR_BUFFER_SIZE and TORCH_NCCL_TRACE_BUFFER_SIZE",
			"PyTorch's flight recorder is off in process %d", (int)watched->process.pid);
	else if (status == STATUS_UNSUPPORTED)
		reason_set(&why, status, "pmtop knows the flight recorder of PyTorch 2.11 to 2.14",
			"the flight recorder of process %d has an unknown layout", (int)watched->process.pid);
	else
		return status;
	watched->next_ns = INT64_MAX;
	note_missing(state, watched, &why);
	return status;
}

/* Reads all recorders of the process. False: none has anything. */
static bool read_recorders(struct collectives_state *state, struct watched *watched)
{
	bool has_any = false;
	struct collectives_process process = { .state = '\0' };
	for (size_t i = 0; i < watched->recorder_count; i++) {
		enum status status = flight_recorder_read(&watched->recorders[i], &state->reading);
		if (status != STATUS_OK) {
			/* NCCL's recorder alone may be switched off, or be of another layout. */
			if (watched->recorder_count == 1)
				fail(state, watched, status);
			continue;
		}
		if (is_copy(state, watched, i) || state->reading.status_count == 0)
			continue;
		find_world(state, watched);
		if (!has_any) {
			process = process_of(watched);
			process.throttled_s = rank_throttle_read(&watched->throttle, state->target->proc_root, watched->process.pid,
				watched->process.fd, clock_monotonic_ns());
		}
		pthread_mutex_lock(&state->thread.lock);
		take_reading(state, watched, i, &process);
		pthread_mutex_unlock(&state->thread.lock);
		has_any = true;
	}
	return has_any;
}

static void read_process(struct collectives_state *state, struct watched *watched, int64_t now_ns)
{
	watched->next_ns = now_ns + PERIOD_NS;
	if (read_recorders(state, watched))
		watched->after_ns = TRY_FIRST_NS;
	else if (watched->next_ns != INT64_MAX && is_rank(watched))
		take_empty(state, watched);
	else if (watched->next_ns != INT64_MAX && !is_rank(watched))
		retry_later(watched, now_ns);
}

/* -- the thread -- */

static void serve(struct collectives_state *state, struct watched *watched)
{
	int64_t now_ns = clock_monotonic_ns();
	if (watched->stuck.since_ns && !stacks_stuck_is_due(&watched->stuck, state->reader, now_ns)) {
		watched->next_ns = watched->stuck.try_ns;
		return;
	}
	if (watched->recorder_count == 0)
		locate(state, watched, now_ns);
	if (watched->recorder_count > 0 && watched->next_ns != INT64_MAX && !remote_reader_stuck_ns(state->reader))
		read_process(state, watched, now_ns);
	if (stacks_stuck_note(&watched->stuck, state->reader, clock_monotonic_ns()))
		watched->next_ns = watched->stuck.try_ns;
	else if (watched->stuck.since_ns)
		stacks_stuck_end(&watched->stuck, now_ns);
}

/* All are read together: times of different ranks are compared, and it needs fewer wake-ups. */
static int64_t serve_all(struct collectives_state *state)
{
	int64_t now_ns = clock_monotonic_ns(), next_ns = now_ns + TRY_MAX_NS;
	for (size_t i = 0; i < state->watched_count && !atomic_load(&state->thread.is_stopping); i++)
		if (state->watched[i].next_ns <= now_ns + PERIOD_NS / 4)
			serve(state, &state->watched[i]);
	for (size_t i = 0; i < state->watched_count; i++)
		next_ns = state->watched[i].next_ns < next_ns ? state->watched[i].next_ns : next_ns;
	return next_ns;
}

static void serve_until_stopped(void *argument)
{
	struct collectives_state *state = argument;
	remote_reader_use(state->reader);
	while (!atomic_load(&state->thread.is_stopping)) {
		pthread_mutex_lock(&state->thread.lock);
		bool is_full = state->pending.count > PENDING_MAX;
		if (state->present.has_changed)
			update_watched(state);
		pthread_mutex_unlock(&state->thread.lock);
		int64_t left_ns = (is_full ? clock_monotonic_ns() + PERIOD_NS : serve_all(state)) - clock_monotonic_ns();
		pthread_mutex_lock(&state->thread.lock);
		state->reader_cpu_ns = remote_reader_cpu_ns(state->reader);
		pthread_mutex_unlock(&state->thread.lock);
		own_thread_wait(&state->thread, left_ns > NS_PER_MS ? left_ns : NS_PER_MS);
	}
	remote_reader_use(NULL);
}

/* -- the source -- */

static void release(struct collectives_state *state)
{
	for (size_t i = 0; i < state->watched_count; i++)
		release_watched(&state->watched[i]);
	stacks_present_release(&state->present);
	stacks_ranks_release(&state->ranks);
	remote_reader_free(state->reader);
	sample_set_release(&state->pending);
	free(state);
}

/* A thread that is blocked on a disk is left behind with the memory that it uses. */
static void collectives_close(void *argument)
{
	struct collectives_state *state = argument;
	if (own_thread_end(&state->thread))
		release(state);
}

static enum status collectives_open(struct target *target, void **argument, struct reason *why_not)
{
	struct collectives_state *state = calloc(1, sizeof *state);
	if (!state)
		return reason_set(why_not, STATUS_NO_MEMORY, NULL, "out of memory");
	own_thread_init(&state->thread);
	state->target = target;
	*argument = state;
	return STATUS_OK;
}

/* Only real processes have memory, not those of a fixture. */
static bool has_anything_to_read(const struct target *target)
{
	return target->pid != 0 && strcmp(target->proc_root, "/proc") == 0 && source_choices(target)->stacks_hz > 0;
}

static enum status start(struct collectives_state *state)
{
	state->reader = remote_reader_new(STACKS_STUCK_LIMIT_NS);
	if (state->reader && own_thread_start(&state->thread, serve_until_stopped, state) == 0)
		return STATUS_OK;
	remote_reader_free(state->reader);
	state->reader = NULL;
	return STATUS_IO;
}

/* Under the lock. */
static void emit_missing(struct collectives_state *state, int64_t now_ns, struct sample_set *out)
{
	if (strcmp(state->missing.text, state->emitted.text) == 0)
		return;
	state->emitted = state->missing;
	bool is_missing = state->missing.text[0];
	sample_set_missing(out, now_ns, "collectives", is_missing ? state->missing.text : NULL,
		is_missing && state->missing.remedy[0] ? state->missing.remedy : NULL);
}

/* Under the lock. For the sources that run on the same thread. */
static void list_worlds(struct collectives_state *state)
{
	struct target *target = state->target;
	target->world_count = 0;
	for (size_t i = 0; i < state->watched_count && target->world_count < TARGET_WORLDS_MAX; i++) {
		const struct stacks_process *process = &state->watched[i].process;
		if (process->job.certain)
			target->worlds[target->world_count++] = (struct target_world){ process->pid, process->start_ticks,
				(uint32_t)text_count(process->job.rank), (uint32_t)text_count(process->job.world_size) };
	}
}

static enum status collectives_read(void *argument, int64_t now_ns, struct sample_set *out)
{
	struct collectives_state *state = argument;
	if (!has_anything_to_read(state->target))
		return STATUS_END;
	state->ranks.is_spawned = true;
	stacks_ranks_refresh(&state->ranks, state->target, now_ns);
	pthread_mutex_lock(&state->thread.lock);
	stacks_present_take(&state->present, state->target, &state->ranks);
	bool has_changed = state->present.has_changed, is_due = !state->thread.is_started && has_candidate(&state->present);
	sample_set_move(out, &state->pending);
	list_worlds(state);
	emit_missing(state, now_ns, out);
	if (state->reader_cpu_ns > 0)
		sample_set_figure(out, now_ns, METRIC_SELF_CPU, COLLECTIVES_READER, (double)state->reader_cpu_ns);
	pthread_mutex_unlock(&state->thread.lock);
	if (is_due && start(state) != STATUS_OK)
		return STATUS_IO;
	if (has_changed)
		own_thread_wake(&state->thread);
	return state->target->has_ended ? STATUS_END : STATUS_OK;
}

static void explain(const void *argument, struct reason *out)
{
	(void)argument;
	reason_set(out, STATUS_IO, "raise the limits (ulimit -n, -u, -v)", "a thread could not be started");
}

static enum status collectives_emit_all(void *argument, int64_t now_ns, struct sample_set *out)
{
	struct collectives_state *state = argument;
	pthread_mutex_lock(&state->thread.lock);
	collectives_emit_tables(&state->tables, now_ns, out);
	for (size_t i = 0; i < state->watched_count; i++) {
		const struct watched *watched = &state->watched[i];
		if (watched->is_emitted)
			collectives_emit_rank(&watched->ranks[0], false, now_ns, out);
		for (size_t k = 0; watched->is_emitted && k < watched->recorder_count; k++)
			collectives_emit_states(&watched->ranks[k], now_ns, out);
	}
	pthread_mutex_unlock(&state->thread.lock);
	return STATUS_OK;
}

const struct source collectives_source = {
	.name = "collectives",
	.period_ns = PERIOD_NS,
	.open = collectives_open,
	.read = collectives_read,
	.explain = explain,
	.emit_all = collectives_emit_all,
	.close = collectives_close,
};
