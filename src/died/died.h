/* died.h: why a run ended: what is known of its end, and the cause that follows from it.
 *
 * The cause is judged from all of this together (died.c); what is unknown stays unknown. */
#ifndef PMTOP_DIED_DIED_H
#define PMTOP_DIED_DIED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DIED_LINE_SIZE = 240, DIED_LINES_MAX = 4, DIED_NAME_SIZE = 96, DIED_PATH_SIZE = 512, DIED_SIGNALS = 65 };

enum died_cause {
	DIED_UNKNOWN,
	DIED_FINISHED,
	DIED_OOM_KILL,
	DIED_GPU_MEMORY,
	DIED_HOST_MEMORY,
	DIED_SHM_FULL,
	DIED_DISK_FULL,
	DIED_NCCL_TIMEOUT,
	DIED_GPU_ERROR,
	DIED_WORKER_KILLED,
	DIED_CHILD_FAILED,
	DIED_TIME_LIMIT,
	DIED_TERMINATED,
	DIED_INTERRUPTED,
	DIED_KILLED,
	DIED_CRASH,
	DIED_ABORT,
	DIED_EXCEPTION,
	DIED_EXIT_STATUS,
	DIED_CAUSES
};

/* What the end of its output says; empty texts: nothing. */
struct died_output {
	bool is_known;
	char exception[DIED_LINE_SIZE]; /* last line of the last Python traceback */
	char where[DIED_LINE_SIZE];     /* "train.py:88 in main": the innermost frame that is not a library's */
	bool is_child;                  /* the exception is torchrun's: a child failed */
	char child[DIED_LINE_SIZE];     /* that child: "rank 1, exit code 1, pid 4711" */
	long child_rank;                /* if `child` is not empty */
	int child_signal;               /* that ended it; 0: none, or unknown */
	char child_exception[DIED_LINE_SIZE];
	enum died_cause hint; /* of a message outside of tracebacks; UNKNOWN: none */
	char hint_line[DIED_LINE_SIZE];
	size_t line_count;
	char lines[DIED_LINES_MAX][DIED_LINE_SIZE]; /* the last ones */
};

/* What this process wrote of a file that others append to, too. All 0: the whole file. */
struct died_part {
	int64_t begin, end; /* end 0: the file's */
	int64_t inode;      /* 0: of any */
};

enum died_kernel_kind { DIED_KERNEL_NOTHING, DIED_KERNEL_OOM, DIED_KERNEL_FAULT, DIED_KERNEL_XID };

struct died_evidence {
	char name[DIED_NAME_SIZE];
	int32_t pid;                    /* 0 = unknown */
	char recording[DIED_PATH_SIZE]; /* its absolute path; empty = none */
	bool has_status;
	int status;       /* as waitpid returns it */
	bool is_watched;  /* until its end, but pmtop did not start it */
	double oom_kills; /* in its cgroup, while it ran; NAN = unknown */
	enum died_kernel_kind kernel;
	char kernel_line[DIED_LINE_SIZE]; /* of the kernel's log, about this process, or an XID */
	char log[DIED_PATH_SIZE];         /* the file with its output; empty = none */
	struct died_part log_part;
	struct died_output output;
	char stack[DIED_LINE_SIZE];      /* newest line of Python that pmtop sampled */
	char collective[DIED_LINE_SIZE]; /* what ranks waited for */
	char run[DIED_LINE_SIZE];        /* how it ended, and where: "epoch 3, 17 batches done"; empty = not instrumented */
	int64_t begun_us;                /* CLOCK_MONOTONIC; 0 = unknown */
	bool has_run, is_orderly;        /* an instrumented run; it said itself that it had ended */
	double ran_s, peak_bytes;        /* NAN = unknown, here and below */
	double good_ran_s, good_peak_bytes; /* of the last run of the same command that exited with 0 */
};

/* All unknown. */
void died_init(struct died_evidence *evidence);
enum died_cause died_judge(const struct died_evidence *evidence);
/* Of a line of output; UNKNOWN: of no known error. */
enum died_cause died_cause_of_text(const char *line);
/* The signal that ended it, also as a shell reports it (128 + signal); 0 = none, or unknown. */
int died_signal(const struct died_evidence *evidence);

#endif
