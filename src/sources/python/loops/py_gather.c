#include "src/sources/python/loops/py_gather.h"

#include "src/base/divisor.h"
#include "src/sources/python/loops/py_loop_view.h"
#include "src/sources/python/py_objects.h"

/* Of so many random multiples the divisor is another one with a probability of a thousandth. */
enum { POSITIONS_MIN = 10 };

/* A generator of training and one of validation, of the same code, have sources of other lengths. */
static struct py_gathered *known_of(struct py_gathers *gathers, uint64_t code, int loop, uint64_t length)
{
	for (size_t i = 0; i < PY_GATHERS_RETAINED; i++)
		if (gathers->known[i].code == code && gathers->known[i].loop == loop && gathers->known[i].length == length)
			return &gathers->known[i];
	struct py_gathered *known = &gathers->known[gathers->next++ % PY_GATHERS_RETAINED];
	*known = (struct py_gathered){ .code = code, .loop = loop, .length = length };
	return known;
}

/* The last batch may be smaller. */
static void note(struct py_gathered *known, uint64_t position, uint64_t length)
{
	if (position == 0 || position == length || position == known->last)
		return;
	bool is_other = known->positions >= POSITIONS_MIN && position % known->divisor != 0;
	if (is_other || (known->positions >= POSITIONS_MIN && known->divisor < 2))
		known->positions = 0;
	known->divisor = common_divisor(known->positions ? known->divisor : 0, position);
	known->last = position;
	known->positions++;
}

/* While it waits at its yield. */
static bool read_waiting(
	struct py_iterators *iterators, const struct py_loop *out, size_t place, uint32_t yield_at, uint64_t *position)
{
	struct py_loop waiting = *out;
	waiting.position = 0;
	waiting.guards.places[place].yield_at = yield_at;
	if (py_loop_view(iterators, &waiting) != PY_LOOP_GOOD)
		return false;
	*position = waiting.position;
	return true;
}

/* Its position counts its own items, from the first one on. */
static bool can_divide(const struct py_loop *source)
{
	const struct py_loop_guards *guards = &source->guards;
	return source->has_position && !source->is_relative && !source->loader && guards->form != PY_FORM_INT &&
		!guards->divisor && !guards->ahead && !guards->round;
}

static void divide(struct py_loop *loop, uint64_t size, bool has_rest)
{
	loop->guards.divisor = size;
	loop->position = (loop->position + size - 1) / size;
	loop->length = (loop->length + (has_rest ? size - 1 : 0)) / size;
}

bool py_gather_find(
	const struct py_measuring *at, const struct py_loop_frame *frame, struct py_loop *source, struct py_loop_word *held)
{
	for (size_t i = 0; i < frame->local_count; i++) {
		if (!py_class_is_iterator(frame->classes[i]))
			continue;
		py_measure_inner(at, frame->objects[i], source);
		*held = (struct py_loop_word){ py_loop_local_slot(at->iterators->process, frame, i), frame->objects[i] };
		if (can_divide(source))
			return true;
	}
	return false;
}

void py_gather_measure(struct py_iterators *iterators, const struct py_loop_frame *frame, int loop,
	const struct py_loop *source, const struct py_loop_word *held, struct py_loop *out)
{
	struct py_loop found = *out;
	size_t place = found.guards.place_count;
	uint64_t position;
	if (!can_divide(source) || !py_loop_guard_place(&found.guards, frame, loop, false) ||
		!py_loop_guard_word(&found.guards, held->address, held->word))
		return;
	struct py_gathered *known = known_of(&iterators->gathers, frame->at.code, loop, source->length);
	py_measure_adopt(&found, source);
	found.guards.is_composite = true;
	if (read_waiting(iterators, &found, place, frame->code->bytecode->loops[loop].yield_at, &position))
		note(known, position, source->length);
	known->was_learned |= known->positions >= POSITIONS_MIN;
	out->is_learning = !known->was_learned;
	if (known->positions < POSITIONS_MIN || known->divisor < 2 || !found.has_position)
		return;
	const struct py_code_loop *code = &frame->code->bytecode->loops[loop];
	divide(&found, known->divisor, !code->is_for || code->yields_behind);
	*out = found;
}

bool py_gather_groups(const struct py_measuring *at, uint64_t slot, uint64_t tuple, const uint64_t *items, size_t count,
	struct py_loop *out)
{
	struct py_loop inner;
	uint64_t size;
	for (size_t i = 1; i < count; i++)
		if (items[i] != items[0])
			return false;
	if (count < 2 || !py_size_read(at->iterators->process, tuple, &size) || size < count || size > INT32_MAX)
		return false;
	py_measure_inner(at, items[0], &inner);
	out->loader = inner.loader;
	if (!can_divide(&inner) || !py_loop_guard_word(&out->guards, slot, tuple))
		return true;
	py_measure_adopt(out, &inner);
	divide(out, size, at->class == PY_CLASS_ZIP_LONGEST);
	return true;
}
