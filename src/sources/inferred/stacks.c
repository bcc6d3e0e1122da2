/* Samples the main threads of the target's Python processes, or those that train (steps/stacks_follow.h), to find where
 * their code spends its time, and less often their other threads.
 *
 * Reading another process's memory may block, and reading a source line may wait for a disk, so a separate thread
 * (the stack thread) does both. A child process of that thread reads the memory (remote_reader.h): if a read blocks,
 * that child is left behind, and its process is retried at growing intervals.
 *
 *   read (collector's thread)  ── processes ──▶     ┌ stack thread ┐  py_sampler_sample → stacks_tree_add
 *                              ◀── CODE… records ── └ tree, groups ┘  (the tree and the groups are under `lock`) */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/sources/choices.h"
#include "src/sources/inferred/stacks_others.h"
#include "src/sources/inferred/stacks_place.h"
#include "src/sources/inferred/stacks_private.h"
#include "src/sources/python/py_sampler.h"
#include "src/sources/python/remote.h"
#include "src/sources/source.h"
#include "src/sources/target/access.h"
#include "src/sources/target/target.h"

enum { STACK_READER = 2 };

#define AWAITING_NS (20 * NS_PER_MS)
/* What is due so soon after something else is done with it: one wake-up less. */
#define TOGETHER_NS (10 * NS_PER_MS)
#define TRY_FIRST_NS (100 * NS_PER_MS)
#define TRY_MAX_NS (30 * NS_PER_S)
/* Before a file is read, the rights of its process are read again in any case. */
#define NOTE_USER_NS (1 * NS_PER_S)
/* A program that pmtop starts may begin so much earlier than its first sample. */
#define STARTED_BEFORE_NS (NS_PER_S / 4)

/* -- processes -- */

/* Under the lock. */
static void forget(struct stacks_state *stacks, struct sampled *sampled)
{
	stacks_threads_free(sampled->threads, &stacks->waits);
	stacks_loaders_end(&sampled->loaders, clock_monotonic_ns());
	if (sampled->sampler)
		py_sampler_close(sampled->sampler);
	py_gradients_free(sampled->gradients);
	close(sampled->process.fd);
}

/* Under the lock. */
static void update_sampled(struct stacks_state *stacks)
{
	size_t retained = 0;
	int64_t opened_ns = clock_realtime_ns() - clock_monotonic_ns() + stacks->opened_ns - STARTED_BEFORE_NS;
	stacks->present.has_changed = false;
	for (size_t i = 0; i < stacks->sampled_count; i++) {
		const struct stacks_process *process = &stacks->sampled[i].process;
		size_t at = stacks_present_find(&stacks->present, process->pid, process->start_ticks, process->generation);
		if (at == stacks->present.count) {
			forget(stacks, &stacks->sampled[i]);
			continue;
		}
		stacks->sampled[retained] = stacks->sampled[i];
		stacks->sampled[retained++].process.job = stacks->present.list[at].job;
	}
	stacks->sampled_count = retained;
	for (size_t i = 0; i < stacks->present.count && stacks->sampled_count < PROCESSES_MAX; i++) {
		if (stacks->present.list[i].fd < 0)
			continue;
		stacks->sampled[stacks->sampled_count++] = (struct sampled){ .process = stacks->present.list[i],
			.try_after_ns = TRY_FIRST_NS,
			.gradients = py_gradients_new(),
			.group = NO_GROUP,
			.loaders = STACKS_LOADERS_INIT(
				source_choices(stacks->target), stacks_began_ns(stacks->present.list[i].start_ticks) >= opened_ns),
			.owner = { .process_fd = stacks->present.list[i].fd,
				.started_ns = stacks_began_ns(stacks->present.list[i].start_ticks) } };
		stacks->present.list[i].fd = -1;
	}
}

/* -- sampling -- */

/* The time between two samples of one group. While DataLoaders or the lines of slow batches are sought, the rate is as
 * high as while the user views the stacks. */
static double period_ns(const struct stacks_state *stacks, const struct stacks_group *group, bool is_boosted)
{
	const struct source_choices *choices = source_choices(stacks->target);
	bool is_often = is_boosted || choices->wants_stacks || choices->seeks_lines;
	double hz = is_often && choices->stacks_hz < STACKS_HZ_VIEWED ? STACKS_HZ_VIEWED : choices->stacks_hz;
	size_t worker_groups, groups = stacks_count_groups(stacks, &worker_groups);
	return stacks_budget_period_ns(&stacks->budget, hz, is_often, groups, worker_groups, group->is_workers);
}

