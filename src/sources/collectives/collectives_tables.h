/* collectives_tables.h: numbers for process groups and operations, which records use in place of their names, and the
 * records of what ranks entered. All calls for one table are made under one lock. */
#ifndef PMTOP_SOURCES_COLLECTIVES_COLLECTIVES_TABLES_H
#define PMTOP_SOURCES_COLLECTIVES_COLLECTIVES_TABLES_H

#include "src/samples/sample_set.h"
#include "src/sources/collectives/flight_recorder.h"
#include "src/sources/inferred/job/stacks_job.h"

enum { COLLECTIVES_OPS_MAX = 512, COLLECTIVES_GROUPS_MAX = 128, COLLECTIVES_NUMBERS = 8 };

struct collectives_tables {
	size_t op_count, group_count;
	struct {
		char name[FLIGHT_TEXT_SIZE], sizes[FLIGHT_TEXT_SIZE];
	} ops[COLLECTIVES_OPS_MAX];
	struct {
		char name[FLIGHT_TEXT_SIZE], description[FLIGHT_TEXT_SIZE], job[STACKS_JOB_ID_SIZE];
		bool is_device;
	} groups[COLLECTIVES_GROUPS_MAX];
};

/* A rank, with what was emitted of one of its recorders. */
struct collectives_rank {
	pid_t pid;
	struct stacks_job job;
	bool is_device;
	size_t group_count;
	struct {
		uint64_t group_id; /* in the process */
		uint32_t group;    /* in the table, from 1 */
		struct flight_status emitted;
		struct {
			uint64_t op_id, sequence;
		} newest[COLLECTIVES_NUMBERS]; /* of gloo's newest collectives, oldest first */
		size_t newest_count;
	} groups[FLIGHT_GROUPS_MAX];
};

/* At a reading. */
struct collectives_process {
	char state;         /* of /proc/PID/status, as the switches */
	uint64_t switches;  /* as in struct record */
	double throttled_s; /* rank_throttle.h */
};

/* Times of the readings are CLOCK_MONOTONIC; realtime_offset_ns: CLOCK_REALTIME less it. */
void collectives_emit_reading(struct collectives_tables *tables, struct collectives_rank *rank,
	const struct flight_reading *reading, const struct collectives_process *process, int64_t realtime_offset_ns,
	int64_t now_ns, struct sample_set *out);
void collectives_emit_rank(const struct collectives_rank *rank, bool is_gone, int64_t now_ns, struct sample_set *out);
/* Everything that is valid still: groups and operations, how far the rank is. */
void collectives_emit_tables(const struct collectives_tables *tables, int64_t now_ns, struct sample_set *out);
void collectives_emit_states(const struct collectives_rank *rank, int64_t now_ns, struct sample_set *out);

#endif
