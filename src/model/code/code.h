/* code.h: where the Python code of the run spends its time, from stack samples (src/sources/inferred/stacks.c).
 *
 * A sample stands for the time since the previous one. The standard error of a share from n samples is about sqrt(share
 * (1 − share) / n): code_error_ratio. Times are wall-clock times of one thread per group, waiting included: the main
 * thread of a process; the DataLoader workers of a process are one group, sampled in turn. Time in C code (kernels,
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

/* The phase of a line, from the library functions that called it (config/phases.yaml): X(ID, name), with the names of
 * spans. */
#define CODE_PHASES(X) \
	X(OTHER, "other") \
	X(DATA, "data") \
	X(FORWARD, "forward") \
	X(INFERENCE, "inference") /* a forward without gradients */ \
	X(BACKWARD, "backward") \
	X(OPTIMIZER, "optimizer") \
	X(COMPUTE, "compute") /* forward, backward and optimizer in one compiled call, or a wait for its result */ \
	X(COMMUNICATION, "communication") \
	X(VALIDATION, "validation") \
	X(CHECKPOINT, "checkpoint") \
	X(COMPILE, "compile") \
	X(IMPORT, "import") \
	X(IDLE, "idle") /* a DataLoader worker that waits for indices */

enum code_phase {
#define CODE_PHASE_ID(id, name) CODE_PHASE_##id,
	CODE_PHASES(CODE_PHASE_ID)
#undef CODE_PHASE_ID
		CODE_PHASE_COUNT
};

/* Seconds since pmtop attached, and in about the last CODE_RECENT_S. */
struct code_time {
	double total_s, recent_s;
};

struct code_group {
	bool is_used;
	int32_t pid; /* of workers: the process that started them */
	bool is_workers;
	char python[24]; /* "3.11.7" */
	/* all; those whose innermost frames could not be read: their time counts for the callers */
	uint64_t samples, partial;
	double recent_samples;
	double hz;             /* NAN */
	struct code_time time; /* covered by the samples */
	struct code_time seen; /* attributed to nodes */
	struct code_time phases[CODE_PHASE_COUNT];
	bool has_own; /* has any of the user's code */
};

struct code_function {
	uint32_t group, code;       /* indices */
	struct code_time self, all; /* without and with callees */
};

/* A line of the user's code. */
struct code_line {
	uint32_t group, code;  /* code: the function first seen in this line (a comprehension is a function too) */
	uint32_t line;         /* 0 = unknown */
	const char *text;      /* the source line; NULL = unknown */
	enum code_phase phase; /* with the most time */
	struct code_time self; /* including calls into libraries */
	struct code_time all;  /* with all callees */
	double phase_s[CODE_PHASE_COUNT];
};

/* A line in the call tree, called from its parent's line. */
struct code_node {
	bool is_used;
	bool is_no_grad; /* a forward without gradients */
	uint32_t group, code, line;
	uint32_t parent, child, sibling; /* indexes plus 1; 0 = none. A parent precedes its children */
	uint32_t line_row;               /* the innermost line of the user's code on the path: its index plus 1; 0 = none */
	const char *text;
	enum code_phase phase;
	bool has_forward;       /* it or a line that it calls: of model_find_data */
	bool is_before_forward; /* `phase` is data for where it is in the loop with the steps */
	struct code_time self, all;
};

/* function NULL: not known yet; file_of: index of the first function in the same file. */
struct code_name {
	char *function, *file;
	bool is_own;
	uint32_t file_of;
};

struct code {
	uint64_t version; /* changes with the data below */
	int64_t seen_ns;  /* of the latest sample; 0 = none yet */
	size_t group_count, node_count, code_count, line_count, function_count;
	struct code_group groups[CODE_GROUPS_MAX];
	struct code_node *nodes;
	struct code_name *codes;
	struct code_line *lines; /* unsorted */
	struct code_function *functions;
};

struct model;

/* Is a node in this line of the function's file, or, if the line is unknown (0), in the function? */
bool code_is_in_line(const struct code *code, const struct code_node *node, uint32_t function, uint32_t line);
/* The group of a process itself, not of its workers; −1 = none. */
int code_group_of(const struct code *code, int32_t pid);
/* Whether it is a line of the user's own like `work.wait()`: the function is C++'s, which stack samples do not have. */
bool code_is_own_wait(const struct code *code, const struct code_node *node);
/* The outermost library function of the communication that a node is part of; NULL: none, or unknown. */
const char *code_communication(const struct code *code, const struct code_node *node);
/* The group to show first: the target process, else the one with the most samples; −1 = none. */
int code_main_group(const struct model *model);
/* Lines and functions of a group (by index), sorted by descending time since pmtop attached. Return how many. */
size_t code_top_lines(const struct code *code, size_t group, const struct code_line **out, size_t max);
size_t code_top_functions(const struct code *code, size_t group, const struct code_function **out, size_t max);
/* The standard error of a share; NAN without samples. */
double code_error_ratio(double share_ratio, double samples);

/* -- within src/model -- */

struct record;

void model_init_code(struct model *model);
void model_free_code(struct model *model);

/* is_snapshot: the record repeats earlier totals, which do not count for the last minute. */
void model_take_code_group(struct model *model, const struct record *record, bool is_snapshot);
void model_take_code(struct model *model, const struct record *record);
void model_take_code_node(struct model *model, const struct record *record);
void model_take_code_time(struct model *model, const struct record *record, bool is_snapshot);
void model_refresh_code(struct model *model);

#endif
