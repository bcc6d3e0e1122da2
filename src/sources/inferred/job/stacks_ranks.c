#include "src/sources/inferred/job/stacks_ranks.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/base/files/file.h"
#include "src/base/text.h"
#include "src/sources/target/command.h"

enum { PROCESSES_MAX = 1 << 16, ANCESTORS_MAX = 8 };
#define SEARCH_FIRST_NS (1 * NS_PER_S)
#define SEARCH_MAX_NS (30 * NS_PER_S)
#define EMIT_NS (1 * NS_PER_S)

/* -- the target's processes -- */

static size_t find_job(const struct stacks_ranks *ranks, const struct target_member *member)
{
	size_t at = 0;
	for (; at < ranks->job_count; at++)
		if (ranks->jobs[at].pid == member->pid && ranks->jobs[at].start_ticks == member->start_ticks &&
			ranks->jobs[at].generation == member->generation)
			break;
	return at;
}

static bool is_member(const struct target *target, pid_t pid, uint64_t start_ticks, const unsigned *generation)
{
	for (size_t i = 0; i < target->member_count; i++) {
		const struct target_member *member = &target->members[i];
		if (member->pid == pid && member->start_ticks == start_ticks &&
			(!generation || member->generation == *generation))
			return true;
	}
	return false;
}

/* A rank's parent that started it is rank 0. */
static void find_leaders(struct stacks_ranks *ranks, const struct target *target)
{
	for (size_t i = 0; i < target->member_count; i++) {
		size_t led = find_job(ranks, &target->members[i]);
		if (led == ranks->job_count || !ranks->jobs[led].job.is_led)
			continue;
		for (size_t k = 0; k < ranks->job_count; k++)
			if (ranks->jobs[k].pid == target->members[i].parent && !stacks_job_is_rank(&ranks->jobs[k].job))
				stacks_job_of_leader(&ranks->jobs[led].job, &ranks->jobs[k].job);
	}
}

/* The number that the process's own process group has shown, if no variable of a launcher does. */
static void take_world(const struct target *target, const struct target_member *member, struct stacks_job *job)
{
	const struct target_world *world = target_world_of(target, member->pid, member->start_ticks);
	if (world && (!stacks_job_is_rank(job) || job->certain))
		stacks_job_spawned(member->parent, world->rank, world->size, job);
}

static void read_jobs(struct stacks_ranks *ranks, const struct target *target)
{
	size_t retained = 0;
	for (size_t i = 0; i < ranks->job_count; i++)
		if (is_member(target, ranks->jobs[i].pid, ranks->jobs[i].start_ticks, &ranks->jobs[i].generation))
			ranks->jobs[retained++] = ranks->jobs[i];
	ranks->job_count = retained;
	for (size_t i = 0; i < target->member_count && ranks->job_count < STACKS_JOBS_MAX; i++) {
		const struct target_member *member = &target->members[i];
		size_t at = find_job(ranks, member);
		if (at == ranks->job_count) {
			stacks_job_read(member->directory_fd, &ranks->jobs[at].job);
			ranks->jobs[at].pid = member->pid;
			ranks->jobs[at].start_ticks = member->start_ticks;
			ranks->jobs[at].generation = member->generation;
			ranks->job_count++;
		}
		take_world(target, member, &ranks->jobs[at].job);
	}
	for (size_t i = 0; i < ranks->other_count; i++)
		take_world(target, &ranks->others[i].member, &ranks->others[i].job);
	find_leaders(ranks, target);
}

const struct stacks_job *stacks_ranks_job(const struct stacks_ranks *ranks, const struct target_member *member)
{
	size_t at = find_job(ranks, member);
	return at < ranks->job_count ? &ranks->jobs[at].job : NULL;
}

/* -- other ranks -- */

static bool read_stat(struct target_member *member)
{
	char text[2048];
	size_t length;
	return file_read(member->directory_fd, "stat", text, sizeof text, &length) == STATUS_OK &&
		proc_stat_parse(text, length, &member->stat) && member->stat.state != 'Z' &&
		(member->start_ticks == 0 || member->start_ticks == member->stat.start_ticks);
}

static int open_process(const struct target *target, pid_t pid)
{
	char path[4096];
	int written = snprintf(path, sizeof path, "%s/%d", target->proc_root, (int)pid);
	return written > 0 && (size_t)written < sizeof path ? file_open(AT_FDCWD, path, O_RDONLY | O_DIRECTORY) : -1;
}

static bool has_owner(int directory_fd, uid_t owner)
{
	struct stat status;
	return file_stat(directory_fd, ".", &status, 0) == 0 && status.st_uid == owner;
}

