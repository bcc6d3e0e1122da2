/* access.h: why a process cannot be read, in words for a person: whose it is, that it forbids it, that /proc hides it,
 * that it is gone. */
#ifndef PMTOP_SOURCES_TARGET_ACCESS_H
#define PMTOP_SOURCES_TARGET_ACCESS_H

#include <stdbool.h>
#include <sys/types.h>

#include "src/base/status.h"

/* PROC_ROOT/PID could not be opened or read, with `status`; `is_alive`: we know from elsewhere that the process is
 * there. Returns the status that the caller should return. */
enum status access_explain_unopened(
	const char *proc_root, pid_t pid, bool is_alive, enum status status, struct reason *out);
/* A file below `directory_fd` (PROC_ROOT/PID) was denied. `owner` is taken where the process does not say whose it
 * is. */
void access_explain_file(int directory_fd, pid_t pid, uid_t owner, struct reason *out);
/* The process's memory may not be read, though some of its files may: by a seccomp filter (`self_error`:
 * remote_test_self), whose it is, that it is not dumpable, Yama (kernel's admin-guide/LSM/Yama.rst), or a capability
 * that is missing. Each has its own next step. */
void access_explain_memory(int directory_fd, pid_t pid, uid_t owner, int self_error, struct reason *out);

#endif
