#include "src/sources/python/code/py_size.h"

#include <stdlib.h>
#include <string.h>

#include "src/sources/python/code/py_graph.h"
#include "src/sources/python/code/py_instructions.h"
#include "src/sources/python/py_objects.h"
#include "src/sources/python/py_types.h"
#include "src/sources/python/remote.h"

/* From CPython's Include/cpython/{object,funcobject,code}.h, Include/internal/pycore_function.h and
 * Objects/descrobject.c, and NumPy's ndarraytypes.h: the same in 1.x and 2.x. */
enum {
	TYPE = 8,
	SIZE = 16, /* also of a dict, a str, a bytes */
	PROPERTY_GET = 16,
	CODE_CONSTANTS_10 = 56, /* to 3.10 */
	CODE_NAMES_10 = 64,
	CODE_CONSTANTS = 24,
	CODE_NAMES = 32,
	ARRAY_DIMENSION_COUNT = 24,
	ARRAY_DIMENSIONS = 32,
};
enum { DEPTH_MAX = 5, INSTRUCTIONS_MAX = 64, ITEMS_MAX = 256, NAME_SIZE = 48 };
#define NUMBER_MAX (INT64_C(1) << 40)

/* An int, or the address of an object. */
struct value {
	bool is_int;
	int64_t number;
	uint64_t object;
};

/* A method without arguments of which the result is sought. */
struct method {
	const struct py_process *process;
	struct py_graph graph;
	uint64_t self, names, constants;
	unsigned depth;
};

static bool call(const struct py_process *process, uint64_t function, uint64_t self, unsigned depth, struct value *out);
static bool evaluate(const struct method *method, int *at, struct value *out);

/* An int of one digit below 0. */
static bool negative_int(const struct py_process *process, uint64_t object, int64_t *out)
{
	uint64_t size;
	uint32_t digit;
	if (!py_is(process, object, PY_INT) || !remote_word(process->pid, object + SIZE, &size) ||
		!remote_read(process->pid, object + SIZE + sizeof size, &digit, sizeof digit))
		return false;
	*out = -(int64_t)digit;
	return process->location.layout.minor >= 12 ? (size & 3) == 2 && size >> 3 == 1 : (int64_t)size == -1;
}

static bool is_int(const struct py_process *process, const struct value *value, int64_t *out)
{
	uint64_t number;
	if (value->is_int)
		*out = value->number;
	else if (py_int_read(process, value->object, &number))
		*out = (int64_t)number;
	else if (!negative_int(process, value->object, out))
		return false;
	return *out <= NUMBER_MAX && *out >= -NUMBER_MAX;
}

static bool item_of(const struct py_process *process, uint64_t object, int64_t index, uint64_t *out)
{
	uint64_t size, items = object + py_layout_tuple_items(&process->location.layout);
	if (!py_size_read(process, object, &size) || py_is(process, object, PY_RANGE))
		return false;
	index += index < 0 ? (int64_t)size : 0;
	if (index < 0 || (uint64_t)index >= size ||
		(py_is(process, object, PY_LIST) && !remote_word(process->pid, object + SIZE + 8, &items)))
		return false;
	return remote_word(process->pid, items + 8 * (uint64_t)index, out) && *out;
}

/* -- attributes -- */

/* Of its class, or of one that it is derived from. */
static bool find_in_classes(const struct py_process *process, uint64_t object, const char *name, uint64_t *out)
{
	uint64_t type, bases[PY_BASES_MAX];
	size_t count = object && remote_word(process->pid, object + TYPE, &type) ? py_bases_read(process, type, bases) : 0;
	for (size_t i = 0; i < count; i++) {
		struct py_attribute attribute = { .slot = 0 };
		if (py_class_attribute_find(process, bases[i], name, &attribute))
			return remote_word(process->pid, attribute.slot, out) && *out;
	}
	return false;
}

static bool attribute_of(
	const struct py_process *process, uint64_t object, const char *name, unsigned depth, struct value *out)
{
	uint64_t getter;
	*out = (struct value){ .object = 0 };
	if (py_attribute_get(process, object, name, &out->object))
		return true;
	if (!find_in_classes(process, object, name, &out->object))
		return false;
	if (!py_is_derived(process, out->object, "property"))
		return true;
	return remote_word(process->pid, out->object + PROPERTY_GET, &getter) &&
		call(process, getter, object, depth + 1, out);
}

/* -- len() -- */

static bool array_size(const struct py_process *process, uint64_t object, uint64_t *out)
{
	int count;
	uint64_t dimensions;
	return remote_read(process->pid, object + ARRAY_DIMENSION_COUNT, &count, sizeof count) && count > 0 &&
		remote_word(process->pid, object + ARRAY_DIMENSIONS, &dimensions) && remote_word(process->pid, dimensions, out);
}

