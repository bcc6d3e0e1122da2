#include "src/sources/target/target.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/base/files/file.h"
#include "src/base/files/hang_watch.h"
#include "src/sources/target/access.h"
#include "src/sources/target/command.h"

enum {
	SCRATCH_SIZE = 64 * 1024,
	STAT_SIZE = 2048,
	CMDLINE_SIZE = 4096,
	THREADS_SCANNED_MAX = 4096,
	TRIES_MAX = 8,
	/* descriptors reserved for the target's own files, its region and the rest of the program */
	DESCRIPTORS_SPARED = 24,
	/* stat, children, status, io, schedstat and the directory; they may take half of all descriptors */
	DESCRIPTORS_A_MEMBER = 6,
	FILES_KEPT_MIN = 64,
};

/* The children files of threads are opened one by one: a process is scanned so rarely, by its number of threads. */
#define THREAD_APART_NS (30 * NS_PER_MS)
#define THREADS_APART_MIN_NS (900 * NS_PER_MS)
#define THREADS_APART_MAX_NS (4 * NS_PER_S)

/* -- one member -- */

/* The main thread may end before the others. The process then has the state of the first thread that runs, or of any
 * thread. */
static char state_of_threads(const struct target_member *member)
{
	char path[64], text[STAT_SIZE], state = 'Z';
	size_t length;
	struct proc_stat stat;
	DIR *task = file_open_folder(member->directory_fd, "task");
	for (const struct dirent *entry; task && state != 'R' && (entry = file_next(task));) {
		long tid = strtol(entry->d_name, NULL, 10);
		snprintf(path, sizeof path, "task/%ld/stat", tid);
		if (tid > 0 && tid != member->pid &&
			file_read(member->directory_fd, path, text, sizeof text, &length) == STATUS_OK &&
			proc_stat_parse(text, length, &stat))
			state = stat.state;
	}
	if (task)
		closedir(task);
	return state;
}

static enum status member_read_stat(struct target_member *member, struct proc_stat *out)
{
	char text[STAT_SIZE];
	size_t length;
	enum status status =
		proc_file_read(member->directory_fd, &member->stat_fd, member->keeps_files, "stat", text, sizeof text, &length);
	if (status != STATUS_OK)
		return status;
	/* A fixture marks a process as ended by an empty file. */
	if (length == 0)
		return STATUS_NOT_FOUND;
	struct proc_stat stat;
	if (!proc_stat_parse(text, length, &stat))
		return STATUS_DAMAGED;
	if (stat.state == 'Z' && stat.threads > 1)
		stat.state = state_of_threads(member);
	*out = stat;
	return STATUS_OK;
}

static void member_read_command(struct target_member *member)
{
	char text[CMDLINE_SIZE];
	size_t length;
	if (file_read(member->directory_fd, "cmdline", text, sizeof text, &length) != STATUS_OK)
		length = 0;
	command_shorten(member->command, sizeof member->command, text, length, member->stat.comm);
}

