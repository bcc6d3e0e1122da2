#include "src/sources/python/loops/py_own.h"

#include <stdio.h>
#include <string.h>

#include "src/base/clock.h"
#include "src/sources/python/code/py_size.h"
#include "src/sources/python/loops/py_operands.h"
#include "src/sources/python/py_objects.h"
#include "src/sources/python/py_types.h"
#include "src/sources/python/remote.h"

#define KNOWN_NS (NS_PER_S / 2)

/* Of the class itself, or of the first one that it is derived from. */
static const struct py_loop_code *code_of(
	struct py_iterators *iterators, uint64_t type, const char *name, uint64_t *method)
{
	const struct py_process *process = iterators->process;
	uint64_t bases[PY_BASES_MAX], code;
	size_t count = py_bases_read(process, type, bases);
	for (size_t i = 0; i < count; i++) {
		struct py_attribute attribute = { .slot = 0 };
		if (!py_class_attribute_find(process, bases[i], name, &attribute))
			continue;
		return remote_word(process->pid, attribute.slot, method) && py_function_code(process, *method, &code)
			? py_loop_code_checked(iterators->codes, code)
			: NULL;
	}
	return NULL;
}

/* A comprehension may make it a cell. */
static bool is_of_self(const struct py_operand *operand, size_t name_count)
{
	return (operand->role == PY_ROLE_LOCAL || operand->role == PY_ROLE_CELL) && operand->index == 0 &&
		operand->name_count == name_count;
}

/* In a loop it may be added several times, or never. */
static bool is_in_loop(const struct py_bytecode *bytecode, uint32_t name)
{
	for (size_t i = 0; bytecode && i < bytecode->store_count; i++)
		if (bytecode->stores[i].role == PY_ROLE_STORE_ATTRIBUTE && bytecode->stores[i].index == name)
			return true;
	return false;
}

/* Several sums of one attribute are those of several ways through the code: all must add the same. */
static bool is_only_sum(const struct py_loop_code *code, const struct py_sum *sum)
{
	for (size_t i = 0; i < code->sums->sum_count; i++)
		if (code->sums->sums[i].name == sum->name && !py_operand_is_same(&code->sums->sums[i].added, &sum->added))
			return false;
	return sum->is_once && is_of_self(&sum->holder, 0) && !is_in_loop(code->bytecode, sum->name);
}

static bool name_at(
	const struct py_process *process, const struct py_loop_code *code, uint32_t index, char out[PY_LOOP_NAME_SIZE])
{
	uint64_t name;
	return py_loop_item(process, code->names, index, &name) && py_text_read(process, name, out, PY_LOOP_NAME_SIZE);
}

enum start { START_UNKNOWN, START_ZERO, START_OTHER };

/* What a method of its class sets the attribute to, if it is a constant. */
static enum start start_of(struct py_iterators *iterators, uint64_t type, const char *method_name, const char *name)
{
	char text[PY_LOOP_NAME_SIZE];
	uint64_t method, value;
	const struct py_loop_code *code = code_of(iterators, type, method_name, &method);
	for (size_t i = 0; code && code->sums && i < code->sums->reset_count; i++) {
		const struct py_reset *reset = &code->sums->resets[i];
		if (name_at(iterators->process, code, reset->name, text) && strcmp(text, name) == 0)
			return py_loop_constant(iterators->process, code, reset->value, &value) && value == 0 ? START_ZERO
																								  : START_OTHER;
	}
	return START_UNKNOWN;
}

/* An iterator that ends and is not set back serves one loop. Another one may go on where the loop before has left it.
 */
static bool begins_at_zero(struct py_iterators *iterators, uint64_t type, const char *name, bool ends)
{
	static const char *const methods[] = { "__iter__", "__next__", "__init__" };
	enum { OF_ITSELF = 2 };
	bool begins = ends;
	for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
		enum start start = start_of(iterators, type, methods[i], name);
		if (start == START_OTHER)
			return false;
		begins |= start == START_ZERO && i < OF_ITSELF;
	}
	return begins;
}

