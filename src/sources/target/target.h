/* target.h: the watched process and its descendants, and how to open their files in /proc. pmtop reads no other
 * process's files.
 *
 * A pidfd is held from the start, so a reused pid is never taken for the target (tests/README.md, fault 2). Children
 * are found through /proc/PID/task/TID/children: those of the main thread at every refresh, those of other threads
 * less often if there are many. All calls come from the sampler thread, except target_open (before it starts). */
#ifndef PMTOP_SOURCES_TARGET_TARGET_H
#define PMTOP_SOURCES_TARGET_TARGET_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "src/base/status.h"
#include "src/sources/proc/proc_file.h"

enum {
	TARGET_COMMAND_SIZE = 256,
	TARGET_MEMBERS_MAX = 512,
	TARGET_WORLDS_MAX = 128,
	/* members of which figures are read that take more calls: descriptors, what a sleeping one waits for */
	TARGET_MEMBERS_DETAILED = 64,
};

struct target_member {
	pid_t pid, parent;
	uint64_t start_ticks; /* /proc/PID/stat field 22: together with the pid it identifies a process */
	int directory_fd;     /* /proc/PID, stays open */
	unsigned generation;  /* changes when the process replaces itself (exec) */
	/* short and cleaned: the name of the script or program ("train.py") */
	char command[TARGET_COMMAND_SIZE];
	bool is_detailed; /* one of the first TARGET_MEMBERS_DETAILED */
	bool keeps_files; /* its files stay open: one of the first target->files_kept_max */
	bool has_stat;    /* `stat` was read at the last refresh */
	struct proc_stat stat;
	struct proc_stat next_stat; /* of the refresh in progress, as is next_status */
	enum status next_status;
	bool needs_command;       /* its command line must be read again */
	bool is_new_by_command;   /* if the command line differs, the process called exec */
	int stat_fd, children_fd; /* −1 = not open */
	int64_t threads_ns;       /* when the children of its other threads are read again */
};

struct target {
	const char *proc_root; /* "/proc", or a fixture */
	pid_t pid;             /* 0 = none: only a region is watched (-s of an ended run) */
	int pidfd;             /* −1 in a fixture */
	/* effective uid of the target; with pid 0, set by the caller: the owner the region must have */
	uid_t uid;
	bool has_ended;
	int64_t ended_realtime_ns;
	/* descendants beyond TARGET_MEMBERS_MAX, or for which no file descriptor was left */
	unsigned members_left_out;
	/* the source of collectives found them: ranks without a launcher's variables */
	size_t world_count;
	struct target_world {
		pid_t pid;
		uint64_t start_ticks;
		uint32_t rank, size; /* in all hosts */
	} worlds[TARGET_WORLDS_MAX];
	bool is_spawned_rank;          /* the source of stacks found that it is one (torch.multiprocessing) */
	bool is_short_of_files;        /* no file descriptor was left */
	bool has_no_children_files;    /* this kernel has no children files (CONFIG_PROC_CHILDREN) */
	size_t member_count;           /* members[0] is the target itself as long as it lives */
	struct target_member *members; /* in the order in which they were found */
	char *scratch;                 /* private: the text of one file */
	int descriptors;               /* how many pmtop may have open */
	/* members whose files stay open; those of further members are opened at each reading, which takes thrice as long */
	size_t files_kept_max;
	const char *synthetic;                /* --demo: the name of the synthetic run; else NULL */
	const struct source_choices *choices; /* choices.h; NULL = the defaults. The caller's, while the target is open */
	const char *region_path;              /* -s: the region's file, if known beforehand; else NULL */
};

/* NOT_FOUND ("no process 4711 (it may have ended)"), DENIED (names the owner and a remedy), as one line in
 * `why_not`. With pid 0 nothing is watched but `region_path`, which the caller sets. */
enum status target_open(struct target *target, pid_t pid, const char *proc_root, struct reason *why_not);
/* Finds new and ended members, exec, and the target's end. STATUS_END once the target has ended. */
enum status target_refresh(struct target *target);
/* Why pmtop may not read a file of the member, and the remedy. */
void target_explain_denied(const struct target *target, const struct target_member *member, struct reason *out);
/* NULL: unknown. */
const struct target_world *target_world_of(const struct target *target, pid_t pid, uint64_t start_ticks);
/* A thread was left behind in a blocked read for the target (base/hang_watch.h): replaces the memory that the read
 * may still write to. */
void target_leave_read(struct target *target);
void target_close(struct target *target);

#endif
