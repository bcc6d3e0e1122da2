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

bool py_changes_read(struct py_reading *reading, int line)
{
	const struct py_loop_frame *frame = reading->frame;
	int number = loop_at_line(frame, line);
	size_t store = number == PY_NO_LOOP ? PY_STORES_MAX : frame->code->bytecode->loops[number].assigned;
	struct py_loop loop = reading->base;
	if (store == PY_STORES_MAX ||
		!py_variable_find(reading, &frame->code->variables[store], &frame->code->bytecode->stores[store], &loop))
		return false;
	loop.kind = PY_LOOP_CHANGES;
	loop.object = 0;
	loop.is_relative = true;
	loop.line = loop.loop_line = line;
	loop.depth = frame->code->bytecode->loops[number].depth;
	loop.guards.form = PY_FORM_CHANGES;
	loop.guards.slot = loop.slot;
	if (!py_loop_guard_place(&loop.guards, frame, number, false) || !guard_iterator(reading, number, &loop))
		return false;
	size_t count = reading->count;
	py_reading_emit(reading, &loop);
	return reading->count > count;
}
