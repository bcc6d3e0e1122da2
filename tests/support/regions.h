/* regions.h: reads regions in tests. An unexpected status fails the test. */
#ifndef PMTOP_TESTS_REGIONS_H
#define PMTOP_TESTS_REGIONS_H

#include <check.h>
#include <stdbool.h>

#include "src/region/reader.h"

struct region *regions_open(const char *path);
/* The status and message of an open that may fail; nothing stays open. */
enum region_status regions_try(const char *path, uid_t owner, char message[REGION_MESSAGE_SIZE]);
/* 0 if it was never published. */
uint32_t regions_name(struct region *region, const char *text);
/* Sums over lanes, modes and parents; `name` NULL = any. Waits while a total is being written. */
struct region_total regions_total(struct region *region, uint32_t kind, const char *name);
/* All current events, at most `max`. */
size_t regions_events(struct region *region, uint32_t lane, struct region_event *out, size_t max);
struct region_lane_status regions_lane(struct region *region, uint32_t lane);
struct region_state regions_state(struct region *region);

/* Calls every read function, so that each meets a fault; returns the status of region_read_state. */
enum region_status regions_read_everything(struct region *region);

double regions_value(uint64_t bits);
/* Polls until *word is `value`, at most ten seconds; false: it never was. */
bool regions_wait(const volatile uint32_t *word, uint32_t value);
/* Whether the process, a pid_t, has a region in /dev/shm; for wait_until. */
bool regions_is_there(void *pid);

/* Runs the tests, each with the fixture (or NULLs); returns main's exit status. */
int regions_run(const char *name, SFun setup, SFun teardown, const TTest *const *tests, size_t count);

/* Anonymous memory that forked children share. */
void *regions_shared(size_t size);

#endif
