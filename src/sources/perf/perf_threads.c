#include "src/sources/perf/perf_threads.h"
#include "src/base/files/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TIDS_MAX = 4096 };
#define TURN_MIN_NS 2e9

/* The sum of one counter over all threads of a process. */
struct sum {
	double value;
	double enabled_ns, running_ns;
};

struct counted_process {
	pid_t pid;
	uint64_t start_ticks;
	bool is_found, is_gone;
	size_t thread_count, thread_room;
	struct counted_thread **threads; /* in the order of readdir */
	struct sum sums[PLAN_COUNTERS_MAX];
};

struct group_past {
	uint64_t last_enabled_ns;        /* at the last reading */
	uint64_t enabled_ns, running_ns; /* at the last reading after which it had a turn */
};

struct counted_thread {
	pid_t tid;
	bool is_found;
	struct group_past groups[PLAN_COUNTERS_MAX];
	/* fd −1 = not open; as many as the plan has */
	struct {
		int fd;
		uint64_t value;
	} counters[PLAN_COUNTERS_MAX];
};

struct perf_threads {
	const struct perf_plan *plan;
	const struct perf_opener *opener;
	unsigned first[PLAN_COUNTERS_MAX], size[PLAN_COUNTERS_MAX]; /* of each group */
	size_t descriptors, descriptors_max, thread_count;
	bool is_short; /* the kernel gave no more descriptors at this scan */
	struct perf_left_out left_out;
	size_t process_count;
	struct counted_process *processes[TARGET_MEMBERS_MAX];
};

struct perf_threads *perf_threads_new(
	const struct perf_plan *plan, const struct perf_opener *opener, unsigned descriptors)
{
	struct perf_threads *threads = calloc(1, sizeof *threads);
	if (!threads)
		return NULL;
	threads->plan = plan;
	threads->opener = opener;
	threads->descriptors_max = descriptors < PERF_DESCRIPTORS_MAX ? descriptors : PERF_DESCRIPTORS_MAX;
	for (unsigned i = plan->counter_count; i-- > 0;) {
		threads->first[plan->counters[i].group] = i;
		threads->size[plan->counters[i].group]++;
	}
	return threads;
}

/* -- a thread -- */

static void thread_close(struct perf_threads *threads, struct counted_thread *thread)
{
	for (unsigned i = 0; i < threads->plan->counter_count; i++) {
		if (thread->counters[i].fd < 0)
			continue;
		threads->opener->close(threads->opener->context, thread->counters[i].fd);
		thread->counters[i].fd = -1;
		threads->descriptors--;
	}
}

static void thread_free(struct perf_threads *threads, struct counted_thread *thread)
{
	thread_close(threads, thread);
	free(thread);
	threads->thread_count--;
}

static bool is_final(int error)
{
	return error == ESRCH || error == EACCES || error == EPERM || error == EMFILE || error == ENFILE || error == ENOMEM;
}

/* Opens all counters of a group or none. Returns 0 or the error. */
static int open_group(struct perf_threads *threads, struct counted_thread *thread, unsigned group)
{
	unsigned first = threads->first[group];
	for (unsigned i = first; i < first + threads->size[group]; i++) {
		int leader = i == first ? -1 : thread->counters[first].fd;
		int fd =
			threads->opener->open(threads->opener->context, &threads->plan->counters[i].code, thread->tid, -1, leader);
		if (fd >= 0) {
			thread->counters[i].fd = fd;
			threads->descriptors++;
			continue;
		}
		while (i-- > first) {
			threads->opener->close(threads->opener->context, thread->counters[i].fd);
			thread->counters[i].fd = -1;
			threads->descriptors--;
		}
		return -fd;
	}
	return 0;
}

/* A group that the CPU refuses is skipped; a final error (rights, descriptors, an ended thread) concerns the whole
 * thread. */
static int thread_open(struct perf_threads *threads, struct counted_thread *thread)
{
	int error = 0;
	for (unsigned group = 0; group < threads->plan->group_count && !is_final(error); group++) {
		error = open_group(threads, thread, group);
		if (group == 0 && error)
			break;
	}
	if (is_final(error))
		thread_close(threads, thread);
	return is_final(error) || thread->counters[0].fd < 0 ? error : 0;
}

static void take_reading(struct perf_threads *threads, struct counted_process *process, struct counted_thread *thread,
	unsigned group, const struct perf_reading *reading)
{
	struct group_past *past = &thread->groups[group];
	unsigned first = threads->first[group], end = first + threads->size[group];
	/* Values that go backwards come from a driver's bug: counting restarts from there. */
	bool is_back = reading->enabled_ns < past->last_enabled_ns || reading->running_ns < past->running_ns;
	double grown = is_back ? 0 : (double)(reading->enabled_ns - past->last_enabled_ns);
	double enabled = is_back ? 0 : (double)(reading->enabled_ns - past->enabled_ns),
		   running = is_back ? 0 : (double)(reading->running_ns - past->running_ns);
	double scale = running > 0 && enabled > running ? enabled / running : 1;
	bool had_turn = running > 0 || is_back || reading->enabled_ns == 0;
	for (unsigned i = first; i < end; i++) {
		uint64_t value = reading->values[i - first], before = thread->counters[i].value;
		process->sums[i].enabled_ns += grown;
		process->sums[i].running_ns += running < enabled ? running : enabled;
		if (!had_turn)
			continue;
		if (value > before && !is_back)
			process->sums[i].value += (double)(value - before) * scale;
		thread->counters[i].value = value;
	}
	past->last_enabled_ns = reading->enabled_ns;
	if (had_turn) {
		past->enabled_ns = reading->enabled_ns;
		past->running_ns = reading->running_ns;
	}
}

