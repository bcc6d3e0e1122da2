#include "src/collect/collector.h"

#include <errno.h>
#include <poll.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/collect/collector_private.h"
#include "src/collect/collector_watch.h"
#include "src/collect/ledger.h"
#include "src/collect/queue.h"
#include "src/sources/source.h"

enum {
	QUEUE_CAPACITY = 8,
	RECORDS_A_SET = 64 * 1024,        /* a set of this size is pushed before the period ends */
	RECORDS_WAITING_MAX = 128 * 1024, /* limit of a set while the queue is full */
};
/* The process tree changes slowly, and the kernel counts CPU time in ticks of several milliseconds. */
#define TREE_PERIOD_NS SOURCE_SLOW_NS
#define BACKOFF_FIRST_NS (1 * NS_PER_S)
#define BACKOFF_MAX_NS (30 * NS_PER_S)
#define RETRY_FULL_NS (20 * NS_PER_MS)
/* Maximum wait for the sampler thread at exit. */
#define END_NS (1 * NS_PER_S)

static const struct source *const source_table[] = {
#define SOURCE_ROW(name) &name##_source,
	SOURCES(SOURCE_ROW)
#undef SOURCE_ROW
};

/* -- the sources -- */

static const char *failure_text(enum status status)
{
	switch (status) {
	case STATUS_NO_MEMORY: return "out of memory";
	case STATUS_DENIED: return "permission denied";
	case STATUS_DAMAGED: return "malformed data";
	default: return "system call failed";
	}
}

static void feed_fail(struct feed *feed, const struct reason *why, struct sample_set *out, int64_t now_ns)
{
	if (feed->state)
		feed->source->close(feed->state);
	feed->state = NULL;
	feed->is_starting = false;
	feed->backoff_ns = feed->backoff_ns ? feed->backoff_ns * 2 : BACKOFF_FIRST_NS;
	if (feed->backoff_ns > BACKOFF_MAX_NS)
		feed->backoff_ns = BACKOFF_MAX_NS;
	feed->next_ns = now_ns + feed->backoff_ns;
	feed->is_missed = true;
	sample_set_missing(out, now_ns, feed->source->name, why->text, why->remedy);
}

static bool says_missing(const struct sample_set *set, size_t from, const char *name)
{
	for (; from < set->count; from++) {
		const struct record *record = &set->records[from];
		if (record->kind == RECORD_MISSING && record->missing.text && strcmp(record->missing.figure, name) == 0)
			return true;
	}
	return false;
}

static void feed_read(
	struct feed *feed, struct target *target, struct sample_set *out, int64_t now_ns, int64_t early_ns)
{
	struct reason why = { "", "" };
	if (feed->is_over || (now_ns + early_ns < feed->next_ns && !target->has_ended))
		return;
	if (!feed->state && feed->source->open(target, &feed->state, &why) != STATUS_OK) {
		feed->state = NULL;
		/* The target has ended: retrying is useless. */
		feed->is_over = target->has_ended || target->pid == 0;
		feed_fail(feed, &why, out, now_ns);
		return;
	}
	size_t before = out->count;
	enum status status = feed->source->read(feed->state, now_ns, out);
	feed->is_starting = status == STATUS_AGAIN && feed->source->is_awaited;
	if (status == STATUS_END) {
		feed->is_over = true;
	} else if (status != STATUS_OK && status != STATUS_AGAIN) {
		if (feed->source->explain)
			feed->source->explain(feed->state, &why);
		else
			reason_set(&why, status, NULL, "reading failed: %s", failure_text(status));
		feed_fail(feed, &why, out, now_ns);
		return;
	}
	feed->next_ns = now_ns + feed->source->period_ns;
	if (status == STATUS_AGAIN)
		return;
	feed->backoff_ns = 0;
	/* The same reading may have reported the source as missing, for another reason. */
	if (feed->is_missed && !says_missing(out, before, feed->source->name))
		sample_set_missing(out, now_ns, feed->source->name, NULL, NULL);
	feed->is_missed = false;
}

/* Appends to the set of this period, so that the model still gets one set per period. */
static void feed_sample(struct feed *feed, struct sample_set *out)
{
	feed->sample_ns = INT64_MAX;
	if (feed->state && !feed->is_over && feed->source->sample)
		feed->sample_ns = feed->source->sample(feed->state, clock_monotonic_ns(), out);
}

/* Call before anything that may read a file, so that the watcher knows to which source a blocked read belongs. */
static struct feed *begin_reading(struct collector *collector, int index)
{
	collector->reading = index;
	collector->before = collector->set.count;
	return index == TREE ? NULL : &collector->feeds[index];
}

/* -- the sampler thread -- */