/* Under the lock. */
static void account_sample(struct stacks_state *stacks, struct sampled *sampled, size_t no_grad, int64_t now_ns)
{
	bool is_new = sampled->group == NO_GROUP && stacks->sample.is_whole && stacks->sample.count > 0;
	bool is_workers = is_new && stacks_groups_is_worker(&stacks->sample);
	if (is_new)
		sampled->group =
			stacks_groups_find(&stacks->groups, is_workers ? sampled->process.parent : sampled->process.pid, is_workers,
				py_sampler_version(sampled->sampler));
	if (sampled->group == NO_GROUP)
		return;
	struct stacks_group *group = &stacks->groups.list[sampled->group];
	uint64_t represented_ns =
		stacks_group_count(group, stacks->sample.is_whole, period_ns(stacks, group, false), now_ns);
	uint32_t node = stacks_tree_add(stacks->tree, group->id, &stacks->sample, stacks->texts, no_grad, represented_ns);
	if (!group->is_workers)
		stacks_recent_add(&stacks->recent, node, now_ns);
}

static void end_sampled(struct sampled *sampled)
{
	stacks_loaders_close(&sampled->loaders);
	py_sampler_close(sampled->sampler);
	sampled->sampler = NULL;
	sampled->owner.line_cache = 0;
	sampled->try_ns = clock_monotonic_ns() + sampled->try_after_ns;
}

/* A spawned child's command line shows no script: it has its parent's name. */
static const char *name_of(const struct stacks_state *stacks, const struct sampled *sampled)
{
	for (size_t i = 0; sampled->spawned.is_child && i < stacks->sampled_count; i++)
		if (stacks->sampled[i].process.pid == sampled->process.parent)
			return stacks->sampled[i].process.command;
	return sampled->process.command;
}

static void poll_loaders(struct stacks_state *stacks, struct sampled *sampled, int64_t now_ns)
{
	struct stacks_polled *polled = &stacks->polled;
	stacks_loaders_poll(&sampled->loaders, stacks->lines, &sampled->owner, now_ns, polled);
	pthread_mutex_lock(&stacks->thread.lock);
	stacks_loaders_take(&sampled->loaders, &stacks->runs, polled, sampled->process.pid, sampled->process.start_ticks,
		name_of(stacks, sampled), now_ns);
	if (sampled->loaders.steps)
		stacks_place_steps(stacks, sampled);
	pthread_mutex_unlock(&stacks->thread.lock);
	const struct source_choices *choices = source_choices(stacks->target);
	double factor = stacks_budget_poll_factor(&stacks->budget, choices->wants_stacks || choices->seeks_lines);
	if (sampled->loaders.poll_ns == INT64_MAX)
		return;
	sampled->poll_each_ns = (int64_t)(factor * (double)(sampled->loaders.poll_ns - now_ns));
	sampled->loaders.poll_ns = now_ns + sampled->poll_each_ns;
}

static int64_t earlier(int64_t a_ns, int64_t b_ns) { return a_ns < b_ns ? a_ns : b_ns; }

/* Of the target itself. */
static void note_no_steps(struct stacks_state *stacks, const struct sampled *sampled, bool is_worker)
{
	char why[STACKS_WHY_SIZE] = "";
	if (sampled->process.pid != stacks->target->pid)
		return;
	stacks_loaders_why(&sampled->loaders, is_worker ? sampled->process.parent : 0, why, sizeof why);
	pthread_mutex_lock(&stacks->thread.lock);
	memcpy(stacks->missing.no_steps, why, sizeof why);
	pthread_mutex_unlock(&stacks->thread.lock);
}

/* -- the main thread -- */

