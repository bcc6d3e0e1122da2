/* find.h: finds the regions of a process, and those of the machine. */
#ifndef PMTOP_REGION_FIND_H
#define PMTOP_REGION_FIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct region_location;

/* Finds the regions mapped by `pid` (`directory_fd` = its /proc/PID). Fills at most `max`; returns how many. DataLoader
 * workers inherit their parent's mapping, so only regions whose header names `pid` (in the process's own namespace:
 * NSpid) are included. *is_unfilled: another one may be a region soon, its header is not written yet. */
size_t region_find(int directory_fd, pid_t pid, struct region_location *out, size_t max, bool *is_unfilled);
/* Named regions of /dev/shm, of running and dead processes, for `pmtop list` and -s. `owner`: only that user's;
 * REGION_ANYBODY: all. Fills at most `max`; returns how many. */
size_t region_list(const char *shm_directory, uid_t owner, struct region_location *out, size_t max);
/* Is the file mapped, according to /proc/PID/maps? */
bool maps_has(int directory_fd, uint64_t device, uint64_t inode);

#endif
