/* target.h: the watched process and its descendants, and how to reach their files in /proc. Nothing else of /proc is
 * read.
 *
 * A pidfd is held from the start: a pid that is used again is never taken for the target (tests/README.md, fault 2).
 * Children are found through /proc/PID/task/TID/children: those of the main thread at every refresh, those of many
 * other threads at some. All calls come from the sampler thread, but for target_open (before it starts). */
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
	/* members whose files are kept open; those of further ones are opened at each reading */
	TARGET_MEMBERS_RETAINED = 64,
};

struct target_member {
	pid_t pid, parent;
	uint64_t start_ticks; /* /proc/PID/stat field 22: with the pid, the identity of a process */
	int directory_fd;     /* /proc/PID, kept */
	unsigned generation;  /* changes when the process replaces itself (exec) */
	/* short and clean: the script or program, as a person would call it ("train.py") */
	char command[TARGET_COMMAND_SIZE];
	bool keeps_files; /* one of the first TARGET_MEMBERS_RETAINED */
	bool has_stat;    /* `stat` was read at the last refresh */
	struct proc_stat stat;
	struct proc_stat next_stat; /* of the refresh that is under way, as the next */
	enum status next_status;
	bool needs_command;       /* its command line is to be read anew … */
	bool is_new_by_command;   /* … and if it differs the process has replaced itself */
	int stat_fd, children_fd; /* −1 = not kept */
	unsigned until_threads;   /* refreshes until the children of its other threads are looked for */
};

struct target {
	const char *proc_root; /* "/proc", or a fixture */
	pid_t pid;             /* 0 = none: a region is watched by itself (-s of an ended run) */
	int pidfd;             /* −1 in a fixture */
	/* effective uid of the target; with pid 0, set by the caller: the owner the region must have */
	uid_t uid;
	bool has_ended;
	int64_t ended_realtime_ns;
	/* descendants beyond TARGET_MEMBERS_MAX, or for which no file descriptor was left */
	unsigned members_left_out;
	bool is_short_of_files;        /* the latter */
	bool has_no_children_files;    /* this kernel does not tell children */
	size_t member_count;           /* members[0] is the target itself while it lives */
	struct target_member *members; /* in the order in which they were found */
	char *scratch;                 /* one file's text, private */
	int descriptors;               /* how many we may have open */
	const char *synthetic;         /* --demo: which invented run; else NULL */
	const struct source_choices
		*choices;            /* choices.h; NULL = the defaults. The caller's, as long as the target is open */
	const char *region_path; /* -s: the region's file, where it is known beforehand; else NULL */
};

/* NOT_FOUND ("no process 4711 (it may have ended)"), DENIED (says whose it is and what to do), as one line in
 * `why_not`. With pid 0 nothing is watched but `region_path`, which the caller sets. */
enum status target_open(struct target *target, pid_t pid, const char *proc_root, struct reason *why_not);
/* Looks for new and ended members, exec and the target's end. STATUS_END once the target has ended. */
enum status target_refresh(struct target *target);
/* Why a file of the member may not be read by us, and what would help. */
void target_explain_denied(const struct target *target, const struct target_member *member, struct reason *out);
/* A thread was left behind in a read for the target (base/hang_watch.h): memory that the read may still write to is
 * replaced. */
void target_leave_read(struct target *target);
void target_close(struct target *target);

#endif
