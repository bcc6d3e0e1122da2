#include "src/sources/region/region_ranks.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/base/files/file.h"
#include "src/base/text.h"
#include "src/region/events.h"
#include "src/region/tables.h"
#include "src/sources/proc/proc_file.h"
#include "src/sources/region/region_calls.h"

enum { METAS_MAX = 64, STAT_SIZE = 2048, REGIONS_MAX = 1024 };
/* A run writes its run_id right after it creates its region. If it has not after this time, it never will. */
#define SETTLED_NS (10 * NS_PER_S)

/* -- the rank of a region -- */

struct facts {
	char run_id[REGION_RUN_ID_SIZE], rank[16], world_size[16], role[16];
};

static void read_facts(struct region *region, struct facts *facts)
{
	const struct {
		const char *key;
		char *text;
		size_t size;
	} wanted[] = {
		{ "run_id", facts->run_id, sizeof facts->run_id },
		{ "RANK", facts->rank, sizeof facts->rank },
		{ "WORLD_SIZE", facts->world_size, sizeof facts->world_size },
		{ "role", facts->role, sizeof facts->role },
	};
	struct region_state state;
	*facts = (struct facts){ .rank = "" };
	if (region_read_state(region, &state) != REGION_OK)
		return;
	for (uint32_t i = 0; i < state.meta_count && i < METAS_MAX; i++) {
		const char *key, *value;
		size_t key_length, value_length;
		if (region_read_meta(region, i, &key, &key_length, &value, &value_length) != REGION_OK)
			continue;
		for (size_t k = 0; k < sizeof wanted / sizeof *wanted; k++)
			if (strlen(wanted[k].key) == key_length && !memcmp(wanted[k].key, key, key_length) &&
				value_length < wanted[k].size)
				memcpy(wanted[k].text, value, value_length);
	}
}

static bool is_rank(const struct facts *facts, struct region_rank *out)
{
	out->rank = text_count(facts->rank);
	out->world_size = text_count(facts->world_size);
	memcpy(out->run_id, facts->run_id, sizeof out->run_id);
	return out->run_id[0] && out->rank >= 0 && out->world_size > 1 && !facts->role[0];
}

bool region_rank_read(struct region *region, struct region_rank *out)
{
	struct facts facts;
	struct region_identity identity;
	read_facts(region, &facts);
	out->begun_ns = region_identify(region, &identity) == REGION_OK ? identity.start_realtime_ns : 0;
	return is_rank(&facts, out);
}

/* -- the others -- */

static bool was_checked(const struct region_ranks *ranks, const struct region_location *location)
{
	for (size_t i = 0; i < ranks->checked_count && i < REGION_RANKS_CHECKED_MAX; i++)
		if (ranks->checked[i].device == location->device && ranks->checked[i].inode == location->inode)
			return true;
	return false;
}

static void mark_checked(struct region_ranks *ranks, const struct region_location *location)
{
	size_t at = ranks->checked_count++ % REGION_RANKS_CHECKED_MAX;
	ranks->checked[at].device = location->device;
	ranks->checked[at].inode = location->inode;
}

static void find_process(const char *proc_root, pid_t pid, struct region_other *out)
{
	char path[4096], text[STAT_SIZE];
	size_t length;
	struct proc_stat stat;
	int written = snprintf(path, sizeof path, "%s/%d", proc_root, (int)pid);
	int fd = pid > 0 && written > 0 && (size_t)written < sizeof path ? file_open(AT_FDCWD, path, O_RDONLY | O_DIRECTORY)
																	 : -1;
	if (fd < 0)
		return;
	if (file_read(fd, "stat", text, sizeof text, &length) != STATUS_OK || !proc_stat_parse(text, length, &stat)) {
		close(fd);
		return;
	}
	out->pid = pid;
	out->start_ticks = stat.start_ticks;
	out->directory_fd = fd;
}

/* Whether the region belongs to the run. *is_settled: the answer is final, so the region need not be checked again. */
static bool check_region(const struct region_location *location, const struct region_rank *rank, uid_t owner,
	const char *proc_root, int64_t now_ns, struct region_other *out, bool *is_settled)
{
	char message[REGION_MESSAGE_SIZE];
	struct region *region;
	struct region_identity identity;
	struct facts facts;
	*is_settled = true;
	*out = (struct region_other){ .location = *location, .directory_fd = -1 };
	if (region_calls_open(location, owner, &region, message) != REGION_OK)
		return false;
	bool is_known = region_identify(region, &identity) == REGION_OK;
	read_facts(region, &facts);
	bool is_of_run = is_known && is_rank(&facts, &out->rank) && strcmp(out->rank.run_id, rank->run_id) == 0;
	/* Successive runs at one address can have the same run_id. */
	if (is_of_run && !identity.is_live && region_last_sign_ns(region) < rank->begun_ns)
		is_of_run = false;
	if (is_of_run) {
		out->is_live = identity.is_live;
		out->start_ns = identity.start_ns;
		find_process(proc_root, identity.is_live ? identity.writer_pid : 0, out);
	} else {
		*is_settled = is_known && (facts.run_id[0] || now_ns - identity.start_ns > SETTLED_NS || !identity.is_live);
	}
	region_close(region);
	return is_of_run;
}

static int compare_others(const void *left, const void *right)
{
	const struct region_other *a = left, *b = right;
	return a->is_live != b->is_live ? b->is_live - a->is_live
									: (a->start_ns < b->start_ns) - (a->start_ns > b->start_ns);
}

/* A path through /proc/PID/root ends with that process, so pmtop's own path to the same folder is preferred. */
static void folder_of(const struct region_location *own, char out[REGION_PATH_SIZE])
{
	struct stat ours;
	const char *slash = strrchr(own->path, '/');
	bool has_folder = slash && slash > own->path && !own->is_descriptor_link && !own->is_memfd;
	bool is_ours = stat("/dev/shm", &ours) == 0 && ours.st_dev == own->device;
	snprintf(out, REGION_PATH_SIZE, "%.*s", has_folder && !is_ours ? (int)(slash - own->path) : REGION_PATH_SIZE,
		has_folder && !is_ours ? own->path : "/dev/shm");
}

size_t region_ranks_find(struct region_ranks *ranks, const struct region_location *own, const struct region_rank *rank,
	uid_t owner, const char *proc_root, int64_t now_ns, struct region_other *out, size_t max)
{
	char folder[REGION_PATH_SIZE];
	struct region_location *locations = calloc(REGIONS_MAX, sizeof *locations);
	size_t found = 0;
	folder_of(own, folder);
	size_t count = locations ? region_calls_list(folder, owner, locations, REGIONS_MAX) : 0;
	for (size_t i = 0; i < count && found < max; i++) {
		bool is_settled;
		if ((locations[i].device == own->device && locations[i].inode == own->inode) ||
			was_checked(ranks, &locations[i]))
			continue;
		found += check_region(&locations[i], rank, owner, proc_root, now_ns, &out[found], &is_settled);
		if (is_settled)
			mark_checked(ranks, &locations[i]);
	}
	free(locations);
	if (found)
		qsort(out, found, sizeof *out, compare_others);
	return found;
}