static void sample_process(struct stacks_state *stacks, struct sampled *sampled)
{
	bool is_measured = stacks_budget_measures_sample(&stacks->budget);
	int64_t now_ns = clock_monotonic_ns(), before_ns = is_measured ? stacks_cost_ns(stacks) : 0;
	if (now_ns - sampled->noted_ns >= NOTE_USER_NS) {
		stacks_owner_note_user(&sampled->owner);
		sampled->noted_ns = now_ns;
	}
	enum status status = py_sampler_sample(sampled->sampler, now_ns, &stacks->sample);
	if (status == STATUS_OK) {
		stacks_others_note_wait(stacks, sampled, now_ns);
		const struct py_process *process = py_sampler_process(sampled->sampler);
		size_t no_grad = py_gradients_disabled(sampled->gradients, process, &stacks->sample);
		stacks_owner_note_cells(&sampled->owner, process, &stacks->sample);
		for (size_t i = 0; i < stacks->sample.count; i++) {
			const struct py_site *site = &stacks->sample.sites[i];
			stacks->texts[i] = stacks_tree_is_own(stacks->tree, site->known)
				? stacks_lines_text(stacks->lines, &sampled->owner, site->known->code.file, site->line)
				: NULL;
		}
		pthread_mutex_lock(&stacks->thread.lock);
		account_sample(stacks, sampled, no_grad, now_ns);
		stacks_loaders_list(&sampled->loaders, sampled->process.pid, &stacks->found);
		pthread_mutex_unlock(&stacks->thread.lock);
		/* Loaders inside a worker do not belong to the run. */
		bool is_worker = sampled->group == NO_GROUP || stacks->groups.list[sampled->group].is_workers;
		if (!is_worker) {
			stacks_loaders_note(
				&sampled->loaders, sampled->sampler, &stacks->sample, stacks->lines, &sampled->owner, now_ns);
			stacks_spawned_note(&sampled->spawned, process, &stacks->sample);
		}
		note_no_steps(stacks, sampled, is_worker && sampled->group != NO_GROUP);
	} else if (status != STATUS_AGAIN) {
		end_sampled(sampled);
	}
	if (is_measured)
		stacks_budget_note_sample(&stacks->budget, stacks_cost_ns(stacks) - before_ns);
	else
		stacks_budget_skip_sample(&stacks->budget);
}

/* A process that just started has no Python yet. One whose search exceeded its budget is retried rarely. */
static void note_search(struct sampled *sampled, enum status status, int64_t now_ns)
{
	bool is_final = status == STATUS_OK || status == STATUS_UNSUPPORTED;
	if (status == STATUS_DAMAGED)
		sampled->try_after_ns = TRY_MAX_NS;
	sampled->try_ns = is_final ? INT64_MAX : now_ns + sampled->try_after_ns;
	sampled->try_after_ns = sampled->try_after_ns < TRY_MAX_NS / 2 ? 2 * sampled->try_after_ns : TRY_MAX_NS;
}

/* The sampler of its parent, or of another child of it: DataLoader workers are forks. NULL: there is none. */
static const struct py_sampler *relative_of(const struct stacks_state *stacks, const struct stacks_process *process)
{
	for (size_t i = 0; i < stacks->sampled_count; i++) {
		const struct stacks_process *other = &stacks->sampled[i].process;
		if (stacks->sampled[i].sampler && (other->pid == process->parent || other->parent == process->parent))
			return stacks->sampled[i].sampler;
	}
	return NULL;
}

static void try_to_open(struct stacks_state *stacks, struct sampled *sampled, int64_t now_ns)
{
	struct reason why = { "", "" };
	int64_t before_ns = stacks_cost_ns(stacks);
	if (!stacks_search_may(&stacks->search, now_ns)) {
		sampled->try_ns = now_ns + TRY_FIRST_NS;
		return;
	}
	sampled->owner.has_user = sampled->owner.is_mixed = false;
	stacks_owner_note_user(&sampled->owner);
	enum status status = py_sampler_open(
		sampled->process.pid, sampled->process.fd, relative_of(stacks, &sampled->process), &sampled->sampler, &why);
	stacks_owner_note_user(&sampled->owner);
	int64_t cost_ns = stacks_cost_ns(stacks) - before_ns;
	stacks_search_pay(&stacks->search, cost_ns);
	stacks_budget_note_search(&stacks->budget, cost_ns);
	note_search(sampled, status, now_ns);
	if (sampled->process.pid != stacks->target->pid || remote_reader_stuck_ns(stacks->reader))
		return;
	if (status == STATUS_DENIED)
		access_explain_memory(sampled->process.fd, sampled->process.pid, stacks->target->uid, remote_test_self(), &why);
	pthread_mutex_lock(&stacks->thread.lock);
	stacks->missing.status = status;
	stacks->missing.why = why;
	pthread_mutex_unlock(&stacks->thread.lock);
}

/* -- blocked reads -- */

/* Publishes, under the lock, the process whose memory has been blocked for longest. */
static void publish_stuck(struct stacks_state *stacks)
{
	stacks->missing.stuck_since_ns = 0;
	for (size_t i = 0; i < stacks->sampled_count; i++) {
		const struct sampled *sampled = &stacks->sampled[i];
		if (!sampled->stuck.since_ns ||
			(stacks->missing.stuck_since_ns && stacks->missing.stuck_since_ns <= sampled->stuck.since_ns))
			continue;
		stacks->missing.stuck_since_ns = sampled->stuck.since_ns;
		stacks->missing.stuck_pid = sampled->process.pid;
	}
}