static bool size_of(const struct py_process *process, uint64_t object, unsigned depth, int64_t *out)
{
	static const char *const sized[] = { "dict", "str", "bytes", "collections.deque", "array.array" };
	uint64_t function, size;
	struct value value;
	if (!object || depth > DEPTH_MAX)
		return false;
	/* Of classes of C it is none of Python's functions. */
	if (find_in_classes(process, object, "__len__", &function) && py_is_derived(process, function, "function"))
		return call(process, function, object, depth + 1, &value) && is_int(process, &value, out) && *out >= 0;
	bool is_known = py_size_read(process, object, &size) ||
		(py_is_derived(process, object, "numpy.ndarray") && array_size(process, object, &size));
	for (size_t i = 0; !is_known && i < sizeof sized / sizeof *sized; i++)
		is_known = py_is_derived(process, object, sized[i]) && remote_word(process->pid, object + SIZE, &size);
	*out = is_known && size <= (uint64_t)NUMBER_MAX ? (int64_t)size : -1;
	return *out >= 0;
}

/* -- expressions, read backward from their last instruction -- */

static bool constant_of(const struct method *method, uint32_t index, struct value *out)
{
	uint64_t items[ITEMS_MAX];
	size_t count = py_items_read(method->process, method->constants, items, ITEMS_MAX);
	*out = (struct value){ .object = index < count ? items[index] : 0 };
	return out->object;
}

static bool name_of(const struct method *method, uint32_t index, char name[NAME_SIZE])
{
	uint64_t items[ITEMS_MAX];
	size_t count = py_items_read(method->process, method->names, items, ITEMS_MAX);
	return index < count && py_text_read(method->process, items[index], name, NAME_SIZE);
}

/* '+', '-', '*', '/' (//), '%'; 0: none of these. */
static char operator_of(const struct py_graph *graph, const struct py_instruction *instruction)
{
	/* Lib/opcode.py to 3.10; since 3.11 _nb_ops there. */
	static const struct {
		unsigned char opcode, argument;
		char sign;
	} operators[] = { { 23, 0, '+' }, { 24, 10, '-' }, { 20, 5, '*' }, { 26, 2, '/' }, { 22, 6, '%' } };
	for (size_t i = 0; i < sizeof operators / sizeof *operators; i++)
		if (graph->minor >= 11 ? instruction->role == PY_ROLE_ADD && instruction->argument == operators[i].argument
							   : instruction->opcode == operators[i].opcode)
			return operators[i].sign;
	return 0;
}

/* As Python divides: toward minus infinity. */
static bool combine(char sign, int64_t left, int64_t right, int64_t *out)
{
	int64_t quotient = right ? left / right - (left % right && (left < 0) != (right < 0)) : 0;
	switch (sign) {
	case '+': *out = left + right; return true;
	case '-': *out = left - right; return true;
	case '*': return !__builtin_mul_overflow(left, right, out) && *out <= NUMBER_MAX && *out >= -NUMBER_MAX;
	case '/': *out = quotient; return right;
	default: *out = right ? left - quotient * right : 0; return right;
	}
}

static bool evaluate_operation(const struct method *method, char sign, int *at, struct value *out)
{
	struct value left, right;
	int64_t a, b;
	--*at;
	out->is_int = true;
	return evaluate(method, at, &right) && evaluate(method, at, &left) && is_int(method->process, &left, &a) &&
		is_int(method->process, &right, &b) && combine(sign, a, b, &out->number);
}

static bool evaluate_item(const struct method *method, int *at, struct value *out)
{
	struct value holder, key;
	struct py_attribute found = { .slot = 0 };
	char name[NAME_SIZE];
	int64_t index;
	--*at;
	if (!evaluate(method, at, &key) || !evaluate(method, at, &holder) || holder.is_int)
		return false;
	*out = (struct value){ .object = 0 };
	if (!key.is_int && py_text_read(method->process, key.object, name, sizeof name))
		return py_dict_find(method->process, holder.object, name, &found) &&
			remote_word(method->process->pid, found.slot, &out->object) && out->object;
	return is_int(method->process, &key, &index) && item_of(method->process, holder.object, index, &out->object);
}

