#include "src/sources/python/loops/py_bytecode.h"

#include <stdlib.h>
#include <string.h>

#include "src/sources/python/loops/py_assigned.h"
#include "src/sources/python/loops/py_exits.h"
#include "src/sources/python/code/py_graph.h"
#include "src/sources/python/loops/py_gains.h"
#include "src/sources/python/code/py_handlers.h"
#include "src/sources/python/code/py_instructions.h"
#include "src/sources/python/loops/py_operands.h"
#include "src/sources/python/loops/py_sums.h"
#include "src/sources/python/loops/py_yields.h"

enum { ARGUMENTS_MAX = 8, CANDIDATES_MAX = 8 * PY_CODE_LOOPS_MAX };

/* -- loops -- */

static bool is_loop(const struct py_graph *graph, int header)
{
	for (unsigned i = 0; i < PY_GRAPH_EDGES; i++) {
		int next = graph->all[header].next[i];
		if (next != PY_GRAPH_NOWHERE && (next == header || graph->marks[next]))
			return graph->marks[header];
	}
	return false;
}

struct found {
	int header;
	size_t size;
};

static int compare_sizes(const void *left, const void *right)
{
	const struct found *a = left, *b = right;
	return a->size != b->size ? (a->size < b->size ? 1 : -1) : (a->header > b->header) - (a->header < b->header);
}

/* Larger loops first, so that a loop comes after those around it. False: there are too many. */
static bool find_loops(struct py_graph *graph, struct found found[PY_CODE_LOOPS_MAX], size_t *count)
{
	size_t candidates = 0;
	bool unused;
	*count = 0;
	for (size_t i = 0; i < graph->count; i++) {
		if (!py_graph_is_jumped_back_to(graph, (int)i))
			continue;
		if (++candidates > CANDIDATES_MAX)
			return false;
		size_t size = py_graph_mark_back(graph, (int)i, PY_GRAPH_NOWHERE, &unused);
		if (size == 0 || !is_loop(graph, (int)i))
			continue;
		if (*count == PY_CODE_LOOPS_MAX)
			return false;
		found[(*count)++] = (struct found){ (int)i, size };
	}
	qsort(found, *count, sizeof *found, compare_sizes);
	return true;
}

static unsigned depth_in(const struct py_bytecode *code, int parent)
{
	return parent == PY_NO_LOOP ? 0 : code->loops[parent].depth + !code->loops[parent].is_delegation;
}

static bool is_delegation(const struct py_graph *graph, int header)
{
	return graph->all[header].role == PY_ROLE_SEND ||
		(header + 1 < (int)graph->count && graph->all[header + 1].role == PY_ROLE_YIELD_FROM);
}

/* Before a `for` its iterator is made, or is the argument of a generator expression. What is inside inlines, too. */
static bool is_inlined(const struct py_graph *graph, int header, const struct py_bytecode *code, int parent)
{
	enum py_role before = header > 0 ? graph->all[header - 1].role : PY_ROLE_OTHER;
	return graph->minor >= 12 &&
		((parent != PY_NO_LOOP && code->loops[parent].is_inlined) ||
			(graph->all[header].role == PY_ROLE_FOR && before != PY_ROLE_ITER && before != PY_ROLE_LOCAL));
}

/* A handler that is not for the exception raises it again: so does what has no handler. */
static bool leaves(const struct py_graph *graph, int next)
{
	return next != PY_GRAPH_NOWHERE && !graph->marks[next] && graph->all[next].role != PY_ROLE_RAISE;
}

/* The loop is marked. A handler leaves it as `break` does if its `try` is in the loop. */
static bool has_break(const struct py_graph *graph, int header)
{
	for (size_t i = 0; i < graph->count; i++) {
		const struct py_instruction *instruction = &graph->all[i];
		unsigned edges = PY_GRAPH_TO_HANDLER + instruction->begins_try;
		for (unsigned edge = 0; graph->marks[i] && (int)i != header && edge < edges; edge++)
			if (leaves(graph, instruction->next[edge]))
				return true;
	}
	return false;
}

/* The loop is marked. */
static uint32_t last_back(const struct py_graph *graph, int header)
{
	for (size_t i = graph->count; i-- > 0;)
		for (unsigned edge = 0; graph->marks[i] && edge < PY_GRAPH_EDGES; edge++)
			if (graph->all[i].next[edge] == header)
				return 2 * graph->all[i].begin;
	return 2 * graph->all[header].begin;
}

