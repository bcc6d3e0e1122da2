#include "src/sources/inferred/sums/stacks_threads.h"

#include <stdlib.h>
#include <string.h>

#include "src/sources/python/counters/py_thread_name.h"
#include "src/sources/python/py_gil.h"
#include "src/sources/python/py_threads.h"

/* The weight of earlier samples falls by this with each new one, so that the line is that of now. */
#define LINE_DECAY 0.98

enum { TRIES = 3, LINES_MAX = 8, WAITS_APART_MAX_NS = 1000000000 };

struct thread {
	uint32_t id;
	uint64_t address;
	pid_t number; /* as Python stores it */
	struct py_thread known;
	bool is_named; /* by the program */
	bool is_found, is_gone, has_changed, is_emitted;
	uint64_t samples, busy, waits;
	uint64_t run_ns; /* its CPU time at the last sample; 0 = unknown */
	uint32_t last_node;
	struct {
		uint32_t node;
		double weight;
	} lines[LINES_MAX];
};

struct stacks_threads {
	size_t count;
	struct thread list[STACKS_THREADS_MAX];
	uint64_t holder; /* of the GIL, now; 0 = none, or unknown */
	struct py_sample sample;
};

/* What a sample of one thread found. */
struct seen {
	bool is_busy, is_waiting;
	const struct py_site *site; /* NULL: no Python code, or not read */
	const char *text;
};

struct stacks_threads *stacks_threads_new(void) { return calloc(1, sizeof(struct stacks_threads)); }

/* -- ids -- */

/* 0: there are too many. */
static uint32_t take_id(struct stacks_waits *waits)
{
	for (uint32_t i = 0; i < STACKS_THREAD_IDS_MAX; i++)
		if (!waits->is_used[i]) {
			waits->is_used[i] = true;
			return i + 1;
		}
	return 0;
}

void stacks_threads_free(struct stacks_threads *threads, struct stacks_waits *waits)
{
	for (size_t i = 0; threads && i < threads->count; i++)
		waits->is_used[threads->list[i].id - 1] = false;
	free(threads);
}

/* -- which threads there are -- */

static struct thread *find_thread(struct stacks_threads *threads, uint64_t address)
{
	for (size_t i = 0; threads && i < threads->count; i++)
		if (threads->list[i].address == address && !threads->list[i].is_gone)
			return &threads->list[i];
	return NULL;
}

static void add_thread(
	struct stacks_threads *threads, const struct stacks_subject *subject, const struct py_thread_at *at)
{
	const struct py_process *process = py_sampler_process(subject->sampler);
	struct thread new = { .address = at->address, .number = at->number, .is_found = true };
	py_thread_identify(process->pid, process->process_fd, &process->location.layout, at->address, &new.known);
	pthread_mutex_lock(subject->lock);
	if (threads->count < STACKS_THREADS_MAX && (new.id = take_id(subject->waits)) != 0)
		threads->list[threads->count++] = new;
	pthread_mutex_unlock(subject->lock);
}

/* Under the lock. */
static void drop_gone(struct stacks_threads *threads, struct stacks_waits *waits)
{
	size_t retained = 0;
	for (size_t i = 0; i < threads->count; i++) {
		const struct thread *thread = &threads->list[i];
		if (thread->is_gone && !thread->has_changed)
			waits->is_used[thread->id - 1] = false;
		else
			threads->list[retained++] = *thread;
	}
	threads->count = retained;
}

static void note_gone(struct stacks_threads *threads)
{
	for (size_t i = 0; i < threads->count; i++) {
		struct thread *thread = &threads->list[i];
		thread->has_changed |= !thread->is_found && !thread->is_gone;
		thread->is_gone |= !thread->is_found;
	}
}

/* A new thread may have the address of one that has ended. */
static void update_list(
	struct stacks_threads *threads, const struct stacks_subject *subject, const struct py_addresses *addresses)
{
	struct py_thread_at found[STACKS_THREADS_MAX + 1];
	size_t count = py_sampler_threads(subject->sampler, found, STACKS_THREADS_MAX + 1);
	pthread_mutex_lock(subject->lock);
	drop_gone(threads, subject->waits);
	pthread_mutex_unlock(subject->lock);
	for (size_t i = 0; i < threads->count; i++)
		threads->list[i].is_found = false;
	for (size_t i = 0; i < count; i++) {
		struct thread *thread = find_thread(threads, found[i].address);
		if (found[i].address == addresses->main)
			continue;
		if (thread && thread->number == found[i].number)
			thread->is_found = true;
		else
			add_thread(threads, subject, &found[i]);
	}
	pthread_mutex_lock(subject->lock);
	note_gone(threads);
	pthread_mutex_unlock(subject->lock);
}

/* -- samples -- */

