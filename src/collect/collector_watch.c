/* Replaces a sampler blocked in a read that never returns: the new one continues without that file. */
#include "src/collect/collector_watch.h"

#include <inttypes.h>
#include <poll.h>
#include <string.h>

#include "src/base/clock.h"
#include "src/collect/collector.h"
#include "src/collect/collector_private.h"
#include "src/collect/ledger.h"
#include "src/sources/target/target.h"

#define CHECK_NS (500 * NS_PER_MS)

static bool is_silent(const struct hang_path *paths, size_t count, const char *path)
{
	while (count > 0 && strcmp(paths[count - 1].path, path) != 0)
		count--;
	return count > 0;
}

void collector_show_silent(struct collector *collector, int64_t now_ns)
{
	struct hang_path paths[HANG_PATHS_MAX];
	if (now_ns - collector->silent_ns < 1 * NS_PER_S)
		return;
	collector->silent_ns = now_ns;
	size_t count = hang_paths(paths);
	for (size_t i = 0; i < collector->silent_count; i++)
		if (!is_silent(paths, count, collector->silent[i]))
			sample_set_missing(&collector->set, now_ns, collector->silent[i], NULL, NULL);
	for (size_t i = 0; i < count; i++) {
		struct reason why;
		reason_set(&why, STATUS_IO, "check what its server or process waits for (/proc/PID/wchan)",
			"%.130s has not answered for %" PRId64 " s", paths[i].path,
			(now_ns - paths[i].since_ns + HANG_LIMIT_NS) / NS_PER_S);
		sample_set_missing(&collector->set, now_ns, paths[i].path, why.text, why.remedy);
		memcpy(collector->silent[i], paths[i].path, HANG_PATH_SIZE);
	}
	collector->silent_count = count;
}

/* The sampler was abandoned in a read. Its data belongs to the calling thread until another sampler starts. */
static void abandon_sampler(struct collector *collector)
{
	struct sample_set *set = &collector->set;
	collector->left_count++;
	collector->silent_ns = 0;
	if (set->is_snapshot) {
		sample_set_clear(set);
		atomic_store(&collector->wants_snapshot, true);
	} else {
		set->count = collector->before;
		ledger_note(collector->ledger, set, collector->before_turn);
	}
	if (collector->reading == TREE) {
		target_leave_read(collector->target);
		return;
	}
	/* The abandoned thread still uses the source's state, so it is leaked. The source is opened again and skips that
	 * file. */
	struct feed *feed = &collector->feeds[collector->reading];
	feed->state = NULL;
	feed->is_starting = false;
	feed->next_ns = INT64_MIN;
	feed->sample_ns = INT64_MAX;
}

void collector_watch(void *argument)
{
	struct collector *collector = argument;
	struct pollfd ended = { .fd = collector->watcher_fd, .events = POLLIN };
	char path[HANG_PATH_SIZE];
	while (poll(&ended, 1, CHECK_NS / NS_PER_MS) == 0) {
		bool is_lost = !collector->sampler.watch;
		if (!is_lost && collector->left_count < LEFT_BEHIND_MAX &&
			hang_thread_is_lost(&collector->sampler, HANG_LIMIT_NS, path)) {
			abandon_sampler(collector);
			is_lost = true;
		}
		if (is_lost)
			hang_thread_start(&collector->sampler, collector_sample, collector);
	}
}
