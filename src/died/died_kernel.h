/* died_kernel.h: what the kernel's log (/dev/kmsg) says of a process: an out-of-memory kill, a segmentation fault, or
 * an error of NVIDIA's driver (XID). Reading it needs CAP_SYSLOG, or kernel.dmesg_restrict=0. */
#ifndef PMTOP_DIED_DIED_KERNEL_H
#define PMTOP_DIED_DIED_KERNEL_H

#include "src/died/died.h"

/* One record of /dev/kmsg: "4,1234,5678901,-;Memory cgroup out of memory: Killed process 4711 (python) …". Takes it if
 * it is about this process, after `from_us` of the kernel's clock. */
void died_kernel_take(const char *record, int32_t pid, int64_t from_us, struct died_evidence *out);
/* Reads the log at `path` (/dev/kmsg). What cannot be read is not known. */
void died_kernel_read(const char *path, int32_t pid, int64_t from_us, struct died_evidence *out);

#endif
