#include "src/sources/python/loops/py_loop_view.h"

#include <errno.h>
#include <string.h>

#include "src/sources/python/py_objects.h"
#include "src/sources/python/remote.h"

enum {
	TRIES = 6,
	SIDES = 2,
	SLOTS = 3,
	FRAME_MAX = 256,
	PIECES_MAX = SIDES * (PY_LOOP_WORDS + PY_LOOP_PLACES + 1) + 9
};

/* What must hold is read before and after the position: what holds both times held all the while, except for a loop
 * that ended and began anew between. Ints are created and freed at each step, so slot and int are read alternately: if
 * the slot holds the same address each time and the int is equal each time, the int was the slot's. */
struct side {
	uint64_t words[PY_LOOP_WORDS];
	unsigned char frames[PY_LOOP_PLACES]
						[FRAME_MAX];     /* from its code to its instruction pointer, or the other way round */
	uint64_t value[PY_LOOP_VALUE_WORDS]; /* of an iterator only after it */
};
struct view {
	struct side sides[SIDES];
	uint64_t lines[PY_LOOP_PLACES], slots[SLOTS];
};

/* The part of a frame that holds its code and its instruction pointer. */
static uint32_t frame_begin(const struct py_layout *layout)
{
	return layout->frame_code < layout->frame_ip ? layout->frame_code : layout->frame_ip;
}

static uint32_t frame_end(const struct py_layout *layout)
{
	return 8 + (layout->frame_code < layout->frame_ip ? layout->frame_ip : layout->frame_code);
}

static uint64_t code_of(const struct py_layout *layout, const unsigned char *frame)
{
	uint64_t code;
	memcpy(&code, frame + (layout->frame_code - frame_begin(layout)), sizeof code);
	return py_layout_object(layout, code);
}

static int64_t offset_of(const struct py_layout *layout, const unsigned char *frame)
{
	uint64_t ip;
	memcpy(&ip, frame + (layout->frame_ip - frame_begin(layout)), sizeof ip);
	return py_loop_offset(layout, code_of(layout, frame), ip);
}

static size_t add_guards(
	const struct py_layout *layout, const struct py_loop_guards *guards, struct side *side, struct remote_piece *pieces)
{
	size_t count = 0;
	for (size_t i = 0; i < guards->word_count; i++)
		pieces[count++] = (struct remote_piece){ guards->words[i].address, &side->words[i], sizeof side->words[i] };
	for (size_t i = 0; i < guards->place_count; i++)
		pieces[count++] = (struct remote_piece){ guards->places[i].frame + frame_begin(layout), side->frames[i],
			frame_end(layout) - frame_begin(layout) };
	return count;
}

static bool read_view(const struct py_process *process, const struct py_loop *loop, bool has_value, struct view *view)
{
	const struct py_layout *layout = &process->location.layout;
	const struct py_loop_guards *guards = &loop->guards;
	struct remote_piece pieces[PIECES_MAX];
	bool is_int = guards->form == PY_FORM_INT, has_slot = is_int || guards->form == PY_FORM_CHANGES;
	size_t size = !has_value || guards->form == PY_FORM_NONE || guards->form == PY_FORM_CHANGES ? 0
		: is_int                                                                                ? PY_INT_SIZE
				 : 8 * py_iterator_words(guards->form);
	if (frame_end(layout) - frame_begin(layout) > FRAME_MAX)
		return false;
	size_t count = add_guards(layout, guards, &view->sides[0], pieces);
	for (size_t i = 0; i < guards->place_count; i++)
		pieces[count++] = (struct remote_piece){ guards->places[i].code + layout->code_lines, &view->lines[i],
			sizeof view->lines[i] };
	for (size_t i = 0; i < SLOTS; i++) {
		if (has_slot)
			pieces[count++] = (struct remote_piece){ guards->slot, &view->slots[i], sizeof view->slots[i] };
		if (size > 0 && (i == 1 || (is_int && i == 0)))
			pieces[count++] = (struct remote_piece){ guards->source, view->sides[i].value, size };
	}
	count += add_guards(layout, guards, &view->sides[1], pieces + count);
	if (!remote_read_pieces(process->pid, pieces, count))
		return false;
	for (size_t i = 0; i < SLOTS; i++)
		view->slots[i] = py_layout_object(layout, view->slots[i]);
	return true;
}

