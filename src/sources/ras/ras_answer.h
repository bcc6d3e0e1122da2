/* ras_answer.h: the JSON of NCCL's RAS service (2.28.7 and newer), checked, and its records.
 *
 * NCCL 2.28.9 leaves out the comma before "status" of missing ranks; it is added. Of more communicators or ranks than
 * fit, those with missing ranks and the largest are retained. */
#ifndef PMTOP_SOURCES_RAS_RAS_ANSWER_H
#define PMTOP_SOURCES_RAS_RAS_ANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/status.h"
#include "src/samples/sample_set.h"

enum { RAS_GROUPS_MAX = 1024, RAS_ROWS_MAX = 16384, RAS_HOST_SIZE = 48, RAS_VERSION_SIZE = 32 };

struct ras_answer_row {
	struct ras_row row; /* without its host */
	uint32_t host;      /* index */
};

struct ras_answer_group {
	uint64_t hash;
	uint32_t size, left_out;
	size_t first, count; /* its rows */
};

struct ras_answer {
	char version[RAS_VERSION_SIZE];
	double collection_s;
	uint32_t timeouts, left_out;
	int32_t own_host; /* index of the host of the process that was asked; −1 = unknown */
	size_t group_count, row_count, host_count, row_capacity, host_capacity;
	struct ras_answer_group *groups;
	struct ras_answer_row *rows;
	char (*hosts)[RAS_HOST_SIZE];
};

/* A process of this machine: as pmtop sees it, and as it sees itself. */
struct ras_process {
	int32_t pid, inner_pid;
};

/* Changes `text` (adds missing commas). DAMAGED: not what NCCL writes; NO_MEMORY. `out` is filled on success only and
 * is to be released. */
enum status ras_answer_read(char *text, size_t length, struct ras_answer *out, struct reason *why_not);
/* Finds which host is this machine, and gives the ranks of these processes pmtop's pids. False: none of the processes
 * is in any communicator. */
bool ras_answer_join(struct ras_answer *answer, const struct ras_process *processes, size_t count);
void ras_answer_emit(const struct ras_answer *answer, int32_t pid, int64_t now_ns, struct sample_set *out);
void ras_answer_release(struct ras_answer *answer);

#endif