static void read_command(struct target_member *member)
{
	char text[4096];
	size_t length;
	if (file_read(member->directory_fd, "cmdline", text, sizeof text, &length) != STATUS_OK)
		length = 0;
	command_shorten(member->command, sizeof member->command, text, length, member->stat.comm);
}

/* Whether another process is a rank of `own` job that is not known yet. */
static bool is_new_rank(const struct stacks_ranks *ranks, const struct stacks_job *own, const struct stacks_job *job)
{
	bool is_new = stacks_job_is_same(own, job) && strcmp(own->rank, job->rank) != 0;
	for (size_t i = 0; i < ranks->other_count; i++)
		is_new &= strcmp(ranks->others[i].job.rank, job->rank) != 0;
	return is_new;
}

/* The length of a command line up to its program: "python -u train.py --rank 1" without "--rank 1". */
static size_t program_length(const char *text, size_t length)
{
	size_t at = strnlen(text, length) + 1;
	while (at < length && text[at] == '-')
		at += strnlen(text + at, length - at) + 1;
	at += at < length ? strnlen(text + at, length - at) : 0;
	return at < length ? at : length;
}

/* Whether both were started in the same way: by multiprocessing, or with the same program. */
static bool is_spawned_alike(const struct target_member *own, const struct target_member *other)
{
	static const char option[] = "--multiprocessing-fork";
	char own_text[4096], other_text[4096];
	size_t own_length, other_length;
	if (file_read(own->directory_fd, "cmdline", own_text, sizeof own_text, &own_length) != STATUS_OK ||
		file_read(other->directory_fd, "cmdline", other_text, sizeof other_text, &other_length) != STATUS_OK)
		return false;
	bool is_spawned = memmem(own_text, own_length, option, sizeof option - 1);
	if (is_spawned != (memmem(other_text, other_length, option, sizeof option - 1) != NULL))
		return false;
	size_t length = program_length(own_text, own_length);
	return is_spawned ||
		(length == program_length(other_text, other_length) && memcmp(own_text, other_text, length) == 0);
}

static bool has_same_executable(int a_fd, int b_fd)
{
	struct stat a, b;
	return file_stat(a_fd, "exe", &a, 0) == 0 && file_stat(b_fd, "exe", &b, 0) == 0 && a.st_dev == b.st_dev &&
		a.st_ino == b.st_ino;
}

/* Whether an ancestor is the same rank: a rank's DataLoader workers have its environment. */
static bool is_of_a_rank(const struct target *target, const struct stacks_other *other)
{
	struct target_member member = other->member;
	bool is_of = false;
	for (unsigned i = 0; i < ANCESTORS_MAX && !is_of && member.stat.parent > 1; i++) {
		struct stacks_job job;
		member = (struct target_member){ .directory_fd = open_process(target, member.stat.parent) };
		if (member.directory_fd < 0)
			break;
		stacks_job_read(member.directory_fd, &job);
		is_of = stacks_job_is_same(&job, &other->job) && strcmp(job.rank, other->job.rank) == 0 &&
			has_same_executable(member.directory_fd, other->member.directory_fd);
		if (!read_stat(&member))
			member.stat.parent = 0;
		close(member.directory_fd);
	}
	return is_of;
}

/* Ranks with a launcher's variables need no common parent; spawned ones have the same. */
static bool is_sibling(const struct stacks_ranks *ranks, const struct target *target, const struct stacks_job *own,
	const struct stacks_other *other)
{
	if (stacks_job_is_rank(own) && !own->certain)
		return is_new_rank(ranks, own, &other->job) && !is_of_a_rank(target, other);
	bool is_new = !stacks_job_is_rank(&other->job) && other->member.stat.parent > 1 &&
		other->member.stat.parent == target->members[0].stat.parent &&
		is_spawned_alike(&target->members[0], &other->member);
	for (size_t i = 0; i < ranks->other_count; i++)
		is_new &= ranks->others[i].member.pid != other->member.pid;
	return is_new;
}

static void try_sibling(
	struct stacks_ranks *ranks, const struct target *target, const struct stacks_job *own, pid_t pid)
{
	struct stacks_other *other = &ranks->others[ranks->other_count];
	*other = (struct stacks_other){ .member = { .pid = pid, .directory_fd = open_process(target, pid) } };
	if (other->member.directory_fd < 0)
		return;
	if (has_owner(other->member.directory_fd, target->uid) &&
		has_same_executable(other->member.directory_fd, target->members[0].directory_fd) && read_stat(&other->member) &&
		!is_member(target, pid, other->member.stat.start_ticks, NULL)) {
		stacks_job_read(other->member.directory_fd, &other->job);
		other->member.parent = other->member.stat.parent;
		other->member.start_ticks = other->member.stat.start_ticks;
		if (is_sibling(ranks, target, own, other)) {
			take_world(target, &other->member, &other->job);
			read_command(&other->member);
			ranks->other_count++;
			return;
		}
	}
	close(other->member.directory_fd);
}

