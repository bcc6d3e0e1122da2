#include "src/session/runs/runs.h"

#include <dirent.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/base/files/file.h"
#include "src/base/files/hang_watch.h"
#include "src/base/text.h"
#include "src/region/events.h"
#include "src/region/reader.h"
#include "src/region/tables.h"
#include "src/session/runs/run_groups.h"
#include "src/sources/region/region_calls.h"
#include "src/sources/region/region_worker.h"
#include "src/sources/target/command.h"

enum { RUNS_MAX = 512, RUNS_PER_PROCESS = 8, TREE_DEPTH_MAX = 64, TRIES_MAX = 16, PROCESS_TRIES_MAX = 8 };

struct found {
	struct run_row *rows;
	size_t count;
	bool is_cut;
};

static bool last_was_cut;

static struct run_row *add_row(struct found *found)
{
	found->is_cut |= found->count == RUNS_MAX;
	if (found->count == RUNS_MAX)
		return NULL;
	struct run_row *rows = realloc(found->rows, (found->count + 1) * sizeof *rows);
	if (!rows)
		return NULL;
	found->rows = rows;
	struct run_row *row = &rows[found->count++];
	*row = (struct run_row){ .rate_per_s = NAN, .resident_bytes = NAN, .rank_number = -1, .step_s = NAN, .own_s = NAN };
	return row;
}

static bool is_known(const struct found *found, uint64_t device, uint64_t inode)
{
	for (size_t i = 0; i < found->count; i++) {
		if (found->rows[i].device == device && found->rows[i].inode == inode)
			return true;
	}
	return false;
}

static void read_resident(pid_t pid, struct run_row *row)
{
	char path[64], text[128];
	size_t length;
	unsigned long long pages;
	snprintf(path, sizeof path, "/proc/%d/statm", (int)pid);
	if (file_read(AT_FDCWD, path, text, sizeof text, &length) == STATUS_OK && sscanf(text, "%*u %llu", &pages) == 1)
		row->resident_bytes = (double)pages * (double)sysconf(_SC_PAGESIZE);
}

static void read_rank(struct region *region, uint32_t metas, struct run_row *row)
{
	char rank[8] = "", world[8] = "";
	for (uint32_t i = 0; i < metas && i < 256; i++) {
		const char *key, *value;
		size_t key_length, value_length;
		if (region_read_meta(region, i, &key, &key_length, &value, &value_length) != REGION_OK)
			continue;
		char *to = key_length == 4 && !memcmp(key, "RANK", 4)    ? rank
			: key_length == 10 && !memcmp(key, "WORLD_SIZE", 10) ? world
																 : NULL;
		if (to)
			text_clean(to, sizeof rank, value, value_length);
	}
	if (rank[0])
		snprintf(row->rank, sizeof row->rank, "%s%s%s", rank, world[0] ? "/" : "", world);
}

/* Counts the epochs of training, without epochs of other modes (validation, a pass over the data). */
static uint32_t read_epoch(struct region *region, const struct region_state *state)
{
	enum { EPOCHS_MAX = 1024 };
	size_t count = 0;
	uint32_t others = 0;
	uint64_t dropped, upto;
	struct region_epoch *epochs = state->epochs_begun ? malloc(EPOCHS_MAX * sizeof *epochs) : NULL;
	if (!epochs || region_read_epochs(region, epochs, EPOCHS_MAX, &count, &dropped, &upto) != REGION_OK)
		count = 0;
	for (size_t i = 0; i < count; i++)
		others += epochs[i].mode != 0;
	free(epochs);
	return others < state->epochs_begun ? state->epochs_begun - others : state->epochs_begun;
}

static void read_rate(struct region *region, struct run_row *row)
{
	double seconds = 0, count = 0;
	uint32_t totals = region_total_count(region);
	for (uint32_t i = 0; i < totals; i++) {
		struct region_total total;
		if (region_read_total(region, i, &total) == REGION_OK && total.kind == 1) {
			seconds += total.total_s;
			count += (double)total.count;
		}
	}
	if (seconds > 0)
		row->rate_per_s = count / seconds;
}

/* "14:02", or with the date if it is not today. */
static void say_when(char out[32], time_t when)
{
	struct tm then, today;
	time_t now = (time_t)(clock_realtime_ns() / NS_PER_S);
	localtime_r(&when, &then);
	localtime_r(&now, &today);
	strftime(
		out, 32, then.tm_yday == today.tm_yday && then.tm_year == today.tm_year ? "%H:%M" : "%Y-%m-%d %H:%M", &then);
}

