#include "src/sources/python/loops/py_operands.h"

#include <string.h>

enum { ADD = 0, SUBTRACT = 10, SUBSCRIPT = 26 }; /* arguments of BINARY_OP, since 3.11, and since 3.14 */

/* -- reading -- */

static bool read_local(const struct py_instruction *instruction, struct py_cursor *cursor, struct py_operand *out)
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

/* A local, what a cell holds, a global or a constant. */
static bool read_base(const struct py_graph *graph, struct py_cursor *cursor, struct py_operand *out)
{
	const struct py_instruction *instruction = &graph->all[cursor->at];
	out->role = instruction->role;
	switch (instruction->role) {
	case PY_ROLE_LOCAL:
	case PY_ROLE_LOCAL_TWO:
	case PY_ROLE_STORE_AND_LOAD: return read_local(instruction, cursor, out);
	case PY_ROLE_GLOBAL: out->index = instruction->argument >> (graph->minor >= 11); break;
	case PY_ROLE_NAME:
	case PY_ROLE_CELL:
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

static bool is_binary(const struct py_graph *graph, const struct py_instruction *instruction, uint32_t operation)
{
	return graph->minor >= 11 && instruction->role == PY_ROLE_ADD && instruction->argument == operation;
}

static bool is_subscript(const struct py_graph *graph, int at)
{
	return graph->all[at].role == PY_ROLE_SUBSCRIPT || is_binary(graph, &graph->all[at], SUBSCRIPT);
}

/* False: it is no constant. */
static bool read_key(const struct py_instruction *instruction, uint32_t *name)
{
	bool is_small = instruction->role == PY_ROLE_SMALL_INT && instruction->argument < 256;
	*name = PY_OPERAND_KEY | (is_small ? PY_SMALL_INT : 0) | instruction->argument;
	return is_small || instruction->role == PY_ROLE_CONSTANT;
}

/* An attribute, or an item with a constant key. */
static bool read_name(const struct py_graph *graph, struct py_cursor *cursor, uint32_t *name)
{
	const struct py_instruction *instruction = &graph->all[cursor->at];
	if (instruction->role == PY_ROLE_ATTRIBUTE) {
		*name = instruction->argument >> (graph->minor >= 12);
		cursor->at--;
		return !cursor->is_half;
	}
	if (!is_subscript(graph, cursor->at) || cursor->at < 1 || !read_key(&graph->all[cursor->at - 1], name))
		return false;
	cursor->at -= 2;
	return !cursor->is_half;
}

static bool has_name(const struct py_graph *graph, int at)
{
	return at > 0 && (graph->all[at].role == PY_ROLE_ATTRIBUTE || is_subscript(graph, at));
}

/* "+ 1", "- 1" */
static void read_shift(const struct py_graph *graph, struct py_cursor *cursor, struct py_operand *out)
{
	const struct py_instruction *last = &graph->all[cursor->at];
	bool adds = last->role == PY_ROLE_PLUS || is_binary(graph, last, ADD);
	bool subtracts = last->role == PY_ROLE_MINUS || is_binary(graph, last, SUBTRACT);
	if (cursor->is_half || cursor->at < 2 || (!adds && !subtracts))
		return;
	const struct py_instruction *constant = &graph->all[cursor->at - 1];
	out->shift_sign = adds ? 1 : -1;
	if (constant->role == PY_ROLE_CONSTANT)
		out->shift = constant->argument;
	else if (constant->role == PY_ROLE_SMALL_INT && constant->argument < 256)
		out->shift = PY_SMALL_INT | constant->argument;
	else
		return;
	cursor->at -= 2;
}

bool py_operand_read(const struct py_graph *graph, struct py_cursor *cursor, struct py_operand *out)
{
	uint32_t names[PY_OPERAND_NAMES];
	size_t count = 0;
	*out = (struct py_operand){ .shift = PY_NO_INDEX };
	if (cursor->at < 0)
		return false;
	read_shift(graph, cursor, out);
	while (has_name(graph, cursor->at))
		if (count == PY_OPERAND_NAMES || !read_name(graph, cursor, &names[count++]))
			return false;
	if (cursor->at < 0 || !read_base(graph, cursor, out))
		return false;
	out->name_count = count;
	for (size_t i = 0; i < count; i++)
		out->names[i] = names[count - 1 - i];
	return true;
}

/* -- sums -- */

bool py_operand_of_added(const struct py_graph *graph, int sum, struct py_operand *out, int *before)
{
	struct py_cursor cursor = { sum - 1, false };
	bool is_read = py_operand_read(graph, &cursor, out) && !out->shift_sign;
	for (int at = cursor.at + 2; is_read && at <= sum; at++)
		is_read = py_graph_count_before(graph, at) == 1;
	out->role = is_read ? out->role : 0;
	*before = cursor.at;
	return is_read && !cursor.is_half;
}

/* `x.name += 1`: x, a copy of it, its attribute, the constant, the sum, both in the other order. `x["name"] += 1`: x
 * and the key, copies of them, the item, the constant, the sum, all three in the other order: by one instruction
 * to 3.10, since 3.11 by two, as both copies are made. */
static int turns_of(const struct py_graph *graph, int store)
{
	return graph->all[store].role == PY_ROLE_STORE_SUBSCRIPT && graph->minor >= 11 ? 2 : 1;
}

int py_operand_sum_of(const struct py_graph *graph, int store) { return store - turns_of(graph, store) - 1; }

bool py_operand_of_holder(const struct py_graph *graph, int store, int read, struct py_store *out)
{
	int from = read - turns_of(graph, store) - 1;
	struct py_cursor cursor = { from, false };
	if (from < 0)
		return false;
	if (graph->all[store].role == PY_ROLE_STORE_SUBSCRIPT) {
		if (!is_subscript(graph, read) || !read_key(&graph->all[from], &out->index))
			return false;
		cursor.at--;
	} else if (graph->all[read].role != PY_ROLE_ATTRIBUTE ||
		graph->all[read].argument >> (graph->minor >= 12) != graph->all[store].argument)
		return false;
	if (!py_operand_read(graph, &cursor, &out->holder) || out->holder.role == PY_ROLE_CONSTANT ||
		out->holder.shift_sign || out->holder.name_count == PY_OPERAND_NAMES)
		return false;
	for (int at = cursor.at + 2; at <= store; at++)
		if (py_graph_count_before(graph, at) != 1)
			return false;
	return true;
}

bool py_operand_of_sum(const struct py_graph *graph, int store, struct py_store *out)
{
	int sum = py_operand_sum_of(graph, store), read;
	return sum >= 1 && py_graph_adds_in_place(graph, sum) && py_operand_of_added(graph, sum, &out->added, &read) &&
		py_operand_of_holder(graph, store, read, out);
}

/* -- comparing -- */

static bool is_same_base(const struct py_operand *a, enum py_role role, uint32_t index)
{
	bool is_named = role == PY_ROLE_NAME || role == PY_ROLE_GLOBAL;
	return (a->role == role || (is_named && (a->role == PY_ROLE_NAME || a->role == PY_ROLE_GLOBAL))) &&
		a->index == index;
}

bool py_operand_is_same(const struct py_operand *a, const struct py_operand *b)
{
	return is_same_base(a, b->role, b->index) && a->name_count == b->name_count &&
		memcmp(a->names, b->names, a->name_count * sizeof *a->names) == 0;
}

bool py_operand_is_stored(const struct py_operand *operand, const struct py_store *store)
{
	struct py_operand holder = *operand;
	switch (store->role) {
	case PY_ROLE_STORE_FAST: return operand->name_count == 0 && is_same_base(operand, PY_ROLE_LOCAL, store->index);
	case PY_ROLE_STORE_CELL: return operand->name_count == 0 && is_same_base(operand, PY_ROLE_CELL, store->index);
	case PY_ROLE_STORE_NAME:
	case PY_ROLE_STORE_GLOBAL: return operand->name_count == 0 && is_same_base(operand, PY_ROLE_GLOBAL, store->index);
	case PY_ROLE_STORE_ATTRIBUTE:
	case PY_ROLE_STORE_SUBSCRIPT:
		if (operand->name_count == 0 || operand->names[operand->name_count - 1] != store->index)
			return false;
		holder.name_count--;
		return py_operand_is_same(&holder, &store->holder);
	default: return false;
	}
}
