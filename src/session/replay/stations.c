#include "src/session/replay/stations.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/base/kernel.h"
#include "src/base/thread.h"

/* Playing through a gap of this length is fast enough. */
#define GAP_NS (240 * NS_PER_S)
#define SLICE_NS (20 * NS_PER_MS)
enum { STATIONS_MAX = 6, NICENESS = 15 };

struct stations {
	pthread_t thread;
	struct session base; /* the template of session_again; it is never played */
	int64_t begin_ns, end_ns;
	/* shared */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool is_stopping;
	size_t count;
	struct session *list[STATIONS_MAX]; /* sorted by time */
};

static void close_session(struct session *session)
{
	if (session)
		session_again_close(session);
	free(session);
}

static int64_t time_at(const struct stations *stations, size_t index)
{
	return index == 0             ? stations->begin_ns
		: index > stations->count ? stations->end_ns
								  : stations->list[index - 1]->model->now_ns;
}

/* The middle of the widest gap; 0: all gaps are short, or the list is full. Under the lock. */
static int64_t wanted_ns(const struct stations *stations)
{
	int64_t widest_ns = GAP_NS, found_ns = 0;
	for (size_t i = 0; i <= stations->count && stations->count < STATIONS_MAX; i++) {
		int64_t from_ns = time_at(stations, i), to_ns = time_at(stations, i + 1);
		if (to_ns - from_ns <= widest_ns)
			continue;
		widest_ns = to_ns - from_ns;
		found_ns = from_ns + widest_ns / 2;
	}
	return found_ns;
}

/* Under the lock. */
static struct session *remove_at(struct stations *stations, size_t at)
{
	struct session *session = stations->list[at];
	stations->count--;
	memmove(&stations->list[at], &stations->list[at + 1], (stations->count - at) * sizeof *stations->list);
	return session;
}

/* The station that is closest to its predecessor. Under the lock. */
static size_t min_useful(const struct stations *stations)
{
	size_t min = 0;
	for (size_t i = 1; i < stations->count; i++)
		if (time_at(stations, i + 1) - time_at(stations, i) < time_at(stations, min + 1) - time_at(stations, min))
			min = i;
	return min;
}

void stations_give(struct stations *stations, struct session *session)
{
	struct session *dropped = NULL;
	if (!stations) {
		close_session(session);
		return;
	}
	pthread_mutex_lock(&stations->lock);
	size_t at = 0;
	while (at < stations->count && stations->list[at]->model->now_ns <= session->model->now_ns)
		at++;
	if (stations->count == STATIONS_MAX) {
		size_t min = min_useful(stations);
		dropped = remove_at(stations, min);
		at -= at > min;
	}
	memmove(&stations->list[at + 1], &stations->list[at], (stations->count - at) * sizeof *stations->list);
	stations->list[at] = session;
	stations->count++;
	pthread_mutex_unlock(&stations->lock);
	close_session(dropped);
}

struct session *stations_take(struct stations *stations, const struct goal *goal, int64_t after_ns)
{
	struct session *found = NULL;
	if (!stations)
		return NULL;
	pthread_mutex_lock(&stations->lock);
	for (size_t i = stations->count; i-- > 0 && !found;)
		if (stations->list[i]->model->now_ns > after_ns && !goal_is_passed(goal, stations->list[i]))
			found = remove_at(stations, i);
	pthread_cond_signal(&stations->changed);
	pthread_mutex_unlock(&stations->lock);
	return found;
}

/* -- the thread -- */

/* Waits until a station is wanted; returns 0 if the thread has to end. */
static int64_t next_wanted_ns(struct stations *stations)
{
	int64_t time_ns = 0;
	pthread_mutex_lock(&stations->lock);
	while (!stations->is_stopping && (time_ns = wanted_ns(stations)) == 0)
		pthread_cond_wait(&stations->changed, &stations->lock);
	bool is_stopping = stations->is_stopping;
	pthread_mutex_unlock(&stations->lock);
	return is_stopping ? 0 : time_ns;
}

static bool is_stopping(struct stations *stations)
{
	pthread_mutex_lock(&stations->lock);
	bool result = stations->is_stopping;
	pthread_mutex_unlock(&stations->lock);
	return result;
}

static struct session *make(struct stations *stations, int64_t time_ns)
{
	struct session *session = malloc(sizeof *session);
	struct goal goal = goal_at(time_ns);
	enum seek_state state = SEEK_GOES_ON;
	if (!session || !session_again(&stations->base, session)) {
		free(session);
		return NULL;
	}
	while (state == SEEK_GOES_ON && !is_stopping(stations))
		state = seek_on(session, &goal, SLICE_NS);
	if (state == SEEK_ARRIVED)
		return session;
	close_session(session);
	return NULL;
}

static void *work(void *argument)
{
	struct stations *stations = argument;
	int64_t time_ns;
	/* On Linux this sets the priority of one thread. */
	setpriority(PRIO_PROCESS, (id_t)kernel_thread_id(), NICENESS);
	while ((time_ns = next_wanted_ns(stations))) {
		struct session *session = make(stations, time_ns);
		if (!session)
			break;
		stations_give(stations, session);
	}
	return NULL;
}

struct stations *stations_start(const struct session *session, int64_t begin_ns, int64_t end_ns)
{
	struct stations *stations = calloc(1, sizeof *stations);
	if (!stations || !session_again(session, &stations->base)) {
		free(stations);
		return NULL;
	}
	stations->begin_ns = begin_ns;
	stations->end_ns = end_ns;
	pthread_mutex_init(&stations->lock, NULL);
	pthread_cond_init(&stations->changed, NULL);
	if (thread_start(&stations->thread, work, stations) == 0)
		return stations;
	session_again_close(&stations->base);
	free(stations);
	return NULL;
}

void stations_stop(struct stations *stations)
{
	if (!stations)
		return;
	pthread_mutex_lock(&stations->lock);
	stations->is_stopping = true;
	pthread_cond_signal(&stations->changed);
	pthread_mutex_unlock(&stations->lock);
	pthread_join(stations->thread, NULL);
	for (size_t i = 0; i < stations->count; i++)
		close_session(stations->list[i]);
	pthread_mutex_destroy(&stations->lock);
	pthread_cond_destroy(&stations->changed);
	session_again_close(&stations->base);
	free(stations);
}
