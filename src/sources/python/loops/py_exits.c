#include "src/sources/python/loops/py_exits.h"

#include <string.h>

#include "src/sources/python/loops/py_operands.h"

/* Whether the int on this side must be larger than the other side for the loop to end, and not only as large. */
static const bool must_exceed[PY_EXIT_SIDES][PY_RELATIONS] = {
	{ [PY_LESS_OR_EQUAL] = true, [PY_GREATER] = true },
	{ [PY_LESS] = true, [PY_GREATER_OR_EQUAL] = true },
};

/* -- branches -- */

static bool is_branch(enum py_role role)
{
	return role == PY_ROLE_BRANCH || role == PY_ROLE_BRANCH_BACK || role == PY_ROLE_BRANCH_ABSOLUTE;
}

static bool stays(const struct py_graph *graph, const struct py_bytecode *code, int at, int loop)
{
	return at != PY_GRAPH_NOWHERE && py_bytecode_is_in(code, 2 * (int64_t)graph->all[at].begin, loop);
}

/* One way stays in the loop, the other one leaves it, and not by an exception. */
static bool leaves(const struct py_graph *graph, const struct py_bytecode *code, int branch, int loop)
{
	const struct py_instruction *instruction = &graph->all[branch];
	if (!is_branch(instruction->role) || py_graph_count_before(graph, branch) != 1)
		return false;
	bool first = stays(graph, code, instruction->next[0], loop),
		 second = stays(graph, code, instruction->next[1], loop);
	return first != second && !py_graph_leads_to_raise(graph, instruction->next[first]);
}

/* -- comparisons that a variable keeps: "last_step = step == max_steps" -- */

static bool is_stored_at(const struct py_graph *graph, int at, struct py_operand *out)
{
	const struct py_instruction *instruction = &graph->all[at];
	*out = (struct py_operand){ .role = PY_ROLE_LOCAL, .index = instruction->argument };
	switch (instruction->role) {
	case PY_ROLE_STORE_FAST: return true;
	case PY_ROLE_STORE_AND_LOAD:
	case PY_ROLE_STORE_TWO: out->index = instruction->argument >> 4; return true;
	case PY_ROLE_STORE_NAME:
	case PY_ROLE_STORE_GLOBAL: out->role = PY_ROLE_GLOBAL; return true;
	default: return false;
	}
}

static bool is_stored_once(
	const struct py_graph *graph, const struct py_bytecode *code, const struct py_operand *variable, int loop)
{
	struct py_operand other;
	unsigned count = 0;
	for (size_t i = 0; i < graph->count; i++)
		if (py_bytecode_is_in(code, 2 * (int64_t)graph->all[i].begin, loop) && is_stored_at(graph, (int)i, &other))
			count += py_operand_is_same(&other, variable);
	return count == 1;
}

/* Whether a branch asks only whether the variable is true. */
static bool asks(const struct py_graph *graph, int branch, const struct py_operand *variable)
{
	struct py_operand asked;
	struct py_cursor cursor = { branch - 1 - (branch > 0 && graph->all[branch - 1].role == PY_ROLE_BOOL), false };
	return cursor.at >= 0 && py_operand_read(graph, &cursor, &asked) && !asked.shift_sign &&
		py_operand_is_same(&asked, variable);
}

/* The branch that the comparison decides. PY_GRAPH_NOWHERE: there is none, or several. */
static int branch_of(const struct py_graph *graph, const struct py_bytecode *code, int compare, int loop)
{
	struct py_operand variable;
	int found = PY_GRAPH_NOWHERE;
	if (is_branch(graph->all[compare + 1].role))
		return compare + 1;
	if (!is_stored_at(graph, compare + 1, &variable) || !is_stored_once(graph, code, &variable, loop))
		return PY_GRAPH_NOWHERE;
	for (size_t i = 0; i < graph->count; i++) {
		bool is_in_loop = py_bytecode_loop_at(code, 2 * (int64_t)graph->all[i].begin) == loop;
		if (!is_in_loop || !is_branch(graph->all[i].role) || !asks(graph, (int)i, &variable) ||
			!leaves(graph, code, (int)i, loop))
			continue;
		if (found != PY_GRAPH_NOWHERE)
			return PY_GRAPH_NOWHERE;
		found = (int)i;
	}
	return found;
}

/* -- all -- */

static bool read_exit(const struct py_graph *graph, const struct py_bytecode *code, int compare, struct py_exit *out)
{
	const struct py_instruction *instruction = &graph->all[compare];
	struct py_cursor cursor = { compare - 1, false };
	uint32_t relation = py_graph_relation(graph, compare);
	memset(out, 0, sizeof *out);
	out->loop = py_bytecode_loop_at(code, 2 * (int64_t)instruction->begin);
	out->offset = 2 * instruction->begin;
	if (out->loop == PY_NO_LOOP || relation >= PY_RELATIONS || compare + 1 >= (int)graph->count)
		return false;
	int branch = branch_of(graph, code, compare, out->loop);
	if (branch == PY_GRAPH_NOWHERE || !leaves(graph, code, branch, out->loop) ||
		!py_operand_read(graph, &cursor, &out->sides[1].operand) ||
		!py_operand_read(graph, &cursor, &out->sides[0].operand) || cursor.is_half)
		return false;
	for (int at = cursor.at + 2; at <= compare; at++)
		if (py_graph_count_before(graph, at) != 1)
			return false;
	out->left = 2 * graph->all[branch].begin;
	for (size_t side = 0; side < PY_EXIT_SIDES; side++)
		out->sides[side].must_exceed = must_exceed[side][relation];
	return true;
}

void py_exits_find(struct py_graph *graph, struct py_bytecode *code)
{
	code->exit_count = 0;
	for (size_t i = 1; i < graph->count && code->exit_count < PY_EXITS_MAX; i++)
		if (graph->all[i].role == PY_ROLE_COMPARE && read_exit(graph, code, (int)i, &code->exits[code->exit_count]))
			code->exit_count++;
}
