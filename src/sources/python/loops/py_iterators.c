#include "src/sources/python/loops/py_iterators.h"

#include <string.h>

#include "src/sources/python/loops/py_advance.h"
#include "src/sources/python/loops/py_gather.h"
#include "src/sources/python/loops/py_itertools.h"
#include "src/sources/python/loops/py_own.h"
#include "src/sources/python/loops/py_ranges.h"
#include "src/sources/python/py_objects.h"
#include "src/sources/python/remote.h"

/* Offsets in iterators: Objects/{rangeobject,enumobject,listobject,tupleobject,
 * iterobject}.c, Python/bltinmodule.c and Modules/itertoolsmodule.c of CPython; the same in 3.8 to 3.15. */
enum { INNER = 16, PARTS_OF_MAP = 16, PARTS_OF_ZIP = 24, INNER_OF_ENUMERATE = 24 };
enum { DEPTH_MAX = 4, PARTS_MAX = 8, REFERENCES_MAX = INT32_MAX };
#define COUNT_IS_SLOW ((uint64_t)INT64_MAX)

static const unsigned char form_words[PY_FORMS] = { 2, 6, 5, 4, 4, 3, 7, 2, 5, 4, 4 };

/* -- positions in the words of an iterator -- */

size_t py_iterator_words(unsigned form) { return form < PY_FORMS ? form_words[form] : 0; }

static bool range_position(const struct py_loop_guards *guards, const uint64_t *value, uint64_t *position)
{
	int64_t distance = (int64_t)(value[2] - guards->origin), step = (int64_t)value[3];
	if (step == 0 || value[4] > INT64_MAX || py_range_end(value) != py_range_end(guards->value) ||
		distance % step != 0 || distance / step < 0)
		return false;
	*position = (uint64_t)(distance / step);
	return true;
}

/* From that of the source. */
static bool loop_position(const struct py_loop_guards *guards, uint64_t found, uint64_t *position)
{
	uint64_t items = found - guards->ahead;
	*position = guards->divisor ? (items + guards->divisor - 1) / guards->divisor : items;
	return found >= guards->ahead;
}

bool py_iterator_decode(const struct py_iterators *iterators, const struct py_loop_guards *guards,
	const uint64_t value[PY_LOOP_VALUE_WORDS], uint64_t *position)
{
	const uint64_t *before = guards->value;
	const struct py_layout *layout = &iterators->process->location.layout;
	uint64_t found = 0, references = py_layout_references(layout, value[0]);
	if (guards->form == PY_FORM_VIRTUAL) {
		found = value[1] >> 2;
		return py_layout_object(layout, value[0]) == guards->type && py_layout_is_index(layout, value[1]) &&
			found <= INT32_MAX && loop_position(guards, found, position);
	}
	/* The memory of a freed object holds no reference count. */
	if (references == 0 || references > REFERENCES_MAX || value[1] != guards->type)
		return false;
	switch ((enum py_form)guards->form) {
	case PY_FORM_RANGE_INDEX:
		if (memcmp(value + 3, before + 3, 3 * sizeof *value) != 0 || value[2] > value[5])
			return false;
		found = value[2];
		break;
	case PY_FORM_RANGE_REST:
		if (value[3] != before[3] || !range_position(guards, value, &found))
			return false;
		break;
	case PY_FORM_INDEX:
		if (value[3] != before[3] || value[2] > INT64_MAX || value[2] < guards->origin)
			return false;
		found = value[2] - guards->origin;
		break;
	case PY_FORM_INDEX_DOWN:
		if (value[3] != before[3] || (int64_t)value[2] < -1 || value[2] + 1 > guards->origin)
			return false;
		found = guards->origin - 1 - value[2];
		break;
	case PY_FORM_COUNT:
		if (value[2] >= COUNT_IS_SLOW || value[2] < guards->origin)
			return false;
		found = value[2] - guards->origin;
		break;
	case PY_FORM_ISLICE:
		if (value[2] != before[2] || value[4] != before[4] || value[5] != 1 || value[6] > INT64_MAX)
			return false;
		found = value[6];
		break;
	case PY_FORM_CYCLE:
		if (value[3] != before[3] || value[4] > INT64_MAX)
			return false;
		found = value[4];
		break;
	case PY_FORM_REPEAT:
		if (value[2] != before[2] || value[3] > guards->origin)
			return false;
		found = guards->origin - value[3];
		break;
	case PY_FORM_TEE:
		if (value[2] != before[2])
			return false;
		found = (uint32_t)value[3];
		break;
	default: return false;
	}
	return loop_position(guards, found, position);
}