static bool apply(
	const struct method *method, const char *callee, const struct value *arguments, uint32_t count, struct value *out)
{
	int64_t numbers[2];
	*out = (struct value){ .is_int = true };
	if (strcmp(callee, "len") == 0)
		return count == 1 && !arguments[0].is_int &&
			size_of(method->process, arguments[0].object, method->depth, &out->number);
	for (uint32_t i = 0; i < count; i++)
		if (!is_int(method->process, &arguments[i], &numbers[i]))
			return false;
	out->number = numbers[0];
	if (strcmp(callee, "int") == 0)
		return count == 1;
	bool is_max = strcmp(callee, "max") == 0;
	if (count != 2 || (!is_max && strcmp(callee, "min") != 0))
		return false;
	out->number = (numbers[0] > numbers[1]) == is_max ? numbers[0] : numbers[1];
	return true;
}

static bool evaluate_call(const struct method *method, int *at, struct value *out)
{
	const struct py_graph *graph = &method->graph;
	uint32_t count = graph->all[*at].argument;
	struct value arguments[2];
	char callee[NAME_SIZE];
	--*at;
	if (*at >= 0 && graph->all[*at].role == PY_ROLE_PRECALL)
		--*at;
	if (count < 1 || count > 2)
		return false;
	for (uint32_t i = count; i-- > 0;)
		if (!evaluate(method, at, &arguments[i]))
			return false;
	if (*at >= 0 && graph->all[*at].role == PY_ROLE_NULL)
		--*at;
	if (*at < 0 || graph->all[*at].role != PY_ROLE_GLOBAL)
		return false;
	uint32_t name = graph->all[(*at)--].argument >> (graph->minor >= 11);
	if (*at >= 0 && graph->all[*at].role == PY_ROLE_NULL)
		--*at;
	return name_of(method, name, callee) && apply(method, callee, arguments, count, out);
}

static bool evaluate_attribute(const struct method *method, int *at, struct value *out)
{
	const struct py_graph *graph = &method->graph;
	uint32_t name = graph->all[(*at)--].argument;
	struct value holder;
	char text[NAME_SIZE];
	bool is_of_method = graph->minor >= 12 && name & 1;
	return !is_of_method && evaluate(method, at, &holder) && !holder.is_int &&
		name_of(method, name >> (graph->minor >= 12), text) &&
		attribute_of(method->process, holder.object, text, method->depth, out);
}

/* LOAD_COMMON_CONSTANT of 3.15 with −1 (Lib/opcode.py). */
static bool is_minus_one(const struct py_graph *graph, const struct py_instruction *instruction)
{
	return graph->minor == 15 && instruction->opcode == 80 && instruction->argument == 11;
}

/* The first local, which a comprehension may make a cell. */
static bool is_self(const struct py_instruction *instruction)
{
	return (instruction->role == PY_ROLE_LOCAL || instruction->role == PY_ROLE_CELL) && instruction->argument == 0;
}

/* Leaves `at` before the expression. */
static bool evaluate(const struct method *method, int *at, struct value *out)
{
	const struct py_graph *graph = &method->graph;
	enum { SUBSCRIPT = 26 }; /* argument of BINARY_OP, since 3.14 */
	if (*at < 0)
		return false;
	const struct py_instruction *last = &graph->all[*at];
	char sign = operator_of(graph, last);
	*out = (struct value){ .is_int = is_minus_one(graph, last), .number = -1 };
	if (sign)
		return evaluate_operation(method, sign, at, out);
	if (out->is_int)
		return (*at)-- > 0;
	switch (last->role) {
	case PY_ROLE_LOCAL:
	case PY_ROLE_CELL:
		out->object = method->self;
		--*at;
		return is_self(last);
	case PY_ROLE_CONSTANT: --*at; return constant_of(method, last->argument, out);
	case PY_ROLE_SMALL_INT:
		*out = (struct value){ .is_int = true, .number = last->argument };
		--*at;
		return true;
	case PY_ROLE_ATTRIBUTE: return evaluate_attribute(method, at, out);
	case PY_ROLE_SUBSCRIPT: return evaluate_item(method, at, out);
	case PY_ROLE_ADD: return last->argument == SUBSCRIPT && evaluate_item(method, at, out);
	case PY_ROLE_CALL: return evaluate_call(method, at, out);
	default: return false;
	}
}

/* Its return, if there is one way to it; else −1. */
static int find_return(const struct py_graph *graph)
{
	for (int i = 0; i < (int)graph->count && i < INSTRUCTIONS_MAX; i++) {
		const struct py_instruction *at = &graph->all[i];
		if (at->role == PY_ROLE_STOP)
			return i;
		if (at->next[0] != i + 1 || at->next[1] != PY_GRAPH_NOWHERE || py_graph_count_before(graph, i + 1) != 1)
			return -1;
	}
	return -1;
}