static void thread_read(struct perf_threads *threads, struct counted_process *process, struct counted_thread *thread)
{
	for (unsigned group = 0; group < threads->plan->group_count; group++) {
		struct perf_reading reading;
		int fd = thread->counters[threads->first[group]].fd;
		if (fd < 0)
			continue;
		ssize_t size = threads->opener->read(threads->opener->context, fd, &reading, sizeof reading);
		if (perf_reading_fits(&reading, size, threads->size[group]))
			take_reading(threads, process, thread, group, &reading);
	}
}

/* -- a process -- */

static void process_free(struct perf_threads *threads, struct counted_process *process)
{
	for (size_t i = 0; i < process->thread_count; i++)
		thread_free(threads, process->threads[i]);
	free(process->threads);
	free(process);
}

static struct counted_thread *add_thread(struct perf_threads *threads, struct counted_process *process, pid_t tid)
{
	if (process->thread_count == process->thread_room) {
		size_t room = process->thread_room ? process->thread_room * 2 : 4;
		struct counted_thread **grown = realloc(process->threads, room * sizeof(struct counted_thread *));
		if (!grown)
			return NULL;
		process->threads = grown;
		process->thread_room = room;
	}
	struct counted_thread *thread = calloc(1, sizeof *thread);
	if (!thread)
		return NULL;
	thread->tid = tid;
	thread->is_found = true;
	for (unsigned i = 0; i < PLAN_COUNTERS_MAX; i++)
		thread->counters[i].fd = -1;
	process->threads[process->thread_count++] = thread;
	threads->thread_count++;
	return thread;
}

/* False: the other threads of this process need not be tried. */
static bool try_thread(struct perf_threads *threads, struct counted_process *process, pid_t tid)
{
	if (threads->thread_count >= PERF_THREADS_MAX) {
		threads->left_out.threads_too_many++;
		return true;
	}
	if (threads->is_short || threads->descriptors + threads->plan->counter_count > threads->descriptors_max) {
		threads->left_out.threads_no_descriptor++;
		return true;
	}
	struct counted_thread *thread = add_thread(threads, process, tid);
	int error = thread ? thread_open(threads, thread) : ENOMEM;
	if (error == 0)
		return true;
	if (thread) {
		process->thread_count--;
		thread_free(threads, thread);
	}
	if (error == EMFILE || error == ENFILE || error == ENOMEM) {
		threads->is_short = true;
		threads->left_out.threads_no_descriptor++;
	}
	if ((error == EACCES || error == EPERM) && process->thread_count == 0) {
		threads->left_out.processes_denied++;
		threads->left_out.denied_error = error;
		threads->left_out.denied_pid = process->pid;
		return false;
	}
	return true;
}

/* Both lists have the same order except for threads that came and went, so `*hint` moves along. */
static struct counted_thread *find_thread(const struct counted_process *process, pid_t tid, size_t *hint)
{
	for (size_t i = 0; i < process->thread_count; i++) {
		size_t at = *hint + i < process->thread_count ? *hint + i : *hint + i - process->thread_count;
		if (process->threads[at]->tid != tid)
			continue;
		*hint = at + 1 < process->thread_count ? at + 1 : 0;
		return process->threads[at];
	}
	return NULL;
}

static void drop_ended_threads(struct perf_threads *threads, struct counted_process *process)
{
	size_t retained = 0;
	for (size_t i = 0; i < process->thread_count; i++) {
		struct counted_thread *thread = process->threads[i];
		if (thread->is_found) {
			process->threads[retained++] = thread;
			continue;
		}
		thread_read(threads, process, thread);
		thread_free(threads, thread);
	}
	process->thread_count = retained;
}

static void scan_process(
	struct perf_threads *threads, struct counted_process *process, const struct target_member *member)
{
	pid_t fresh[TIDS_MAX];
	size_t fresh_count = 0, hint = 0;
	DIR *task = file_open_folder(member->directory_fd, "task");
	if (!task)
		return;
	for (size_t i = 0; i < process->thread_count; i++)
		process->threads[i]->is_found = false;
	const struct dirent *entry;
	while ((entry = file_next(task))) {
		long tid = strtol(entry->d_name, NULL, 10);
		if (tid <= 0 || tid > INT32_MAX)
			continue;
		struct counted_thread *thread = find_thread(process, (pid_t)tid, &hint);
		if (thread)
			thread->is_found = true;
		else if (fresh_count < TIDS_MAX)
			fresh[fresh_count++] = (pid_t)tid;
		else
			threads->left_out.threads_too_many++;
	}
	closedir(task);
	drop_ended_threads(threads, process);
	for (size_t i = 0; i < fresh_count; i++)
		if (!try_thread(threads, process, fresh[i]))
			break;
}