uint64_t py_iterator_length(
	const struct py_iterators *iterators, const struct py_loop_guards *guards, uint64_t position)
{
	uint64_t length;
	uint64_t source = guards->form == PY_FORM_VIRTUAL ? guards->type
		: guards->form == PY_FORM_INDEX               ? guards->value[3]
													  : 0;
	bool is_known = source && guards->origin == 0 && !guards->divisor && !guards->ahead &&
		py_size_read(iterators->process, source, &length) && length >= position;
	return is_known ? length : 0;
}

/* -- where a position starts -- */

static void measure(const struct py_measuring *at, uint64_t object, struct py_loop *out);

const struct py_loop_call *py_measure_call_of(const struct py_measuring *at, const char *name)
{
	const struct py_loop_call *call =
		at->loop ? &at->frame->code->calls[at->loop - at->frame->code->bytecode->loops] : NULL;
	return call && strcmp(call->callee, name) == 0 ? call : NULL;
}

bool py_measure_origin_of_call(const struct py_measuring *at, const char *name, uint32_t number, uint64_t *out)
{
	const struct py_loop_call *call = py_measure_call_of(at, name);
	if (!call || at->loop->iterated.argument_count > number)
		return false;
	*out = at->loop->iterated.argument_count < number ? 0 : call->last;
	return at->loop->iterated.argument_count < number || call->has_last;
}

/* -- kinds of iterators -- */

bool py_measure_source(const struct py_measuring *at, uint64_t object, enum py_form form, struct py_loop *out)
{
	struct py_loop_guards *guards = &out->guards;
	guards->source = object;
	guards->form = form;
	if (!remote_read(at->iterators->process->pid, object, guards->value, form_words[form] * sizeof *guards->value) ||
		py_class_of_type(&at->iterators->classes, object, guards->value[1]) != at->class)
		return false;
	guards->type = guards->value[1];
	return true;
}

void py_measure_position(const struct py_measuring *at, struct py_loop *out)
{
	out->has_position = py_iterator_decode(at->iterators, &out->guards, out->guards.value, &out->position);
	if (!out->has_position)
		out->guards.form = PY_FORM_NONE;
	if (!out->has_position || out->is_relative)
		out->length = 0;
}

static void measure_indexed(const struct py_measuring *at, uint64_t object, enum py_form form, struct py_loop *out)
{
	uint64_t length = 0;
	if (!py_measure_source(at, object, form, out))
		return;
	bool has_length = py_size_read(at->iterators->process, out->guards.value[3], &length);
	if (form == PY_FORM_INDEX_DOWN) {
		out->is_relative = !has_length;
		out->guards.origin = has_length ? length : out->guards.value[2] + 1;
	}
	py_measure_position(at, out);
	if (out->has_position && !out->is_relative && length >= out->position)
		out->length = length;
}

static void measure_virtual(
	const struct py_measuring *at, const struct py_loop_frame *frame, size_t entry, struct py_loop *out)
{
	struct py_loop_guards *guards = &out->guards;
	uint64_t length;
	out->object = guards->type = frame->objects[frame->local_count + entry];
	out->kind = at->class == PY_CLASS_LIST_ITSELF ? PY_LOOP_LIST
		: at->class == PY_CLASS_TUPLE_ITSELF      ? PY_LOOP_TUPLE
												  : PY_LOOP_OTHER;
	guards->source = py_loop_stack_slot(at->iterators->process, frame, entry);
	guards->form = PY_FORM_VIRTUAL;
	/* The index of a text may count bytes. */
	if (out->kind == PY_LOOP_OTHER || !py_size_read(at->iterators->process, out->object, &length) ||
		!remote_read(at->iterators->process->pid, guards->source, guards->value, 2 * sizeof *guards->value)) {
		guards->form = PY_FORM_NONE;
		return;
	}
	py_measure_position(at, out);
	out->length = out->has_position && length >= out->position ? length : 0;
}

