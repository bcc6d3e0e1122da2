/* process_private.h: the state of the source "process", shared by process.c and process_more.c. */
#ifndef PMTOP_SOURCES_PROC_PROCESS_PRIVATE_H
#define PMTOP_SOURCES_PROC_PROCESS_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/samples/sample_set.h"
#include "src/sources/target/target.h"

enum { PROCESS_TEXT_SIZE = 16 * 1024, PROCESS_WAIT_SIZE = 48 };

/* The optional files. */
enum { FILE_STATUS, FILE_IO, FILE_SCHEDSTAT, FILE_COUNT };

/* Whether the kernel measures how long a process waits for the disk (delay accounting). Since Linux 5.14 a file
 * holds the setting; before, only a wait above 0 shows it. */
enum accounting { ACCOUNTING_UNKNOWN, ACCOUNTING_OFF, ACCOUNTING_ON };

struct known_process {
	pid_t pid;
	uint64_t start_ticks;
	unsigned generation;
	char command[TARGET_COMMAND_SIZE];
	int fds[FILE_COUNT];
	bool has_placement;    /* a placement was emitted */
	bool is_never_counted; /* it started before accounting was switched on */
	uint64_t ran_ticks;    /* CPU time when the other members were last read */
	int64_t descriptors_next_ns;
	char wait[PROCESS_WAIT_SIZE]; /* as emitted last; empty = it does not wait */
};

struct process_reader {
	struct target *target;
	int self_fd; /* pmtop's own statm; −1 = not there */
	double ns_per_tick, page_bytes;
	int64_t others_next_ns;
	enum status emitted[FILE_COUNT]; /* of the target's files, as emitted last */
	unsigned emitted_left_out;
	bool emitted_no_children;
	enum accounting accounting;
	bool has_read_accounting;
	int64_t accounting_next_ns;
	const char *emitted_no_disk_wait; /* why, as emitted last; NULL = nothing was */
	unsigned waits_left;              /* how many waits this reading may still read */
	size_t count;
	struct known_process known[TARGET_MEMBERS_MAX]; /* in the order of the target's members */
	char text[PROCESS_TEXT_SIZE];
};

#endif
