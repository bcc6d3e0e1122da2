#include "src/sources/python/code/py_graph.h"

#include <stdlib.h>
#include <string.h>

enum { WALK_MAX = 64 };

static bool read_instructions(struct py_graph *graph, const unsigned char *bytes, size_t units)
{
	uint32_t unit = 0, argument = 0, begin = 0;
	while (unit < units) {
		unsigned char opcode = bytes[2 * unit];
		enum py_role role = py_opcode_role(graph->opcodes, opcode);
		if (role == PY_ROLE_UNKNOWN)
			return false;
		argument = argument << 8 | bytes[2 * unit + 1];
		graph->at[unit] = PY_GRAPH_NOWHERE;
		unit += 1 + py_opcode_caches(graph->opcodes, opcode);
		if (role == PY_ROLE_EXTENDED)
			continue;
		graph->at[begin] = (int)graph->count;
		graph->all[graph->count++] = (struct py_instruction){ .begin = begin,
			.end = unit < units ? unit : (uint32_t)units,
			.argument = argument,
			.role = role,
			.opcode = opcode,
			.next = { PY_GRAPH_NOWHERE, PY_GRAPH_NOWHERE, PY_GRAPH_NOWHERE } };
		argument = 0;
		begin = unit;
	}
	return graph->count > 0;
}

/* The unit that it jumps to. */
static bool target_of(const struct py_graph *graph, const struct py_instruction *instruction, int64_t *unit)
{
	int64_t distance = graph->minor <= 9 ? instruction->argument / 2 : instruction->argument;
	switch (instruction->role) {
	case PY_ROLE_FOR:
	case PY_ROLE_JUMP:
	case PY_ROLE_BRANCH:
	case PY_ROLE_SETUP:
	case PY_ROLE_SEND: *unit = instruction->end + distance; return true;
	case PY_ROLE_JUMP_BACK:
	case PY_ROLE_RESEND:
	case PY_ROLE_BRANCH_BACK: *unit = instruction->end - distance; return true;
	case PY_ROLE_JUMP_ABSOLUTE:
	case PY_ROLE_BRANCH_ABSOLUTE: *unit = distance; return true;
	default: return false;
	}
}

static bool goes_on(enum py_role role)
{
	return role != PY_ROLE_STOP && role != PY_ROLE_RAISE && role != PY_ROLE_JUMP && role != PY_ROLE_JUMP_BACK &&
		role != PY_ROLE_RESEND && role != PY_ROLE_JUMP_ABSOLUTE;
}

/* False: a jump does not lead to an instruction, so the bytes were not understood. */
static bool link_instructions(struct py_graph *graph, size_t units)
{
	for (size_t i = 0; i < graph->count; i++) {
		struct py_instruction *instruction = &graph->all[i];
		int64_t unit;
		if (goes_on(instruction->role) && i + 1 < graph->count)
			instruction->next[0] = (int)i + 1;
		/* It is executed again, with the constant before it, until its iterator ends. */
		if (instruction->role == PY_ROLE_YIELD_FROM && i > 0)
			instruction->next[1] = (int)i - 1;
		if (!target_of(graph, instruction, &unit))
			continue;
		if (unit < 0 || unit >= (int64_t)units || graph->at[unit] == PY_GRAPH_NOWHERE)
			return false;
		instruction->next[1] = graph->at[unit];
	}
	return true;
}

void py_graph_link_back(struct py_graph *graph)
{
	memset(graph->first, 0, (graph->count + 1) * sizeof *graph->first);
	for (size_t i = 0; i < graph->count * PY_GRAPH_EDGES; i++)
		if (graph->all[i / PY_GRAPH_EDGES].next[i % PY_GRAPH_EDGES] != PY_GRAPH_NOWHERE)
			graph->first[graph->all[i / PY_GRAPH_EDGES].next[i % PY_GRAPH_EDGES]]++;
	int sum = 0;
	for (size_t i = 0; i <= graph->count; i++) {
		sum += graph->first[i];
		graph->first[i] = sum;
	}
	for (size_t i = graph->count * PY_GRAPH_EDGES; i-- > 0;)
		if (graph->all[i / PY_GRAPH_EDGES].next[i % PY_GRAPH_EDGES] != PY_GRAPH_NOWHERE)
			graph->before[--graph->first[graph->all[i / PY_GRAPH_EDGES].next[i % PY_GRAPH_EDGES]]] =
				(int)(i / PY_GRAPH_EDGES);
}

int py_graph_count_before(const struct py_graph *graph, int at) { return graph->first[at + 1] - graph->first[at]; }

