/* py_bytecode.h: the loops of a code object of CPython, from its instructions. Private to src/sources/python/loops.
 *
 * A loop is the target of a backward jump and all instructions that lead from there to that jump: while a frame's
 * current instruction is one of them, the loop is running. Code that leaves a loop (before `break`, or in a handler
 * that raises) does not belong to it. */
#ifndef PMTOP_SOURCES_PYTHON_LOOPS_PY_BYTECODE_H
#define PMTOP_SOURCES_PYTHON_LOOPS_PY_BYTECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/sources/python/code/py_opcodes.h"

enum { PY_CODE_LOOPS_MAX = 128, PY_STORES_MAX = 256, PY_EXITS_MAX = 32, PY_SUMS_MAX = 16, PY_NO_LOOP = -1 };
enum { PY_OPERAND_NAMES = 4, PY_EXIT_SIDES = 2, PY_GAINS_MAX = 32, PY_GAIN_CALLS = 4, PY_COUNTED_GAINS = 8 };
#define PY_NO_INDEX UINT32_MAX
/* In place of the index of a constant: an int itself, below 256. */
#define PY_SMALL_INT UINT32_C(0x80000000)
/* With the index of a constant, or PY_SMALL_INT: a key, and no attribute's name. */
#define PY_OPERAND_KEY UINT32_C(0x40000000)

/* "step", "args.max_steps", "self.config.steps", "state['step']", 1000; "args.max_steps - 1". */
struct py_operand {
	enum py_role role; /* PY_ROLE_LOCAL, _CELL, _GLOBAL, _NAME, or _CONSTANT */
	uint32_t index;    /* as that role's instruction has it, or PY_SMALL_INT */
	/* Attributes and items of it, each of the one before: indices into co_names, or PY_OPERAND_KEY. */
	size_t name_count;
	uint32_t names[PY_OPERAND_NAMES];
	int shift_sign; /* 1: a constant is added, -1: subtracted, 0: neither */
	uint32_t shift; /* that constant, as index of one */
};

/* What a `for` iterates over, where its code is one call of a global by its name, or one local. */
struct py_iterated {
	uint32_t callee;         /* index into co_names; PY_NO_INDEX: no such call */
	uint32_t argument_count; /* of the call */
	uint32_t first, last; /* index into co_consts of its first and last argument; PY_NO_INDEX: they are no constants */
	bool has_keywords;
	/* Its first argument of several, where it is a variable, an attribute or an item. */
	bool has_start;
	struct py_operand start;
	uint32_t local; /* index of the local; PY_NO_INDEX: it is none */
};

/* An int that a loop adds the same to, once in each iteration. */
struct py_advance {
	uint32_t local;            /* PY_NO_INDEX: there is none */
	uint32_t first;            /* index into co_consts of what it is before the loop; PY_NO_INDEX: unknown */
	uint32_t step, step_local; /* what is added: a constant, or else a local that the loop does not assign */
	bool is_after_yield;
};

struct py_code_loop {
	/* Its first instruction, in bytes: FOR_ITER of a for. */
	uint32_t offset, offset_end;
	uint32_t offset_back; /* the last one that leads back to it */
	bool is_for;
	bool has_break; /* something other than its first instruction leaves it: `break`, `return`, `raise` */
	/* Since 3.12: of a comprehension in the code around it. Where its iterator lies is not certain. */
	bool is_inlined;
	bool is_delegation; /* `yield from` or `await`: not counted in `depth` */
	int parent;         /* the loop around it, or PY_NO_LOOP */
	unsigned depth;     /* loops around it */
	/* Each iteration yields exactly once, and nothing was yielded before the loop. */
	bool yields_once;
	struct py_advance advance; /* of a `while` that yields once */
	/* A `yield from` in no loop, before which nothing was yielded. */
	bool is_first_delegation;
	/* The same, but in an outermost `for`. */
	bool is_delegation_of_for;
	uint32_t yield_at;  /* of its only yield, before which nothing was yielded: in units; PY_NO_INDEX: it is not so */
	bool yields_behind; /* and may yield once more when it has ended */
	/* Of the stores that of a variable which each iteration assigns, once; PY_STORES_MAX: there is none. */
	size_t assigned;
	struct py_iterated iterated;
};

