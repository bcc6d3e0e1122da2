#include "src/sources/python/loops/py_changes.h"

#include "src/sources/python/loops/py_variables.h"

static int loop_at_line(const struct py_loop_frame *frame, int line)
{
	int at = py_bytecode_loop_at(frame->code->bytecode, frame->offset);
	while (at != PY_NO_LOOP && frame->code->loop_lines[at] != line)
		at = frame->code->bytecode->loops[at].parent;
	return at;
}

/* Another pass of a `for` has another iterator. */
static bool guard_iterator(struct py_reading *reading, int number, struct py_loop *loop)
{
	const struct py_loop_frame *frame = reading->frame;
	size_t entry;
	uint64_t object;
	if (!frame->code->bytecode->loops[number].is_for || !py_stack_entry_find(frame, number, &entry, &object))
		return true;
	loop->object = object;
	return py_loop_guard_word(
		&loop->guards, py_loop_stack_slot(reading->loops->iterators.process, frame, entry), object);
}

/* What the loop assigns in each iteration. */
static bool find_assigned(struct py_reading *reading, int number, struct py_loop *loop)
{
	const struct py_loop_code *code = reading->frame->code;
	size_t store = code->bytecode->loops[number].assigned;
	return store < PY_STORES_MAX &&
		py_variable_find(reading, &code->variables[store], &code->bytecode->stores[store], loop);
}

/* In another iteration of a loop around it, this is another pass, whose iterator may have the address of this one's. */
static bool guard_around(struct py_reading *reading, int number, struct py_loop *loop)
{
	const struct py_bytecode *bytecode = reading->frame->code->bytecode;
	for (int at = bytecode->loops[number].parent; at != PY_NO_LOOP; at = bytecode->loops[at].parent) {
		struct py_loop around = reading->base;
		if (find_assigned(reading, at, &around) &&
			!py_loop_guard_word(&loop->guards, around.slot, around.guards.source))
			return false;
	}
	return true;
}

bool py_changes_read(struct py_reading *reading, int line)
{
	const struct py_loop_frame *frame = reading->frame;
	int number = loop_at_line(frame, line);
	struct py_loop loop = reading->base;
	if (number == PY_NO_LOOP || !find_assigned(reading, number, &loop))
		return false;
	loop.kind = PY_LOOP_CHANGES;
	loop.object = 0;
	loop.is_relative = true;
	loop.line = loop.loop_line = line;
	loop.depth = frame->code->bytecode->loops[number].depth;
	loop.guards.form = PY_FORM_CHANGES;
	loop.guards.slot = loop.slot;
	if (!py_loop_guard_place(&loop.guards, frame, number, false) || !guard_iterator(reading, number, &loop) ||
		!guard_around(reading, number, &loop))
		return false;
	size_t count = reading->count;
	py_reading_emit(reading, &loop);
	return reading->count > count;
}