/* Retries all reads at once: the process is unblocked only when all of them return. */
static void retry_stuck(struct stacks_state *stacks, struct sampled *sampled, int64_t now_ns)
{
	if (!sampled->sampler)
		try_to_open(stacks, sampled, now_ns);
	if (sampled->sampler && !remote_reader_stuck_ns(stacks->reader))
		sample_process(stacks, sampled);
	if (sampled->loaders.poll_ns != INT64_MAX && !remote_reader_stuck_ns(stacks->reader))
		poll_loaders(stacks, sampled, now_ns);
	if (!stacks_stuck_note(&sampled->stuck, stacks->reader, clock_monotonic_ns()))
		stacks_stuck_end(&sampled->stuck, now_ns);
}

/* -- the schedule -- */

/* The next process of a group in turn. NULL: it has none. */
static struct sampled *next_of(struct stacks_state *stacks, size_t group, size_t turn)
{
	for (size_t i = 1; i <= stacks->sampled_count; i++) {
		struct sampled *sampled = &stacks->sampled[(turn + i) % stacks->sampled_count];
		if (sampled->sampler && sampled->group == group && !sampled->stuck.since_ns)
			return sampled;
	}
	return NULL;
}

/* A wake-up costs more than a poll: one that is due within half its period is done together with a sample. */
static bool polls_now(const struct stacks_state *stacks, const struct sampled *sampled, int64_t now_ns)
{
	int64_t together_ns = TOGETHER_NS;
	for (size_t i = 0; i < stacks->groups.count; i++)
		if (stacks->groups.list[i].next_ns <= now_ns && together_ns < sampled->poll_each_ns / 2)
			together_ns = sampled->poll_each_ns / 2;
	return sampled->loaders.poll_ns <= now_ns + together_ns;
}

/* When to wake up for a poll: not if a sample follows within half its period. */
static int64_t poll_wake_ns(const struct stacks_state *stacks, const struct sampled *sampled)
{
	int64_t due_ns = sampled->loaders.poll_ns;
	for (size_t i = 0; i < stacks->groups.count; i++) {
		int64_t sample_ns = stacks->groups.list[i].next_ns;
		if (sample_ns >= due_ns && sample_ns - due_ns <= sampled->poll_each_ns / 2)
			return sample_ns;
	}
	return due_ns;
}

/* Opens the process, takes a first sample if it has no group yet, and polls its loaders, when these are due. Returns
 * the time of its next task but the next poll. */
static int64_t serve_process(struct stacks_state *stacks, struct sampled *sampled, int64_t now_ns)
{
	int64_t next_ns = INT64_MAX;
	if (sampled->stuck.since_ns) {
		if (stacks_stuck_is_due(&sampled->stuck, stacks->reader, now_ns))
			retry_stuck(stacks, sampled, now_ns);
		return sampled->stuck.since_ns ? sampled->stuck.try_ns : now_ns;
	}
	if (!sampled->sampler && sampled->try_ns <= now_ns)
		try_to_open(stacks, sampled, now_ns);
	bool is_new = sampled->sampler && sampled->group == NO_GROUP && stacks->groups.count < STACKS_GROUPS_MAX;
	if (is_new) {
		sample_process(stacks, sampled);
		next_ns = now_ns + TRY_FIRST_NS;
	}
	if (!sampled->sampler)
		next_ns = earlier(next_ns, sampled->try_ns);
	if (polls_now(stacks, sampled, now_ns) && !remote_reader_stuck_ns(stacks->reader))
		poll_loaders(stacks, sampled, now_ns);
	if (!remote_reader_stuck_ns(stacks->reader))
		next_ns = earlier(next_ns, stacks_others_sample(stacks, sampled, now_ns));
	return stacks_stuck_note(&sampled->stuck, stacks->reader, clock_monotonic_ns()) ? sampled->stuck.try_ns : next_ns;
}

