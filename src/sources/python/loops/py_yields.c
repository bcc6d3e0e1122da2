#include "src/sources/python/loops/py_yields.h"

#include <string.h>

static bool is_yield(enum py_role role) { return role == PY_ROLE_YIELD || role == PY_ROLE_YIELD_FROM; }

/* The only yield of this loop, or PY_GRAPH_NOWHERE. */
static int only_yield(const struct py_graph *graph, const struct py_bytecode *code, int loop)
{
	int found = PY_GRAPH_NOWHERE;
	for (size_t i = 0; i < graph->count; i++) {
		if (!is_yield(graph->all[i].role) || !py_bytecode_is_in(code, 2 * (int64_t)graph->all[i].begin, loop))
			continue;
		if (found != PY_GRAPH_NOWHERE || py_bytecode_loop_at(code, 2 * (int64_t)graph->all[i].begin) != loop ||
			graph->all[i].role != PY_ROLE_YIELD)
			return PY_GRAPH_NOWHERE;
		found = (int)i;
	}
	return found;
}

/* Whether something may have been yielded before the loop began. */
static bool follows_yield(struct py_graph *graph, const struct py_bytecode *code, int loop, int header)
{
	for (size_t i = 0; i < graph->count; i++)
		if (is_yield(graph->all[i].role) && !py_bytecode_is_in(code, 2 * (int64_t)graph->all[i].begin, loop) &&
			py_graph_mark_ahead(graph, (int)i, header))
			return true;
	return false;
}

/* Whether something may be yielded after it. */
static bool yields_behind(struct py_graph *graph, const struct py_bytecode *code, int loop, int header)
{
	for (size_t i = 0; i < graph->count; i++)
		if (graph->all[i].role == PY_ROLE_YIELD && !py_bytecode_is_in(code, 2 * (int64_t)graph->all[i].begin, loop) &&
			py_graph_mark_ahead(graph, header, (int)i))
			return true;
	return false;
}

/* -- the int that counts what a `while` yields -- */

/* The local that it assigns, alone or together with another one; PY_NO_INDEX: it assigns none. */
static uint32_t stored_local(const struct py_instruction *instruction)
{
	switch (instruction->role) {
	case PY_ROLE_STORE_FAST: return instruction->argument;
	case PY_ROLE_STORE_AND_LOAD:
	case PY_ROLE_STORE_TWO: return instruction->argument >> 4;
	default: return PY_NO_INDEX;
	}
}

static bool stores(const struct py_instruction *instruction, uint32_t local)
{
	return stored_local(instruction) == local ||
		(instruction->role == PY_ROLE_STORE_TWO && (instruction->argument & 15) == local);
}

static bool is_straight(const struct py_graph *graph, int at)
{
	return at > 0 && py_graph_count_before(graph, at) == 1;
}

static uint32_t constant_of(const struct py_instruction *instruction)
{
	if (instruction->role == PY_ROLE_SMALL_INT && instruction->argument < 256)
		return PY_SMALL_INT | instruction->argument;
	return instruction->role == PY_ROLE_CONSTANT ? instruction->argument : PY_NO_INDEX;
}

/* What the local is before the loop: the constant of its only assignment outside it. */
static uint32_t first_of(const struct py_graph *graph, const struct py_bytecode *code, int loop, uint32_t local)
{
	uint32_t first = PY_NO_INDEX;
	unsigned count = 0;
	for (size_t i = 1; i < graph->count; i++) {
		const struct py_instruction *instruction = &graph->all[i];
		if (!stores(instruction, local) || py_bytecode_is_in(code, 2 * (int64_t)instruction->begin, loop))
			continue;
		bool is_alone = instruction->role != PY_ROLE_STORE_TWO && is_straight(graph, (int)i);
		first = is_alone ? constant_of(&graph->all[i - 1]) : PY_NO_INDEX;
		count++;
	}
	return count == 1 ? first : PY_NO_INDEX;
}

static unsigned count_stores(const struct py_graph *graph, const struct py_bytecode *code, int loop, uint32_t local)
{
	unsigned count = 0;
	for (size_t i = 0; i < graph->count; i++)
		count += stores(&graph->all[i], local) && py_bytecode_is_in(code, 2 * (int64_t)graph->all[i].begin, loop);
	return count;
}

