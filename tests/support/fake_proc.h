/* fake_proc.h: a fake /proc in a temporary folder. */
#ifndef PMTOP_TESTS_FAKE_PROC_H
#define PMTOP_TESTS_FAKE_PROC_H

#include <stddef.h>

struct fake_proc {
	char root[64];
};

void fake_proc_init(struct fake_proc *proc);
void fake_proc_release(struct fake_proc *proc);
/* A process with stat, status, io, schedstat, cmdline and task/PID/children. */
void fake_proc_add(const struct fake_proc *proc, int pid, int parent, const char *comm);
/* (Re)writes any file below the root, in place, with the folders that it needs. Kernel accounting is on
 * (sys/kernel/task_delayacct). */
void fake_proc_put(const struct fake_proc *proc, const char *name, const char *text);
/* (Re)writes one of its files, in place. */
void fake_proc_write(const struct fake_proc *proc, int pid, const char *name, const char *text, size_t length);
void fake_proc_puts(const struct fake_proc *proc, int pid, const char *name, const char *text);
void fake_proc_remove(const struct fake_proc *proc, int pid, const char *name);
/* The process ends: its files become empty, then disappear. */
void fake_proc_end(const struct fake_proc *proc, int pid);

#endif