bool py_graph_is_jumped_back_to(const struct py_graph *graph, int at)
{
	for (int i = graph->first[at]; i < graph->first[at + 1]; i++)
		if (graph->before[i] >= at)
			return true;
	return false;
}

/* Marks in `marks` what follows `from` up to `header`; returns whether that is reached. */
static bool mark_ahead(const struct py_graph *graph, int from, int header, unsigned char *marks)
{
	size_t depth = 0;
	bool is_reached = false;
	memset(marks, 0, graph->count);
	graph->stack[depth++] = from;
	marks[from] = 1;
	while (depth > 0) {
		const struct py_instruction *instruction = &graph->all[graph->stack[--depth]];
		for (unsigned i = 0; i < PY_GRAPH_EDGES; i++) {
			int next = instruction->next[i];
			is_reached |= next == header;
			if (next != PY_GRAPH_NOWHERE && next != header && !marks[next]) {
				marks[next] = 1;
				graph->stack[depth++] = next;
			}
		}
	}
	return is_reached;
}

bool py_graph_mark_ahead(struct py_graph *graph, int from, int header)
{
	return mark_ahead(graph, from, header, graph->marks);
}

/* Since 3.12 a handler lies behind all else and jumps back to what follows its `try`. */
static void find_outside(struct py_graph *graph, int header)
{
	if (header > 0)
		mark_ahead(graph, 0, header, graph->outside);
	else
		memset(graph->outside, 0, graph->count);
}

size_t py_graph_mark_back(struct py_graph *graph, int header, int barrier, bool *is_entered)
{
	size_t depth = 0, count = 0;
	memset(graph->marks, 0, graph->count);
	*is_entered = false;
	find_outside(graph, header);
	for (int i = graph->first[header]; i < graph->first[header + 1]; i++) {
		int at = graph->before[i];
		if (at >= header && at != barrier && !graph->outside[at] && !graph->marks[at]) {
			graph->marks[at] = 1;
			graph->stack[depth++] = at;
		}
	}
	while (depth > 0) {
		int at = graph->stack[--depth];
		count++;
		if (at == header)
			continue;
		*is_entered |= py_graph_count_before(graph, at) == 0;
		for (int i = graph->first[at]; i < graph->first[at + 1]; i++) {
			int before = graph->before[i];
			if (before != barrier && !graph->marks[before]) {
				graph->marks[before] = 1;
				graph->stack[depth++] = before;
			}
		}
	}
	return count;
}

void py_graph_free(struct py_graph *graph)
{
	free(graph->all);
	free(graph->at);
	free(graph->first);
	free(graph->before);
	free(graph->stack);
	free(graph->marks);
	free(graph->outside);
}

bool py_graph_make(struct py_graph *graph, const unsigned char *bytes, size_t units)
{
	graph->all = malloc(units * sizeof *graph->all);
	graph->at = malloc(units * sizeof *graph->at);
	graph->first = malloc((units + 1) * sizeof *graph->first);
	graph->before = malloc(units * PY_GRAPH_EDGES * sizeof *graph->before);
	graph->stack = malloc(units * sizeof *graph->stack);
	graph->marks = malloc(units);
	graph->outside = malloc(units);
	if (!graph->all || !graph->at || !graph->first || !graph->before || !graph->stack || !graph->marks ||
		!graph->outside)
		return false;
	for (size_t i = 0; i < units; i++)
		graph->at[i] = PY_GRAPH_NOWHERE;
	if (!read_instructions(graph, bytes, units) || !link_instructions(graph, units))
		return false;
	py_graph_link_back(graph);
	return true;
}

bool py_graph_adds_in_place(const struct py_graph *graph, int at)
{
	return graph->all[at].role == PY_ROLE_ADD && (graph->minor < 11 || graph->all[at].argument == PY_ADD_IN_PLACE);
}

bool py_graph_leads_to_raise(const struct py_graph *graph, int at)
{
	for (unsigned i = 0; i < WALK_MAX && at != PY_GRAPH_NOWHERE; i++) {
		const struct py_instruction *instruction = &graph->all[at];
		if (instruction->role == PY_ROLE_RAISE)
			return true;
		if (instruction->next[0] != PY_GRAPH_NOWHERE && instruction->next[1] != PY_GRAPH_NOWHERE)
			return false;
		at = instruction->next[instruction->next[0] == PY_GRAPH_NOWHERE];
	}
	return false;
}

uint32_t py_graph_relation(const struct py_graph *graph, int comparison)
{
	return graph->all[comparison].argument >> (graph->minor >= 13 ? 5 : graph->minor == 12 ? 4 : 0);
}