/* Sources due within the next half period are read now. */
static int64_t early_limit_ns(struct collector *collector) { return atomic_load(&collector->period_ns) / 2; }

/* False: all sources are at their end. */
static bool read_sources(struct collector *collector, bool *is_starting)
{
	struct sample_set *set = &collector->set;
	bool is_more = false;
	if (set->count >= RECORDS_WAITING_MAX)
		return true;
	int64_t now_ns = clock_monotonic_ns(), early_ns = early_limit_ns(collector);
	collector->before_turn = set->count;
	begin_reading(collector, TREE);
	if (now_ns + early_ns >= collector->refresh_ns && target_refresh(collector->target) == STATUS_OK)
		collector->refresh_ns = now_ns + TREE_PERIOD_NS;
	set->time_ns = now_ns;
	set->source = "collector";
	for (unsigned i = 0; i < collector->feed_count; i++) {
		struct feed *feed = begin_reading(collector, (int)i);
		feed_read(feed, collector->target, set, now_ns, early_ns);
		feed_sample(feed, set);
		is_more |= !feed->is_over;
		*is_starting |= feed->is_starting;
	}
	collector_show_silent(collector, now_ns);
	ledger_note(collector->ledger, set, collector->before_turn);
	return is_more;
}

/* Called right after a reading was pushed, so the snapshot is consistent with the sets before and after it. */
static void take_snapshot(struct collector *collector)
{
	struct sample_set *set = &collector->set;
	int64_t now_ns = clock_monotonic_ns();
	atomic_store(&collector->wants_snapshot, false);
	set->time_ns = now_ns;
	set->source = "collector";
	set->is_snapshot = true;
	ledger_emit(collector->ledger, now_ns, set);
	for (unsigned i = 0; i < collector->feed_count; i++) {
		const struct feed *feed = begin_reading(collector, (int)i);
		if (feed->state && feed->source->emit_all)
			feed->source->emit_all(feed->state, now_ns, set);
	}
}

static bool deliver(struct collector *collector)
{
	collector->is_queue_full = !queue_push(collector->queue, &collector->set);
	if (collector->is_queue_full)
		return false;
	collector->pushed++;
	return true;
}

/* If the queue is full, the request is repeated. */
static void deliver_snapshot(struct collector *collector)
{
	take_snapshot(collector);
	if (deliver(collector))
		return;
	sample_set_clear(&collector->set);
	atomic_store(&collector->wants_snapshot, true);
}

static int64_t next_sample_ns(const struct collector *collector)
{
	int64_t next_ns = INT64_MAX;
	for (unsigned i = 0; i < collector->feed_count && collector->set.count < RECORDS_WAITING_MAX; i++)
		next_ns = collector->feeds[i].sample_ns < next_ns ? collector->feeds[i].sample_ns : next_ns;
	return next_ns;
}

static void sample_sources(struct collector *collector, int64_t now_ns)
{
	for (unsigned i = 0; i < collector->feed_count; i++)
		if (collector->feeds[i].sample_ns <= now_ns)
			feed_sample(begin_reading(collector, (int)i), &collector->set);
}

/* Waits until one period after *last_ns, without drift, and samples sources meanwhile. Skips missed periods; returns
 * early when the set is large. False: stop. */
static bool wait_for_turn(struct collector *collector, int64_t *last_ns, int64_t at_most_ns)
{
	struct pollfd woken = { .fd = collector->wake_fd, .events = POLLIN };
	while (!atomic_load(&collector->is_stopping)) {
		int64_t period_ns = atomic_load(&collector->period_ns), now_ns = clock_monotonic_ns();
		period_ns = period_ns < at_most_ns ? period_ns : at_most_ns;
		int64_t due_ns = *last_ns + period_ns, left_ns = due_ns - now_ns;
		if (left_ns <= 0) {
			*last_ns = -left_ns < period_ns ? due_ns : now_ns;
			return true;
		}
		if (collector->set.count >= RECORDS_A_SET && !collector->is_queue_full)
			return true;
		int64_t sample_ns = next_sample_ns(collector);
		if (sample_ns <= now_ns) {
			sample_sources(collector, now_ns);
			continue;
		}
		left_ns = sample_ns - now_ns < left_ns ? sample_ns - now_ns : left_ns;
		/* ppoll on an eventfd takes one system call; a condition variable with a timeout takes two. */
		struct timespec left = { .tv_sec = left_ns / NS_PER_S, .tv_nsec = left_ns % NS_PER_S };
		eventfd_t times;
		if (ppoll(&woken, 1, &left, NULL) > 0)
			eventfd_read(collector->wake_fd, &times);
	}
	return false;
}

static void wake(struct collector *collector) { eventfd_write(collector->wake_fd, 1); }