void py_measure_inner(const struct py_measuring *at, uint64_t object, struct py_loop *out)
{
	struct py_iterators *iterators = at->iterators;
	*out = (struct py_loop){ .kind = PY_LOOP_OTHER };
	if (at->depth < DEPTH_MAX)
		measure(&(struct py_measuring){ .iterators = iterators,
					.class = py_class_of(&iterators->classes, object),
					.depth = at->depth + 1,
					.is_moving = at->is_moving },
			object, out);
	py_iterator_set_remaining(out);
}

void py_iterator_set_remaining(struct py_loop *loop)
{
	const struct py_loop_guards *guards = &loop->guards;
	bool is_range = loop->is_relative && guards->form == PY_FORM_RANGE_REST && loop->kind == PY_LOOP_RANGE;
	loop->has_remaining = loop->has_position && (is_range || (loop->length && loop->length >= loop->position));
	loop->remaining = !loop->has_remaining ? 0 : is_range ? guards->value[4] : loop->length - loop->position;
}

static bool is_at_first(const struct py_loop_frame *frame, const struct py_code_loop *loop)
{
	return frame->offset >= loop->offset && frame->offset < loop->offset_end;
}

void py_measure_adopt(struct py_loop *out, const struct py_loop *inner)
{
	struct py_loop_guards *guards = &out->guards;
	bool is_held = true;
	for (size_t i = 0; i < inner->guards.word_count; i++)
		is_held &= py_loop_guard_word(guards, inner->guards.words[i].address, inner->guards.words[i].word);
	for (size_t i = 0; i < inner->guards.place_count; i++) {
		is_held &= guards->place_count < PY_LOOP_PLACES;
		if (is_held)
			guards->places[guards->place_count++] = inner->guards.places[i];
	}
	guards->is_composite = true;
	guards->slot = inner->guards.slot;
	guards->source = inner->guards.source;
	guards->type = inner->guards.type;
	guards->origin = inner->guards.origin;
	guards->form = is_held ? inner->guards.form : PY_FORM_NONE;
	guards->divisor = inner->guards.divisor;
	guards->ahead = inner->guards.ahead;
	guards->round = inner->guards.round;
	memcpy(guards->value, inner->guards.value, sizeof guards->value);
	out->has_position = is_held && inner->has_position;
	out->is_relative = inner->is_relative;
	out->position = out->has_position ? inner->position : 0;
	out->length = out->has_position ? inner->length : 0;
	out->loader = inner->loader;
	out->is_learning = inner->is_learning;
	out->is_zipped |= inner->is_zipped;
	out->may_end_early |= inner->may_end_early;
}

static void measure_enumerate(const struct py_measuring *at, uint64_t object, struct py_loop *out)
{
	struct py_loop inner;
	if (!py_measure_source(at, object, PY_FORM_INDEX, out))
		return;
	py_measure_inner(at, out->guards.value[3], &inner);
	out->loader = inner.loader;
	out->is_zipped = inner.is_zipped;
	out->may_end_early = inner.may_end_early;
	out->is_relative = !py_measure_origin_of_call(at, "enumerate", 2, &out->guards.origin);
	bool has_inner = inner.has_position && !inner.is_relative;
	if (out->is_relative && has_inner) {
		if (py_loop_guard_word(&out->guards, object + INNER_OF_ENUMERATE, out->guards.value[3]))
			py_measure_adopt(out, &inner);
		return;
	}
	if (out->is_relative)
		out->guards.origin = out->guards.value[2];
	py_measure_position(at, out);
	if (out->has_position && !out->is_relative && inner.has_remaining && !at->is_moving && !inner.guards.is_moving) {
		out->length = out->position + inner.remaining;
		out->guards.has_inner_length = true;
	}
}

