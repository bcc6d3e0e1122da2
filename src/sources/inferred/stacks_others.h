/* stacks_others.h: samples of the threads beside the main one of a process. Within src/sources/inferred; for the stack
 * thread. */
#ifndef PMTOP_SOURCES_INFERRED_STACKS_OTHERS_H
#define PMTOP_SOURCES_INFERRED_STACKS_OTHERS_H

#include <stddef.h>
#include <stdint.h>

struct sampled;
struct stacks_state;

/* The CPU time of sampling so far, including that of the reading child. */
int64_t stacks_cost_ns(const struct stacks_state *stacks);
/* Groups of processes that are sampled now: a group outlives its processes. *worker_groups: those of workers. */
size_t stacks_count_groups(const struct stacks_state *stacks, size_t *worker_groups);
/* Samples them when due. Returns when they are due next; INT64_MAX: never. */
int64_t stacks_others_sample(struct stacks_state *stacks, struct sampled *sampled, int64_t now_ns);
/* Whether the main thread waited for the GIL in the sample that was just taken. */
void stacks_others_note_wait(struct stacks_state *stacks, struct sampled *sampled, int64_t now_ns);

#endif
