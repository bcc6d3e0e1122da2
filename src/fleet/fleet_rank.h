/* fleet_rank.h: what the fleet retains of one rank: a few kilobytes, where a model takes megabytes. It is filled from
 * the records of a stream; the views of a rank read the stream itself.
 *
 * A step is what src/README.md defines: begin to begin. Own time: the step without spans in which ranks wait for each
 * other (ranks_is_wait). Times are of this machine's clock; NAN = unknown. */
#ifndef PMTOP_FLEET_FLEET_RANK_H
#define PMTOP_FLEET_FLEET_RANK_H

#include <stdbool.h>
#include <stdint.h>

#include "src/samples/sample_set.h"

enum { FLEET_STEPS = 32, FLEET_COLUMNS = 256, FLEET_NAMES = 64 };
/* One column of the heat map. */
#define FLEET_COLUMN_NS INT64_C(1000000000)

struct fleet_step {
	uint64_t number;
	int64_t begin_ns;
	float step_s, wait_s, data_s; /* wait_s, data_s: NAN if no such span was published */
};

/* Steps that cover this second: their sums, so that the mean can be shown. */
struct fleet_cell {
	float step_s, own_s;
	uint32_t count;
};

struct fleet_name {
	uint32_t id;
	bool is_wait, is_data;
	char text[27];
};

struct fleet_rank {
	unsigned run; /* number in its stream */
	int32_t pid;
	long number, world_size; /* −1, 0: unknown */
	char name[64], uuid[40];
	bool is_inferred, has_ended, is_orderly;
	bool is_stale;      /* of an earlier start of its host; not yet seen again */
	char process_state; /* of /proc/PID/stat; 0 = unknown */
	int gpu;            /* −1 = unknown */
	double gpu_busy_ratio, resident_bytes;

	uint64_t step_count; /* steps ever seen; the newest are in `steps`, a ring */
	struct fleet_step steps[FLEET_STEPS];
	uint64_t batch_number; /* newest batch; valid if has_batch */
	bool has_batch, is_open;
	uint16_t lane;
	int64_t begin_ns, end_ns, event_ns; /* of the newest batch; of the newest event, 0 = none */
	int64_t opened_ns;
	float wait_s, data_s; /* of the step in progress */
	uint32_t where;       /* name of the innermost open span, 0 = none */

	unsigned name_count;
	struct fleet_name names[FLEET_NAMES];
	int64_t newest_column; /* second of this machine's clock */
	struct fleet_cell cells[FLEET_COLUMNS];
};

void fleet_rank_init(struct fleet_rank *rank, unsigned run, int32_t pid);
/* Applies a record of this rank's run. ahead_ns: of the host's clock. Returns false if its time is impossible: more
 * than a minute in the future, or an hour in the past. */
bool fleet_rank_apply(struct fleet_rank *rank, const struct record *record, int64_t ahead_ns, int64_t now_ns);
/* Mean of the steps that cover a second; NAN = none. */
double fleet_rank_step_at(const struct fleet_rank *rank, int64_t column, bool is_own);
/* Over the newest steps. A mean, so that a rank with a few very slow steps counts as slow. */
double fleet_rank_mean(const struct fleet_rank *rank, double (*value)(const struct fleet_step *step));
double fleet_step_time(const struct fleet_step *step);
double fleet_step_own(const struct fleet_step *step);
double fleet_step_wait(const struct fleet_step *step);
double fleet_step_data(const struct fleet_step *step);
const struct fleet_step *fleet_rank_step(const struct fleet_rank *rank, uint64_t number);
const struct fleet_name *fleet_rank_name(const struct fleet_rank *rank, uint32_t id);

#endif