/* Samples the next process of a group if due; returns when the next sample is. */
static int64_t sample_group(struct stacks_state *stacks, size_t index, int64_t now_ns)
{
	struct stacks_group *group = &stacks->groups.list[index];
	struct sampled *sampled = next_of(stacks, index, group->turn);
	if (!sampled)
		return INT64_MAX;
	bool is_boosted = now_ns < sampled->loaders.boost_until_ns || stacks_loaders_is_stalled(&sampled->loaders, now_ns);
	if (group->next_ns > now_ns + AWAITING_NS && stacks_loaders_awaits(&sampled->loaders, now_ns))
		group->next_ns = now_ns;
	if (is_boosted && !group->is_workers)
		group->next_ns = earlier(group->next_ns,
			now_ns + (int64_t)(period_ns(stacks, group, true) * (0.5 + stacks_pace_random(&stacks->pace))));
	if (group->next_ns <= now_ns) {
		group->turn = (size_t)(sampled - stacks->sampled);
		sample_process(stacks, sampled);
		stacks_stuck_note(&sampled->stuck, stacks->reader, clock_monotonic_ns());
		bool is_awaiting = stacks_loaders_awaits(&sampled->loaders, now_ns);
		double each_ns = is_awaiting ? AWAITING_NS : period_ns(stacks, group, is_boosted);
		group->next_ns = now_ns + (int64_t)(each_ns * (0.5 + stacks_pace_random(&stacks->pace)));
	}
	return group->next_ns;
}

/* Does everything that is due; returns when the next task is. */
static int64_t sample_all(struct stacks_state *stacks)
{
	int64_t now_ns = clock_monotonic_ns(), next_ns = INT64_MAX;
	if (stacks_budget_is_due(&stacks->budget, now_ns))
		stacks_budget_measure(&stacks->budget, now_ns, stacks_cost_ns(stacks));
	for (size_t i = 0; i < stacks->sampled_count && !atomic_load(&stacks->thread.is_stopping); i++)
		next_ns = earlier(next_ns, serve_process(stacks, &stacks->sampled[i], now_ns));
	for (size_t i = 0; i < stacks->groups.count && !atomic_load(&stacks->thread.is_stopping); i++)
		next_ns = earlier(next_ns, sample_group(stacks, i, now_ns));
	/* Afterwards, because a sample may have found what to poll. */
	for (size_t i = 0; i < stacks->sampled_count; i++)
		if (!stacks->sampled[i].stuck.since_ns)
			next_ns = earlier(next_ns, poll_wake_ns(stacks, &stacks->sampled[i]));
	pthread_mutex_lock(&stacks->thread.lock);
	publish_stuck(stacks);
	stacks->reader_cpu_ns = remote_reader_cpu_ns(stacks->reader);
	pthread_mutex_unlock(&stacks->thread.lock);
	return next_ns;
}

static void sample_until_due(void *argument)
{
	struct stacks_state *stacks = argument;
	remote_reader_use(stacks->reader);
	stacks_budget_init(&stacks->budget, clock_monotonic_ns(), stacks_cost_ns(stacks));
	while (!atomic_load(&stacks->thread.is_stopping)) {
		pthread_mutex_lock(&stacks->thread.lock);
		if (stacks->present.has_changed)
			update_sampled(stacks);
		pthread_mutex_unlock(&stacks->thread.lock);
		int64_t left_ns = sample_all(stacks) - clock_monotonic_ns();
		own_thread_wait(&stacks->thread, left_ns > 0 ? left_ns : 0);
	}
	remote_reader_use(NULL);
}

/* -- the source -- */

static void release(struct stacks_state *stacks)
{
	for (size_t i = 0; i < stacks->sampled_count; i++)
		forget(stacks, &stacks->sampled[i]);
	stacks_present_release(&stacks->present);
	stacks_ranks_release(&stacks->ranks);
	remote_reader_free(stacks->reader);
	stacks_runs_release(&stacks->runs);
	stacks_tree_free(stacks->tree);
	stacks_lines_free(stacks->lines);
	free(stacks);
}

/* A thread that is blocked on another process's memory, or on a disk, is left behind with the memory that it uses. */
static void stacks_close(void *state)
{
	struct stacks_state *stacks = state;
	if (own_thread_end(&stacks->thread))
		release(stacks);
}

/* Only real processes have stacks, not those of a fixture. */
static bool has_anything_to_sample(const struct target *target)
{
	return target->pid != 0 && strcmp(target->proc_root, "/proc") == 0 && source_choices(target)->stacks_hz > 0;
}

