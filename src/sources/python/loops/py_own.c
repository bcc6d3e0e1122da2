#include "src/sources/python/loops/py_own.h"

#include <string.h>

#include "src/sources/python/loops/py_operands.h"
#include "src/sources/python/py_objects.h"
#include "src/sources/python/remote.h"

/* Of a function its code (Include/cpython/funcobject.h, Include/funcobject.h). */
enum { FUNCTION_CODE_9 = 16, FUNCTION_CODE = 48, NEWEST_9 = 9 };

/* Of the class itself, or of the first one that it is derived from. */
static const struct py_loop_code *code_of_next(struct py_iterators *iterators, uint64_t type)
{
	const struct py_process *process = iterators->process;
	uint32_t at = process->location.layout.minor <= NEWEST_9 ? FUNCTION_CODE_9 : FUNCTION_CODE;
	uint64_t bases[PY_BASES_MAX], function, code;
	size_t count = py_bases_read(process, type, bases);
	for (size_t i = 0; i < count; i++) {
		struct py_attribute attribute = { .slot = 0 };
		if (!py_class_attribute_find(process, bases[i], "__next__", &attribute))
			continue;
		return remote_word(process->pid, attribute.slot, &function) && py_is_derived(process, function, "function") &&
				remote_word(process->pid, function + at, &code)
			? py_loop_code_checked(iterators->codes, code)
			: NULL;
	}
	return NULL;
}

static bool is_of_self(const struct py_operand *operand, size_t name_count)
{
	return operand->role == PY_ROLE_LOCAL && operand->index == 0 && operand->name_count == name_count;
}

/* In a loop it may be added several times, or never. */
static bool is_in_loop(const struct py_bytecode *code, uint32_t name)
{
	for (size_t i = 0; i < code->store_count; i++)
		if (code->stores[i].role == PY_ROLE_STORE_ATTRIBUTE && code->stores[i].index == name)
			return true;
	return false;
}

/* Several sums of one attribute are those of several ways through the code: all must add the same. */
static bool is_only_sum(const struct py_bytecode *code, const struct py_sum *sum)
{
	for (size_t i = 0; i < code->sum_count; i++)
		if (code->sums[i].name == sum->name && !py_operand_is_same(&code->sums[i].added, &sum->added))
			return false;
	return is_of_self(&sum->holder, 0) && !is_in_loop(code, sum->name);
}

static bool name_at(
	const struct py_process *process, const struct py_loop_code *code, uint32_t index, char out[PY_LOOP_NAME_SIZE])
{
	uint64_t name;
	return py_loop_item(process, code->names, index, &name) && py_text_read(process, name, out, PY_LOOP_NAME_SIZE);
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

static bool take(struct py_iterators *iterators, const struct py_loop_code *code, const struct py_sum *sum,
	uint64_t object, struct py_loop *out)
{
	char name[PY_LOOP_NAME_SIZE];
	struct py_attribute attribute;
	uint64_t value, by = added_by(iterators, code, &sum->added, object);
	if (by == 0 || !name_at(iterators->process, code, sum->name, name) ||
		!py_attributes_get(&iterators->attributes, object, name, &attribute, &out->guards.source) ||
		!py_int_read(iterators->process, out->guards.source, &value) || value % by != 0)
		return false;
	for (size_t i = 0; i < attribute.guard_count; i++)
		if (!py_loop_guard_word(&out->guards, attribute.guards[i].address, attribute.guards[i].word))
			return false;
	out->guards.form = PY_FORM_INT;
	out->guards.slot = attribute.slot;
	out->guards.divisor = by;
	out->guards.is_composite = true;
	out->has_position = true;
	out->position = value / by;
	return true;
}

/* Of several attributes the smallest: others may count the items of all passes. */
void py_own_measure(const struct py_measuring *at, uint64_t object, struct py_loop *out)
{
	struct py_iterators *iterators = at->iterators;
	const struct py_process *process = iterators->process;
	uint64_t type;
	const struct py_loop_code *code = remote_word(process->pid, object + process->location.layout.object_type, &type)
		? code_of_next(iterators, type)
		: NULL;
	if (!code || !code->bytecode || code->bytecode->is_generator)
		return;
	struct py_loop best = { .has_position = false };
	for (size_t i = 0; i < code->bytecode->sum_count; i++) {
		struct py_loop found = *out;
		if (is_only_sum(code->bytecode, &code->bytecode->sums[i]) &&
			take(iterators, code, &code->bytecode->sums[i], object, &found) &&
			(!best.has_position || found.position < best.position))
			best = found;
	}
	if (best.has_position)
		*out = best;
}