static void add_loop(struct py_graph *graph, int header, struct py_bytecode *out)
{
	const struct py_instruction *first = &graph->all[header];
	int number = (int)out->loop_count++, parent = out->loop_at[first->begin] - 1;
	bool unused;
	py_graph_mark_back(graph, header, PY_GRAPH_NOWHERE, &unused);
	for (size_t i = 0; i < graph->count; i++)
		if (graph->marks[i])
			memset(out->loop_at + graph->all[i].begin, number + 1, graph->all[i].end - graph->all[i].begin);
	out->loops[number] = (struct py_code_loop){
		.offset = 2 * first->begin,
		.offset_end = 2 * first->end,
		.offset_back = last_back(graph, header),
		.is_for = first->role == PY_ROLE_FOR,
		.has_break = has_break(graph, header),
		.is_inlined = is_inlined(graph, header, out, parent),
		.is_delegation = is_delegation(graph, header),
		.parent = parent,
		.depth = depth_in(out, parent),
		.iterated = { .callee = PY_NO_INDEX, .first = PY_NO_INDEX, .last = PY_NO_INDEX, .local = PY_NO_INDEX },
		.advance = { .local = PY_NO_INDEX },
		.yield_at = PY_NO_INDEX,
	};
}

static int loop_of(const struct py_bytecode *code, const struct py_instruction *instruction)
{
	return code->loop_at[instruction->begin] - 1;
}

/* -- what a `for` iterates over -- */

/* Whether this one alone leads to the next. */
static bool is_straight(const struct py_graph *graph, int at)
{
	return at > 0 && py_graph_count_before(graph, at) == 1;
}

/* Walks back from a call over its arguments, the code of which is straight. starts[i]: where the last i + 1 begin.
 * False: they are not understood. */
static bool find_arguments(const struct py_graph *graph, int call, uint32_t count, int starts[ARGUMENTS_MAX])
{
	int64_t sum = 0, effect;
	uint32_t known = 0;
	for (int at = call - 1; known < count; at--) {
		if (at < 1 || !is_straight(graph, at + 1))
			return false;
		const struct py_instruction *instruction = &graph->all[at];
		if (!py_opcode_effect(graph->opcodes, instruction->opcode, instruction->argument, &effect))
			return false;
		sum += effect;
		while (known < count && sum > (int64_t)known)
			starts[known++] = at;
	}
	return true;
}

static uint32_t constant_at(const struct py_graph *graph, int first, int end)
{
	const struct py_instruction *instruction = &graph->all[first];
	if (end != first + 1)
		return PY_NO_INDEX;
	if (instruction->role == PY_ROLE_SMALL_INT && instruction->argument < 256)
		return PY_SMALL_INT | instruction->argument;
	return instruction->role == PY_ROLE_CONSTANT ? instruction->argument : PY_NO_INDEX;
}

static uint32_t callee_at(const struct py_graph *graph, int at)
{
	if (at >= 0 && graph->all[at].role == PY_ROLE_NULL)
		at--;
	if (at < 0)
		return PY_NO_INDEX;
	const struct py_instruction *callee = &graph->all[at];
	switch (callee->role) {
	case PY_ROLE_NAME: return callee->argument;
	case PY_ROLE_GLOBAL: return graph->minor >= 11 ? callee->argument >> 1 : callee->argument;
	case PY_ROLE_ATTRIBUTE: return graph->minor >= 12 ? callee->argument >> 1 : callee->argument;
	default: return PY_NO_INDEX;
	}
}

static void read_call(const struct py_graph *graph, int call, struct py_iterated *out)
{
	int starts[ARGUMENTS_MAX], end = call;
	uint32_t count = graph->all[call].argument;
	if (end > 0 && graph->all[end - 1].role == PY_ROLE_PRECALL)
		end--;
	if (end > 0 && graph->all[end - 1].role == PY_ROLE_KEYWORDS) {
		out->has_keywords = true;
		end--;
	}
	if (graph->all[call].role == PY_ROLE_CALL_KEYWORDS) {
		out->has_keywords = true;
		end--; /* the constant with the names */
	}
	if (end < 1 || count > ARGUMENTS_MAX || !find_arguments(graph, end, count, starts))
		return;
	int first = count > 0 ? starts[count - 1] : end;
	out->callee = callee_at(graph, first - 1);
	out->argument_count = count;
	if (count > 0) {
		out->first = constant_at(graph, first, count > 1 ? starts[count - 2] : end);
		out->last = constant_at(graph, starts[0], end);
	}
	if (count > 1) {
		/* One instruction may load the first two. */
		bool is_half = starts[count - 2] == first;
		struct py_cursor cursor = { is_half ? first : starts[count - 2] - 1, is_half };
		out->has_start = py_operand_read(graph, &cursor, &out->start) && cursor.at == first - 1 && !cursor.is_half;
	}
}