/* -- what must hold -- */

/* Sets *late to the number of generators that have taken an item and not yielded it yet. UNSURE: it may be neither. */
static enum py_loop_reading check_places(
	struct py_iterators *iterators, const struct py_loop_guards *guards, const struct side *side, uint64_t *late)
{
	const struct py_layout *layout = &iterators->process->location.layout;
	enum py_loop_reading reading = PY_LOOP_GOOD;
	*late = 0;
	for (size_t i = 0; i < guards->place_count; i++) {
		const struct py_loop_place *place = &guards->places[i];
		const struct py_loop_code *code = py_loop_code_get(iterators->codes, place->code);
		int64_t offset = offset_of(layout, side->frames[i]);
		if (code_of(layout, side->frames[i]) != place->code || !code || code->lines != place->lines ||
			!py_bytecode_is_in(code->bytecode, offset, place->loop))
			return PY_LOOP_ENDED;
		const struct py_code_loop *loop = &code->bytecode->loops[place->loop];
		bool is_at_first = offset >= loop->offset && offset < loop->offset_end;
		bool is_elsewhere = place->yield_at && offset / 2 != place->yield_at && offset / 2 != place->yield_at + 1;
		if (is_elsewhere || (is_at_first && (place->is_generator || (i == 0 && guards->is_composite))))
			reading = PY_LOOP_UNSURE;
		if (place->is_generator && !code->bytecode->is_after_yield[offset / 2])
			++*late;
	}
	return reading;
}

/* A word of a frame may have other tags for the same object. Those that guard something else are addresses. */
static uint64_t untagged(const struct py_layout *layout, uint64_t word)
{
	return layout->minor < 14 || py_layout_is_index(layout, word) ? word : word & ~UINT64_C(3);
}

static enum py_loop_reading check_side(
	struct py_iterators *iterators, const struct py_loop_guards *guards, const struct side *side, uint64_t *late)
{
	const struct py_layout *layout = &iterators->process->location.layout;
	for (size_t i = 0; i < guards->word_count; i++)
		if (untagged(layout, side->words[i]) != untagged(layout, guards->words[i].word))
			return PY_LOOP_ENDED;
	return check_places(iterators, guards, side, late);
}

/* What held before or after only may have been torn, or was ending meanwhile. */
static enum py_loop_reading check_sides(
	struct py_iterators *iterators, const struct py_loop_guards *guards, const struct view *view, uint64_t *late)
{
	uint64_t lates[SIDES] = { 0, 0 };
	enum py_loop_reading before = check_side(iterators, guards, &view->sides[0], &lates[0]),
						 after = check_side(iterators, guards, &view->sides[1], &lates[1]);
	*late = lates[0];
	for (size_t i = 0; i < guards->place_count; i++)
		if (view->lines[i] != guards->places[i].lines)
			return PY_LOOP_ENDED;
	if (before == PY_LOOP_ENDED && after == PY_LOOP_ENDED)
		return PY_LOOP_ENDED;
	return before == PY_LOOP_GOOD && after == PY_LOOP_GOOD && lates[0] == lates[1] ? PY_LOOP_GOOD : PY_LOOP_UNSURE;
}

/* -- the position -- */

/* An int that another one follows is read at its new address the next time. */
static enum py_loop_reading read_int(const struct py_process *process, struct py_loop *loop, const struct view *view)
{
	struct py_loop_guards *guards = &loop->guards;
	const uint64_t *first = view->sides[0].value;
	uint64_t source = guards->source, found;
	guards->source = view->slots[2];
	if (!guards->source)
		return PY_LOOP_ENDED;
	if (view->slots[0] != source || view->slots[1] != source || view->slots[2] != source ||
		memcmp(first + 1, view->sides[1].value + 1, PY_INT_SIZE - 8) != 0)
		return PY_LOOP_UNSURE;
	/* Not the memory of a freed int: it holds no reference count. Ints that are never freed have the largest. */
	if (py_layout_references(&process->location.layout, first[0]) == 0 ||
		!py_int_decode(&process->location, (const unsigned char *)first, &found))
		return PY_LOOP_ENDED;
	uint64_t step = guards->divisor ? guards->divisor : 1;
	if ((found - guards->origin) % step != 0)
		return PY_LOOP_ENDED;
	loop->position = (found - guards->origin) / step;
	loop->has_position = true;
	return PY_LOOP_GOOD;
}