static void say_by_name(struct run_row *row, const char *what)
{
	char name[sizeof row->run + 16], word[sizeof row->how];
	snprintf(name, sizeof name, "%s.%d", row->run, (int)row->pid);
	snprintf(row->how, sizeof row->how, "%s: pmtop -s %s", what, text_shell_word(word, sizeof word, name));
}

static void describe_state(struct region *region, const struct region_state *state, struct run_row *row)
{
	const char *mode;
	size_t length;
	char when[32];
	if (!row->is_live) {
		say_when(when, (time_t)(region_last_sign_ns(region) / NS_PER_S));
		snprintf(row->state, sizeof row->state, "ended %s (%s)", when, state->is_ended ? "closed" : "killed");
		say_by_name(row, "ended, last events");
		return;
	}
	if (state->in_epoch && state->mode && region_read_name(region, state->mode, &mode, &length) == REGION_OK)
		text_clean(row->state, sizeof row->state, mode, length);
	else
		snprintf(
			row->state, sizeof row->state, "%s", state->in_epoch || state->in_batch ? "training" : "between epochs");
}

static bool is_process(const struct run_row *row, pid_t pid)
{
	return row->is_live && !row->is_elsewhere && row->pid == pid;
}

static void add_region(struct found *found, const struct region_location *location, uid_t owner, pid_t pid)
{
	char message[REGION_MESSAGE_SIZE];
	struct region *region;
	struct region_identity identity;
	struct region_state state;
	if (is_known(found, location->device, location->inode) ||
		region_calls_open(location, owner, &region, message) != REGION_OK)
		return;
	struct run_row *row = NULL;
	/* DataLoader workers have no row: they belong to their run. */
	bool is_worker = region_role(region, clock_monotonic_ns()) == REGION_IS_WORKER;
	if (!is_worker && region_identify(region, &identity) == REGION_OK && region_read_state(region, &state) == REGION_OK)
		row = add_row(found);
	if (row) {
		row->device = location->device;
		row->inode = location->inode;
		row->is_live = pid || identity.is_live;
		row->pid = pid ? pid : identity.writer_pid ? identity.writer_pid : identity.pid;
		row->is_elsewhere = row->is_live && !pid && !identity.writer_pid;
		snprintf(row->path, sizeof row->path, "%s", location->path);
		text_clean(row->run, sizeof row->run, identity.run_name, strnlen(identity.run_name, sizeof identity.run_name));
		snprintf(row->how, sizeof row->how, "instrumented (pmtop.h %u.%u)", identity.abi_major, identity.abi_minor);
		if (row->is_elsewhere)
			say_by_name(row, "in another container");
		row->epoch = read_epoch(region, &state);
		row->epochs = state.epochs_planned;
		row->batch = state.batches_in_epoch;
		row->batches = state.batches_per_epoch;
		row->has_batch = state.epochs_begun > 0;
		describe_state(region, &state, row);
		read_rank(region, state.meta_count, row);
		read_rate(region, row);
		run_groups_read(region, row);
		if (row->is_live && !row->is_elsewhere)
			read_resident(row->pid, row);
	}
	region_close(region);
}

static void describe_process(pid_t pid, struct run_row *row)
{
	row->pid = pid;
	row->is_live = true;
	snprintf(row->state, sizeof row->state, "running");
	snprintf(row->how, sizeof row->how, "not instrumented: pmtop -p %d", (int)pid);
	read_resident(pid, row);
}

/* A Python process gets a row without instrumentation. */
static bool describe_python(pid_t pid, const char *name, struct run_row *row)
{
	char path[64], text[512];
	size_t length;
	if (strncmp(name, "python", 6) != 0)
		return false;
	snprintf(path, sizeof path, "/proc/%d/cmdline", (int)pid);
	if (file_read(AT_FDCWD, path, text, sizeof text, &length) != STATUS_OK || length == 0)
		return false;
	command_shorten(row->command, sizeof row->command, text, length, name);
	describe_process(pid, row);
	return true;
}