static enum status stacks_open(struct target *target, void **state, struct reason *why_not)
{
	struct stacks_state *stacks = calloc(1, sizeof *stacks);
	if (!stacks)
		return reason_set(why_not, STATUS_NO_MEMORY, NULL, "out of memory");
	own_thread_init(&stacks->thread);
	stacks->target = target;
	stacks->tree = stacks_tree_new();
	stacks->lines = stacks_lines_new();
	stacks->reader = remote_reader_new(STACKS_STUCK_LIMIT_NS);
	stacks->opened_ns = clock_monotonic_ns();
	stacks_search_init(&stacks->search, stacks->opened_ns);
	stacks->pace.random = (uint64_t)stacks->opened_ns | 1;
	*state = stacks;
	if (!has_anything_to_sample(target))
		return STATUS_OK;
	stacks_ranks_refresh(&stacks->ranks, target, stacks->opened_ns);
	stacks_present_take(&stacks->present, target, &stacks->ranks);
	int error = stacks->tree && stacks->lines && stacks->reader
		? own_thread_start(&stacks->thread, sample_until_due, stacks)
		: ENOMEM;
	if (error == 0)
		return STATUS_OK;
	own_thread_end(&stacks->thread);
	release(stacks);
	return reason_set(why_not, STATUS_IO, "raise the limits (ulimit -n, -u, -v)", "a thread could not be started: %s",
		strerror(error));
}

/* Under the lock. */
static void emit_threads(struct stacks_state *stacks, bool again, int64_t now_ns, struct sample_set *out)
{
	for (size_t i = 0; i < stacks->sampled_count; i++)
		if (stacks->sampled[i].threads)
			stacks_threads_emit(
				stacks->sampled[i].threads, stacks->groups.list[stacks->sampled[i].group].id, again, now_ns, out);
}

static enum status stacks_read(void *state, int64_t now_ns, struct sample_set *out)
{
	struct stacks_state *stacks = state;
	if (!stacks->thread.is_started) {
		if (stacks->target->pid != 0 && source_choices(stacks->target)->stacks_hz <= 0)
			sample_set_missing(
				out, now_ns, "stacks", "stack sampling is off", "set stacks: looks_per_second in pmtop.yaml");
		return STATUS_END;
	}
	stacks_ranks_refresh(&stacks->ranks, stacks->target, now_ns);
	stacks_ranks_emit(&stacks->ranks, now_ns, out);
	pthread_mutex_lock(&stacks->thread.lock);
	stacks_present_take(&stacks->present, stacks->target, &stacks->ranks);
	stacks->ranks.is_spawned = stacks->target->is_spawned_rank = stacks->is_spawned_rank;
	bool has_changed = stacks->present.has_changed;
	stacks_groups_emit(&stacks->groups, false, now_ns, out);
	stacks_tree_emit(stacks->tree, now_ns, false, out);
	stacks_recent_emit(&stacks->recent, out);
	emit_threads(stacks, false, now_ns, out);
	stacks_waits_emit(&stacks->waits, out);
	stacks_runs_emit(&stacks->runs, false, stacks->target->has_ended, now_ns, out);
	stacks_found_emit(&stacks->found, now_ns, out);
	stacks_lines_emit_missing(stacks->lines, &stacks->has_emitted_no_text, now_ns, out);
	stacks_missing_note_waiting(&stacks->missing, stacks->reader, now_ns);
	stacks_missing_emit(&stacks->missing, now_ns - stacks->opened_ns, stacks->groups.count > 0, now_ns, out);
	if (stacks->reader_cpu_ns > 0)
		sample_set_figure(out, now_ns, METRIC_SELF_CPU, STACK_READER, (double)stacks->reader_cpu_ns);
	pthread_mutex_unlock(&stacks->thread.lock);
	if (has_changed)
		own_thread_wake(&stacks->thread);
	return stacks->target->has_ended ? STATUS_END : STATUS_OK;
}

static enum status stacks_emit_all(void *state, int64_t now_ns, struct sample_set *out)
{
	struct stacks_state *stacks = state;
	if (!stacks->thread.is_started)
		return STATUS_OK;
	pthread_mutex_lock(&stacks->thread.lock);
	stacks_groups_emit(&stacks->groups, true, now_ns, out);
	stacks_tree_emit(stacks->tree, now_ns, true, out);
	emit_threads(stacks, true, now_ns, out);
	stacks_runs_emit(&stacks->runs, true, false, now_ns, out);
	pthread_mutex_unlock(&stacks->thread.lock);
	return STATUS_OK;
}

const struct source stacks_source = {
	.name = "stacks",
	.period_ns = SOURCE_SLOW_NS,
	.open = stacks_open,
	.read = stacks_read,
	.emit_all = stacks_emit_all,
	.close = stacks_close,
};