/* There may be no object before the first assignment. */
static enum py_loop_reading read_change(struct py_loop *loop, const struct view *view)
{
	uint64_t object = view->slots[SLOTS - 1];
	loop->position += object && object != loop->guards.source;
	loop->guards.source = object;
	loop->has_position = true;
	return PY_LOOP_GOOD;
}

/* Its position only grows: a smaller one is another iterator's, at the same address. *is_other: so are these words,
 * unless they are of two moments. */
static enum py_loop_reading read_iterator(
	struct py_iterators *iterators, struct py_loop *loop, const struct view *view, uint64_t late, bool *is_other)
{
	uint64_t position;
	if (loop->guards.form == 0)
		return PY_LOOP_GOOD;
	*is_other = !py_iterator_decode(iterators, &loop->guards, view->sides[1].value, &position);
	if (*is_other || position < late)
		return PY_LOOP_UNSURE;
	if (loop->guards.round) {
		position += loop->position - loop->position % loop->guards.round;
		position += position < loop->position ? loop->guards.round : 0;
	}
	if (position - late < loop->position)
		return PY_LOOP_ENDED;
	loop->position = position - late;
	loop->has_position = true;
	memcpy(loop->guards.value, view->sides[1].value, sizeof loop->guards.value);
	return PY_LOOP_GOOD;
}

/* The memory of a freed int may be unmapped, so what must hold is read without it. */
static enum py_loop_reading read_without(struct py_iterators *iterators, struct py_loop *loop, struct view *view)
{
	uint64_t late;
	if (errno == ESRCH || errno == EPERM || loop->guards.form != PY_FORM_INT ||
		!read_view(iterators->process, loop, false, view))
		return PY_LOOP_ENDED;
	enum py_loop_reading reading = check_sides(iterators, &loop->guards, view, &late);
	loop->guards.source = view->slots[2];
	if (!loop->guards.source)
		return PY_LOOP_ENDED;
	return reading == PY_LOOP_GOOD ? PY_LOOP_UNSURE : reading;
}

static enum py_loop_reading read_once(struct py_iterators *iterators, struct py_loop *loop, bool *is_other)
{
	struct view view;
	uint64_t late;
	memset(&view, 0, sizeof view);
	if (!read_view(iterators->process, loop, true, &view))
		return read_without(iterators, loop, &view);
	enum py_loop_reading reading = check_sides(iterators, &loop->guards, &view, &late);
	if (reading != PY_LOOP_GOOD)
		return reading;
	switch (loop->guards.form) {
	case PY_FORM_INT: return read_int(iterators->process, loop, &view);
	case PY_FORM_CHANGES: return read_change(loop, &view);
	default: return read_iterator(iterators, loop, &view, late, is_other);
	}
}

enum py_loop_reading py_loop_view(struct py_iterators *iterators, struct py_loop *loop)
{
	enum py_loop_reading reading = PY_LOOP_UNSURE;
	bool is_other = true;
	for (unsigned i = 0; i < TRIES && reading == PY_LOOP_UNSURE; i++) {
		bool is_other_now = false;
		reading = read_once(iterators, loop, &is_other_now);
		is_other &= is_other_now;
	}
	if (reading == PY_LOOP_UNSURE && is_other)
		return PY_LOOP_ENDED;
	if (reading == PY_LOOP_GOOD && loop->length && loop->position > loop->length && loop->guards.form != PY_FORM_INT)
		loop->length = py_iterator_length(iterators, &loop->guards, loop->position);
	if (reading == PY_LOOP_GOOD)
		py_iterator_set_remaining(loop);
	return reading;
}