static void read_iterated(const struct py_graph *graph, int header, struct py_iterated *out)
{
	int iter = header - 1;
	if (iter < 1 || graph->all[iter].role != PY_ROLE_ITER || !is_straight(graph, iter))
		return;
	const struct py_instruction *source = &graph->all[iter - 1];
	if (source->role == PY_ROLE_LOCAL)
		out->local = source->argument;
	else if (source->role == PY_ROLE_CALL || source->role == PY_ROLE_CALL_KEYWORDS)
		read_call(graph, iter - 1, out);
}

/* -- stores -- */

static bool is_same_variable(const struct py_store *a, const struct py_store *b)
{
	return a->role == b->role && a->index == b->index && py_operand_is_same(&a->holder, &b->holder);
}

static void add_store(struct py_bytecode *code, const struct py_store *store)
{
	for (size_t i = 0; i < code->store_count; i++) {
		struct py_store *other = &code->stores[i];
		if (!is_same_variable(other, store) || other->loop != store->loop)
			continue;
		other->is_sum |= store->is_sum;
		other->is_again = true;
		if (!py_operand_is_same(&other->added, &store->added))
			other->added.role = 0;
		return;
	}
	if (code->store_count < PY_STORES_MAX)
		code->stores[code->store_count++] = *store;
}

/* Whether a loop inside this one's assigns the variable too. */
static bool is_assigned_deeper(const struct py_bytecode *code, const struct py_store *store)
{
	for (size_t i = 0; i < code->store_count; i++) {
		const struct py_store *other = &code->stores[i];
		int at = other->loop;
		if (!is_same_variable(other, store) || at == store->loop)
			continue;
		while (at != PY_NO_LOOP && at != store->loop)
			at = code->loops[at].parent;
		if (at == store->loop)
			return true;
	}
	return false;
}

static void keep_deepest_stores(struct py_bytecode *code)
{
	struct py_store kept[PY_STORES_MAX];
	size_t count = 0;
	for (size_t i = 0; i < code->store_count; i++)
		if (!is_assigned_deeper(code, &code->stores[i]))
			kept[count++] = code->stores[i];
	memcpy(code->stores, kept, count * sizeof *kept);
	code->store_count = count;
}

static void find_stores(const struct py_graph *graph, struct py_bytecode *code)
{
	for (size_t i = 0; i < graph->count; i++) {
		const struct py_instruction *instruction = &graph->all[i];
		int loop = loop_of(code, instruction), before;
		struct py_store store = { .role = instruction->role,
			.index = instruction->argument,
			.offset = 2 * instruction->begin,
			.loop = loop,
			.is_sum = i > 0 && py_graph_adds_in_place(graph, (int)i - 1) };
		if (loop == PY_NO_LOOP || code->loops[loop].is_delegation)
			continue;
		if (store.is_sum)
			py_operand_of_added(graph, (int)i - 1, &store.added, &before);
		switch (instruction->role) {
		case PY_ROLE_STORE_FAST:
		case PY_ROLE_STORE_NAME:
		case PY_ROLE_STORE_GLOBAL:
		case PY_ROLE_STORE_CELL: add_store(code, &store); break;
		case PY_ROLE_STORE_ATTRIBUTE:
		case PY_ROLE_STORE_SUBSCRIPT:
			store.is_sum = true;
			if (py_operand_of_sum(graph, (int)i, &store))
				add_store(code, &store);
			break;
		case PY_ROLE_STORE_TWO:
		case PY_ROLE_STORE_AND_LOAD:
			store.role = PY_ROLE_STORE_FAST;
			store.index = instruction->argument >> 4;
			add_store(code, &store);
			if (instruction->role == PY_ROLE_STORE_TWO) {
				store.index = instruction->argument & 15;
				add_store(code, &store);
			}
			break;
		default: break;
		}
	}
}

/* What is deleted is assigned again, too. An index may be that of variables of several kinds. */
static void note_deletions(const struct py_graph *graph, struct py_bytecode *code)
{
	for (size_t i = 0; i < graph->count; i++)
		for (size_t k = 0; graph->all[i].role == PY_ROLE_DELETE && k < code->store_count; k++)
			code->stores[k].is_again |= code->stores[k].index == graph->all[i].argument &&
				code->stores[k].loop == loop_of(code, &graph->all[i]);
}

/* A loop around the comparison's, or inside it, may assign it. */
static bool is_assigned(const struct py_bytecode *code, const struct py_operand *operand)
{
	for (size_t i = 0; i < code->store_count; i++)
		if (py_operand_is_stored(operand, &code->stores[i]))
			return true;
	return false;
}