/* Of the user's own code the innermost line, else the innermost of all. */
static void choose_site(const struct stacks_subject *subject, const struct py_sample *sample, struct seen *out)
{
	for (size_t i = 0; i < sample->count; i++) {
		const struct py_site *site = &sample->sites[i];
		if (!stacks_tree_is_own(subject->tree, site->known))
			continue;
		out->site = site;
		out->text = stacks_lines_text(subject->lines, subject->owner, site->known->code.file, site->line);
		return;
	}
	out->site = sample->count > 0 ? &sample->sites[0] : NULL;
}

/* Under the lock. */
static void count_line(struct thread *thread, uint32_t node)
{
	size_t at = 0, least = 0;
	for (size_t i = 0; i < LINES_MAX; i++) {
		thread->lines[i].weight *= LINE_DECAY;
		least = thread->lines[i].weight < thread->lines[least].weight ? i : least;
	}
	while (at < LINES_MAX && thread->lines[at].node != node)
		at++;
	if (at == LINES_MAX) {
		at = least;
		thread->lines[at].node = node;
		thread->lines[at].weight = 0;
	}
	thread->lines[at].weight += 1;
}

/* Under the lock. */
static void account(struct thread *thread, const struct stacks_subject *subject, const struct seen *seen)
{
	uint32_t node = seen->site ? stacks_tree_line(subject->tree, subject->group, seen->site, seen->text) : 0;
	thread->samples++;
	thread->busy += seen->is_busy;
	thread->waits += seen->is_waiting;
	thread->last_node = node ? node : thread->last_node;
	thread->has_changed = true;
	if (node && (seen->is_busy || seen->is_waiting))
		count_line(thread, node);
}

/* A thread that slept and has not run since still sleeps in the same line. */
static bool still_sleeps(
	const struct stacks_threads *threads, const struct stacks_subject *subject, struct thread *thread)
{
	uint64_t run_ns, before_ns = thread->run_ns;
	thread->run_ns = py_thread_run_ns(subject->process_fd, thread->known.tid, &run_ns) ? run_ns : 0;
	return before_ns && thread->run_ns == before_ns && thread->known.state == 'S' && thread->last_node &&
		threads->holder != thread->address;
}

static void sample_thread(struct stacks_threads *threads, const struct stacks_subject *subject, struct thread *thread,
	const struct py_addresses *addresses, int64_t now_ns)
{
	const struct py_process *process = py_sampler_process(subject->sampler);
	struct py_thread now = thread->known;
	char name[PY_THREAD_NAME_SIZE];
	bool is_named = false;
	if (still_sleeps(threads, subject, thread)) {
		pthread_mutex_lock(subject->lock);
		account(thread, subject, &(struct seen){ .is_busy = false });
		pthread_mutex_unlock(subject->lock);
		subject->note(subject->context, thread->address, false, NULL);
		return;
	}
	py_thread_refresh(subject->process_fd, &now);
	struct seen seen = { .is_busy = now.state == 'R' || threads->holder == thread->address };
	seen.is_waiting = !seen.is_busy && py_gil_is_awaited(subject->process_fd, now.tid, addresses->gil);
	if (py_sampler_sample_other(subject->sampler, thread->address, now_ns, &threads->sample) == STATUS_OK) {
		choose_site(subject, &threads->sample, &seen);
		is_named = !thread->is_named && py_thread_name(process, &threads->sample, name);
	}
	pthread_mutex_lock(subject->lock);
	thread->known.state = now.state;
	if (is_named)
		memcpy(thread->known.name, name, sizeof name);
	else if (!thread->is_named)
		memcpy(thread->known.name, now.name, sizeof now.name);
	thread->is_named |= is_named;
	account(thread, subject, &seen);
	pthread_mutex_unlock(subject->lock);
	subject->note(subject->context, thread->address, seen.is_busy, &threads->sample);
}

/* The main thread has samples of its own, unless another one is followed. */
static void note_main(
	struct stacks_threads *threads, const struct stacks_subject *subject, const struct py_addresses *at, int64_t now_ns)
{
	struct py_thread main = { .tid = subject->pid };
	py_thread_refresh(subject->process_fd, &main);
	bool is_sampled = at->sampled != at->main &&
		py_sampler_sample_other(subject->sampler, at->main, now_ns, &threads->sample) == STATUS_OK;
	subject->note(subject->context, at->main, main.state == 'R', is_sampled ? &threads->sample : NULL);
}

void stacks_threads_sample(struct stacks_threads *threads, const struct stacks_subject *subject, int64_t now_ns)
{
	struct py_addresses addresses = py_sampler_addresses(subject->sampler);
	if (!addresses.interpreter)
		return;
	update_list(threads, subject, &addresses);
	threads->holder = threads->count > 0 ? py_gil_holder(py_sampler_process(subject->sampler), addresses.gil) : 0;
	for (size_t i = 0; i < threads->count; i++)
		if (!threads->list[i].is_gone)
			sample_thread(threads, subject, &threads->list[i], &addresses, now_ns);
	if (threads->count > 0)
		note_main(threads, subject, &addresses, now_ns);
}

