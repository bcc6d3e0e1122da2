/* died_traceback.h: Python tracebacks in the output of a job, whose ranks print at the same time, and torchrun's table
 * of the ranks that failed. PyTorch prefixes each line of an uncaught exception with "[rank0]: ", torchrun --tee with
 * "[default0]:", and multiprocessing prints "Process Process-2:" before one. Private to src/died. */
#ifndef PMTOP_DIED_DIED_TRACEBACK_H
#define PMTOP_DIED_DIED_TRACEBACK_H

#include "src/died/died.h"

enum { DIED_SPEAKERS_MAX = 32, DIED_KEY_SIZE = 32 };

/* One rank, or the program itself (key ""). */
struct died_speaker {
	char key[DIED_KEY_SIZE];
	bool in_traceback;              /* frames follow */
	bool has_own;                   /* a frame of the program's own code was read */
	char exception[DIED_LINE_SIZE]; /* the last one; empty: none, or its traceback is cut off */
	char where[DIED_LINE_SIZE];
};

/* Zeroed at first. */
struct died_tracebacks {
	size_t count, newest; /* newest: index of the speaker of the last traceback; `count` is 0: none */
	struct died_speaker speakers[DIED_SPEAKERS_MAX];
	char process[DIED_KEY_SIZE];  /* "Process-2": whose traceback follows; else empty */
	struct died_speaker previous; /* key "", before its last traceback */
	/* torchrun's table; rank −1: none */
	struct {
		bool is_read;
		long rank, local_rank, code, pid;
		bool has_code;
		struct died_speaker traceback; /* of a function that @record decorates */
	} table;
};

/* Removes prefixes of ranks. key: "rank0", "default0", or empty. */
const char *died_skip_prefix(const char *line, char key[DIED_KEY_SIZE]);
void died_tracebacks_take(struct died_tracebacks *tracebacks, const char *key, const char *line);
/* Fills in the exception, where it was raised, and the child. */
void died_tracebacks_finish(const struct died_tracebacks *tracebacks, struct died_output *out);

#endif
