/* py_graph.h: the instructions of a code object of CPython, and which may follow which. Private to
 * src/sources/python. */
#ifndef PMTOP_SOURCES_PYTHON_LOOPS_PY_GRAPH_H
#define PMTOP_SOURCES_PYTHON_LOOPS_PY_GRAPH_H

#include <stddef.h>

#include "src/sources/python/code/py_opcodes.h"

/* The edge PY_GRAPH_TO_HANDLER is taken when an exception is raised (py_handlers.h). */
enum { PY_GRAPH_NOWHERE = -1, PY_GRAPH_TO_HANDLER = 2, PY_GRAPH_EDGES = 3 };

/* An instruction with the EXTENDED_ARGs before it and the caches behind it; offsets in units of two bytes. */
struct py_instruction {
	uint32_t begin, end, argument;
	enum py_role role;
	unsigned char opcode;
	int next[PY_GRAPH_EDGES]; /* instructions that may follow, PY_GRAPH_NOWHERE = none */
	bool begins_try;          /* since 3.11: the first that an `except` or `finally` is for */
};

/* `before`: of each instruction those that may precede it; `first`: where they begin. */
struct py_graph {
	unsigned minor;
	const struct py_opcodes *opcodes;
	size_t count;
	struct py_instruction *all;
	int *at; /* by unit: the instruction that begins there, or PY_GRAPH_NOWHERE */
	int *first, *before;
	int *stack; /* of a search */
	/* By instruction, of a search. `outside`: of py_graph_mark_back, those that are reached without the header. */
	unsigned char *marks, *outside;
};

/* `minor` and `opcodes` are set. False: the bytes were not understood, or there is no memory; py_graph_free in any
 * case. */
bool py_graph_make(struct py_graph *graph, const unsigned char *bytes, size_t units);
void py_graph_free(struct py_graph *graph);
int py_graph_count_before(const struct py_graph *graph, int at);
/* What precedes what, anew after edges were added. */
void py_graph_link_back(struct py_graph *graph);
bool py_graph_is_jumped_back_to(const struct py_graph *graph, int at);
/* Marks all from which `header` is jumped back to without passing `header` or `barrier`, and `header` if it is reached.
 * Only a jump that `header` alone leads to is one back. Returns how many; *is_entered: one of them is preceded by
 * nothing (it begins a handler whose `try` is unknown). */
size_t py_graph_mark_back(struct py_graph *graph, int header, int barrier, bool *is_entered);
/* Marks what follows `from` up to `header`; returns whether that is reached. */
bool py_graph_mark_ahead(struct py_graph *graph, int from, int header);
/* Whether an exception is raised there, before anything else is decided. */
bool py_graph_leads_to_raise(const struct py_graph *graph, int at);
/* Of a comparison its operator, as in dis.cmp_op. */
enum py_relation { PY_LESS, PY_LESS_OR_EQUAL, PY_EQUAL, PY_NOT_EQUAL, PY_GREATER, PY_GREATER_OR_EQUAL, PY_RELATIONS };
uint32_t py_graph_relation(const struct py_graph *graph, int comparison);
/* Whether it is a +=. */
bool py_graph_adds_in_place(const struct py_graph *graph, int at);

#endif
