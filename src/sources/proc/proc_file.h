/* proc_file.h: reads the files of one process under /proc through descriptors that stay open, and parses them.
 *
 * Formats: proc_pid_stat(5), proc_pid_status(5), proc_pid_io(5), Linux Documentation/scheduler/sched-stats.rst. A
 * name in them is untrusted text: it may hold spaces, parentheses and newlines (the kernel escapes newlines in
 * status only). */
#ifndef PMTOP_SOURCES_PROC_PROC_FILE_H
#define PMTOP_SOURCES_PROC_PROC_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "src/base/status.h"

/* Reads `name` below `directory_fd`. *fd is −1 or the descriptor left open by an earlier call; with `keep` it stays
 * open for the next one. NOT_FOUND: the file or the process does not exist. AGAIN: no file descriptor is left. */
enum status proc_file_read(
	int directory_fd, int *fd, bool keep, const char *name, char *out, size_t size, size_t *length);

struct proc_stat {
	char comm[64];
	char state; /* R S D T t Z X I */
	pid_t parent;
	uint64_t minor_faults, major_faults;
	uint64_t user_ticks, system_ticks;
	uint64_t threads;
	uint64_t start_ticks;
	uint64_t virtual_bytes;
	uint64_t resident_pages;
	/* Start of code and stack: they change with an exec. ≤ 1 if pmtop may not see them or there is no program
	 * (zombie). */
	uint64_t start_code, end_code, start_stack;
	uint64_t disk_wait_ticks; /* of its main thread; also 0 without delay accounting */
};

/* False if the text is not a stat line; *out is unchanged then. */
bool proc_stat_parse(const char *text, size_t length, struct proc_stat *out);

/* The number after "key:" at the start of a line (status, io), in column `column`, counted from 0. Returns that
 * line; NULL if there is none. */
const char *proc_field(const char *text, const char *key, unsigned column, uint64_t *out);

#endif
