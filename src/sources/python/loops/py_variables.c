#include "src/sources/python/loops/py_variables.h"

#include <stdio.h>

#include "src/sources/python/loops/py_bounds.h"
#include "src/sources/python/loops/py_loop_view.h"
#include "src/sources/python/remote.h"

bool py_variables_globals(struct py_reading *reading)
{
	struct py_loops *loops = reading->loops;
	if (!loops->has_globals || loops->globals.dict != reading->frame->globals)
		loops->has_globals = py_entries_read(loops->iterators.process, reading->frame->globals, &loops->globals);
	return loops->has_globals;
}

static bool find_global(
	struct py_reading *reading, uint64_t key, struct py_loop *loop, uint64_t *slot, uint64_t *object)
{
	struct py_attribute attribute;
	if (!py_variables_globals(reading) || !py_entries_find(&reading->loops->globals, key, &attribute, object))
		return false;
	*slot = attribute.slot;
	return py_loop_guard_attribute(&loop->guards, &attribute);
}

/* The object that a local, or the cell in it, holds. */
static bool find_local(
	struct py_reading *reading, uint32_t local, bool is_cell, struct py_loop *loop, uint64_t *slot, uint64_t *object)
{
	const struct py_process *process = reading->loops->iterators.process;
	const struct py_loop_frame *frame = reading->frame;
	if (local >= frame->local_count)
		return false;
	*slot = py_loop_local_slot(process, frame, local);
	*object = frame->objects[local];
	if (!is_cell)
		return true;
	if (!*object || !py_loop_guard_word(&loop->guards, *slot, *object))
		return false;
	*slot = *object + PY_CELL_CONTENT;
	return remote_word(process->pid, *slot, object);
}

/* Of each object on the way the slot that leads on must not change, of the last one all that py_objects.h guards. */
static bool find_at_path(struct py_reading *reading, const struct py_loop_variable *variable,
	const struct py_operand *holder, struct py_loop *loop)
{
	struct py_attribute attribute = { .slot = 0 };
	uint64_t slot = 0, object = 0, value;
	bool is_cell = holder->role == PY_ROLE_CELL;
	uint32_t local = holder->index + (is_cell ? reading->frame->code->cells : 0);
	if (variable->base_key ? !find_global(reading, variable->base_key, loop, &slot, &object)
						   : !find_local(reading, local, is_cell, loop, &slot, &object))
		return false;
	for (size_t i = 0; i < variable->path.count; i++) {
		if (!object || !py_loop_guard_word(&loop->guards, slot, object) ||
			!py_path_step_find(
				&reading->loops->iterators.attributes, object, &variable->path.steps[i], &attribute, &value))
			return false;
		loop->object = object;
		object = value;
		slot = attribute.slot;
	}
	loop->slot = slot;
	loop->guards.source = object;
	return py_loop_guard_attribute(&loop->guards, &attribute);
}

bool py_variable_find(struct py_reading *reading, const struct py_loop_variable *variable, const struct py_store *store,
	struct py_loop *loop)
{
	switch (store->role) {
	case PY_ROLE_STORE_FAST:
	case PY_ROLE_STORE_CELL:
		return find_local(reading, variable->local, variable->is_cell, loop, &loop->slot, &loop->guards.source);
	case PY_ROLE_STORE_ATTRIBUTE:
	case PY_ROLE_STORE_SUBSCRIPT: return find_at_path(reading, variable, &store->holder, loop);
	case PY_ROLE_STORE_NAME:
		if (!reading->frame->code->is_module)
			return false;
		/* fall through */
	default: return find_global(reading, variable->key, loop, &loop->slot, &loop->guards.source);
	}
}

/* What the assignment adds each time; 0 = unknown. */
static uint64_t added_of(struct py_reading *reading, size_t store)
{
	const struct py_loop_code *code = reading->frame->code;
	const struct py_operand *added = &code->bytecode->stores[store].added;
	int64_t value;
	if (added->role == 0 || added->role == PY_ROLE_CONSTANT)
		return code->variables[store].by;
	return py_bound_operand(&reading->loops->iterators, reading->frame, added, &value) && value > 0 ? (uint64_t)value
																									: 0;
}

/* "i += batch_size": the position is how often that was added. False: it changes just now. */
static bool count_additions(struct py_reading *reading, size_t store, struct py_loop *loop)
{
	uint64_t by = added_of(reading, store), value;
	loop->is_by_same = by > 0;
	if (by < 2)
		return true;
	if (!py_int_read(reading->loops->iterators.process, loop->guards.source, &value))
		return false;
	loop->guards.divisor = by;
	loop->guards.origin = value % by;
	return true;
}