/* The part that ends first gives the length. Meanwhile nothing may have moved. */
static void measure_parts(const struct py_measuring *at, uint64_t object, uint32_t offset, struct py_loop *out)
{
	const struct py_process *process = at->iterators->process;
	struct py_loop parts[PARTS_MAX];
	uint64_t tuple, items[PARTS_MAX], left = UINT64_MAX;
	size_t count =
			   remote_word(process->pid, object + offset, &tuple) ? py_items_read(process, tuple, items, PARTS_MAX) : 0,
		   chosen = PARTS_MAX;
	uint64_t loader = 0;
	bool is_moving = false;
	if (count > 0 && py_gather_groups(at, object + offset, tuple, items, count, out))
		return;
	for (size_t i = 0; i < count; i++) {
		py_measure_inner(at, items[i], &parts[i]);
		loader = loader ? loader : parts[i].loader;
		is_moving |= parts[i].guards.is_moving;
		if (!parts[i].has_position)
			continue;
		if (chosen == PARTS_MAX || (parts[chosen].is_relative && !parts[i].is_relative))
			chosen = i;
		if (parts[i].has_remaining && parts[i].remaining < left)
			left = parts[i].remaining;
	}
	out->loader = loader;
	if (chosen == PARTS_MAX || !py_loop_guard_word(&out->guards, object + offset, tuple))
		return;
	bool is_settled = !at->is_moving && !is_moving;
	py_measure_adopt(out, &parts[chosen]);
	out->loader = loader;
	out->length = out->has_position && is_settled && !out->is_relative && left != UINT64_MAX && count < PARTS_MAX
		? out->position + left
		: 0;
	out->guards.has_inner_length = true;
}

/* -- generators -- */

static const char initial_name[] = "initial", total_name[] = "total";

/* tqdm's generator adds 1 to its local `n` behind the yield, so while it is suspended `n` lacks the item in progress.
 */
static void measure_by_local(
	struct py_iterators *iterators, const struct py_loop_frame *frame, int loop, struct py_loop *out)
{
	const struct py_process *process = iterators->process;
	const struct py_bytecode *bytecode = frame->code->bytecode;
	uint64_t initial, value;
	for (size_t i = 0; i < bytecode->store_count; i++) {
		const struct py_loop_variable *variable = &frame->code->variables[i];
		struct py_loop_guards *guards = &out->guards;
		if (bytecode->stores[i].loop != loop || variable->is_cell || variable->local >= frame->local_count ||
			strcmp(variable->name, "n") != 0 ||
			!py_attributes_int(&iterators->attributes, frame->objects[0], initial_name, &initial) ||
			!py_int_read(process, frame->objects[variable->local], &value) || value < initial)
			continue;
		guards->form = PY_FORM_INT;
		guards->slot = py_loop_local_slot(process, frame, variable->local);
		guards->source = frame->objects[variable->local];
		guards->origin = initial - 1;
		guards->is_composite = true;
		for (size_t at = 0; at < guards->place_count; at++)
			guards->places[at].is_generator = false;
		out->has_position = true;
		out->is_relative = false;
		out->position = value - guards->origin;
		return;
	}
}

static void measure_bar(
	struct py_iterators *iterators, const struct py_loop_frame *frame, int loop, struct py_loop *out)
{
	uint64_t total;
	if ((!out->has_position || out->is_relative) && out->guards.place_count < PY_LOOP_PLACES)
		measure_by_local(iterators, frame, loop, out);
	if (!out->length && out->has_position && !out->is_relative &&
		py_attributes_int(&iterators->attributes, frame->objects[0], total_name, &total) && total >= out->position)
		out->length = total;
}

bool py_iterator_generator(struct py_iterators *iterators, uint64_t generator, struct py_loop_frame *out)
{
	struct py_activation at;
	if (!py_generator_frame(iterators->process, generator, &at))
		return false;
	const struct py_loop_code *code = py_loop_code_checked(iterators->codes, at.code);
	if (!code || !code->bytecode || !py_loop_frame_read(iterators->process, &at, code, out))
		return false;
	py_loop_frame_classify(&iterators->classes, out);
	return true;
}

