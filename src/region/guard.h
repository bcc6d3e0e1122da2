/* guard.h: protects readers of mapped files that may be truncated. On a SIGBUS inside a guarded mapping the handler
 * maps zero pages over the missing ones and sets a flag. The reader continues, and checks afterwards whether its copy
 * is valid.
 *
 * The handler must find the mapping by its address, so there is a global table. Faults elsewhere go to the previous
 * SIGBUS handler. May be called from any thread. */
#ifndef PMTOP_REGION_GUARD_H
#define PMTOP_REGION_GUARD_H

#include <stdbool.h>
#include <stddef.h>

enum { GUARDS_MAX = 256 };

/* Installs the SIGBUS handler, again if another one has replaced it, and unblocks the signal on the calling thread. */
void guard_install(void);
/* Returns a number for the mapping, or −1: too many at once. */
int guard_add(const void *map, size_t size);
bool guard_is_cut(int guard);
/* Call before munmap. */
void guard_remove(int guard);

#endif
