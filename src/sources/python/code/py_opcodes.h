/* py_opcodes.h: what pmtop needs to know of CPython's instructions: which jump, loop, store and call. Private to
 * src/sources/python.
 *
 * A running CPython (from 3.11 on) replaces instructions by specialized ones in place and stores caches behind them, so
 * the table has those too. tests/terminal/loops.py compares the table with each interpreter that it finds. */
#ifndef PMTOP_SOURCES_PYTHON_LOOPS_PY_OPCODES_H
#define PMTOP_SOURCES_PYTHON_LOOPS_PY_OPCODES_H

#include <stdbool.h>
#include <stdint.h>

enum py_role {
	PY_ROLE_OTHER = '.',
	PY_ROLE_UNKNOWN = '!', /* no instruction, or one that hides another (monitoring): the code cannot be read */
	PY_ROLE_FOR = 'F',
	PY_ROLE_JUMP = 'j',
	PY_ROLE_JUMP_BACK = 'b',
	PY_ROLE_RESEND = 'n',        /* jumps back to a SEND */
	PY_ROLE_JUMP_ABSOLUTE = 'a', /* to 3.10 */
	PY_ROLE_BRANCH = 'c',
	PY_ROLE_BRANCH_BACK = 'd',
	PY_ROLE_BRANCH_ABSOLUTE = 'e',
	PY_ROLE_SETUP = 's', /* to 3.10: its target is a handler */
	PY_ROLE_STOP = 'r',  /* returns */
	PY_ROLE_RAISE = 'R', /* or raises again */
	PY_ROLE_COMPARE = '<',
	PY_ROLE_YIELD = 'Y',
	PY_ROLE_YIELD_FROM = 'v', /* to 3.10 */
	PY_ROLE_SEND = 'S',
	PY_ROLE_EXTENDED = 'x',
	PY_ROLE_STORE_FAST = 'f',
	PY_ROLE_STORE_TWO = 'p',      /* 3.13: two locals */
	PY_ROLE_STORE_AND_LOAD = 'q', /* 3.13 */
	PY_ROLE_STORE_NAME = 'N',
	PY_ROLE_STORE_GLOBAL = 'g',
	PY_ROLE_STORE_CELL = 'D',
	PY_ROLE_DELETE = 'X', /* of a variable, of any of these */
	PY_ROLE_STORE_ATTRIBUTE = 'A',
	PY_ROLE_ADD = '+', /* in place; since 3.11 any operation, and the argument PY_ADD_IN_PLACE means this one */
	PY_ROLE_ITER = 'G',
	PY_ROLE_CALL = 'C',
	PY_ROLE_PRECALL = 'P',
	PY_ROLE_KEYWORDS = 'K', /* 3.11 and 3.12: names the keywords of the call that follows */
	PY_ROLE_CALL_KEYWORDS = 'k',
	PY_ROLE_CONSTANT = 'L',
	PY_ROLE_SMALL_INT = 'i', /* since 3.14: its argument */
	PY_ROLE_LOCAL = 'l',
	PY_ROLE_LOCAL_TWO = 'w', /* since 3.13: two locals */
	PY_ROLE_CELL = 'h',      /* what a cell holds: a local that a nested function shares */
	PY_ROLE_GLOBAL = 'o',
	PY_ROLE_NAME = 'm',
	PY_ROLE_NULL = 'u',
	PY_ROLE_ATTRIBUTE = 't',
	PY_ROLE_SUBSCRIPT = 'z', /* to 3.13; then one of PY_ROLE_ADD */
	PY_ROLE_STORE_SUBSCRIPT = 'Z',
	PY_ROLE_PLUS = '&', /* to 3.10; then one of PY_ROLE_ADD, as is the next */
	PY_ROLE_MINUS = '-',
	PY_ROLE_BOOL = 'B', /* since 3.13, before a branch */
};

enum { PY_ADD_IN_PLACE = 13 };

struct py_opcodes;

/* NULL: an unknown version. */
const struct py_opcodes *py_opcodes_of(unsigned minor);
enum py_role py_opcode_role(const struct py_opcodes *opcodes, unsigned char opcode);
/* How many code units behind it are its cache. */
unsigned py_opcode_caches(const struct py_opcodes *opcodes, unsigned char opcode);
/* By how much it makes the value stack longer. False: unknown, or it jumps. */
bool py_opcode_effect(const struct py_opcodes *opcodes, unsigned char opcode, uint32_t argument, int64_t *effect);

#endif
