#include "src/sources/python/loops/py_bounds.h"

#include <string.h>

#include "src/sources/python/py_objects.h"

/* What a search reads. */
struct search {
	const struct py_process *process;
	const struct py_loop_code *code;
	const struct py_store *store;
	struct py_loop_frame frame;
	struct py_entries globals;
	bool has_globals;
};

/* The assignment of the int. NULL: it is of other code by now. */
static const struct py_store *find_store(const struct py_loop_code *code, const struct py_loop *loop)
{
	for (size_t i = 0; i < code->bytecode->store_count; i++) {
		const struct py_store *store = &code->bytecode->stores[i];
		if (code->variables[i].line == loop->line && strcmp(code->variables[i].name, loop->name) == 0 &&
			code->bytecode->loops[store->loop].depth == loop->depth)
			return store;
	}
	return NULL;
}

static bool is_variable(const struct py_operand *operand, const struct py_store *store)
{
	switch (store->role) {
	case PY_ROLE_STORE_FAST:
		return operand->role == PY_ROLE_LOCAL && operand->name_count == 0 && operand->index == store->index;
	case PY_ROLE_STORE_NAME:
	case PY_ROLE_STORE_GLOBAL:
		return (operand->role == PY_ROLE_NAME || operand->role == PY_ROLE_GLOBAL) && operand->name_count == 0 &&
			operand->index == store->index;
	case PY_ROLE_STORE_ATTRIBUTE:
		return operand->role == PY_ROLE_LOCAL && operand->name_count == 1 && operand->index == store->holder &&
			operand->names[0] == store->index;
	default: return false;
	}
}

static bool find_global(struct search *search, uint32_t name, uint64_t *object)
{
	struct py_attribute unused;
	uint64_t key;
	if (!search->has_globals)
		search->has_globals = py_entries_read(search->process, search->frame.globals, &search->globals);
	return search->has_globals && py_loop_item(search->process, search->code->names, name, &key) &&
		py_entries_find(&search->globals, key, &unused, object);
}

static bool read_base(struct search *search, const struct py_operand *operand, uint64_t *object)
{
	if (operand->role == PY_ROLE_LOCAL) {
		*object = operand->index < search->frame.local_count ? search->frame.objects[operand->index] : 0;
		return *object != 0;
	}
	/* A name of a class's body, or of exec(), may be no global. */
	return (operand->role == PY_ROLE_GLOBAL || search->code->is_module) && find_global(search, operand->index, object);
}

static bool read_operand(struct search *search, const struct py_operand *operand, uint64_t *out)
{
	char name[PY_LOOP_NAME_SIZE];
	uint64_t object, key;
	if (operand->role == PY_ROLE_CONSTANT)
		return py_loop_constant(search->process, search->code, operand->index, out);
	if (!read_base(search, operand, &object))
		return false;
	for (size_t i = 0; i < operand->name_count; i++)
		if (!py_loop_item(search->process, search->code->names, operand->names[i], &key) ||
			!py_text_read(search->process, key, name, sizeof name) ||
			!py_attribute_get(search->process, object, name, &object))
			return false;
	return py_int_read(search->process, object, out);
}

/* The only comparison of the int with something else that ends its loop. NULL: there is none, or several. */
static const struct py_exit *find_exit(const struct search *search, size_t *variable_side)
{
	const struct py_bytecode *bytecode = search->code->bytecode;
	const struct py_exit *found = NULL;
	for (size_t i = 0; i < bytecode->exit_count; i++)
		for (size_t side = 0; side < PY_EXIT_SIDES; side++) {
			const struct py_exit *exit = &bytecode->exits[i];
			if (exit->loop != search->store->loop || !is_variable(&exit->sides[side].operand, search->store))
				continue;
			if (found)
				return NULL;
			found = exit;
			*variable_side = side;
		}
	return found;
}

bool py_bound_read(struct py_iterators *iterators, const struct py_loop *loop, uint64_t ip, struct py_loop_bound *out)
{
	struct search search = { .process = iterators->process };
	const struct py_activation at = { loop->frame, loop->code };
	size_t side = 0;
	uint64_t limit = 0;
	search.code = py_loop_code_checked(iterators->codes, loop->code);
	search.store = search.code && search.code->bytecode ? find_store(search.code, loop) : NULL;
	if (!search.store)
		return false;
	int64_t work = py_loop_offset(&iterators->process->location.layout, loop->code, ip);
	*out = (struct py_loop_bound){ .is_behind = loop->is_sum && work > (int64_t)search.store->offset };
	const struct py_exit *exit = find_exit(&search, &side);
	if (!exit || !py_loop_frame_read(iterators->process, &at, search.code, &search.frame) ||
		!read_operand(&search, &exit->sides[!side].operand, &limit))
		return true;
	/* The last iteration compares the int behind its work, and advances it then. */
	bool is_late = loop->is_sum && work < (int64_t)exit->offset && exit->offset < search.store->offset;
	/* So does that of a `for`, which advances it before its work. */
	is_late |= !loop->is_sum && work < (int64_t)exit->offset;
	out->end = limit + exit->sides[side].must_exceed + is_late;
	out->has_end = true;
	return true;
}
