#include "src/sources/collectives/rank_throttle.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/clock.h"
#include "src/base/files/file.h"
#include "src/sources/proc/cgroup_find.h"

#define SEARCH_NS (10 * NS_PER_S)

enum { STAT_SIZE = 4096, LEVELS_MAX = 64 };

struct search {
	struct cgroup_location at;
	char cgroups[CGROUP_PATH_SIZE], scratch[CGROUP_TEXT_SIZE], path[CGROUP_PATH_SIZE + 16];
};

/* Of a cpu.stat: version 2 counts in microseconds, version 1 in nanoseconds. */
static double read_stat(const char *path)
{
	static const struct {
		const char *word;
		double scale;
	} words[] = { { "\nthrottled_usec ", 1e-6 }, { "\nthrottled_time ", 1e-9 } };
	char text[STAT_SIZE];
	size_t length;
	if (file_read(AT_FDCWD, path, text, sizeof text, &length) != STATUS_OK)
		return NAN;
	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		const char *found = strstr(text, words[i].word);
		if (found)
			return (double)strtoull(found + strlen(words[i].word), NULL, 10) * words[i].scale;
	}
	return NAN;
}

static void search_in(
	struct rank_throttle *throttle, struct search *search, const char *proc_root, pid_t pid, int process_fd)
{
	size_t length;
	double longest_s = -1;
	if (file_read(process_fd, "cgroup", search->cgroups, sizeof search->cgroups, &length) != STATUS_OK ||
		!cgroup_find(proc_root, (int)pid, search->cgroups, "cpu", search->scratch, &search->at))
		return;
	for (size_t level = 0; level < LEVELS_MAX; level++) {
		snprintf(search->path, sizeof search->path, "%s/cpu.stat", search->at.path);
		double seconds = read_stat(search->path);
		if (seconds > longest_s) {
			longest_s = seconds;
			free(throttle->path);
			throttle->path = strdup(search->path);
		}
		if (!cgroup_go_up(&search->at))
			return;
	}
}

double rank_throttle_read(
	struct rank_throttle *throttle, const char *proc_root, pid_t pid, int process_fd, int64_t now_ns)
{
	if (now_ns >= throttle->search_ns) {
		struct search *search = malloc(sizeof *search);
		rank_throttle_release(throttle);
		throttle->search_ns = now_ns + SEARCH_NS;
		if (search)
			search_in(throttle, search, proc_root, pid, process_fd);
		free(search);
	}
	return throttle->path ? read_stat(throttle->path) : (double)NAN;
}

void rank_throttle_release(struct rank_throttle *throttle)
{
	free(throttle->path);
	throttle->path = NULL;
}