static bool read_status(pid_t pid, char name[32], pid_t *parent, uid_t *uid)
{
	char path[64], text[2048];
	size_t length;
	int ppid;
	unsigned owner;
	snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
	if (file_read(AT_FDCWD, path, text, sizeof text, &length) != STATUS_OK)
		return false;
	const char *parent_line = strstr(text, "\nPPid:"), *uid_line = strstr(text, "\nUid:");
	if (sscanf(text, "Name: %31[^\n]", name) != 1 || !parent_line || !uid_line ||
		sscanf(parent_line, "\nPPid: %d", &ppid) != 1 || sscanf(uid_line, "\nUid: %u", &owner) != 1)
		return false;
	*parent = ppid;
	*uid = owner;
	return true;
}

static bool has_pid(const struct found *found, pid_t pid)
{
	for (size_t i = 0; i < found->count; i++) {
		if (is_process(&found->rows[i], pid))
			return true;
	}
	return false;
}

static void read_process(struct found *found, pid_t pid)
{
	char name[32], path[32];
	pid_t parent;
	uid_t uid;
	if (pid == getpid() || !read_status(pid, name, &parent, &uid) || (geteuid() != 0 && uid != geteuid()))
		return;
	snprintf(path, sizeof path, "/proc/%d", (int)pid);
	int directory = file_open(AT_FDCWD, path, O_RDONLY | O_DIRECTORY);
	if (directory < 0)
		return;
	struct region_location locations[RUNS_PER_PROCESS];
	bool is_unfilled;
	size_t count = region_calls_find(directory, pid, locations, RUNS_PER_PROCESS, &is_unfilled);
	for (size_t i = 0; i < count; i++)
		add_region(found, &locations[i], uid, pid);
	close(directory);
	struct run_row python = {
		.rate_per_s = NAN, .resident_bytes = NAN, .rank_number = -1, .step_s = NAN, .own_s = NAN
	};
	if (count == 0 && !has_pid(found, parent) && describe_python(pid, name, &python)) {
		struct run_row *row = add_row(found);
		if (row)
			*row = python;
	}
}

/* -- processes that use a GPU -- */

/* The row of a process, or of its nearest ancestor. */
static struct run_row *row_above(const struct found *found, pid_t pid)
{
	char name[32];
	uid_t uid;
	for (int steps = 0; pid > 1 && steps < TREE_DEPTH_MAX; steps++) {
		for (size_t i = 0; i < found->count; i++)
			if (is_process(&found->rows[i], pid))
				return &found->rows[i];
		if (!read_status(pid, name, &pid, &uid))
			break;
	}
	return NULL;
}

static struct run_row *add_gpu_user(struct found *found, pid_t pid)
{
	char name[32], path[64], text[512];
	pid_t parent;
	uid_t uid;
	size_t length;
	if (pid <= 0 || !read_status(pid, name, &parent, &uid) || (geteuid() != 0 && uid != geteuid()))
		return NULL;
	struct run_row *row = add_row(found);
	if (!row)
		return NULL;
	snprintf(path, sizeof path, "/proc/%d/cmdline", (int)pid);
	if (file_read(AT_FDCWD, path, text, sizeof text, &length) != STATUS_OK)
		length = 0;
	command_shorten(row->command, sizeof row->command, text, length, name);
	describe_process(pid, row);
	return row;
}

static void add_gpu_users(struct found *found, const struct gpu_users *users)
{
	for (size_t i = 0; users && i < users->count; i++) {
		struct run_row *row = row_above(found, users->users[i].pid);
		if (!row)
			row = add_gpu_user(found, users->users[i].pid);
		if (row)
			row->gpu_use_count = gpu_use_add(row->gpu_uses, row->gpu_use_count, &users->users[i].use);
	}
}

/* -- all -- */

static int priority_of(const struct run_row *row)
{
	bool is_published = row->run[0] != '\0';
	return 4 * is_published + 4 * row->is_live + 2 * (is_published && row->is_live) +
		(!is_published && row->gpu_use_count > 0);
}

static double gpu_bytes(const struct run_row *row)
{
	double sum = 0;
	for (size_t i = 0; i < row->gpu_use_count; i++)
		sum += isnan(row->gpu_uses[i].memory_bytes) ? 0 : row->gpu_uses[i].memory_bytes;
	return sum;
}

