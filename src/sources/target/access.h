/* access.h: explains to the user why a process cannot be read: another owner, missing rights, hidepid, or it has
 * ended. */
#ifndef PMTOP_SOURCES_TARGET_ACCESS_H
#define PMTOP_SOURCES_TARGET_ACCESS_H

#include <stdbool.h>
#include <sys/types.h>

#include "src/base/status.h"

/* PROC_ROOT/PID could not be opened or read, with `status`. `is_alive`: the caller knows that the process exists.
 * Returns the status that the caller should return. */
enum status access_explain_unopened(
	const char *proc_root, pid_t pid, bool is_alive, enum status status, struct reason *out);
/* The rights do not suffice to open a file below `directory_fd` (PROC_ROOT/PID). `owner` is used if the process's
 * own uid cannot be read. */
void access_explain_file(int directory_fd, pid_t pid, uid_t owner, struct reason *out);
/* Explains why the process's memory may not be read, though some of its files may: a seccomp filter (`self_error`:
 * remote_test_self), its owner, that it is not dumpable, Yama (kernel's admin-guide/LSM/Yama.rst), or a missing
 * capability. Each has its own remedy. */
void access_explain_memory(int directory_fd, pid_t pid, uid_t owner, int self_error, struct reason *out);

#endif
