/* code_threads.h: the threads of sampled Python processes beside their main threads, and the GIL for which the main
 * threads wait. A share is of samples: the thread's own ones. */
#ifndef PMTOP_MODEL_CODE_CODE_THREADS_H
#define PMTOP_MODEL_CODE_CODE_THREADS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CODE_THREADS_MAX = 1024 };

/* Samples of a thread: all, those in which it ran or held the GIL, and those in which it waited for the GIL. */
struct code_thread_samples {
	double all, busy, waits;
};

struct code_thread {
	uint32_t group;                           /* index */
	int32_t tid;                              /* 0 = unknown */
	char state;                               /* of /proc; 0 = unknown */
	const char *name;                         /* lives as long as the model; NULL = unknown */
	uint32_t node;                            /* the line where it runs, or is: index plus 1; 0 = none */
	struct code_thread_samples total, recent; /* since pmtop attached, and in about the last CODE_RECENT_S */
};

struct model;
struct record;

/* Threads of a group (by index), the busiest first, by all samples or those of the last minute. Returns how many were
 * written. */
size_t code_threads_of(const struct model *model, size_t group, bool is_whole, struct code_thread *out, size_t max);

/* The samples of a process in a window in which its main thread waited for the GIL. */
struct sampled_gil {
	unsigned samples; /* of the main thread in the window */
	unsigned count;   /* of these, how many waited */
	double expected;  /* by the share of such samples in all */
	/* of the thread that held it most; NULL, 0 = unknown. All live as long as the model */
	const char *thread, *file, *text;
	uint32_t line;
};

/* -- within src/model -- */

/* Of the main thread of a process, from from_ns to to_ns; `samples` there. */
void model_sampled_gil(
	const struct model *model, int32_t pid, int64_t from_ns, int64_t to_ns, unsigned samples, struct sampled_gil *out);
void model_take_code_thread(struct model *model, const struct record *record, bool is_snapshot);
void model_take_code_gil_waits(struct model *model, const struct record *record);
void model_free_code_threads(struct model *model);

#endif