/* Of a `for` around a `yield from`: that it is in the only iteration. */
static bool is_only_iteration(struct py_iterators *iterators, const struct py_loop_frame *frame, int number)
{
	struct py_loop loop = { .kind = PY_LOOP_OTHER };
	size_t entry;
	uint64_t object;
	return py_stack_entry_find(frame, number, &entry, &object) &&
		py_iterator_measure(iterators, frame, entry, &frame->code->bytecode->loops[number], &loop) &&
		loop.has_position && !loop.is_relative && loop.position == 1 && loop.length == 1;
}

/* What a loop of a generator's frame iterates over. */
static bool measure_in_frame(const struct py_measuring *at, const struct py_loop_frame *frame,
	const struct py_code_loop *loop, int number, struct py_loop *out, struct py_loop_word *held)
{
	struct py_iterators *iterators = at->iterators;
	size_t entry;
	uint64_t source;
	if (!py_stack_entry_find(frame, number, &entry, &source))
		return false;
	struct py_measuring inner_at = { iterators, frame->classes[frame->local_count + entry], frame, loop, at->depth + 1,
		is_at_first(frame, loop) };
	*out = (struct py_loop){ .kind = PY_LOOP_OTHER };
	*held = (struct py_loop_word){ py_loop_stack_slot(iterators->process, frame, entry), source };
	if (py_stack_entry_is_virtual(frame, entry))
		measure_virtual(&inner_at, frame, entry, out);
	else if (at->depth < DEPTH_MAX)
		measure(&inner_at, source, out);
	return true;
}

/* Generators of libraries that leave out nothing but the last iteration, which the code alone does not show. */
static bool is_known_to_yield_each(const struct py_loop_code *code)
{
	static const char *const known[][2] = { { "gen_batches", "/sklearn/utils/" } };
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (code->function && code->file && strcmp(code->function, known[i][0]) == 0 && strstr(code->file, known[i][1]))
			return true;
	return false;
}

/* A generator's position is that of its loop, if that yields once in each iteration, or of what it delegates to, or
 * follows from that of what it gathers. */
static void measure_generator(const struct py_measuring *at, uint64_t object, struct py_loop *out)
{
	struct py_iterators *iterators = at->iterators;
	struct py_loop_frame frame;
	struct py_loop inner;
	struct py_loop_word held;
	if (!py_iterator_generator(iterators, object, &frame))
		return;
	const struct py_loop_code *code = frame.code;
	int number = py_bytecode_loop_at(code->bytecode, frame.offset);
	const struct py_code_loop *loop = number == PY_NO_LOOP ? NULL : &code->bytecode->loops[number];
	bool is_bar = frame.local_count > 0 && frame.classes[0] == PY_CLASS_BAR;
	if (is_bar)
		out->kind = PY_LOOP_PROGRESS;
	if (loop && loop->advance.local != PY_NO_INDEX)
		py_advance_measure(iterators, &frame, number, out);
	else if (loop && !loop->is_for && !loop->is_delegation && loop->yield_at != PY_NO_INDEX &&
		py_gather_find(at, &frame, &inner, &held))
		py_gather_measure(iterators, &frame, number, &inner, &held, out);
	if (!loop || !measure_in_frame(at, &frame, loop, number, &inner, &held))
		return;
	bool yields_each = loop->yields_once || (loop->yield_at != PY_NO_INDEX && is_known_to_yield_each(code));
	bool is_each = yields_each || loop->is_first_delegation ||
		(loop->is_delegation_of_for && is_only_iteration(iterators, &frame, loop->parent));
	if (!is_each && loop->is_for && loop->yield_at != PY_NO_INDEX)
		py_gather_measure(iterators, &frame, number, &inner, &held, out);
	if (!is_each || !py_loop_guard_place(&out->guards, &frame, number, yields_each) ||
		!py_loop_guard_word(&out->guards, held.address, held.word))
		return;
	py_measure_adopt(out, &inner);
	out->guards.is_composite = !yields_each;
	out->guards.is_moving = is_at_first(&frame, loop) || inner.guards.is_moving ||
		(yields_each && !code->bytecode->is_after_yield[frame.offset / 2]);
	if (is_bar)
		measure_bar(iterators, &frame, number, out);
}