static void member_release(struct target_member *member)
{
	const int fds[] = { member->directory_fd, member->stat_fd, member->children_fd };
	for (size_t i = 0; i < sizeof fds / sizeof *fds; i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

/* Only those who may trace a program see its addresses, which change at an exec (with random layout, also if it runs
 * itself again). Others see a new name and a new command line. */
static bool is_another_program(const struct proc_stat *old, const struct proc_stat *now)
{
	return old->start_code > 1 && now->start_code > 1 &&
		(old->start_code != now->start_code || old->end_code != now->end_code || old->start_stack != now->start_stack);
}

static void member_update(struct target_member *member, const struct proc_stat *now)
{
	struct proc_stat old = member->stat;
	bool has_addresses = now->start_code > 1;
	bool was_replaced = is_another_program(&old, now);
	bool was_renamed = strcmp(old.comm, now->comm) != 0;
	member->stat = *now;
	member->parent = now->parent;
	member->has_stat = true;
	/* During an exec, and as a zombie, the process has no addresses: the earlier ones stay for the comparison. */
	if (!has_addresses) {
		member->stat.start_code = old.start_code;
		member->stat.end_code = old.end_code;
		member->stat.start_stack = old.start_stack;
	}
	member->generation += was_replaced;
	if (was_replaced || (was_renamed && now->state != 'Z')) {
		member->needs_command = true;
		/* Without addresses, only a changed command line shows that it is another program. */
		member->is_new_by_command = !was_replaced && old.start_code <= 1 && !has_addresses;
	}
}

static void member_refresh_command(struct target_member *member)
{
	char before[TARGET_COMMAND_SIZE];
	memcpy(before, member->command, sizeof before);
	member_read_command(member);
	member->generation += member->is_new_by_command && strcmp(before, member->command) != 0;
	member->needs_command = false;
}

/* -- the tree -- */

static enum status open_directory(const struct target *target, pid_t pid, int *out)
{
	char path[4096];
	int written = snprintf(path, sizeof path, "%s/%d", target->proc_root, (int)pid);
	if (written < 0 || (size_t)written >= sizeof path)
		return STATUS_INVALID;
	int fd = file_open(AT_FDCWD, path, O_RDONLY | O_DIRECTORY);
	if (fd < 0)
		return errno == EMFILE || errno == ENFILE ? STATUS_AGAIN : status_of_errno(errno);
	*out = fd;
	return STATUS_OK;
}

static enum status add_member(struct target *target, pid_t pid, int directory_fd)
{
	struct target_member *member = &target->members[target->member_count];
	*member = (struct target_member){
		.pid = pid,
		.directory_fd = directory_fd,
		.stat_fd = -1,
		.children_fd = -1,
		.is_detailed = target->member_count < TARGET_MEMBERS_DETAILED,
		.keeps_files = target->member_count < target->files_kept_max,
	};
	enum status status = member_read_stat(member, &member->stat);
	if (status != STATUS_OK) {
		member_release(member);
		return status;
	}
	member->has_stat = true;
	member->parent = member->stat.parent;
	member->start_ticks = member->stat.start_ticks;
	member_read_command(member);
	target->member_count++;
	return STATUS_OK;
}

static bool is_member(const struct target *target, pid_t pid)
{
	for (size_t i = 0; i < target->member_count; i++)
		if (target->members[i].pid == pid)
			return true;
	return false;
}

static void add_child(struct target *target, pid_t parent, pid_t pid)
{
	if (is_member(target, pid))
		return;
	int directory_fd;
	enum status status = STATUS_AGAIN;
	if (target->member_count < TARGET_MEMBERS_MAX) {
		status = open_directory(target, pid, &directory_fd);
		if (status == STATUS_OK && directory_fd >= target->descriptors - DESCRIPTORS_SPARED) {
			close(directory_fd);
			status = STATUS_AGAIN;
		}
		if (status == STATUS_OK)
			status = add_member(target, pid, directory_fd);
		target->is_short_of_files |= status == STATUS_AGAIN;
	}
	if (status == STATUS_AGAIN)
		target->members_left_out++;
	if (status != STATUS_OK)
		return;
	/* The child was listed, ended, and its pid went to an unrelated process before it was opened. */
	struct target_member *member = &target->members[target->member_count - 1];
	if (member->parent != parent) {
		member_release(member);
		target->member_count--;
	}
}

/* `text` is "PID PID PID ". */
static void add_children(struct target *target, pid_t parent, const char *text)
{
	for (;;) {
		char *end;
		long pid = strtol(text, &end, 10);
		if (end == text || pid <= 0 || pid > INT32_MAX)
			return;
		add_child(target, parent, (pid_t)pid);
		text = end;
	}
}

static void read_children(struct target *target, size_t index, const char *path, int *fd, bool keep)
{
	struct target_member *member = &target->members[index];
	size_t length;
	enum status status = proc_file_read(member->directory_fd, fd, keep, path, target->scratch, SCRATCH_SIZE, &length);
	if (index == 0 && status == STATUS_NOT_FOUND)
		target->has_no_children_files = file_is_there(member->directory_fd, "stat");
	if (status == STATUS_OK)
		add_children(target, member->pid, target->scratch);
}

static void read_children_of_threads(struct target *target, size_t index)
{
	DIR *task = file_open_folder(target->members[index].directory_fd, "task");
	if (!task)
		return;
	struct dirent *entry;
	for (unsigned i = 0; i < THREADS_SCANNED_MAX && (entry = file_next(task)); i++) {
		long tid = strtol(entry->d_name, NULL, 10);
		if (tid <= 0 || tid == target->members[index].pid)
			continue;
		char path[64];
		snprintf(path, sizeof path, "task/%ld/children", tid);
		int fd = -1;
		read_children(target, index, path, &fd, false);
	}
	closedir(task);
}

static void find_children(struct target *target, size_t index)
{
	struct target_member *member = &target->members[index];
	if (!member->has_stat || member->stat.state == 'Z')
		return;
	char path[64];
	snprintf(path, sizeof path, "task/%d/children", (int)member->pid);
	read_children(target, index, path, &member->children_fd, member->keeps_files);
	if (member->stat.threads < 2)
		return;
	int64_t now_ns = clock_monotonic_ns(), apart_ns = (int64_t)member->stat.threads * THREAD_APART_NS;
	if (now_ns < member->threads_ns)
		return;
	read_children_of_threads(target, index);
	apart_ns = apart_ns < THREADS_APART_MAX_NS ? apart_ns : THREADS_APART_MAX_NS;
	member->threads_ns = now_ns + (apart_ns > THREADS_APART_MIN_NS ? apart_ns : THREADS_APART_MIN_NS);
}

/* Members keep their order. All files are read before any member moves: a read may block for ever
 * (base/hang_watch.h), and the next refresh must then find the list complete. */
static void refresh_members(struct target *target)
{
	size_t retained = 0;
	for (size_t i = 0; i < target->member_count; i++)
		target->members[i].next_status = member_read_stat(&target->members[i], &target->members[i].next_stat);
	for (size_t i = 0; i < target->member_count; i++) {
		struct target_member *member = &target->members[i];
		enum status status = member->next_status;
		bool is_gone =
			status == STATUS_NOT_FOUND || (status == STATUS_OK && member->next_stat.start_ticks != member->start_ticks);
		if (is_gone) {
			member_release(member);
			continue;
		}
		if (status == STATUS_OK)
			member_update(member, &member->next_stat);
		else
			member->has_stat = false;
		if (retained != i)
			target->members[retained] = *member;
		retained++;
	}
	target->member_count = retained;
	for (size_t i = 0; i < target->member_count; i++)
		if (target->members[i].needs_command)
			member_refresh_command(&target->members[i]);
}

static enum status end_target(struct target *target)
{
	for (size_t i = 0; i < target->member_count; i++)
		member_release(&target->members[i]);
	target->member_count = 0;
	if (!target->has_ended)
		target->ended_realtime_ns = clock_realtime_ns();
	target->has_ended = true;
	return STATUS_END;
}

/* The state Z is not enough: the main thread may have ended before the others. A fixture has no pidfd, so there it
 * must do. */
static bool target_is_over(const struct target *target)
{
	if (target->pidfd < 0)
		return target->member_count == 0 || target->members[0].pid != target->pid ||
			target->members[0].stat.state == 'Z';
	struct pollfd poller = { .fd = target->pidfd, .events = POLLIN };
	return poll(&poller, 1, 0) > 0 || target->member_count == 0 || target->members[0].pid != target->pid;
}

enum status target_refresh(struct target *target)
{
	if (target->pid == 0)
		return STATUS_OK;
	if (target->has_ended)
		return STATUS_END;
	refresh_members(target);
	if (target_is_over(target))
		return end_target(target);
	target->members_left_out = 0;
	target->is_short_of_files = false;
	for (size_t i = 0; i < target->member_count; i++)
		find_children(target, i);
	return STATUS_OK;
}

const struct target_world *target_world_of(const struct target *target, pid_t pid, uint64_t start_ticks)
{
	for (size_t i = 0; i < target->world_count; i++)
		if (target->worlds[i].pid == pid && target->worlds[i].start_ticks == start_ticks)
			return &target->worlds[i];
	return NULL;
}

/* -- opening -- */

void target_explain_denied(const struct target *target, const struct target_member *member, struct reason *out)
{
	access_explain_file(member->directory_fd, member->pid, target->uid, out);
}

/* A thread has a folder in /proc like a process, but readdir does not list it. */
static enum status check_is_process(struct target *target, struct reason *why_not)
{
	size_t length;
	uint64_t group, uid;
	int fd = -1;
	enum status status =
		proc_file_read(target->members[0].directory_fd, &fd, false, "status", target->scratch, SCRATCH_SIZE, &length);
	if (status != STATUS_OK)
		return access_explain_unopened(target->proc_root, target->pid, false, status, why_not);
	if (proc_field(target->scratch, "Uid", 1, &uid))
		target->uid = (uid_t)uid;
	if (proc_field(target->scratch, "Tgid", 0, &group) && group != (uint64_t)target->pid) {
		char remedy[sizeof why_not->remedy];
		snprintf(remedy, sizeof remedy, "pmtop -p %d", (int)group);
		return reason_set(why_not, STATUS_NOT_FOUND, remedy, "%d is a thread of process %d (%s)", (int)target->pid,
			(int)group, target->members[0].command);
	}
	return STATUS_OK;
}

static enum status open_process(struct target *target, struct reason *why_not)
{
	/* The directory is opened first, and all files are read through it. A read that succeeds after pidfd_open shows
	 * that the process still lived then, so directory and pidfd are of the same process. */
	int directory_fd;
	enum status status = open_directory(target, target->pid, &directory_fd);
	if (strcmp(target->proc_root, "/proc") == 0 && target->pidfd < 0)
		target->pidfd = (int)syscall(SYS_pidfd_open, target->pid, 0);
	if (status == STATUS_OK)
		status = add_member(target, target->pid, directory_fd);
	if (status != STATUS_OK)
		return access_explain_unopened(target->proc_root, target->pid, target->pidfd >= 0, status, why_not);
	status = check_is_process(target, why_not);
	if (status != STATUS_OK)
		return status;
	if (target_is_over(target))
		return reason_set(why_not, STATUS_NOT_FOUND, NULL,
			"no process %d (it has ended: a zombie that its parent has not reaped)", (int)target->pid);
	for (size_t i = 0; i < target->member_count; i++)
		find_children(target, i);
	return STATUS_OK;
}

struct opening {
	struct target *target;
	enum status status;
	struct reason *why_not;
};

static void open_once(void *context)
{
	struct opening *opening = context;
	opening->status = open_process(opening->target, opening->why_not);
}

/* Opening must not block for ever: files that block are skipped, and the target is opened again. */
static enum status open_in_time(struct target *target, struct reason *why_not)
{
	for (int tries = 0; tries < TRIES_MAX; tries++) {
		char path[HANG_PATH_SIZE];
		struct opening *opening = malloc(sizeof *opening);
		if (!opening)
			return reason_set(why_not, STATUS_NO_MEMORY, NULL, "out of memory");
		*opening = (struct opening){ .target = target, .why_not = why_not };
		if (hang_run(open_once, opening, HANG_LIMIT_NS, path)) {
			enum status status = opening->status;
			free(opening);
			return status;
		}
		target_leave_read(target);
		target->member_count = 0;
	}
	return reason_set(why_not, STATUS_IO, NULL, "reading the files of process %d in %s does not return",
		(int)target->pid, target->proc_root);
}

enum status target_open(struct target *target, pid_t pid, const char *proc_root, struct reason *why_not)
{
	struct rlimit descriptors;
	*target = (struct target){ .proc_root = proc_root, .pid = pid, .pidfd = -1, .descriptors = INT_MAX };
	if (getrlimit(RLIMIT_NOFILE, &descriptors) == 0 && descriptors.rlim_cur < INT_MAX)
		target->descriptors = (int)descriptors.rlim_cur;
	target->files_kept_max = (size_t)(target->descriptors / 2 / DESCRIPTORS_A_MEMBER);
	if (target->files_kept_max < FILES_KEPT_MIN)
		target->files_kept_max = FILES_KEPT_MIN;
	if (pid < 0)
		return reason_set(why_not, STATUS_INVALID, NULL, "%d is not a process ID", (int)pid);
	target->members = calloc(TARGET_MEMBERS_MAX, sizeof *target->members);
	target->scratch = malloc(SCRATCH_SIZE);
	enum status status = STATUS_OK;
	if (!target->members || !target->scratch)
		status = reason_set(why_not, STATUS_NO_MEMORY, NULL, "out of memory");
	else if (pid > 0)
		status = open_in_time(target, why_not);
	if (status != STATUS_OK)
		target_close(target);
	return status;
}

void target_leave_read(struct target *target)
{
	char *scratch = malloc(SCRATCH_SIZE);
	/* Out of memory: the old buffer stays in use, and the lost thread may write into it once more. */
	target->scratch = scratch ? scratch : target->scratch;
}

void target_close(struct target *target)
{
	for (size_t i = 0; i < target->member_count; i++)
		member_release(&target->members[i]);
	if (target->pidfd >= 0)
		close(target->pidfd);
	free(target->members);
	free(target->scratch);
	target->members = NULL;
	target->scratch = NULL;
	target->member_count = 0;
	target->pidfd = -1;
}