/* Lib/opcode.py of 3.12, Lib/_opcode_metadata.py of 3.13: the only versions that have it. */
static bool returns_constant(const struct py_graph *graph, const struct py_instruction *last)
{
	return (graph->minor == 12 && last->opcode == 121) || (graph->minor == 13 && last->opcode == 103);
}

static bool evaluate_return(const struct method *method, struct value *out)
{
	int at = find_return(&method->graph);
	if (at < 0)
		return false;
	const struct py_instruction *last = &method->graph.all[at--];
	return returns_constant(&method->graph, last) ? constant_of(method, last->argument, out)
												  : evaluate(method, &at, out);
}

/* `method` has process, self and depth. On success its graph is to be freed. */
static bool read_method(struct method *method, uint64_t function)
{
	const struct py_process *process = method->process;
	unsigned minor = process->location.layout.minor;
	uint64_t code;
	size_t size;
	if (method->depth > DEPTH_MAX || !py_function_code(process, function, &code) ||
		!remote_word(process->pid, code + (minor <= 10 ? CODE_NAMES_10 : CODE_NAMES), &method->names) ||
		!remote_word(process->pid, code + (minor <= 10 ? CODE_CONSTANTS_10 : CODE_CONSTANTS), &method->constants))
		return false;
	unsigned char *bytes = py_instructions_read(process, code, &size);
	method->graph = (struct py_graph){ .minor = minor, .opcodes = py_opcodes_of(minor) };
	bool is_read = bytes && method->graph.opcodes && size / 2 > 0 && py_graph_make(&method->graph, bytes, size / 2);
	free(bytes);
	if (!is_read)
		py_graph_free(&method->graph);
	return is_read;
}

static bool call(const struct py_process *process, uint64_t function, uint64_t self, unsigned depth, struct value *out)
{
	struct method method = { .process = process, .self = self, .depth = depth };
	if (!read_method(&method, function))
		return false;
	bool is_known = evaluate_return(&method, out);
	py_graph_free(&method.graph);
	return is_known;
}

/* -- what ends an iterator -- */

/* The only comparison of a method; -1: there is none, or several. */
static int only_comparison(const struct py_graph *graph)
{
	int found = -1;
	for (int i = 0; i < (int)graph->count; i++) {
		if (graph->all[i].role != PY_ROLE_COMPARE)
			continue;
		if (found >= 0)
			return -1;
		found = i;
	}
	return found;
}

static bool decides_to_raise(const struct py_graph *graph, int comparison)
{
	int branch = comparison + 1;
	if (branch < (int)graph->count && graph->all[branch].role == PY_ROLE_BOOL)
		branch++;
	const int *next = branch < (int)graph->count ? graph->all[branch].next : NULL;
	return next && next[0] != PY_GRAPH_NOWHERE && next[1] != PY_GRAPH_NOWHERE &&
		py_graph_leads_to_raise(graph, next[0]) != py_graph_leads_to_raise(graph, next[1]);
}

/* Whether the instructions up to `at` load this attribute of self. */
static bool is_attribute_of_self(const struct method *method, int at, const char *name)
{
	const struct py_graph *graph = &method->graph;
	char text[NAME_SIZE];
	return at >= 1 && graph->all[at].role == PY_ROLE_ATTRIBUTE && is_self(&graph->all[at - 1]) &&
		name_of(method, graph->all[at].argument >> (graph->minor >= 12), text) && strcmp(text, name) == 0;
}

static bool evaluate_limit(const struct method *method, const char *name, struct py_limit *out)
{
	const struct py_graph *graph = &method->graph;
	int comparison = only_comparison(graph), at = comparison - 1;
	struct value limit;
	int64_t number;
	if (comparison < 1 || !decides_to_raise(graph, comparison) || !evaluate(method, &at, &limit) ||
		!is_int(method->process, &limit, &number) || number <= 0 || !is_attribute_of_self(method, at, name))
		return false;
	uint32_t relation = py_graph_relation(graph, comparison);
	out->limit = (uint64_t)number + (relation == PY_LESS_OR_EQUAL || relation == PY_GREATER);
	out->offset = 2 * graph->all[comparison].begin;
	return true;
}

bool py_size_limit(
	const struct py_process *process, uint64_t function, uint64_t self, const char *name, struct py_limit *out)
{
	struct method method = { .process = process, .self = self };
	if (!read_method(&method, function))
		return false;
	bool is_known = evaluate_limit(&method, name, out);
	py_graph_free(&method.graph);
	return is_known;
}

bool py_size_of(const struct py_process *process, uint64_t object, uint64_t *out)
{
	int64_t size;
	if (!size_of(process, object, 0, &size))
		return false;
	*out = (uint64_t)size;
	return true;
}