/* -- the tree -- */

static struct counted_process *find_or_add_process(struct perf_threads *threads, const struct target_member *member)
{
	for (size_t i = 0; i < threads->process_count; i++) {
		struct counted_process *process = threads->processes[i];
		if (process->pid == member->pid && process->start_ticks == member->start_ticks && !process->is_gone)
			return process;
	}
	struct counted_process *process = threads->process_count < TARGET_MEMBERS_MAX ? calloc(1, sizeof *process) : NULL;
	if (!process)
		return NULL;
	process->pid = member->pid;
	process->start_ticks = member->start_ticks;
	threads->processes[threads->process_count++] = process;
	return process;
}

void perf_threads_scan(struct perf_threads *threads, const struct target *target)
{
	threads->left_out = (struct perf_left_out){ 0 };
	threads->is_short = false;
	for (size_t i = 0; i < threads->process_count; i++)
		threads->processes[i]->is_found = false;
	for (size_t i = 0; i < target->member_count; i++) {
		struct counted_process *process = find_or_add_process(threads, &target->members[i]);
		if (process)
			process->is_found = true;
	}
	/* Ended processes release their descriptors before new counters are opened. */
	for (size_t i = 0; i < threads->process_count; i++) {
		struct counted_process *process = threads->processes[i];
		if (process->is_found)
			continue;
		for (size_t k = 0; k < process->thread_count; k++)
			process->threads[k]->is_found = false;
		drop_ended_threads(threads, process);
		process->is_gone = true;
	}
	for (size_t i = 0; i < target->member_count; i++) {
		struct counted_process *process = find_or_add_process(threads, &target->members[i]);
		if (process)
			scan_process(threads, process, &target->members[i]);
	}
}

void perf_threads_read(struct perf_threads *threads)
{
	for (size_t i = 0; i < threads->process_count; i++)
		for (size_t k = 0; k < threads->processes[i]->thread_count; k++)
			thread_read(threads, threads->processes[i], threads->processes[i]->threads[k]);
}

void perf_threads_forget_gone(struct perf_threads *threads)
{
	size_t retained = 0;
	for (size_t i = 0; i < threads->process_count; i++) {
		if (threads->processes[i]->is_gone)
			process_free(threads, threads->processes[i]);
		else
			threads->processes[retained++] = threads->processes[i];
	}
	threads->process_count = retained;
}

void perf_threads_free(struct perf_threads *threads)
{
	for (size_t i = 0; threads && i < threads->process_count; i++)
		process_free(threads, threads->processes[i]);
	free(threads);
}

/* -- results -- */

size_t perf_threads_processes(const struct perf_threads *threads) { return threads->process_count; }

pid_t perf_threads_pid(const struct perf_threads *threads, size_t process) { return threads->processes[process]->pid; }

/* Software events always count, so a thread that has not run yet has a count of 0. A hardware count is unknown then. */
static bool was_counted(const struct sum *sum, bool is_software)
{
	return sum->running_ns > 0 || (is_software && sum->enabled_ns <= 0);
}

bool perf_threads_sum(
	const struct perf_threads *threads, size_t process, unsigned event, double *value, double *counted_ratio)
{
	const struct perf_plan *plan = threads->plan;
	const struct counted_process *counted = threads->processes[process];
	bool is_software = perf_role_is_software(plan->events[event].role), has_parts = false;
	double total = 0, ratio = 1;
	if (counted->thread_count == 0 && !counted->is_gone && counted->sums[0].enabled_ns <= 0)
		return false;
	for (unsigned i = 0; i < plan->counter_count; i++) {
		const struct sum *sum = &counted->sums[i];
		if (plan->counters[i].event != event)
			continue;
		if (!was_counted(sum, is_software))
			return false;
		has_parts = true;
		total += sum->value * plan->counters[i].weight;
		if (sum->enabled_ns > 0 && sum->running_ns / sum->enabled_ns < ratio)
			ratio = sum->running_ns / sum->enabled_ns;
	}
	if (!has_parts)
		return false;
	*value = total;
	*counted_ratio = ratio;
	return true;
}

bool perf_threads_never_had_turn(const struct perf_threads *threads, unsigned event)
{
	const struct perf_plan *plan = threads->plan;
	for (unsigned i = 0; i < plan->counter_count; i++) {
		double enabled_ns = 0, running_ns = 0;
		if (plan->counters[i].event != event)
			continue;
		for (size_t k = 0; k < threads->process_count; k++) {
			enabled_ns += threads->processes[k]->sums[i].enabled_ns;
			running_ns += threads->processes[k]->sums[i].running_ns;
		}
		if (enabled_ns > TURN_MIN_NS && running_ns <= 0)
			return true;
	}
	return false;
}

struct perf_left_out perf_threads_left_out(const struct perf_threads *threads) { return threads->left_out; }

size_t perf_threads_count(const struct perf_threads *threads) { return threads->thread_count; }
