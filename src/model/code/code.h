/* code.h: where the Python code of the run spends its time, by looks at its stacks from outside
 * (src/sources/inferred/stacks.c).
 *
 * A look stands for the time since the one before, so a share of n looks is uncertain by about sqrt(share (1 − share) /
 * n): code_error_ratio. It is time by the clock, waiting included, of one thread of each group: the main thread of a
 * process; the loader workers of one process are looked at in turn and count as one. What happens inside of C (kernels,
 * waiting for a GPU) counts for the line that called it. */
#ifndef PMTOP_MODEL_CODE_CODE_H
#define PMTOP_MODEL_CODE_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/samples/sample_set.h"

enum {
	CODE_GROUPS_MAX = 64,
	CODE_NODES_MAX = 16384,
	CODE_CODES_MAX = 8192,
	CODE_SLOTS = 12,
	CODE_SLOT_S = 5,
	CODE_RECENT_S = CODE_SLOTS * CODE_SLOT_S
};

/* What a line works at, by the libraries' functions that it is called from (code_phases.c). (name as spans are
 * called) */
#define CODE_PHASES(X) \
	X(OTHER, "other") \
	X(DATA, "data") \
	X(FORWARD, "forward") \
	X(BACKWARD, "backward") \
	X(OPTIMIZER, "optimizer") \
	X(COMMUNICATION, "communication") \
	X(VALIDATION, "validation") \
	X(CHECKPOINT, "checkpoint") \
	X(COMPILE, "compile") \
	X(IMPORT, "import")

enum code_phase {
#define CODE_PHASE_ID(id, name) CODE_PHASE_##id,
	CODE_PHASES(CODE_PHASE_ID)
#undef CODE_PHASE_ID
		CODE_PHASE_COUNT
};

/* Seconds since pmtop came, and in about the last CODE_RECENT_S. */
struct code_time {
	double total_s, recent_s;
};

struct code_group {
	bool is_used;
	int32_t pid; /* of workers: of the process that they work for */
	bool is_workers;
	char python[24]; /* "3.11.7" */
	/* in all; of which the innermost frames could not be read: their time counts for what called them */
	uint64_t samples, partial;
	double recent_samples;
	double hz;             /* NAN */
	struct code_time time; /* that the looks stand for */
	struct code_time seen; /* of which is known where it went */
	struct code_time phases[CODE_PHASE_COUNT];
	bool has_own; /* any of its code is a person's own */
};

struct code_function {
	uint32_t group, code;       /* indices */
	struct code_time self, all; /* itself; with all that it called */
};

/* A line of a person's own code. */
struct code_line {
	uint32_t group, code;  /* the function that was seen in it first: a comprehension is one of its own */
	uint32_t line;         /* 0 = not known */
	const char *text;      /* what stands there; NULL = not known */
	enum code_phase phase; /* of the most of its time */
	struct code_time self; /* with the calls into libraries that it makes */
	struct code_time all;  /* with all that it called */
	double phase_s[CODE_PHASE_COUNT];
};

/* A line that was called from its parent's. */
struct code_node {
	bool is_used;
	uint32_t group, code, line;
	uint32_t parent, child, sibling; /* indices and one more; 0 = none. A parent stands before its children */
	const char *text;
	enum code_phase phase;
	struct code_time self, all;
};

/* function NULL: not told; file_of: the first of the same file. */
struct code_name {
	char *function, *file;
	bool is_own;
	uint32_t file_of;
};

struct code {
	uint64_t version; /* changes with what follows */
	int64_t seen_ns;  /* of the newest look; 0 = there was none */
	size_t group_count, node_count, code_count, line_count, function_count;
	struct code_group groups[CODE_GROUPS_MAX];
	struct code_node *nodes;
	struct code_name *codes;
	struct code_line *lines; /* in no order */
	struct code_function *functions;
};

struct model;

const char *code_phase_name(enum code_phase phase);
/* What a function of a library works at; CODE_PHASE_OTHER: nothing is known of it. */
enum code_phase code_phase_of(const char *function, const char *file);
/* Whether a node stands in this line of the function's file; where the line is not known (0), in the function. */
bool code_is_in_line(const struct code *code, const struct code_node *node, uint32_t function, uint32_t line);
/* Without what leads to a package: "torch/_tensor.py", "train.py". */
const char *code_short_file(const char *file);
/* The group of a process, its own and not its workers'; −1 = none. */
int code_group_of(const struct code *code, int32_t pid);
/* The one that the target's time is best known of: the process itself, else the one that was looked at the most; −1 =
 * none. */
int code_main_group(const struct model *model);
/* Of one group (by its index), by the time since pmtop came, the most first; how many. */
size_t code_top_lines(const struct code *code, size_t group, const struct code_line **out, size_t max);
size_t code_top_functions(const struct code *code, size_t group, const struct code_function **out, size_t max);
/* How far off a share may be, one standard deviation; NAN where there were no looks. */
double code_error_ratio(double share_ratio, double samples);

#endif
