/* stacks_loops_private.h: what stacks_loops.c has seen of a process's loops, and stacks_loops_epoch.c reads of them. */
#ifndef PMTOP_SOURCES_INFERRED_STACKS_LOOPS_PRIVATE_H
#define PMTOP_SOURCES_INFERRED_STACKS_LOOPS_PRIVATE_H

#include "src/sources/inferred/steps/stacks_loops.h"

enum { STACKS_SEEN_MAX = 96, STACKS_DEPTH_MAX = 8, STACKS_TEXT_SIZE = 128, STACKS_AROUND_MAX = 16 };

/* What a range of epochs begins with, if it is not known to begin with its first item. */
enum stacks_first { STACKS_FIRST_UNKNOWN, STACKS_FIRST_ZERO, STACKS_FIRST_ONE };

/* A loop, or an int that a loop advances, through all calls of its function. */
struct seen {
	struct py_loop loop; /* as last read; site is not valid */
	char function[PY_FUNCTION_SIZE], file[PY_FILE_SIZE], text[STACKS_TEXT_SIZE];
	size_t level;  /* of its frame, 0 = the outermost */
	uint64_t ip;   /* of its frame, as in struct py_site */
	size_t around; /* loops around the current instruction of its frame */
	bool is_epoch; /* "epoch" is in its line */
	enum stacks_first first;
	/* Of an int that counts epochs: what its first epoch has; how many an attribute beside it says, 0 = unknown. */
	uint64_t first_value, epochs;
	bool goes_back;
	unsigned forward, anew; /* of an int: readings that found it larger, and those after a loop around it went on */
	uint64_t stride;        /* what divides all its advances; 0 = there was none */
	/* Of an int that counts steps. Which instruction ran most often when training was sampled, or else when it was
	 * read: the work of a step. */
	struct {
		uint64_t ip, votes;
		bool is_trained;
	} work;
	bool is_placed;      /* what follows is known, and remains */
	uint64_t first_step; /* what it was before the first step */
	int first_line;      /* where that is assigned, above its loop; 0 = unknown */
	bool is_behind;      /* during the work it has counted the step in progress */
	bool is_target;      /* an int that the `for` itself assigns */
	unsigned reads, trained,
		optimized;     /* readings that had it, those with backward or optimizer in it, with the latter */
	unsigned restarts; /* times that another iterator was found */
	unsigned close_reads, close_restarts; /* of which within CLOSE_NS of the reading before */
	/* How often training, and the optimizer, began in one iteration, at most; the iteration turn_at, and
	 * stacks_loops.turns and updates when it was first seen. */
	unsigned turns_max, turns_before, updates_max, updates_before;
	/* Of which, samples of training within another loop inside it that cannot be read: over a DataLoader, or a `while`.
	 */
	unsigned hidden;
	uint64_t turn_at;
	uint64_t advanced; /* iterations that were seen to pass */
	int64_t since_ns, read_ns;
	int64_t moved_ns; /* of a loop: the last reading that found it further */
};

/* Of steps whose variable counts on through all epochs (stacks_loops_across.h). */
struct stacks_across {
	const struct seen *epochs; /* what counts the epochs around them; NULL = none */
	int64_t since_ns;          /* of that entry, which another loop may get */
	bool is_read;              /* what follows is as last read */
	uint64_t value;            /* of what counts the epochs */
	uint64_t position, done;   /* of the steps, just before: the one in progress, and their variable */
	unsigned single;           /* so many readings, one after the other, found one further step at most */
	struct stacks_epoch epoch; /* number 0: unknown */
	bool is_on;                /* `begin` is known */
	uint64_t begin;            /* steps before the epoch in progress */
	uint64_t least, most; /* steps of an epoch, if all have as many; most 0 = unknown; least > most: they have not */
};