/* -- waits for the GIL -- */

/* Under the lock. */
static void add_wait(struct stacks_waits *waits, uint32_t group, uint32_t thread, uint32_t node, int64_t now_ns)
{
	size_t last = waits->count - 1;
	bool is_same = waits->count > 0 && waits->list[last].group == group && waits->list[last].thread == thread &&
		waits->list[last].node == node && now_ns - waits->list[last].end_ns < WAITS_APART_MAX_NS;
	if (!is_same && waits->count == STACKS_GIL_WAITS_MAX)
		return;
	if (!is_same) {
		last = waits->count++;
		waits->list[last].group = group;
		waits->list[last].thread = thread;
		waits->list[last].node = node;
		waits->list[last].count = 0;
		waits->list[last].begin_ns = now_ns;
	}
	waits->list[last].count++;
	waits->list[last].end_ns = now_ns;
}

bool stacks_threads_note_wait(struct stacks_threads *threads, const struct stacks_subject *subject, int64_t now_ns)
{
	const struct py_process *process = py_sampler_process(subject->sampler);
	struct py_addresses addresses = py_sampler_addresses(subject->sampler);
	const struct thread *followed = find_thread(threads, addresses.sampled);
	pid_t tid = followed ? followed->known.tid : subject->pid;
	if (!threads || threads->count == 0)
		return false;
	uint64_t holder = py_gil_holder(process, addresses.gil);
	if (!holder || holder == addresses.sampled || !py_gil_is_awaited(subject->process_fd, tid, addresses.gil))
		return false;
	struct seen seen = { .is_busy = true };
	enum status status = STATUS_AGAIN;
	/* The innermost frames of a thread that runs are often missed. */
	for (unsigned i = 0; i < TRIES && (i == 0 || !threads->sample.is_whole); i++)
		status = py_sampler_sample_other(subject->sampler, holder, now_ns, &threads->sample);
	if (status == STATUS_OK)
		choose_site(subject, &threads->sample, &seen);
	const struct thread *thread = find_thread(threads, holder);
	pthread_mutex_lock(subject->lock);
	uint32_t node = seen.site ? stacks_tree_line(subject->tree, subject->group, seen.site, seen.text) : 0;
	add_wait(subject->waits, subject->group, thread ? thread->id : 0, node, now_ns);
	pthread_mutex_unlock(subject->lock);
	return !thread && holder != addresses.main;
}

/* -- output -- */

static uint32_t main_line(const struct thread *thread)
{
	size_t most = 0;
	for (size_t i = 1; i < LINES_MAX; i++)
		most = thread->lines[i].weight > thread->lines[most].weight ? i : most;
	return thread->lines[most].node ? thread->lines[most].node : thread->last_node;
}

static void emit_thread(const struct thread *thread, uint32_t group, int64_t now_ns, struct sample_set *out)
{
	struct record *record = sample_set_add(out, RECORD_CODE_THREAD, 0, now_ns);
	if (!record)
		return;
	record->code_thread.id = thread->id;
	record->code_thread.group = group;
	record->code_thread.tid = thread->known.tid;
	record->code_thread.state = (uint32_t)(unsigned char)thread->known.state;
	record->code_thread.node = main_line(thread);
	record->code_thread.name =
		thread->known.name[0] ? sample_set_text(out, thread->known.name, strlen(thread->known.name)) : NULL;
	record->code_thread.samples = thread->samples;
	record->code_thread.busy = thread->busy;
	record->code_thread.waits = thread->waits;
	record->code_thread.is_gone = thread->is_gone;
}

void stacks_threads_emit(
	struct stacks_threads *threads, uint32_t group, bool again, int64_t now_ns, struct sample_set *out)
{
	for (size_t i = 0; threads && i < threads->count; i++) {
		struct thread *thread = &threads->list[i];
		if (again ? thread->is_emitted : thread->has_changed)
			emit_thread(thread, group, now_ns, out);
		thread->is_emitted |= !again;
		thread->has_changed &= again;
	}
}

void stacks_waits_emit(struct stacks_waits *waits, struct sample_set *out)
{
	for (size_t i = 0; i < waits->count; i++) {
		struct record *record = sample_set_add(out, RECORD_CODE_GIL_WAITS, 0, waits->list[i].end_ns);
		if (!record)
			break;
		record->code_gil_waits.group = waits->list[i].group;
		record->code_gil_waits.thread = waits->list[i].thread;
		record->code_gil_waits.node = waits->list[i].node;
		record->code_gil_waits.count = waits->list[i].count;
		record->code_gil_waits.begin_ns = waits->list[i].begin_ns;
	}
	waits->count = 0;
}
