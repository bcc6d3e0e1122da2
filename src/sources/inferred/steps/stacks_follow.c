#include "src/sources/inferred/steps/stacks_follow.h"

#include "src/base/clock.h"
#include "src/sources/inferred/steps/stacks_training.h"

enum { WINDOW = 64, TRAINED_MIN = 2, SAMPLES_MIN = 10 };
/* Without PyTorch: so long no steps were found; the share of samples in which a thread is busy. */
#define WITHOUT_STEPS_NS (10 * NS_PER_S)
#define BUSY_MIN_RATIO 0.6
#define ASLEEP_MAX_RATIO 0.1
#define AWAKE_MIN_RATIO 0.5

static struct stacks_follow_thread *find(struct stacks_follow *follow, uint64_t thread)
{
	for (size_t i = 0; i < follow->count; i++)
		if (follow->threads[i].thread == thread)
			return &follow->threads[i];
	return NULL;
}

/* When there is no room, the one with the fewest samples makes place. */
static struct stacks_follow_thread *get(struct stacks_follow *follow, uint64_t thread)
{
	struct stacks_follow_thread *found = find(follow, thread);
	if (found)
		return found;
	found = &follow->threads[0];
	for (size_t i = 1; i < follow->count; i++)
		if (follow->threads[i].samples < found->samples)
			found = &follow->threads[i];
	if (follow->count < STACKS_FOLLOW_MAX)
		found = &follow->threads[follow->count++];
	*found = (struct stacks_follow_thread){ .thread = thread };
	return found;
}

static bool is_training(const struct py_sample *sample)
{
	bool is_optimizer;
	return sample && stacks_training_frame(sample, &is_optimizer) >= 0;
}

void stacks_follow_note_main(struct stacks_follow *follow, const struct py_sample *sample)
{
	if (!stacks_follow_main_trains(follow))
		follow->main_trained += is_training(sample);
}

bool stacks_follow_main_trains(const struct stacks_follow *follow) { return follow->main_trained >= TRAINED_MIN; }

void stacks_follow_note(struct stacks_follow *follow, uint64_t thread, bool is_busy, const struct py_sample *sample)
{
	struct stacks_follow_thread *noted = get(follow, thread);
	bool trains = is_training(sample);
	noted->samples++;
	noted->busy += is_busy;
	noted->trained += trains;
	follow->main_trained += trains && thread == follow->main;
	if (noted->samples < WINDOW)
		return;
	noted->samples /= 2;
	noted->busy /= 2;
	noted->trained = (noted->trained + 1) / 2;
}

static double busy_ratio(const struct stacks_follow_thread *thread)
{
	return thread && thread->samples >= SAMPLES_MIN ? (double)thread->busy / thread->samples : 0.5;
}

/* NULL: none trains. */
static const struct stacks_follow_thread *find_training(const struct stacks_follow *follow)
{
	const struct stacks_follow_thread *most = NULL;
	for (size_t i = 0; i < follow->count; i++)
		if (follow->threads[i].trained >= TRAINED_MIN && follow->threads[i].thread != follow->main &&
			(!most || follow->threads[i].trained > most->trained))
			most = &follow->threads[i];
	return most;
}

/* NULL: none is busy, or the main thread is. */
static const struct stacks_follow_thread *find_busy(struct stacks_follow *follow)
{
	const struct stacks_follow_thread *most = NULL;
	if (busy_ratio(find(follow, follow->main)) > ASLEEP_MAX_RATIO)
		return NULL;
	for (size_t i = 0; i < follow->count; i++) {
		double ratio = busy_ratio(&follow->threads[i]);
		if (ratio >= BUSY_MIN_RATIO && (!most || ratio > busy_ratio(most)))
			most = &follow->threads[i];
	}
	return most;
}

static uint64_t choose(struct stacks_follow *follow, bool has_steps, int64_t now_ns)
{
	struct stacks_follow_thread *followed = find(follow, follow->followed);
	const struct stacks_follow_thread *training = find_training(follow);
	bool is_followed_training = followed && followed->trained > 0;
	if (stacks_follow_main_trains(follow))
		return follow->main;
	if (training && !is_followed_training)
		return training->thread;
	bool is_main_awake = busy_ratio(find(follow, follow->main)) >= AWAKE_MIN_RATIO;
	if (follow->is_by_time && !is_followed_training && is_main_awake)
		return follow->main;
	const struct stacks_follow_thread *busy = find_busy(follow);
	if (!training && !has_steps && follow->followed == follow->main && now_ns - follow->since_ns > WITHOUT_STEPS_NS &&
		busy)
		return busy->thread;
	return follow->followed;
}

/* Threads may get the address of one that has ended. */
static void forget(struct stacks_follow *follow, uint64_t thread)
{
	struct stacks_follow_thread *found = find(follow, thread);
	if (found)
		*found = follow->threads[--follow->count];
}

enum stacks_follow_change stacks_follow_choose(
	struct stacks_follow *follow, uint64_t main, uint64_t sampled, bool has_steps, int64_t now_ns)
{
	bool has_ended = follow->followed && follow->followed != sampled, was_by_time = follow->is_by_time;
	if (!follow->since_ns || main != follow->main) {
		unsigned trained = follow->since_ns ? 0 : follow->main_trained;
		*follow = (struct stacks_follow){ .main = main, .followed = main, .since_ns = now_ns, .main_trained = trained };
		return STACKS_FOLLOW_SAME;
	}
	if (has_ended) {
		forget(follow, follow->followed);
		follow->followed = main;
		follow->has_ended = true;
		follow->since_ns = now_ns;
	}
	uint64_t thread = choose(follow, has_steps, now_ns);
	if (thread == follow->followed)
		return STACKS_FOLLOW_SAME;
	bool goes_on = follow->has_ended && !was_by_time;
	const struct stacks_follow_thread *found = find(follow, thread);
	follow->is_by_time = found && found->trained < TRAINED_MIN && thread != main;
	follow->followed = thread;
	follow->has_ended = false;
	return goes_on && !follow->is_by_time ? STACKS_FOLLOW_NEXT : STACKS_FOLLOW_OTHER;
}