/* A loop that nothing counts, which may be counted by what it assigns (stacks_loops_changes.h). */
struct stacks_changes {
	uint64_t code;
	int line;                              /* of its header; 0 = there is none */
	int64_t since_ns, read_ns, changed_ns; /* of the trial; the last reading; the last change */
	unsigned reads, close_reads;           /* of the trial, and those soon after the one before */
	unsigned changes, brief;               /* and those too soon after the one before */
	int64_t passed_ns;                     /* between these changes */
	unsigned trials;
	bool is_known, is_refused; /* its steps are long enough for that; they are not */
};

enum stacks_why {
	STACKS_WHY_UNKNOWN,
	STACKS_WHY_RECURSION,
	STACKS_WHY_WAITS,
	STACKS_WHY_OUTSIDE,    /* no Python loop is around the work */
	STACKS_WHY_UNREADABLE, /* one is, and nothing in it could be read that counts it */
	STACKS_WHYS
};

struct stacks_why_at {
	uint64_t code;
	int line;
	char file[48], function[48], package[48]; /* of the innermost frame; "": none */
};

struct stacks_loops {
	struct py_loops *reader;
	const char *wanted; /* FILE:LINE; NULL: pmtop chooses */
	bool is_from_start; /* pmtop has watched the process since its start */
	struct py_loop found[PY_LOOPS_MAX];
	size_t seen_count;
	struct seen seen[STACKS_SEEN_MAX];
	/* Loops around the work on the batches of a DataLoader, which are steps: they have none of their own. */
	struct {
		uint64_t code;
		int line;
		unsigned depth;
	} around[STACKS_AROUND_MAX];
	size_t around_count;
	size_t uncounted_level; /* of the outermost own frame with a loop that nothing counts, as last read; 0 = none */
	unsigned reads, trained, optimized; /* readings; samples in training, of which in the optimizer */
	unsigned turns, updates;            /* samples in training, in the optimizer, after one that was not */
	bool has_torch, was_training, was_optimizer;
	int64_t since_ns, read_ns, trained_ns; /* begin; last reading; first sample in training */
	int64_t close_until_ns;                /* until then close readings are taken; 0 = never yet */
	int64_t epoch_until_ns;                /* until then an epoch loop is sought */
	/* the step loop, and its current pass */
	struct seen *steps; /* NULL = not chosen */
	bool is_running, is_stopping;
	bool is_withdrawn;
	bool is_other; /* the step loop is another one, around the one before or inside it */
	bool is_first; /* no pass was before this one */
	bool is_alone; /* no loop is around the step loop */
	uint64_t serial;
	uint64_t caller;                /* what called the function of the step loop, and where; never 0 */
	uint64_t items;                 /* of what the pass iterates over, when it began; 0 = unknown */
	uint64_t base, yielded, before; /* as in struct py_counted */
	uint64_t origin;                /* yielded where the position is 0, modulo 2^64 */
	uint64_t length;                /* of the pass; 0 = unknown */
	/* Of an int that counts the steps: how many there are in all; the same, when a loop around theirs ends. 0 =
	 * unknown.
	 */
	uint64_t end, whole;
	bool is_whole; /* a loop around theirs ends so */
	/* Of an int that ends the step loop, beside the one that counts the steps: how much it advances with each. */
	struct {
		const struct seen *seen;
		uint64_t position, by; /* of the steps, when that was last seen */
		unsigned votes, reads; /* readings that agree, of all */
	} pace;
	struct stacks_epoch epoch;
	struct stacks_across across;
	int64_t yielded_ns;
	int64_t begun_ns, pass_ns; /* of the pass; the mean length of those that have ended, 0 = none has */
	struct {
		unsigned samples, counts[STACKS_WHYS];
		struct stacks_why_at at[STACKS_WHYS];
	} why; /* no steps are inferred */
	struct stacks_changes changes;
	struct py_loss sum; /* of losses, as last read; of which pass */
	uint64_t sum_serial;
	struct py_counted emitted;
};

#endif
