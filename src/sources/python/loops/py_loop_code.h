/* py_loop_code.h: code objects of a running CPython with their loops, read once each, and their frames. Private to
 * src/sources/python/loops. */
#ifndef PMTOP_SOURCES_PYTHON_LOOPS_PY_LOOP_CODE_H
#define PMTOP_SOURCES_PYTHON_LOOPS_PY_LOOP_CODE_H

#include "src/sources/python/counters/py_locals.h"
#include "src/sources/python/loops/py_bytecode.h"
#include "src/sources/python/loops/py_classes.h"
#include "src/sources/python/loops/py_loops.h"
#include "src/sources/python/loops/py_paths.h"

enum { PY_CELL_CONTENT = 16, PY_CODES_RETAINED = 1024, PY_FRAME_LOCALS_MAX = 256, PY_FRAME_STACK_MAX = 96 };

struct py_loop_variable {
	char name[PY_LOOP_NAME_SIZE];
	uint64_t key;   /* the str object with its name */
	uint32_t local; /* its place among the locals; PY_NO_INDEX: it is none */
	/* Of an attribute or an item: from the variable that leads to it; then `name` is "object.name". */
	struct py_path path;
	uint64_t base_key; /* the str object with that variable's name; 0: it is a local */
	bool is_cell;
	uint64_t by; /* the constant that its loop adds each time; 0 = unknown, or none */
	int line;    /* of the assignment; 0 = unknown */
};

/* What the code of a `for` shows of the first position of its iterator. */
struct py_loop_call {
	char callee[16]; /* "": it is no call of a name, or not with constants alone where they are needed */
	bool has_first, has_last;
	uint64_t first, last; /* its first and last argument, if they are constants */
};

struct py_loop_code {
	uint64_t address, lines;           /* `lines`: its line table, by which it is known again */
	uint64_t names, constants, locals; /* tuples */
	uint32_t local_count, stack_size;
	uint32_t cells; /* what to add to the index of a cell for that of its local: to 3.10 the locals before them */
	bool is_module;
	bool names_backward;                    /* only of one with losses */
	char *function, *file;                  /* NULL: unknown */
	struct py_bytecode *bytecode;           /* NULL: it has no loops, or could not be read */
	int *loop_lines;                        /* 0 = unknown */
	struct py_loop_call *calls;             /* of its loops */
	char (*local_names)[PY_LOOP_NAME_SIZE]; /* "": unknown */
	struct py_loop_variable *variables;     /* of its stores */
	struct py_loop_variable *gains;         /* where its gains are */
	struct py_sums *sums;                   /* NULL: there are none */
};

/* A frame at one moment. */
struct py_loop_frame {
	struct py_activation at;
	const struct py_loop_code *code;
	int64_t offset; /* of its current instruction, in bytes */
	uint64_t globals;
	size_t local_count, stack_count;
	/* Addresses of objects: locals, and then the value stack: 0 or stale behind its end. Their classes once
	 * py_loop_frame_classify has been called. */
	uint64_t objects[PY_FRAME_LOCALS_MAX + PY_FRAME_STACK_MAX];
	enum py_class classes[PY_FRAME_LOCALS_MAX + PY_FRAME_STACK_MAX];
	bool is_index[PY_FRAME_STACK_MAX + 1]; /* the stack's entry is an int without an object */
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
/* NULL: it was not read yet. Another one may have replaced it. */
const struct py_loop_code *py_loop_code_read_before(const struct py_loop_codes *codes, uint64_t address);
/* NULL: it was not read yet, or had another line table. */
const struct py_loop_code *py_loop_code_known(const struct py_loop_codes *codes, uint64_t address, uint64_t lines);
/* False: the frame is gone, runs something else, or keeps changing. */
bool py_loop_frame_read(const struct py_process *process, const struct py_activation *at,
	const struct py_loop_code *code, struct py_loop_frame *out);
/* The same of many at once; those with `code` NULL afterwards are not there. Each has `at` and `code` at first. */
void py_loop_frames_read(const struct py_process *process, struct py_loop_frame *frames, size_t count);
void py_loop_frame_classify(struct py_classes *classes, struct py_loop_frame *frame);
/* Address of the word of a local, or of an entry of the value stack. */
uint64_t py_loop_local_slot(const struct py_process *process, const struct py_loop_frame *frame, size_t local);
uint64_t py_loop_stack_slot(const struct py_process *process, const struct py_loop_frame *frame, size_t entry);
/* The offset in bytes of a frame's current instruction, from the word in the frame. */
int64_t py_loop_offset(const struct py_layout *layout, uint64_t code, uint64_t ip);
/* Reads an int among its constants, as py_bytecode.h refers to them. */
bool py_loop_constant(const struct py_process *process, const struct py_loop_code *code, uint32_t index, uint64_t *out);
/* Reads the item of a tuple. */
bool py_loop_item(const struct py_process *process, uint64_t tuple, uint32_t index, uint64_t *out);

#endif
