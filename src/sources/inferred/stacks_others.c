#include "src/sources/inferred/stacks_others.h"

#include "src/base/clock.h"
#include "src/sources/inferred/stacks_private.h"
#include "src/sources/python/remote.h"

int64_t stacks_cost_ns(const struct stacks_state *stacks)
{
	return clock_thread_cpu_ns() + remote_reader_cpu_ns(stacks->reader);
}

static bool has_process(const struct stacks_state *stacks, size_t group)
{
	for (size_t i = 0; i < stacks->sampled_count; i++)
		if (stacks->sampled[i].sampler && stacks->sampled[i].group == group)
			return true;
	return false;
}

size_t stacks_count_groups(const struct stacks_state *stacks, size_t *worker_groups)
{
	size_t groups = *worker_groups = 0;
	for (size_t i = 0; i < stacks->groups.count; i++) {
		bool is_live = has_process(stacks, i);
		groups += is_live;
		*worker_groups += is_live && stacks->groups.list[i].is_workers;
	}
	return groups;
}

/* Often, too, while it is not known yet which thread trains. */
static double threads_period_ns(const struct stacks_state *stacks, const struct sampled *sampled, int64_t now_ns)
{
	const struct source_choices *choices = source_choices(stacks->target);
	bool is_sought = !stacks_follow_main_trains(&sampled->follow) && now_ns < sampled->loaders.boost_until_ns;
	bool is_often = choices->wants_stacks || choices->seeks_lines || is_sought;
	size_t worker_groups;
	return stacks_pace_threads_ns(&stacks->pace, is_often, stacks_count_groups(stacks, &worker_groups));
}

static bool has_threads(const struct stacks_state *stacks, const struct sampled *sampled)
{
	return sampled->sampler && sampled->group != NO_GROUP && !stacks->groups.list[sampled->group].is_workers;
}

static void note(void *context, uint64_t thread, bool is_busy, const struct py_sample *sample)
{
	stacks_follow_note(context, thread, is_busy, sample);
}

static struct stacks_subject subject_of(struct stacks_state *stacks, struct sampled *sampled)
{
	return (struct stacks_subject){ .sampler = sampled->sampler,
		.process_fd = sampled->process.fd,
		.pid = sampled->process.pid,
		.group = stacks->groups.list[sampled->group].id,
		.owner = &sampled->owner,
		.lines = stacks->lines,
		.tree = stacks->tree,
		.waits = &stacks->waits,
		.lock = &stacks->thread.lock,
		.note = note,
		.context = &sampled->follow };
}

/* Samples the thread that trains from now on. */
static void choose_thread(struct sampled *sampled, int64_t now_ns)
{
	struct py_addresses at = py_sampler_addresses(sampled->sampler);
	if (!at.main)
		return;
	enum stacks_follow_change change =
		stacks_follow_choose(&sampled->follow, at.main, at.sampled, sampled->loaders.steps != NULL, now_ns);
	if (change == STACKS_FOLLOW_SAME)
		return;
	py_sampler_follow(sampled->sampler, sampled->follow.followed);
	if (change == STACKS_FOLLOW_OTHER)
		stacks_loaders_restart(&sampled->loaders);
}

int64_t stacks_others_sample(struct stacks_state *stacks, struct sampled *sampled, int64_t now_ns)
{
	if (!has_threads(stacks, sampled))
		return INT64_MAX;
	/* The rate may have become higher. */
	int64_t latest_ns = now_ns + (int64_t)(2 * threads_period_ns(stacks, sampled, now_ns));
	if (sampled->threads_ns > latest_ns)
		sampled->threads_ns = latest_ns;
	if (sampled->threads_ns > now_ns)
		return sampled->threads_ns;
	if (!sampled->threads) {
		struct stacks_threads *threads = stacks_threads_new();
		pthread_mutex_lock(&stacks->thread.lock);
		sampled->threads = threads;
		pthread_mutex_unlock(&stacks->thread.lock);
	}
	if (!sampled->threads)
		return INT64_MAX;
	struct stacks_subject subject = subject_of(stacks, sampled);
	int64_t before_ns = stacks_cost_ns(stacks);
	stacks_owner_note_user(&sampled->owner);
	stacks_threads_sample(sampled->threads, &subject, now_ns);
	choose_thread(sampled, now_ns);
	stacks_pace_note_threads(&stacks->pace, stacks_cost_ns(stacks) - before_ns);
	double each_ns = threads_period_ns(stacks, sampled, now_ns);
	sampled->threads_ns = now_ns + (int64_t)(each_ns * (0.5 + stacks_pace_random(&stacks->pace)));
	return sampled->threads_ns;
}

void stacks_others_note_wait(struct stacks_state *stacks, struct sampled *sampled, int64_t now_ns)
{
	if (!has_threads(stacks, sampled) || !sampled->threads)
		return;
	struct py_addresses at = py_sampler_addresses(sampled->sampler);
	if (at.sampled == at.main)
		stacks_follow_note_main(&sampled->follow, &stacks->sample);
	struct stacks_subject subject = subject_of(stacks, sampled);
	if (stacks_threads_note_wait(sampled->threads, &subject, now_ns))
		sampled->threads_ns = now_ns;
}
