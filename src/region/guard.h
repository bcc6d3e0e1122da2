/* guard.h: a mapped file that is cut short must not kill its reader. On a SIGBUS inside a guarded mapping the handler
 * puts zero pages over what is missing and notes it; the reader goes on, and asks afterwards whether what it copied was
 * real.
 *
 * The handler has to find the mapping by its address, so this file keeps a table of them: the one exception to "no
 * mutable globals". Faults elsewhere go to whoever handled SIGBUS before. Any thread may call. */
#ifndef PMTOP_REGION_GUARD_H
#define PMTOP_REGION_GUARD_H

#include <stdbool.h>
#include <stddef.h>

enum { GUARDS_MAX = 256 };

/* Takes the SIGBUS handler over, again where somebody else has done so in between, and lets the signal through to the
 * calling thread. */
void guard_install(void);
/* A number for the mapping, or −1: too many at once. */
int guard_add(const void *map, size_t size);
bool guard_is_cut(int guard);
/* Before munmap. */
void guard_remove(int guard);

#endif
