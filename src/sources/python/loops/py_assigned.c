#include "src/sources/python/loops/py_assigned.h"

/* Others are mostly within an `if`. */
enum { TRIED_MAX = 8 };

static bool is_plain(const struct py_store *store)
{
	bool is_variable = store->role == PY_ROLE_STORE_FAST || store->role == PY_ROLE_STORE_NAME ||
		store->role == PY_ROLE_STORE_GLOBAL || store->role == PY_ROLE_STORE_CELL;
	return is_variable && !store->is_sum && !store->is_compared && !store->is_again;
}

bool py_assigned_is_in_each(struct py_graph *graph, const struct py_code_loop *loop, const struct py_store *store)
{
	int header = graph->at[loop->offset / 2], barrier = graph->at[store->offset / 2];
	bool unused;
	if (header == PY_GRAPH_NOWHERE || barrier == PY_GRAPH_NOWHERE || header == barrier)
		return false;
	py_graph_mark_back(graph, header, barrier, &unused);
	return !graph->marks[header];
}

static size_t assigned_in(struct py_graph *graph, const struct py_bytecode *code, int loop)
{
	unsigned tried = 0;
	for (size_t i = 0; i < code->store_count && tried < TRIED_MAX; i++) {
		const struct py_store *store = &code->stores[i];
		if (store->loop != loop || !is_plain(store))
			continue;
		tried++;
		if (py_assigned_is_in_each(graph, &code->loops[loop], store))
			return i;
	}
	return PY_STORES_MAX;
}

void py_assigned_find(struct py_graph *graph, struct py_bytecode *code)
{
	for (size_t i = 0; i < code->loop_count; i++) {
		bool is_countable = !code->loops[i].is_inlined && !code->loops[i].is_delegation;
		code->loops[i].assigned = is_countable ? assigned_in(graph, code, (int)i) : PY_STORES_MAX;
	}
}