static int by_priority(const void *left, const void *right)
{
	const struct run_row *a = left, *b = right;
	int priority_a = priority_of(a), priority_b = priority_of(b);
	if (priority_a != priority_b)
		return priority_b - priority_a;
	if (!a->run[0] && !b->run[0] && gpu_bytes(a) != gpu_bytes(b))
		return gpu_bytes(a) < gpu_bytes(b) ? 1 : -1;
	int names = strcmp(a->run, b->run);
	return names ? names : (a->pid > b->pid) - (a->pid < b->pid);
}

struct search {
	const struct gpu_users *users;
	bool without_processes;
	struct found found;
};

static void search(void *context)
{
	struct search *search = context;
	struct found *found = &search->found;
	/* Processes first: they show which files in /dev/shm belong to live runs, also of other pid namespaces. */
	DIR *proc = search->without_processes ? NULL : file_open_folder(AT_FDCWD, "/proc");
	for (struct dirent *entry; proc && (entry = file_next(proc));) {
		int pid = atoi(entry->d_name);
		if (pid > 0)
			read_process(found, pid);
	}
	if (proc)
		closedir(proc);
	struct region_location *locations = calloc(RUNS_MAX, sizeof *locations);
	/* The user's own files first, so that files of others cannot use up the room. */
	const uid_t owners[] = { geteuid(), REGION_ANYBODY };
	for (size_t i = 0; locations && i < (geteuid() == 0 ? 2 : 1); i++) {
		size_t count = region_calls_list("/dev/shm", owners[i], locations, RUNS_MAX);
		found->is_cut |= count == RUNS_MAX;
		for (size_t k = 0; k < count; k++) {
			struct stat file;
			if (lstat(locations[k].path, &file) == 0 && (geteuid() == 0 || file.st_uid == geteuid()))
				add_region(found, &locations[k], file.st_uid, 0);
		}
	}
	free(locations);
	add_gpu_users(found, search->users);
	if (found->count)
		qsort(found->rows, found->count, sizeof *found->rows, by_priority);
	run_groups_arrange(found->rows, found->count);
}

size_t runs_find(const struct gpu_users *users, struct run_row **rows)
{
	*rows = NULL;
	for (int tries = 0; tries < TRIES_MAX; tries++) {
		char path[HANG_PATH_SIZE];
		struct search *work = calloc(1, sizeof *work);
		if (!work)
			return 0;
		/* A search that hangs is repeated without the file that does not answer. If too many files hang, only
		 * /dev/shm is searched. */
		*work = (struct search){ .users = users, .without_processes = tries >= PROCESS_TRIES_MAX };
		if (!hang_run(search, work, HANG_LIMIT_NS, path))
			continue;
		size_t count = work->found.count;
		*rows = work->found.rows;
		last_was_cut = work->found.is_cut;
		free(work);
		return count;
	}
	return 0;
}

void runs_print_left_out(void)
{
	if (last_was_cut)
		fprintf(stderr, "pmtop: more than %d runs: the others are not listed: watch one with pmtop -p PID\n", RUNS_MAX);
	struct hang_path paths[HANG_PATHS_MAX];
	size_t count = hang_paths(paths);
	for (size_t i = 0; i < count; i++)
		fprintf(stderr, "pmtop: reading %s hangs: its run is not listed\n", paths[i].path);
}

enum status runs_choose(
	const struct run_row *rows, size_t count, const char *name, const struct run_row **out, struct reason *why_not)
{
	const struct run_row *best = NULL;
	unsigned equals = 0; /* the ranks of one run count as one */
	for (size_t i = 0; i < count; i++) {
		char with_pid[160];
		const struct run_row *row = &rows[i];
		snprintf(with_pid, sizeof with_pid, "%s.%d", row->run, (int)row->pid);
		if (!row->run[0] || (strcmp(row->run, name) != 0 && strcmp(with_pid, name) != 0))
			continue;
		if (!best || (row->is_live && !best->is_live)) {
			best = row;
			equals = 1;
		} else if (row->is_live == best->is_live && !run_groups_are_one(row, best)) {
			equals++;
		}
	}
	char shown[128];
	text_clean(shown, sizeof shown, name, strlen(name));
	if (!best)
		return reason_set(why_not, STATUS_NOT_FOUND, "pmtop list shows the runs", "no run or file is named %s", shown);
	if (equals > 1)
		return reason_set(why_not, STATUS_INVALID, "name one as NAME.PID (pmtop list)", "%u %s runs are named %s",
			equals, best->is_live ? "live" : "ended", shown);
	*out = best;
	return STATUS_OK;
}