/* An assignment in a loop, to a variable that no loop inside that one assigns. Of attributes and items only sums:
 * `x.name += 1`, `x["name"] += 1`; and those that the loop compares to end, whatever assigns them. */
struct py_store {
	enum py_role role;
	uint32_t index, offset;   /* of an item PY_OPERAND_KEY */
	struct py_operand holder; /* of an attribute or an item: the object that has it */
	int loop;
	bool is_sum; /* += */
	/* Of a sum: what is added, a constant or a variable that no loop of the code assigns. Role 0: something else. */
	struct py_operand added;
	bool is_compared; /* nothing in the loop assigns it, so something that it calls may */
	bool is_again;    /* several instructions of the loop assign it, or one deletes it */
	bool is_only;     /* no other instruction of the code assigns it but constants, and this one neither quotient nor
						 product */
	bool is_rebound;  /* of these: the loop assigns the variable that leads to it: `state = state.next()` */
};

/* `x.name += 1` in no loop. */
struct py_sum {
	uint32_t name, offset;           /* index into co_names */
	struct py_operand holder, added; /* as in struct py_store */
	bool is_once;                    /* each way to a return has one sum of attributes of this name */
};

/* `x.name = 0` in no loop: indices into co_names, and of a constant. */
struct py_reset {
	uint32_t name, value;
};

struct py_sums {
	size_t sum_count, reset_count;
	struct py_sum sums[PY_SUMS_MAX];
	struct py_reset resets[PY_SUMS_MAX];
};

/* `if i % 2000 == 1999` */
struct py_period {
	struct py_operand index, length, rest;
};

/* `losses.append(loss.item())`, `running_loss += float(loss)`, in a loop: what py_gains.h finds before the names are
 * known. */
struct py_gain {
	struct py_store into;   /* the list, or the sum; `added` is not set */
	bool is_append;         /* to a list */
	uint32_t method;        /* which appends, an index into co_names; PY_NO_INDEX: `+= [loss]` */
	struct py_operand from; /* the variable that holds the loss, or leads to it */
	size_t call_count;      /* methods of it that are called without arguments, indices into co_names */
	uint32_t calls[PY_GAIN_CALLS];
	uint32_t function; /* of which that is the argument, likewise; PY_NO_INDEX: none */
	/* Of a sum to which each iteration adds once, and nothing in the loop assigns but constants, after that: 1 + which
	 * bit of py_bytecode.is_added says whether it has; 0: of another. */
	unsigned counted;
	bool is_reset; /* it may be set to a constant after an addition */
	bool has_period;
	struct py_period period; /* and then only under this condition */
};

/* A comparison of which one result ends its loop, without an exception, and the other one does not. */
struct py_exit {
	int loop;
	uint32_t offset, left; /* of the comparison, and of the branch that leaves the loop */
	struct {
		struct py_operand operand;
		bool must_exceed; /* an int that grows ends the loop when it is larger than the other side, not when equal */
	} sides[PY_EXIT_SIDES];
};

struct py_bytecode {
	size_t unit_count; /* of two bytes */
	/* By unit: 1 + the innermost loop, 0 = none; whether it follows the yield in a loop that yields once. */
	unsigned char *loop_at;
	unsigned char *is_after_yield;
	unsigned char *is_added; /* bits, by unit: it follows that sum in its iteration */
	bool is_generator;
	size_t loop_count, store_count, exit_count, gain_count;
	struct py_code_loop loops[PY_CODE_LOOPS_MAX];
	struct py_store stores[PY_STORES_MAX];
	struct py_exit exits[PY_EXITS_MAX];
	struct py_gain gains[PY_GAINS_MAX];
	struct py_sums sums;
};

struct py_code_bytes {
	const unsigned char *bytes;
	size_t size;
};

/* `handlers`: the exception table, which none has to 3.10. False: it is not the code of this version, it is too long,
 * or there is no memory. On success py_bytecode_release frees it. */
bool py_bytecode_parse(
	unsigned minor, struct py_code_bytes instructions, struct py_code_bytes handlers, struct py_bytecode *out);
void py_bytecode_release(struct py_bytecode *code);
/* The innermost loop around the instruction at this offset in bytes (it may be that of a cache), or PY_NO_LOOP. */
int py_bytecode_loop_at(const struct py_bytecode *code, int64_t offset);
bool py_bytecode_is_in(const struct py_bytecode *code, int64_t offset, int loop);

#endif
