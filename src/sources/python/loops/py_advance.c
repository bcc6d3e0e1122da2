#include "src/sources/python/loops/py_advance.h"

#include "src/sources/python/py_objects.h"

/* What an int is advanced by; 0 = unknown. */
static uint64_t step_of(const struct py_iterators *iterators, const struct py_loop_frame *frame,
	const struct py_advance *advance, struct py_loop_guards *guards)
{
	const struct py_process *process = iterators->process;
	uint64_t step;
	if (advance->step != PY_NO_INDEX)
		return py_loop_constant(process, frame->code, advance->step, &step) ? step : 0;
	if (advance->step_local >= frame->local_count ||
		!py_int_read(process, frame->objects[advance->step_local], &step) ||
		!py_loop_guard_word(
			guards, py_loop_local_slot(process, frame, advance->step_local), frame->objects[advance->step_local]))
		return 0;
	return step;
}

void py_advance_measure(
	struct py_iterators *iterators, const struct py_loop_frame *frame, int number, struct py_loop *out)
{
	const struct py_process *process = iterators->process;
	const struct py_advance *advance = &frame->code->bytecode->loops[number].advance;
	struct py_loop_guards *guards = &out->guards;
	uint64_t value, step, first = 0;
	if (advance->local >= frame->local_count || !py_int_read(process, frame->objects[advance->local], &value) ||
		!py_loop_guard_place(guards, frame, number, false))
		return;
	step = step_of(iterators, frame, advance, guards);
	out->is_relative = advance->first == PY_NO_INDEX || !py_loop_constant(process, frame->code, advance->first, &first);
	if (step == 0)
		return;
	guards->form = PY_FORM_INT;
	guards->slot = py_loop_local_slot(process, frame, advance->local);
	guards->source = frame->objects[advance->local];
	guards->origin = (out->is_relative ? value : first) - (advance->is_after_yield ? step : 0);
	guards->divisor = step;
	guards->is_composite = true;
	out->has_position = (value - guards->origin) % step == 0;
	out->position = (value - guards->origin) / step;
}
