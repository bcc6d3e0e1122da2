#include "src/sources/python/code/py_handlers.h"

#include <string.h>

enum { NUMBER_BITS = 6, NUMBER_GOES_ON = 1 << NUMBER_BITS, NUMBER_BYTES_MAX = 4, NUMBERS = 4 };

static bool may_lead(const struct py_graph *graph, int at)
{
	return graph->all[at].role == PY_ROLE_RAISE || py_graph_is_jumped_back_to(graph, at);
}

/* -- to 3.10: from a SETUP up to its target -- */

/* The innermost `try` lies last on the stack. */
static void link_setups(struct py_graph *graph)
{
	size_t depth = 0;
	for (int i = 0; i < (int)graph->count; i++) {
		struct py_instruction *instruction = &graph->all[i];
		while (depth > 0 && graph->all[graph->stack[depth - 1]].next[1] <= i)
			depth--;
		if (depth > 0 && may_lead(graph, i))
			instruction->next[PY_GRAPH_TO_HANDLER] = graph->all[graph->stack[depth - 1]].next[1];
		if (instruction->role == PY_ROLE_SETUP)
			graph->stack[depth++] = i;
	}
}

/* -- since 3.11 -- */

static bool read_number(const unsigned char **at, const unsigned char *end, uint32_t *out)
{
	*out = 0;
	for (unsigned i = 0; i < NUMBER_BYTES_MAX && *at < end; i++) {
		unsigned char byte = *(*at)++;
		*out = *out << NUMBER_BITS | (byte & (NUMBER_GOES_ON - 1));
		if (!(byte & NUMBER_GOES_ON))
			return true;
	}
	return false;
}

/* Start, length, and target in units; the stack's depth and whether the handler gets the offset. The ranges are in
 * order and do not overlap. */
static bool read_range(const struct py_graph *graph, const unsigned char **at, const unsigned char *end, uint32_t units,
	uint32_t out[NUMBERS])
{
	for (unsigned i = 0; i < NUMBERS; i++)
		if (!read_number(at, end, &out[i]))
			return false;
	return out[0] <= units && out[1] <= units - out[0] && out[2] < units && graph->at[out[2]] != PY_GRAPH_NOWHERE &&
		(out[1] == 0 || graph->at[out[0]] != PY_GRAPH_NOWHERE);
}

/* What other handlers are for lies between the parts of a `try`, of which the first begins it. That of a `with`, and
 * what ends a handler, gets the offset. */
static bool link_table(struct py_graph *graph, const unsigned char *table, size_t size)
{
	const unsigned char *at = table, *end = table + size;
	uint32_t units = graph->all[graph->count - 1].end, range[NUMBERS], last = 0;
	memset(graph->marks, 0, graph->count);
	while (at < end) {
		if (!read_range(graph, &at, end, units, range) || range[0] < last)
			return false;
		last = range[0] + range[1];
		int handler = graph->at[range[2]];
		for (int i = range[1] ? graph->at[range[0]] : (int)graph->count;
			 i < (int)graph->count && graph->all[i].begin < last; i++) {
			struct py_instruction *instruction = &graph->all[i];
			bool is_first = !graph->marks[handler];
			instruction->begins_try = is_first && !(range[3] & 1);
			if (is_first || may_lead(graph, i))
				instruction->next[PY_GRAPH_TO_HANDLER] = handler;
			graph->marks[handler] = 1;
		}
	}
	return true;
}

bool py_handlers_link(struct py_graph *graph, const unsigned char *table, size_t size)
{
	if (graph->minor <= 10)
		link_setups(graph);
	else if (!link_table(graph, table, size))
		return false;
	py_graph_link_back(graph);
	return true;
}