/* `local += step`, executed once in each iteration. */
static bool advances(
	struct py_graph *graph, const struct py_bytecode *code, int loop, int store, struct py_advance *out)
{
	const struct py_instruction *instruction = &graph->all[store];
	uint32_t local = stored_local(instruction);
	bool is_entered;
	if (store < 2 || local == PY_NO_INDEX || instruction->role == PY_ROLE_STORE_TWO ||
		py_bytecode_loop_at(code, 2 * (int64_t)instruction->begin) != loop ||
		!py_graph_adds_in_place(graph, store - 1) || !is_straight(graph, store) || !is_straight(graph, store - 1) ||
		count_stores(graph, code, loop, local) != 1)
		return false;
	const struct py_instruction *added = &graph->all[store - 2];
	bool is_two = added->role == PY_ROLE_LOCAL_TWO;
	*out = (struct py_advance){ .local = local,
		.step = constant_of(added),
		.step_local = added->role == PY_ROLE_LOCAL ? added->argument
			: is_two                               ? added->argument & 15
												   : PY_NO_INDEX };
	if (out->step == PY_NO_INDEX &&
		(out->step_local == PY_NO_INDEX || count_stores(graph, code, loop, out->step_local) > 0))
		return false;
	int header = graph->at[code->loops[loop].offset / 2];
	py_graph_mark_back(graph, header, store, &is_entered);
	out->first = first_of(graph, code, loop, local);
	out->is_after_yield = code->is_after_yield[instruction->begin];
	return (header == store || !graph->marks[header]) && !is_entered;
}

static void find_advance(struct py_graph *graph, struct py_bytecode *code, int loop)
{
	struct py_advance found;
	for (int i = 0; i < (int)graph->count && code->loops[loop].advance.local == PY_NO_INDEX; i++)
		if (advances(graph, code, loop, i, &found))
			code->loops[loop].advance = found;
}

static bool is_within_for(const struct py_bytecode *code, int loop)
{
	int parent = code->loops[loop].parent;
	return parent != PY_NO_LOOP && code->loops[parent].is_for && code->loops[parent].parent == PY_NO_LOOP;
}

void py_yields_find(struct py_graph *graph, struct py_bytecode *code, int loop)
{
	int header = graph->at[code->loops[loop].offset / 2], yield = only_yield(graph, code, loop);
	bool is_entered;
	int parent = code->loops[loop].parent;
	if (is_within_for(code, loop) && !follows_yield(graph, code, parent, graph->at[code->loops[parent].offset / 2]))
		code->loops[loop].is_delegation_of_for = code->loops[loop].is_delegation;
	if (parent != PY_NO_LOOP || follows_yield(graph, code, loop, header))
		return;
	code->loops[loop].is_first_delegation = code->loops[loop].is_delegation;
	if (yield == PY_GRAPH_NOWHERE || code->loops[loop].is_delegation)
		return;
	code->loops[loop].yield_at = graph->all[yield].begin;
	code->loops[loop].yields_behind = yields_behind(graph, code, loop, header);
	py_graph_mark_back(graph, header, yield, &is_entered);
	if (graph->marks[header] || is_entered)
		return;
	code->loops[loop].yields_once = py_graph_mark_ahead(graph, yield, header);
	for (size_t i = 0; i < graph->count; i++)
		if (graph->marks[i] && py_bytecode_is_in(code, 2 * (int64_t)graph->all[i].begin, loop))
			memset(code->is_after_yield + graph->all[i].begin, 1, graph->all[i].end - graph->all[i].begin);
	if (code->loops[loop].yields_once && !code->loops[loop].is_for)
		find_advance(graph, code, loop);
}

/* A coroutine's await also yields, in a loop of its own. */
bool py_yields_any(const struct py_graph *graph, const struct py_bytecode *code)
{
	for (size_t i = 0; i < graph->count; i++) {
		int loop = py_bytecode_loop_at(code, 2 * (int64_t)graph->all[i].begin);
		if (graph->all[i].role == PY_ROLE_YIELD && (loop == PY_NO_LOOP || !code->loops[loop].is_delegation))
			return true;
	}
	return false;
}
