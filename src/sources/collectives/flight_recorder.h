/* flight_recorder.h: reads PyTorch's flight recorder (c10d::FlightRecorder) in the memory of a running process: a ring
 * of the newest collectives of all process groups, and how far each group is.
 *
 * The process keeps writing, and its memory may hold anything. Entries are read twice and compared; what differs is
 * read again the next time. The layout is that of PyTorch 2.11 to 2.14 on x86-64 and libstdc++; another one is
 * recognized by contradictions in it. */
#ifndef PMTOP_SOURCES_COLLECTIVES_FLIGHT_RECORDER_H
#define PMTOP_SOURCES_COLLECTIVES_FLIGHT_RECORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "src/base/status.h"

enum { FLIGHT_GROUPS_MAX = 64, FLIGHT_ENTRIES_MAX = 256, FLIGHT_TEXT_SIZE = 64 };

struct flight_entry {
	uint64_t group_id; /* a number within the process */
	uint64_t sequence; /* of the collective in its group, from 1 */
	uint64_t op_id;    /* counts send and receive, too; 0 = unknown */
	int64_t created_realtime_ns;
	bool is_point_to_point;
	char group[FLIGHT_TEXT_SIZE], description[FLIGHT_TEXT_SIZE]; /* "0", "default_pg" */
	char name[FLIGHT_TEXT_SIZE];                                 /* "nccl:all_reduce" */
	char sizes[FLIGHT_TEXT_SIZE];                                /* of its inputs: "[1000, 64], [3]"; "" = unknown */
};

/* How far a group's collectives are; −1 = none yet. NCCL: sequence numbers. gloo: op_ids, and no starts. */
struct flight_status {
	uint64_t group_id;
	int64_t enqueued, started, completed;
};

struct flight_reading {
	size_t status_count, entry_count;
	uint64_t skipped; /* entries between this reading and the last that were not read */
	struct flight_status statuses[FLIGHT_GROUPS_MAX];
	struct flight_entry entries[FLIGHT_ENTRIES_MAX]; /* new ones, oldest first */
};

/* What is known of one recorder; zeroed at first but for `pid` and `pointer`. */
struct flight_recorder {
	pid_t pid;
	uint64_t pointer; /* address of the pointer to it */
	uint64_t object;  /* 0 = the process has made none yet */
	bool is_begun;
	uint64_t epoch, next_id; /* of the next entry to read */
	unsigned faults;         /* consecutive readings with contradictions */
	size_t group_count;
	uint64_t group_total; /* groups in the recorder when they were listed */
	struct {
		uint64_t id, status;
	} groups[FLIGHT_GROUPS_MAX];
};

/* Fills in all of `out`. AGAIN: there is no recorder yet, or it changed while it was read; NOT_FOUND: it is switched
 * off; UNSUPPORTED: another layout; DENIED, END (the process has ended), IO: its memory cannot be read. */
enum status flight_recorder_read(struct flight_recorder *recorder, struct flight_reading *out);

#endif
