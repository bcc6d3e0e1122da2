#include "src/sources/python/loops/py_periods.h"

#include "src/sources/python/loops/py_operands.h"

/* Opcode to 3.10; since 3.11 argument of one of PY_ROLE_ADD. */
enum { MODULO_10 = 22, MODULO = 6 };
/* By minor version, POP_JUMP_IF_FALSE and POP_JUMP_IF_TRUE. */
enum { BRANCHES_OLDEST = 8, BRANCHES_COUNT = 8 };
static const unsigned char branches[BRANCHES_COUNT][2] = { { 114, 115 }, { 114, 115 }, { 114, 115 }, { 114, 115 },
	{ 114, 115 }, { 97, 100 }, { 100, 103 }, { 99, 102 } };

static bool is_modulo(const struct py_graph *graph, int at)
{
	const struct py_instruction *instruction = &graph->all[at];
	return graph->minor >= 11 ? instruction->role == PY_ROLE_ADD && instruction->argument == MODULO
							  : instruction->opcode == MODULO_10;
}

/* Whether the branch leads there if what is before it is true. */
static bool is_if_true(const struct py_graph *graph, int branch, int to)
{
	bool is_jump = graph->all[branch].next[1] == to;
	return graph->all[branch].next[is_jump] == to && graph->minor - BRANCHES_OLDEST < BRANCHES_COUNT &&
		graph->all[branch].opcode == branches[graph->minor - BRANCHES_OLDEST][is_jump];
}

static bool read_condition(const struct py_graph *graph, int compare, struct py_period *out)
{
	struct py_cursor cursor = { compare - 1, false };
	if (compare < 1 || graph->all[compare].role != PY_ROLE_COMPARE || py_graph_relation(graph, compare) != PY_EQUAL ||
		!py_operand_read(graph, &cursor, &out->rest) || cursor.is_half || cursor.at < 1 || !is_modulo(graph, cursor.at))
		return false;
	cursor.at--;
	if (!py_operand_read(graph, &cursor, &out->length) || !py_operand_read(graph, &cursor, &out->index) ||
		cursor.is_half || out->index.role == PY_ROLE_CONSTANT)
		return false;
	for (int at = cursor.at + 2; at <= compare + 1; at++)
		if (py_graph_count_before(graph, at) != 1)
			return false;
	return true;
}

bool py_period_find(const struct py_graph *graph, int at, struct py_period *out)
{
	for (size_t i = 0; i < graph->count && py_graph_count_before(graph, at) == 1; i++) {
		int before = graph->before[graph->first[at]];
		if (before > 1 && is_if_true(graph, before, at) && read_condition(graph, before - 1, out))
			return true;
		at = before;
	}
	return false;
}
