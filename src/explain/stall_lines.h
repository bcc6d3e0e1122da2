/* stall_lines.h: the line of Python in which each process of a stalled run is, from the newest stack samples. */
#ifndef PMTOP_EXPLAIN_STALL_LINES_H
#define PMTOP_EXPLAIN_STALL_LINES_H

#include "src/model/code/code_samples.h"
#include "src/model/model.h"

enum { STALL_WORDS_SIZE = 192 };

/* The innermost own line of the main thread of one process of the run. */
struct stall_line {
	long rank; /* −1 = the run has one process, or its rank is unknown */
	int32_t pid;
	struct newest_line line;
	double age_s; /* of the sample */
};

/* Of a run with ranks, all of these that are live, by rank; of a run with inferred steps, all such runs that are live;
 * else the run's process. Processes without samples are left out. Returns how many there are. */
size_t stall_lines(const struct model *model, const struct run *run, struct stall_line out[MODEL_RUNS_MAX]);
/* "rank 0: dist.all_reduce(t), train.py:40"; with its age if it is older than 5 s: "…, 7 s ago". `count`: of all. */
const char *stall_line_words(const struct stall_line *line, size_t count, char out[STALL_WORDS_SIZE]);

#endif