/* What is added; 0 = unknown. */
static uint64_t added_by(
	struct py_iterators *iterators, const struct py_loop_code *code, const struct py_operand *added, uint64_t object)
{
	char name[PY_LOOP_NAME_SIZE];
	uint64_t value;
	bool is_read = added->role == PY_ROLE_CONSTANT
		? py_loop_constant(iterators->process, code, added->index, &value)
		: is_of_self(added, 1) && name_at(iterators->process, code, added->names[0], name) &&
			py_attributes_int(&iterators->attributes, object, name, &value);
	return is_read ? value : 0;
}

/* In items; 0 = unknown. What is added before the comparison is that of no item when it ends. */
static uint64_t length_of(const struct py_process *process, uint64_t method, uint64_t object, const char *name,
	const struct py_sum *sum, uint64_t by)
{
	struct py_limit found;
	if (!py_size_limit(process, method, object, name, &found))
		return 0;
	return (found.limit + by - 1) / by - (sum->offset < found.offset);
}

/* Of several attributes the one that is smallest now: others may count the items of all passes. */
static void find(struct py_iterators *iterators, struct py_own_known *out)
{
	const struct py_process *process = iterators->process;
	uint64_t method, value, smallest = UINT64_MAX;
	const struct py_loop_code *code = code_of(iterators, out->type, "__next__", &method);
	size_t count = code && code->sums ? code->sums->sum_count : 0;
	for (size_t i = 0; i < count; i++) {
		const struct py_sum *sum = &code->sums->sums[i];
		char name[PY_LOOP_NAME_SIZE];
		uint64_t by = is_only_sum(code, sum) ? added_by(iterators, code, &sum->added, out->object) : 0;
		if (by == 0 || !name_at(process, code, sum->name, name) ||
			!py_attributes_int(&iterators->attributes, out->object, name, &value) || value / by >= smallest)
			continue;
		uint64_t length = length_of(process, method, out->object, name, sum, by);
		if (!begins_at_zero(iterators, out->type, name, length > 0))
			continue;
		smallest = value / by;
		snprintf(out->name, sizeof out->name, "%s", name);
		out->by = by;
		out->length = length;
	}
}

static const struct py_own_known *known_of(struct py_iterators *iterators, uint64_t object, uint64_t type)
{
	struct py_own *own = &iterators->own;
	struct py_own_known *known = NULL;
	int64_t now_ns = clock_monotonic_ns();
	for (size_t i = 0; i < PY_OWN_RETAINED && !known; i++)
		known = own->known[i].object == object && own->known[i].type == type ? &own->known[i] : NULL;
	if (known && now_ns < known->until_ns)
		return known;
	known = known ? known : &own->known[own->next++ % PY_OWN_RETAINED];
	*known = (struct py_own_known){ .object = object, .type = type, .until_ns = now_ns + KNOWN_NS };
	find(iterators, known);
	return known;
}

void py_own_measure(const struct py_measuring *at, uint64_t object, struct py_loop *out)
{
	struct py_iterators *iterators = at->iterators;
	const struct py_process *process = iterators->process;
	struct py_loop found = *out;
	struct py_attribute attribute;
	uint64_t type, value;
	if (!remote_word(process->pid, object + process->location.layout.object_type, &type))
		return;
	const struct py_own_known *known = known_of(iterators, object, type);
	if (!*known->name ||
		!py_attributes_get(&iterators->attributes, object, known->name, &attribute, &found.guards.source) ||
		!py_int_read(process, found.guards.source, &value) || value % known->by != 0 ||
		!py_loop_guard_attribute(&found.guards, &attribute))
		return;
	found.guards.form = PY_FORM_INT;
	found.guards.slot = attribute.slot;
	found.guards.divisor = known->by;
	found.guards.is_composite = true;
	found.has_position = true;
	found.position = value / known->by;
	found.length = known->length;
	py_iterator_set_remaining(&found);
	*out = found;
}