/* "x += n" adds the same each time if nothing assigns n. */
static void forget_assigned(struct py_bytecode *code)
{
	for (size_t i = 0; i < code->store_count; i++)
		if (is_assigned(code, &code->stores[i].added))
			code->stores[i].added.role = 0;
}

/* "while self.step < self.steps: self.train_step()" */
static void add_compared(struct py_bytecode *code, const struct py_exit *exit, const struct py_operand *operand)
{
	struct py_store store = { .offset = exit->offset, .loop = exit->loop, .is_compared = true, .holder = *operand };
	if (operand->role == PY_ROLE_CONSTANT || operand->shift_sign || is_assigned(code, operand))
		return;
	if (operand->name_count > 0) {
		struct py_operand base = { .role = operand->role, .index = operand->index };
		store.is_rebound = is_assigned(code, &base);
		store.index = operand->names[--store.holder.name_count];
		store.role = store.index & PY_OPERAND_KEY ? PY_ROLE_STORE_SUBSCRIPT : PY_ROLE_STORE_ATTRIBUTE;
	} else if (operand->role != PY_ROLE_LOCAL) {
		store.index = operand->index;
		store.role = operand->role == PY_ROLE_NAME ? PY_ROLE_STORE_NAME : PY_ROLE_STORE_GLOBAL;
		store.holder = (struct py_operand){ 0 };
	}
	if (store.role)
		add_store(code, &store);
}

static void find_compared(struct py_bytecode *code)
{
	for (size_t i = 0; i < code->exit_count; i++)
		for (size_t side = 0; side < PY_EXIT_SIDES; side++)
			add_compared(code, &code->exits[i], &code->exits[i].sides[side].operand);
}

/* -- all of it -- */

static bool fill(struct py_graph *graph, struct py_bytecode *out)
{
	struct found found[PY_CODE_LOOPS_MAX];
	size_t count;
	if (!find_loops(graph, found, &count))
		return false;
	for (size_t i = 0; i < count; i++)
		add_loop(graph, found[i].header, out);
	for (size_t i = 0; i < count; i++) {
		py_yields_find(graph, out, (int)i);
		if (out->loops[i].is_for)
			read_iterated(graph, found[i].header, &out->loops[i].iterated);
	}
	out->is_generator = py_yields_any(graph, out);
	find_stores(graph, out);
	note_deletions(graph, out);
	py_gains_find(graph, out);
	py_sums_find(graph, out, &out->sums);
	forget_assigned(out);
	keep_deepest_stores(out);
	py_assigned_find(graph, out);
	py_exits_find(graph, out);
	find_compared(out);
	return true;
}

bool py_bytecode_parse(
	unsigned minor, struct py_code_bytes instructions, struct py_code_bytes handlers, struct py_bytecode *out)
{
	struct py_graph graph = { .minor = minor, .opcodes = py_opcodes_of(minor) };
	size_t units = instructions.size / 2;
	if (!graph.opcodes || units == 0 || instructions.size > PY_BYTES_MAX)
		return false;
	out->unit_count = units;
	out->loop_count = out->store_count = out->exit_count = out->gain_count = 0;
	out->sums.sum_count = out->sums.reset_count = 0;
	out->loop_at = calloc(units, 1);
	out->is_after_yield = calloc(units, 1);
	out->is_added = calloc(units, 1);
	bool is_good = out->loop_at && out->is_after_yield && out->is_added &&
		py_graph_make(&graph, instructions.bytes, units) && py_handlers_link(&graph, handlers.bytes, handlers.size) &&
		fill(&graph, out);
	py_graph_free(&graph);
	if (!is_good)
		py_bytecode_release(out);
	return is_good;
}

void py_bytecode_release(struct py_bytecode *code)
{
	free(code->loop_at);
	free(code->is_after_yield);
	free(code->is_added);
	code->loop_at = code->is_after_yield = code->is_added = NULL;
	code->unit_count = code->loop_count = code->store_count = code->exit_count = code->gain_count = 0;
}

int py_bytecode_loop_at(const struct py_bytecode *code, int64_t offset)
{
	return offset >= 0 && (uint64_t)offset / 2 < code->unit_count ? code->loop_at[offset / 2] - 1 : PY_NO_LOOP;
}

bool py_bytecode_is_in(const struct py_bytecode *code, int64_t offset, int loop)
{
	int at = py_bytecode_loop_at(code, offset);
	while (at != PY_NO_LOOP && at != loop)
		at = code->loops[at].parent;
	return at == loop && loop != PY_NO_LOOP;
}
