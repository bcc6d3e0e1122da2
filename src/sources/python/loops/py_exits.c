#include "src/sources/python/loops/py_exits.h"

#include <string.h>

enum { WALK_MAX = 32 };
enum { LESS, LESS_OR_EQUAL, EQUAL, NOT_EQUAL, GREATER, GREATER_OR_EQUAL, OPERATORS }; /* as in dis.cmp_op */

/* Whether the int on this side must be larger than the other side for the loop to end, and not only as large. */
static const bool must_exceed[PY_EXIT_SIDES][OPERATORS] = {
	{ [LESS_OR_EQUAL] = true, [GREATER] = true },
	{ [LESS] = true, [GREATER_OR_EQUAL] = true },
};

static uint32_t operator_of(const struct py_graph *graph, const struct py_instruction *compare)
{
	return compare->argument >> (graph->minor >= 13 ? 5 : graph->minor == 12 ? 4 : 0);
}

/* -- operands -- */

/* Where an operand ends: the instruction, and whether the second local of its two is taken already. */
struct cursor {
	int at;
	bool is_half;
};

static bool read_local(const struct py_instruction *instruction, struct cursor *cursor, struct py_operand *out)
{
	bool is_second = instruction->role == PY_ROLE_LOCAL_TWO && !cursor->is_half;
	out->role = PY_ROLE_LOCAL;
	out->index = instruction->role == PY_ROLE_LOCAL ? instruction->argument
		: cursor->is_half                           ? instruction->argument >> 4
													: instruction->argument & 15;
	cursor->is_half = is_second;
	cursor->at -= !is_second;
	return true;
}

/* A local, a global or a constant. */
static bool read_base(const struct py_graph *graph, struct cursor *cursor, struct py_operand *out)
{
	const struct py_instruction *instruction = &graph->all[cursor->at];
	out->role = instruction->role;
	switch (instruction->role) {
	case PY_ROLE_LOCAL:
	case PY_ROLE_LOCAL_TWO:
	case PY_ROLE_STORE_AND_LOAD: return read_local(instruction, cursor, out);
	case PY_ROLE_GLOBAL: out->index = instruction->argument >> (graph->minor >= 11); break;
	case PY_ROLE_NAME:
	case PY_ROLE_CONSTANT: out->index = instruction->argument; break;
	case PY_ROLE_SMALL_INT:
		if (instruction->argument >= 256)
			return false;
		out->role = PY_ROLE_CONSTANT;
		out->index = PY_SMALL_INT | instruction->argument;
		break;
	default: return false;
	}
	cursor->at--;
	return !cursor->is_half;
}

/* Backward from the cursor: a base, and attributes of it. */
static bool read_operand(const struct py_graph *graph, struct cursor *cursor, struct py_operand *out)
{
	uint32_t names[PY_OPERAND_NAMES];
	size_t count = 0;
	for (; cursor->at > 0 && graph->all[cursor->at].role == PY_ROLE_ATTRIBUTE; cursor->at--) {
		if (count == PY_OPERAND_NAMES || cursor->is_half)
			return false;
		names[count++] = graph->all[cursor->at].argument >> (graph->minor >= 12);
	}
	if (cursor->at < 0 || !read_base(graph, cursor, out))
		return false;
	out->name_count = count;
	for (size_t i = 0; i < count; i++)
		out->names[i] = names[count - 1 - i];
	return true;
}

/* -- exits -- */

/* Not by an exception. */
static bool is_left_quietly(const struct py_graph *graph, int at)
{
	for (unsigned i = 0; i < WALK_MAX && at != PY_GRAPH_NOWHERE; i++) {
		const struct py_instruction *instruction = &graph->all[at];
		if (instruction->role == PY_ROLE_RAISE)
			return false;
		if (instruction->next[0] != PY_GRAPH_NOWHERE && instruction->next[1] != PY_GRAPH_NOWHERE)
			return true;
		at = instruction->next[0] != PY_GRAPH_NOWHERE ? instruction->next[0] : instruction->next[1];
	}
	return true;
}

static bool is_branch(enum py_role role)
{
	return role == PY_ROLE_BRANCH || role == PY_ROLE_BRANCH_BACK || role == PY_ROLE_BRANCH_ABSOLUTE;
}

static bool stays(const struct py_graph *graph, const struct py_bytecode *code, int at, int loop)
{
	return at != PY_GRAPH_NOWHERE && py_bytecode_is_in(code, 2 * (int64_t)graph->all[at].begin, loop);
}

/* The branch behind the comparison: one way stays in the loop, the other one leaves it. */
static bool leaves(const struct py_graph *graph, const struct py_bytecode *code, int branch, int loop)
{
	const struct py_instruction *instruction = &graph->all[branch];
	if (!is_branch(instruction->role) || py_graph_count_before(graph, branch) != 1)
		return false;
	bool first = stays(graph, code, instruction->next[0], loop),
		 second = stays(graph, code, instruction->next[1], loop);
	return first != second && is_left_quietly(graph, instruction->next[first]);
}

static bool read_exit(const struct py_graph *graph, const struct py_bytecode *code, int compare, struct py_exit *out)
{
	const struct py_instruction *instruction = &graph->all[compare];
	struct cursor cursor = { compare - 1, false };
	uint32_t relation = operator_of(graph, instruction);
	memset(out, 0, sizeof *out);
	out->loop = py_bytecode_loop_at(code, 2 * (int64_t)instruction->begin);
	out->offset = 2 * instruction->begin;
	if (out->loop == PY_NO_LOOP || relation >= OPERATORS || compare + 1 >= (int)graph->count ||
		!leaves(graph, code, compare + 1, out->loop) || !read_operand(graph, &cursor, &out->sides[1].operand) ||
		!read_operand(graph, &cursor, &out->sides[0].operand) || cursor.is_half)
		return false;
	for (int at = cursor.at + 2; at <= compare; at++)
		if (py_graph_count_before(graph, at) != 1)
			return false;
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
