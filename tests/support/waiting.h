/* waiting.h: waits for conditions with a deadline, for tests that would otherwise sleep and hope. */
#ifndef PMTOP_TESTS_WAITING_H
#define PMTOP_TESTS_WAITING_H

#include <stdbool.h>
#include <stdint.h>

/* For loops: `while (!condition && wait_nap(deadline_ns))`. wait_nap sleeps 1 ms; false: the deadline has passed. */
int64_t wait_deadline(int seconds);
bool wait_nap(int64_t deadline_ns);

/* Polls until `is_so(context)`, at most `seconds`; false: it never was. */
bool wait_until(bool (*is_so)(void *context), void *context, int seconds);

#endif
