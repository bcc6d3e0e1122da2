/* Iterators over ranges. Until CPython 3.11 they keep the start and an index, later only what remains. Then a constant,
 * the range object or a variable of the program shows the start. */
#include "src/sources/python/loops/py_ranges.h"

#include <string.h>

#include "src/sources/python/loops/py_bounds.h"
#include "src/sources/python/loops/py_operands.h"
#include "src/sources/python/py_objects.h"
#include "src/sources/python/remote.h"

enum { INNER = 16 }; /* offset of the first word of a range */

uint64_t py_range_end(const uint64_t *value) { return value[2] + value[3] * value[4]; }

bool py_range_item(const struct py_loop *loop, uint64_t *item, uint64_t *end)
{
	const struct py_loop_guards *guards = &loop->guards;
	bool has_index = guards->form == PY_FORM_RANGE_INDEX;
	uint64_t origin = has_index ? guards->value[3] : guards->origin;
	if ((!has_index && guards->form != PY_FORM_RANGE_REST) || !loop->has_position || guards->divisor || guards->ahead ||
		guards->value[has_index ? 4 : 3] != 1 || (loop->position == 0 && !loop->is_relative) ||
		origin + loop->position == 0 || origin + loop->position > INT64_MAX)
		return false;
	*item = origin + loop->position - 1;
	*end = has_index ? guards->value[3] + guards->value[5] : py_range_end(guards->value);
	return true;
}

/* The range object itself, if the loop is over a local that still has it. */
static bool origin_of_local(const struct py_measuring *at, const uint64_t *value, uint64_t *out)
{
	const struct py_process *process = at->iterators->process;
	uint64_t items[4], start, step, length, object;
	uint32_t local = at->loop ? at->loop->iterated.local : PY_NO_INDEX;
	if (local == PY_NO_INDEX || local >= at->frame->local_count)
		return false;
	object = at->frame->objects[local];
	if (!py_is(process, object, PY_RANGE) || !remote_read(process->pid, object + INNER, items, sizeof items) ||
		!py_int_read(process, items[0], &start) || !py_int_read(process, items[2], &step) ||
		!py_int_read(process, items[3], &length) || step != value[3] || start + step * length != py_range_end(value))
		return false;
	*out = start;
	return true;
}

/* Other code may assign what is no local: its name must be that of a start. */
static bool may_change(const struct py_measuring *at, const struct py_operand *start)
{
	static const char *const fixed[] = { "start", "begin", "first", "initial", "resume" };
	const struct py_loop_code *code = at->frame->code;
	uint32_t index = start->name_count > 0 ? start->names[start->name_count - 1] : start->index;
	char name[PY_LOOP_NAME_SIZE];
	uint64_t text;
	for (size_t i = 0; i < code->bytecode->store_count; i++)
		if (py_operand_is_stored(start, &code->bytecode->stores[i]))
			return true;
	if (start->name_count == 0 && start->role == PY_ROLE_LOCAL)
		return false;
	if ((start->name_count == 0 && start->role == PY_ROLE_CELL) || index & PY_OPERAND_KEY ||
		!py_loop_item(at->iterators->process, code->names, index, &text) ||
		!py_text_read(at->iterators->process, text, name, sizeof name))
		return true;
	for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
		if (strstr(name, fixed[i]))
			return false;
	return true;
}

/* What a variable has that the range begins with: range(start_step, max_steps). */
static bool origin_of_variable(const struct py_measuring *at, const uint64_t *value, uint64_t *out)
{
	int64_t found, step = (int64_t)value[3], next = (int64_t)value[2];
	if (!at->loop->iterated.has_start || step < 1 || next < 0 || may_change(at, &at->loop->iterated.start) ||
		!py_bound_operand(at->iterators, at->frame, &at->loop->iterated.start, &found) || found < 0 || found > next ||
		(next - found) % step != 0)
		return false;
	*out = (uint64_t)found;
	return true;
}

static bool origin_of_range(const struct py_measuring *at, const uint64_t *value, uint64_t *out)
{
	if (origin_of_local(at, value, out))
		return true;
	const struct py_loop_call *call = py_measure_call_of(at, "range");
	if (!call || at->loop->iterated.has_keywords)
		return false;
	if (at->loop->iterated.argument_count > 1 && !call->has_first)
		return origin_of_variable(at, value, out);
	*out = at->loop->iterated.argument_count == 1 ? 0 : call->first;
	return at->loop->iterated.argument_count > 1 || value[3] == 1;
}

void py_measure_range(const struct py_measuring *at, uint64_t object, struct py_loop *out)
{
	bool has_index = at->iterators->process->location.layout.minor <= 11;
	uint64_t *value = out->guards.value;
	if (!py_measure_source(at, object, has_index ? PY_FORM_RANGE_INDEX : PY_FORM_RANGE_REST, out))
		return;
	if (has_index) {
		out->length = value[5];
	} else {
		out->is_relative = !origin_of_range(at, value, &out->guards.origin);
		/* Any start will do, if all readings have the same. */
		if (out->is_relative)
			out->guards.origin = (int64_t)value[2] >= 0 && (int64_t)value[3] > 0 ? value[2] % value[3] : value[2];
	}
	py_measure_position(at, out);
	if (!has_index && out->has_position && !out->is_relative)
		out->length = out->position + value[4];
}
