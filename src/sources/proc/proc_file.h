/* proc_file.h: the files of one process under /proc: read by kept descriptors, and parsed.
 *
 * Formats: proc_pid_stat(5), proc_pid_status(5), proc_pid_io(5), Linux Documentation/scheduler/sched-stats.rst. A name
 * in them is foreign text: it may hold spaces, parentheses and newlines (the kernel escapes the last in status
 * only). */
#ifndef PMTOP_SOURCES_PROC_PROC_FILE_H
#define PMTOP_SOURCES_PROC_PROC_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "src/base/status.h"

/* Reads `name` below `directory_fd`. *fd is −1 or the descriptor kept from an earlier call; with `keep` it is kept for
 * the next one. NOT_FOUND: the file or the process is not there. AGAIN: out of file descriptors. */
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
	uint64_t resident_pages;
	/* Where program and stack begin: they change with an exec. ≤ 1 where we may not know or there is no program
	 * (zombie). */
	uint64_t start_code, end_code, start_stack;
	uint64_t disk_wait_ticks; /* of its main thread; 0 too where nobody counts it */
};

/* False where the text is no stat line; *out is untouched then. */
bool proc_stat_parse(const char *text, size_t length, struct proc_stat *out);

/* The number after "key:" at the start of a line (status, io), the `column`th from 0. Returns that line; NULL where
 * there is none. */
const char *proc_field(const char *text, const char *key, unsigned column, uint64_t *out);

#endif
