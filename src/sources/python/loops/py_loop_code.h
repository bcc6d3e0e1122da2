/* py_loop_code.h: code objects of a running CPython with their loops, read once each, and their frames. Private to
 * src/sources/python/loops. */
#ifndef PMTOP_SOURCES_PYTHON_LOOPS_PY_LOOP_CODE_H
#define PMTOP_SOURCES_PYTHON_LOOPS_PY_LOOP_CODE_H

#include "src/sources/python/counters/py_locals.h"
#include "src/sources/python/loops/py_bytecode.h"
#include "src/sources/python/loops/py_loops.h"

enum { PY_CODES_RETAINED = 1024, PY_FRAME_LOCALS_MAX = 256, PY_FRAME_STACK_MAX = 96 };

struct py_loop_variable {
	char name[PY_LOOP_NAME_SIZE];
	uint64_t key;   /* the str object with its name */
	uint32_t local; /* its place among the locals; PY_NO_INDEX: it is none */
	bool is_cell;
	int line; /* of the assignment; 0 = unknown */
};

struct py_loop_code {
	uint64_t address, lines;           /* `lines`: its line table, by which it is known again */
	uint64_t names, constants, locals; /* tuples */
	uint32_t local_count, stack_size;
	uint32_t plain_count; /* locals before the cells; to 3.10 */
	bool is_module;
	struct py_bytecode *bytecode;       /* NULL: it has no loops, or could not be read */
	int *loop_lines;                    /* 0 = unknown */
	struct py_loop_variable *variables; /* of its stores */
};

/* A frame at one moment. */
struct py_loop_frame {
	struct py_activation at;
	const struct py_loop_code *code;
	int64_t offset; /* of its current instruction, in bytes */
	uint64_t globals;
	size_t local_count, stack_count;
	uint64_t locals[PY_FRAME_LOCALS_MAX],
		stack[PY_FRAME_STACK_MAX]; /* addresses of objects; 0 or stale behind its end */
};

struct py_loop_codes;

struct py_loop_codes *py_loop_codes_new(const struct py_process *process);
void py_loop_codes_free(struct py_loop_codes *codes);
/* Forgets those of these addresses that other code objects have replaced. */
void py_loop_codes_check(struct py_loop_codes *codes, const uint64_t *addresses, size_t count);
/* NULL: no code object is there, or there is no memory. Valid until the next check. */
const struct py_loop_code *py_loop_code_get(struct py_loop_codes *codes, uint64_t address);
/* As py_loop_code_get, for one that was not checked. NULL also: another one has replaced it. */
const struct py_loop_code *py_loop_code_checked(struct py_loop_codes *codes, uint64_t address);
/* NULL: it was not read yet, or had another line table. */
const struct py_loop_code *py_loop_code_known(const struct py_loop_codes *codes, uint64_t address, uint64_t lines);
/* False: the frame is gone, runs something else, or keeps changing. */
bool py_loop_frame_read(const struct py_process *process, const struct py_activation *at,
	const struct py_loop_code *code, struct py_loop_frame *out);
/* Address of the word of a local, or of an entry of the value stack. */
uint64_t py_loop_local_slot(const struct py_process *process, const struct py_loop_frame *frame, size_t local);
uint64_t py_loop_stack_slot(const struct py_process *process, const struct py_loop_frame *frame, size_t entry);
/* The offset in bytes of a frame's current instruction, from the word in the frame. */
int64_t py_loop_offset(const struct py_layout *layout, uint64_t code, uint64_t ip);
/* Reads the item of a tuple. */
bool py_loop_item(const struct py_process *process, uint64_t tuple, uint32_t index, uint64_t *out);

#endif