/* Keras 3: of each epoch a generator yields the steps. */
static void measure_of_keras(const struct py_measuring *at, uint64_t object, struct py_loop *out)
{
	static const char generator_name[] = "_epoch_iterator";
	struct py_attribute attribute;
	struct py_loop inner;
	uint64_t generator;
	if (!py_attributes_get(&at->iterators->attributes, object, generator_name, &attribute, &generator))
		return;
	py_measure_inner(at, generator, &inner);
	if (inner.has_position && py_loop_guard_word(&out->guards, attribute.slot, generator) &&
		py_loop_guard_attribute(&out->guards, &attribute))
		py_measure_adopt(out, &inner);
}

static void measure(const struct py_measuring *at, uint64_t object, struct py_loop *out)
{
	out->object = object;
	switch (at->class) {
	case PY_CLASS_LOADER: out->loader = object; break;
	case PY_CLASS_RANGE:
		out->kind = PY_LOOP_RANGE;
		py_measure_range(at, object, out);
		break;
	case PY_CLASS_ENUMERATE:
		out->kind = PY_LOOP_ENUMERATE;
		measure_enumerate(at, object, out);
		break;
	case PY_CLASS_LIST:
	case PY_CLASS_LIST_REVERSED:
	case PY_CLASS_TUPLE:
	case PY_CLASS_SEQUENCE:
	case PY_CLASS_REVERSED:
		out->kind = at->class == PY_CLASS_TUPLE                                 ? PY_LOOP_TUPLE
			: at->class == PY_CLASS_LIST || at->class == PY_CLASS_LIST_REVERSED ? PY_LOOP_LIST
																				: PY_LOOP_SEQUENCE;
		measure_indexed(at, object,
			at->class == PY_CLASS_LIST_REVERSED || at->class == PY_CLASS_REVERSED ? PY_FORM_INDEX_DOWN : PY_FORM_INDEX,
			out);
		break;
	case PY_CLASS_ZIP:
		out->kind = PY_LOOP_ZIP;
		out->is_zipped = true;
		measure_parts(at, object, PARTS_OF_ZIP, out);
		break;
	case PY_CLASS_MAP:
		out->kind = PY_LOOP_MAP;
		measure_parts(at, object, PARTS_OF_MAP, out);
		break;
	case PY_CLASS_GENERATOR:
		out->kind = PY_LOOP_GENERATOR;
		measure_generator(at, object, out);
		break;
	case PY_CLASS_COUNT:
	case PY_CLASS_ISLICE:
	case PY_CLASS_CHAIN:
	case PY_CLASS_CYCLE:
	case PY_CLASS_REPEAT:
	case PY_CLASS_TAKEWHILE:
	case PY_CLASS_STARMAP:
	case PY_CLASS_PASSES_ON:
	case PY_CLASS_ZIP_LONGEST:
	case PY_CLASS_BATCHED:
	case PY_CLASS_PAIRWISE:
	case PY_CLASS_TEE:
	case PY_CLASS_ITERTOOLS:
		out->kind = PY_LOOP_ITERTOOLS;
		py_itertools_measure(at, object, out);
		break;
	case PY_CLASS_OF_KERAS:
		out->kind = PY_LOOP_OTHER;
		measure_of_keras(at, object, out);
		break;
	default:
		out->kind = PY_LOOP_OTHER;
		py_own_measure(at, object, out);
		break;
	}
}

bool py_iterator_measure(struct py_iterators *iterators, const struct py_loop_frame *frame, size_t entry,
	const struct py_code_loop *loop, struct py_loop *out)
{
	enum py_class class = frame->classes[frame->local_count + entry];
	struct py_measuring at = { iterators, class, frame, loop, 0, is_at_first(frame, loop) };
	if (py_stack_entry_is_virtual(frame, entry)) {
		measure_virtual(&at, frame, entry, out);
		return true;
	}
	if (!py_class_is_iterator(class) || class == PY_CLASS_LOADER)
		return false;
	measure(&at, frame->objects[frame->local_count + entry], out);
	return true;
}