/* False: it changes just now. */
static bool take_int(struct py_reading *reading, size_t store, struct py_loop *loop)
{
	const struct py_loop_code *code = reading->frame->code;
	const struct py_store *assigned = &code->bytecode->stores[store];
	loop->kind = PY_LOOP_INT;
	loop->guards.form = PY_FORM_INT;
	loop->guards.slot = loop->slot;
	loop->guards.rebound = assigned->is_rebound ? store + 1 : 0;
	loop->object = assigned->is_rebound ? 0 : loop->object;
	loop->depth = code->bytecode->loops[assigned->loop].depth;
	loop->line = code->variables[store].line;
	loop->loop_line = code->loop_lines[assigned->loop];
	loop->is_sum = assigned->is_sum || assigned->is_compared;
	loop->is_compared = assigned->is_compared;
	loop->is_uneven = loop->is_in_generator && !code->bytecode->loops[assigned->loop].yields_once;
	snprintf(loop->name, sizeof loop->name, "%s", code->variables[store].name);
	return count_additions(reading, store, loop) &&
		py_loop_guard_place(&loop->guards, reading->frame, assigned->loop, false);
}

static bool is_plain_local(const struct py_loop_variable *variable)
{
	return variable->local != PY_NO_INDEX && !variable->is_cell;
}

/* The classes of variables that loops around the current instruction assign. */
static void classify_variables(struct py_reading *reading, enum py_class classes[PY_STORES_MAX])
{
	const struct py_loop_frame *frame = reading->frame;
	const struct py_loop_code *code = frame->code;
	uint64_t objects[PY_STORES_MAX];
	for (size_t i = 0; i < code->bytecode->store_count; i++) {
		const struct py_store *store = &code->bytecode->stores[i];
		struct py_loop loop = reading->base;
		bool is_running = py_bytecode_is_in(code->bytecode, frame->offset, store->loop);
		objects[i] = is_running && !is_plain_local(&code->variables[i]) &&
				py_variable_find(reading, &code->variables[i], store, &loop)
			? loop.guards.source
			: 0;
	}
	py_classes_of(&reading->loops->iterators.classes, objects, code->bytecode->store_count, classes);
	for (size_t i = 0; i < code->bytecode->store_count; i++)
		if (is_plain_local(&code->variables[i]) && code->variables[i].local < frame->local_count &&
			py_bytecode_is_in(code->bytecode, frame->offset, code->bytecode->stores[i].loop))
			classes[i] = frame->classes[code->variables[i].local];
}

void py_variables_read(struct py_reading *reading)
{
	const struct py_loop_code *code = reading->frame->code;
	enum py_class classes[PY_STORES_MAX];
	classify_variables(reading, classes);
	for (size_t i = 0; i < code->bytecode->store_count; i++) {
		struct py_loop loop = reading->base;
		if (classes[i] == PY_CLASS_INT &&
			py_variable_find(reading, &code->variables[i], &code->bytecode->stores[i], &loop) &&
			!py_state_has(
				&reading->loops->states, reading->loops->iterators.process, loop.object, code->variables[i].name) &&
			take_int(reading, i, &loop))
			py_reading_emit(reading, &loop);
	}
}

/* -- objects that the loop replaces -- */

enum { REBOUND_TRIES = 4 };

static enum py_loop_reading poll_once(struct py_loops *loops, const struct py_loop_code *code, struct py_loop *loop)
{
	const struct py_activation at = { loop->frame, loop->code };
	size_t store = loop->guards.rebound - 1;
	struct py_loop_frame frame;
	struct py_reading reading = { .loops = loops, .frame = &frame };
	struct py_loop found = { .frame = loop->frame, .code = loop->code, .site = loop->site };
	loops->has_globals = false;
	if (!py_loop_frame_read(loops->iterators.process, &at, code, &frame) ||
		!py_bytecode_is_in(code->bytecode, frame.offset, code->bytecode->stores[store].loop))
		return PY_LOOP_ENDED;
	if (!py_variable_find(&reading, &code->variables[store], &code->bytecode->stores[store], &found) ||
		!take_int(&reading, store, &found) || py_loop_view(&loops->iterators, &found) != PY_LOOP_GOOD)
		return PY_LOOP_UNSURE;
	loop->position = found.position;
	loop->has_position = true;
	loop->slot = found.slot;
	loop->guards = found.guards;
	return PY_LOOP_GOOD;
}

enum py_loop_reading py_variable_poll_rebound(struct py_loops *loops, struct py_loop *loop)
{
	const struct py_loop_code *code = py_loop_code_checked(loops->iterators.codes, loop->code);
	enum py_loop_reading reading = PY_LOOP_UNSURE;
	if (!code || !code->bytecode || code->lines != loop->guards.places[0].lines ||
		loop->guards.rebound > code->bytecode->store_count)
		return PY_LOOP_ENDED;
	for (unsigned i = 0; i < REBOUND_TRIES && reading == PY_LOOP_UNSURE; i++)
		reading = poll_once(loops, code, loop);
	return reading;
}
