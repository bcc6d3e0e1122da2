/* ras_processes.h: which of the target's processes may be asked for NCCL's RAS: those that have libnccl mapped.
 *
 * The collector's thread hands them over (ras_processes_take); the source's own thread uses them. All calls for one
 * list are made under one lock, except ras_process_… of one entry. */
#ifndef PMTOP_SOURCES_RAS_RAS_PROCESSES_H
#define PMTOP_SOURCES_RAS_RAS_PROCESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/status.h"
#include "src/sources/ras/ras_answer.h"
#include "src/sources/ras/ras_client.h"
#include "src/sources/target/target.h"

enum { RAS_PROCESSES_MAX = 32 };

struct ras_candidate {
	struct ras_process process; /* inner_pid: 0 = not read yet */
	uint64_t start_ticks;
	unsigned generation;
	int fd; /* /proc/PID */
	bool is_retained, has_nccl;
	int64_t next_ns;         /* when to search it for libnccl again, unless it grows */
	uint64_t searched_bytes; /* its largest size at a search */
};

struct ras_processes {
	size_t count;
	struct ras_candidate list[RAS_PROCESSES_MAX];
};

/* Takes over the target's processes: the first RAS_PROCESSES_MAX that have several threads, as all users of NCCL do. */
/* Returns whether one has grown so much that it is to be searched now. */
bool ras_processes_take(struct ras_processes *processes, const struct target *target);
/* When the next one is to be searched, unless it grows. */
int64_t ras_processes_next_ns(const struct ras_processes *processes);
void ras_processes_release(struct ras_processes *processes);

/* Its pid in its own namespace, once. */
void ras_candidate_read_pid(struct ras_candidate *candidate);
/* Whether libnccl is mapped: reads it if that is due, or if the process has grown by 16 MiB since. */
bool ras_candidate_search(struct ras_candidate *candidate, int64_t now_ns);
/* Reads NCCL_RAS_ADDR and NCCL_RAS_ENABLE from its environment. NOT_FOUND: RAS is switched off; INVALID: the address is
 * not one that pmtop can use. */
enum status ras_candidate_address(
	const struct ras_candidate *candidate, struct ras_addresses *out, struct reason *why_not);

#endif
