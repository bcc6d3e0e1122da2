/* process_private.h: what the source "process" keeps, shared by process.c and process_more.c. */
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

/* Does the kernel keep how long a process waits for the disk? Since 5.14 a file says so; before, only a wait that was
 * counted does. */
enum accounting { ACCOUNTING_UNKNOWN, ACCOUNTING_OFF, ACCOUNTING_ON };

struct known_process {
	pid_t pid;
	uint64_t start_ticks;
	unsigned generation;
	char command[TARGET_COMMAND_SIZE];
	int fds[FILE_COUNT];
	bool has_place;        /* told where it runs */
	bool is_never_counted; /* it began before accounting was switched on */
	uint64_t ran_ticks;    /* CPU time at the last turn of the others */
	int64_t descriptors_next_ns;
	char wait[PROCESS_WAIT_SIZE]; /* as it was told last; empty = nowhere */
};

struct process_reader {
	struct target *target;
	int self_fd; /* pmtop's own statm; −1 = not there */
	double ns_per_tick, page_bytes;
	int64_t others_next_ns;
	enum status emitted[FILE_COUNT]; /* of the target's files, as said last */
	unsigned emitted_left_out;
	bool emitted_no_children;
	enum accounting accounting;
	bool has_asked_accounting;
	int64_t accounting_next_ns;
	const char *emitted_no_disk_wait; /* why, as said last; NULL = nothing was */
	unsigned waits_left;              /* to be read at this reading */
	size_t count;
	struct known_process known[TARGET_MEMBERS_MAX]; /* in the order of the target's members */
	char text[PROCESS_TEXT_SIZE];
};

/* -- process_more.c: what costs a file of its own, and is read seldom -- */
/* Before the members. */
void process_begin_more(struct process_reader *reader, struct sample_set *out, int64_t now_ns);
/* Of a member whose stat was read. `with_others`: the turn, about once a second, of what is not read each time. */
void process_emit_more(
	struct process_reader *reader, size_t index, bool with_others, struct sample_set *out, int64_t now_ns);

#endif
