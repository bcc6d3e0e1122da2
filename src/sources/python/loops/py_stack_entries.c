#include "src/sources/python/loops/py_stack_entries.h"

#include "src/sources/python/remote.h"

/* Each running `for` has its iterator on the value stack, the outermost at the bottom, and so has a running `yield
 * from`. What lies above those of the running loops may be stale. */
bool py_stack_entry_is_virtual(const struct py_loop_frame *frame, size_t entry)
{
	enum py_class class = frame->classes[frame->local_count + entry];
	return frame->is_index[entry + 1] && class >= PY_CLASS_LIST_ITSELF && class <= PY_CLASS_TEXT;
}

bool py_stack_entry_find(const struct py_loop_frame *frame, int loop, size_t *entry, uint64_t *object)
{
	const struct py_bytecode *bytecode = frame->code->bytecode;
	const enum py_class *classes = frame->classes + frame->local_count;
	unsigned wanted = 0, found = 0;
	for (int at = loop; at != PY_NO_LOOP; at = bytecode->loops[at].parent)
		wanted += bytecode->loops[at].is_for || bytecode->loops[at].is_delegation;
	for (size_t i = 0; i < frame->stack_count && wanted > 0; i++) {
		if ((!py_class_is_iterator(classes[i]) && !py_stack_entry_is_virtual(frame, i)) || ++found < wanted)
			continue;
		*entry = i;
		*object = frame->objects[frame->local_count + i];
		return true;
	}
	return false;
}

bool py_stack_entry_guard_below(
	struct py_classes *classes, const struct py_loop_frame *frame, size_t entry, struct py_loop_guards *guards)
{
	enum { TYPE = 8 };
	for (size_t i = 0; i < entry; i++) {
		uint64_t type, object = frame->objects[frame->local_count + i];
		if (!object || py_class_is_iterator(frame->classes[frame->local_count + i]) ||
			py_stack_entry_is_virtual(frame, i) || !remote_word(classes->process->pid, object + TYPE, &type))
			continue;
		if (py_class_is_iterator(py_class_of_type(classes, object, type)) ||
			!py_loop_guard_word(guards, py_loop_stack_slot(classes->process, frame, i), object) ||
			!py_loop_guard_word(guards, object + TYPE, type))
			return false;
	}
	return true;
}

bool py_loop_guard_word(struct py_loop_guards *guards, uint64_t address, uint64_t word)
{
	if (guards->word_count == PY_LOOP_WORDS)
		return false;
	guards->words[guards->word_count++] = (struct py_loop_word){ address, word };
	return true;
}

bool py_loop_guard_attribute(struct py_loop_guards *guards, const struct py_attribute *attribute)
{
	bool is_held = true;
	for (size_t i = 0; i < attribute->guard_count; i++)
		is_held &= py_loop_guard_word(guards, attribute->guards[i].address, attribute->guards[i].word);
	return is_held;
}

bool py_loop_guard_place(struct py_loop_guards *guards, const struct py_loop_frame *frame, int loop, bool is_generator)
{
	if (guards->place_count == PY_LOOP_PLACES)
		return false;
	guards->places[guards->place_count++] =
		(struct py_loop_place){ frame->at.frame, frame->at.code, frame->code->lines, loop, is_generator, 0 };
	return true;
}