/* Tries all processes of this machine. */
static void try_all(struct stacks_ranks *ranks, const struct target *target, const struct stacks_job *own)
{
	DIR *processes = file_open_folder(AT_FDCWD, target->proc_root);
	struct dirent *entry;
	for (unsigned i = 0;
		 i < PROCESSES_MAX && processes && ranks->other_count < STACKS_OTHERS_MAX && (entry = file_next(processes));
		 i++) {
		long pid = text_count(entry->d_name);
		if (pid > 0 && pid <= INT32_MAX && pid != target->pid)
			try_sibling(ranks, target, own, (pid_t)pid);
	}
	if (processes)
		closedir(processes);
}

static void try_leader(
	struct stacks_ranks *ranks, const struct target *target, const struct stacks_job *own, pid_t parent)
{
	struct stacks_other *other = &ranks->others[ranks->other_count];
	if (ranks->other_count == STACKS_OTHERS_MAX)
		return;
	*other = (struct stacks_other){ .member = { .pid = parent, .directory_fd = open_process(target, parent) } };
	if (other->member.directory_fd < 0)
		return;
	stacks_job_read(other->member.directory_fd, &other->job);
	bool is_rank = stacks_job_is_rank(&other->job);
	stacks_job_of_leader(own, &other->job);
	if (!is_rank && has_owner(other->member.directory_fd, target->uid) && read_stat(&other->member) &&
		is_new_rank(ranks, own, &other->job)) {
		other->member.parent = other->member.stat.parent;
		other->member.start_ticks = other->member.stat.start_ticks;
		read_command(&other->member);
		ranks->other_count++;
		return;
	}
	close(other->member.directory_fd);
}

static void search(struct stacks_ranks *ranks, const struct target *target, int64_t now_ns)
{
	const struct target_member *member = target->member_count > 0 ? &target->members[0] : NULL;
	const struct stacks_job *own = member && member->pid == target->pid ? stacks_ranks_job(ranks, member) : NULL;
	bool is_rank = own && stacks_job_is_rank(own);
	if (!own || !(is_rank || ranks->is_spawned) || now_ns < ranks->search_ns)
		return;
	ranks->interval_ns = ranks->interval_ns == 0 ? SEARCH_FIRST_NS : ranks->interval_ns * 2;
	ranks->interval_ns = ranks->interval_ns < SEARCH_MAX_NS ? ranks->interval_ns : SEARCH_MAX_NS;
	ranks->search_ns = now_ns + ranks->interval_ns;
	if (is_rank && (long)ranks->other_count + 1 >= text_count(own->world_size))
		return;
	try_all(ranks, target, own);
	if (own->is_led)
		try_leader(ranks, target, own, member->stat.parent);
}

static void drop_ended(struct stacks_ranks *ranks)
{
	size_t retained = 0;
	for (size_t i = 0; i < ranks->other_count; i++)
		if (read_stat(&ranks->others[i].member))
			ranks->others[retained++] = ranks->others[i];
		else
			close(ranks->others[i].member.directory_fd);
	if (retained < ranks->other_count)
		ranks->search_ns = ranks->interval_ns = 0; /* the launcher may start it again */
	ranks->other_count = retained;
}

void stacks_ranks_refresh(struct stacks_ranks *ranks, const struct target *target, int64_t now_ns)
{
	read_jobs(ranks, target);
	drop_ended(ranks);
	search(ranks, target, now_ns);
}

void stacks_ranks_emit(struct stacks_ranks *ranks, int64_t now_ns, struct sample_set *out)
{
	for (size_t i = 0; i < ranks->other_count; i++) {
		struct stacks_other *other = &ranks->others[i];
		const struct target_member *member = &other->member;
		if (now_ns - other->emitted_ns < EMIT_NS)
			continue;
		other->emitted_ns = now_ns;
		sample_set_figure(out, now_ns, METRIC_PROCESS_RESIDENT, member->pid,
			(double)member->stat.resident_pages * (double)sysconf(_SC_PAGESIZE));
		sample_set_figure(out, now_ns, METRIC_PROCESS_STATE, member->pid, (double)member->stat.state);
	}
}

void stacks_ranks_release(struct stacks_ranks *ranks)
{
	for (size_t i = 0; i < ranks->other_count; i++)
		close(ranks->others[i].member.directory_fd);
	ranks->other_count = 0;
}
