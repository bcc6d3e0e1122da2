#include "src/sources/python/loops/py_sums.h"

#include <string.h>

#include "src/sources/python/loops/py_operands.h"

static bool is_sum_of(const struct py_graph *graph, const struct py_sums *known, int at, uint32_t name)
{
	for (size_t i = 0; i < known->sum_count; i++)
		if (known->sums[i].name == name && known->sums[i].offset == 2 * graph->all[at].begin)
			return true;
	return false;
}

/* What is reached on the ways that go on after `from`, up to a sum of this attribute. */
static void reach(
	struct py_graph *graph, const struct py_sums *known, int from, uint32_t name, bool *returns, bool *adds)
{
	size_t depth = 0;
	memset(graph->marks, 0, graph->count);
	graph->marks[from] = 1;
	graph->stack[depth++] = from;
	while (depth > 0) {
		int at = graph->stack[--depth];
		bool is_sum = is_sum_of(graph, known, at, name);
		*adds |= is_sum && at != from;
		*returns |= graph->all[at].role == PY_ROLE_STOP;
		for (unsigned i = 0; i < PY_GRAPH_EDGES && (!is_sum || at == from); i++) {
			int next = graph->all[at].next[i];
			if (next == PY_GRAPH_NOWHERE || graph->marks[next])
				continue;
			graph->marks[next] = 1;
			graph->stack[depth++] = next;
		}
	}
}

/* Each way to a return has one sum of the attribute. */
static bool adds_once(struct py_graph *graph, const struct py_sums *known, uint32_t name)
{
	bool returns = false, adds_again = false, unused = false;
	reach(graph, known, 0, name, &returns, &unused);
	for (int i = 0; i < (int)graph->count; i++)
		if (is_sum_of(graph, known, i, name))
			reach(graph, known, i, name, &unused, &adds_again);
	return !returns && !adds_again;
}

/* `self.name = 0` */
static void add_reset(const struct py_graph *graph, int at, struct py_sums *out)
{
	struct py_cursor cursor = { at - 1, false };
	struct py_operand holder, value;
	if (at < 2 || out->reset_count == PY_SUMS_MAX || !py_operand_read(graph, &cursor, &holder) ||
		holder.name_count > 0 || !py_operand_read(graph, &cursor, &value) || value.role != PY_ROLE_CONSTANT ||
		value.shift_sign || value.name_count > 0)
		return;
	out->resets[out->reset_count++] = (struct py_reset){ graph->all[at].argument, value.index };
}

void py_sums_find(struct py_graph *graph, const struct py_bytecode *code, struct py_sums *out)
{
	struct py_store store;
	for (int i = 0; i < (int)graph->count; i++) {
		const struct py_instruction *instruction = &graph->all[i];
		if (instruction->role != PY_ROLE_STORE_ATTRIBUTE ||
			py_bytecode_loop_at(code, 2 * (int64_t)instruction->begin) != PY_NO_LOOP)
			continue;
		store = (struct py_store){ .index = instruction->argument };
		if (!py_operand_of_sum(graph, i, &store))
			add_reset(graph, i, out);
		else if (out->sum_count < PY_SUMS_MAX)
			out->sums[out->sum_count++] = (struct py_sum){
				.name = store.index, .offset = 2 * instruction->begin, .holder = store.holder, .added = store.added
			};
	}
	for (size_t i = 0; i < out->sum_count; i++)
		out->sums[i].is_once = adds_once(graph, out, out->sums[i].name);
}