void collector_sample(void *argument)
{
	struct collector *collector = argument;
	int64_t last_ns = clock_monotonic_ns();
	bool is_more = true, is_delivered = false;
	while (is_more || !is_delivered) {
		bool is_starting = false;
		if (is_more)
			is_more = read_sources(collector, &is_starting);
		/* Set before the push: the main thread must know that the set is the last when it takes it. */
		if (!is_more)
			atomic_store(&collector->last_set, collector->pushed + 1);
		is_delivered = deliver(collector);
		if (is_delivered)
			atomic_store(&collector->is_starting, is_starting);
		if (is_delivered && is_more && atomic_load(&collector->wants_snapshot))
			deliver_snapshot(collector);
		if (collector->pushed == 1)
			sem_post(&collector->has_read);
		/* Read what an ended target left without pauses. */
		bool is_draining = is_delivered && collector->target->has_ended;
		if (!wait_for_turn(collector, &last_ns, is_draining ? 0 : !is_more ? RETRY_FULL_NS : INT64_MAX))
			break;
	}
}

/* -- the main thread -- */

static void collector_free(struct collector *collector)
{
	if (collector->watcher_fd >= 0)
		close(collector->watcher_fd);
	for (unsigned i = 0; i < collector->feed_count; i++)
		if (collector->feeds[i].state)
			collector->feeds[i].source->close(collector->feeds[i].state);
	sample_set_release(&collector->set);
	queue_free(collector->queue);
	ledger_free(collector->ledger);
	sem_destroy(&collector->has_read);
	if (collector->wake_fd >= 0)
		close(collector->wake_fd);
	free(collector);
}

static void wait_for_first_reading(struct collector *collector)
{
	while (sem_wait(&collector->has_read) < 0 && errno == EINTR)
		;
}

enum status collector_start_with(const struct source *const *sources, unsigned count, struct target *target,
	int64_t period_ns, struct collector **out, struct reason *why_not)
{
	struct collector *collector = calloc(1, sizeof *collector);
	if (!collector)
		return reason_set(why_not, STATUS_NO_MEMORY, NULL, "out of memory");
	sem_init(&collector->has_read, 0, 0);
	collector->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	collector->watcher_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	collector->target = target;
	atomic_init(&collector->period_ns, period_ns);
	for (; collector->feed_count < count && collector->feed_count < SOURCES_MAX; collector->feed_count++)
		collector->feeds[collector->feed_count] =
			(struct feed){ .source = sources[collector->feed_count], .next_ns = INT64_MIN, .sample_ns = INT64_MAX };
	collector->queue = queue_new(QUEUE_CAPACITY);
	collector->ledger = ledger_new();
	bool is_ready = collector->queue && collector->wake_fd >= 0 && collector->watcher_fd >= 0;
	int error = is_ready ? hang_thread_start(&collector->sampler, collector_sample, collector) : 0;
	if (is_ready && !error)
		hang_thread_start(&collector->watcher, collector_watch, collector);
	if (!is_ready || error) {
		collector_free(collector);
		return reason_set(why_not, STATUS_IO, "raise the limits (ulimit -n, -u, -v)",
			"the sampler thread could not be started%s%s", error ? ": " : "", error ? strerror(error) : "");
	}
	wait_for_first_reading(collector);
	*out = collector;
	return STATUS_OK;
}

enum status collector_start(struct target *target, int64_t period_ns, struct collector **out, struct reason *why_not)
{
	return collector_start_with(
		source_table, sizeof source_table / sizeof *source_table, target, period_ns, out, why_not);
}

bool collector_take(struct collector *collector, struct sample_set *set)
{
	if (!queue_pop(collector->queue, set))
		return false;
	collector->taken++;
	return true;
}

int collector_fd(const struct collector *collector) { return queue_fd(collector->queue); }

bool collector_has_ended(const struct collector *collector)
{
	uint64_t last = atomic_load(&collector->last_set);
	return last != 0 && collector->taken >= last;
}

bool collector_is_starting(const struct collector *collector) { return atomic_load(&collector->is_starting); }

void collector_want_snapshot(struct collector *collector) { atomic_store(&collector->wants_snapshot, true); }

void collector_set_period(struct collector *collector, int64_t period_ns)
{
	atomic_store(&collector->period_ns, period_ns);
	wake(collector);
}

void collector_stop(struct collector *collector)
{
	if (!collector)
		return;
	eventfd_write(collector->watcher_fd, 1);
	hang_thread_join(&collector->watcher, END_NS);
	atomic_store(&collector->is_stopping, true);
	wake(collector);
	/* A sampler blocked in a read still uses this memory. It is leaked, because the program is about to exit. */
	if (!hang_thread_join(&collector->sampler, END_NS))
		return;
	struct target *target = collector->target;
	collector_free(collector);
	target_close(target);
}
