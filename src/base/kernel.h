/* kernel.h: system calls without a function in glibc 2.17, the oldest one that the program in the wheels starts with.
 * They set errno. Kernels of that age have neither getrandom nor statx: older calls replace them. */
#ifndef PMTOP_BASE_KERNEL_H
#define PMTOP_BASE_KERNEL_H

#include <linux/stat.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Closed on execve(). -1: failure. */
int kernel_memory_file(const char *name, unsigned flags);
/* Fills all of `out`. `may_wait`: for the kernel's entropy, in the first seconds after a boot. */
bool kernel_random(void *out, size_t size, bool may_wait);
pid_t kernel_thread_id(void);
/* Fills what is in STATX_BASIC_STATS, but the times and the number of links. */
int kernel_statx(int directory_fd, const char *path, int flags, unsigned mask, struct statx *out);

#endif
