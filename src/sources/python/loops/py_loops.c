#include "src/sources/python/loops/py_loops.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/sources/python/loops/py_bounds.h"
#include "src/sources/python/loops/py_changes.h"
#include "src/sources/python/loops/py_loop_view.h"
#include "src/sources/python/loops/py_losses.h"
#include "src/sources/python/loops/py_ranges.h"
#include "src/sources/python/loops/py_reading.h"
#include "src/sources/python/loops/py_variables.h"
#include "src/sources/python/py_objects.h"
#include "src/sources/python/remote.h"

/* -- iterators -- */

static bool is_sampled(const struct py_sample *sample, uint64_t frame)
{
	for (size_t i = 0; i < sample->count; i++)
		if (sample->sites[i].frame == frame)
			return true;
	return false;
}

static void read_frame(struct py_reading *reading, const struct py_sample *sample, unsigned depth);

/* The loops of a generator that is not running: one that is has a frame of its own in the sample. */
static void read_generator(
	struct py_reading *reading, const struct py_loop *loop, const struct py_sample *sample, unsigned depth)
{
	struct py_loop_frame frame;
	if (!py_iterator_generator(&reading->loops->iterators, loop->object, &frame) || is_sampled(sample, frame.at.frame))
		return;
	struct py_reading inner = { reading->loops, &frame, reading->base, reading->out, reading->count, reading->max };
	inner.base.is_in_generator = true;
	read_frame(&inner, sample, depth + 1);
	reading->count = inner.count;
}

static void read_for(struct py_reading *reading, int number, const struct py_sample *sample, unsigned depth)
{
	enum { GENERATORS_MAX = 3 };
	struct py_iterators *iterators = &reading->loops->iterators;
	const struct py_loop_frame *frame = reading->frame;
	const struct py_code_loop *code_loop = &frame->code->bytecode->loops[number];
	struct py_loop loop = reading->base;
	size_t entry;
	uint64_t object;
	if (!py_stack_entry_find(frame, number, &entry, &object))
		return;
	loop.slot = py_loop_stack_slot(iterators->process, frame, entry);
	loop.depth = code_loop->depth;
	loop.line = loop.loop_line = frame->code->loop_lines[number];
	loop.is_uneven = loop.is_in_generator && !code_loop->yields_once;
	if (!py_loop_guard_place(&loop.guards, frame, number, false) ||
		!py_loop_guard_word(&loop.guards, loop.slot, object) ||
		!py_stack_entry_guard_below(&iterators->classes, frame, entry, &loop.guards) ||
		!py_iterator_measure(iterators, frame, entry, code_loop, &loop))
		return;
	py_reading_emit(reading, &loop);
	if (frame->classes[frame->local_count + entry] == PY_CLASS_GENERATOR && depth < GENERATORS_MAX)
		read_generator(reading, &loop, sample, depth);
}

/* -- bars and trainers -- */

static void read_state(
	struct py_reading *reading, const struct py_loop *variable, uint64_t object, enum py_class class, int outermost)
{
	const struct py_loop_code *code = reading->frame->code;
	struct py_loop loop = *variable;
	if ((class != PY_CLASS_BAR && class != PY_CLASS_HOLDER) ||
		!py_state_find(
			&reading->loops->states, &reading->loops->iterators.attributes, object, class == PY_CLASS_BAR, &loop) ||
		!py_loop_guard_place(&loop.guards, reading->frame, outermost, false))
		return;
	loop.line = loop.loop_line = code->loop_lines[outermost];
	py_reading_emit(reading, &loop);
}

static void read_local_states(struct py_reading *reading, int outermost)
{
	const struct py_process *process = reading->loops->iterators.process;
	const struct py_loop_frame *frame = reading->frame;
	for (size_t i = 0; i < frame->local_count; i++) {
		struct py_loop variable = reading->base;
		const char *name = frame->code->local_names[i];
		if ((frame->classes[i] != PY_CLASS_BAR && frame->classes[i] != PY_CLASS_HOLDER) || !*name)
			continue;
		snprintf(variable.name, sizeof variable.name, "%s", name);
		if (py_loop_guard_word(&variable.guards, py_loop_local_slot(process, frame, i), frame->objects[i]))
			read_state(reading, &variable, frame->objects[i], frame->classes[i], outermost);
	}
}

static void read_global_states(struct py_reading *reading, int outermost)
{
	struct py_loops *loops = reading->loops;
	const struct py_entries *globals = &loops->globals;
	uint64_t values[PY_ENTRIES_MAX], key;
	enum py_class classes[PY_ENTRIES_MAX];
	struct py_attribute entry;
	if (!py_variables_globals(reading))
		return;
	for (size_t i = 0; i < globals->count; i++)
		py_entries_get(globals, i, &key, &entry, &values[i]);
	py_classes_of(&loops->iterators.classes, values, globals->count, classes);
	for (size_t i = 0; i < globals->count; i++) {
		struct py_loop variable = reading->base;
		bool is_held = classes[i] == PY_CLASS_BAR || classes[i] == PY_CLASS_HOLDER;
		if (is_held && py_entries_get(globals, i, &key, &entry, &values[i]) &&
			py_text_read(loops->iterators.process, key, variable.name, sizeof variable.name) &&
			py_loop_guard_word(&variable.guards, entry.slot, values[i]) &&
			py_loop_guard_attribute(&variable.guards, &entry))
			read_state(reading, &variable, values[i], classes[i], outermost);
	}
}

/* -- frames -- */

static void read_frame(struct py_reading *reading, const struct py_sample *sample, unsigned depth)
{
	const struct py_bytecode *bytecode = reading->frame->code->bytecode;
	int innermost = py_bytecode_loop_at(bytecode, reading->frame->offset), outermost = PY_NO_LOOP,
		around[PY_CODE_LOOPS_MAX];
	size_t count = 0;
	reading->base.frame = reading->frame->at.frame;
	reading->base.code = reading->frame->at.code;
	for (int at = innermost; at != PY_NO_LOOP; at = bytecode->loops[at].parent) {
		outermost = at;
		if (bytecode->loops[at].is_for && !bytecode->loops[at].is_inlined)
			around[count++] = at;
	}
	while (count > 0)
		read_for(reading, around[--count], sample, depth);
	if (innermost == PY_NO_LOOP)
		return;
	py_variables_read(reading);
	read_local_states(reading, outermost);
	if (reading->frame->code->is_module)
		read_global_states(reading, outermost);
}

size_t py_loops_around(struct py_loops *loops, const struct py_site *site, int *lines, size_t max)
{
	const struct py_loop_code *code = py_loop_code_get(loops->iterators.codes, site->code);
	int64_t offset = py_loop_offset(&loops->iterators.process->location.layout, site->code, site->ip);
	size_t count = 0;
	int at = code && code->bytecode ? py_bytecode_loop_at(code->bytecode, offset) : PY_NO_LOOP;
	while (at != PY_NO_LOOP) {
		const struct py_code_loop *loop = &code->bytecode->loops[at];
		if (!loop->is_delegation && loop->depth < max) {
			count = loop->depth + 1 > count ? loop->depth + 1 : count;
			lines[loop->depth] = code->loop_lines[at];
		}
		at = loop->parent;
	}
	return count;
}

static void check_codes(struct py_loops *loops, const struct py_sample *sample)
{
	uint64_t codes[PY_FRAMES_MAX];
	for (size_t i = 0; i < sample->count; i++)
		codes[i] = sample->sites[i].code;
	py_loop_codes_check(loops->iterators.codes, codes, sample->count);
	loops->has_globals = false;
}

/* Those with loops among the next frames of a sample, at once. */
static size_t read_next_frames(struct py_loops *loops, const struct py_sample *sample, size_t *at)
{
	size_t count = 0;
	for (; *at < sample->count && count < PY_FRAMES_AT_ONCE; ++*at) {
		const struct py_site *site = &sample->sites[*at];
		const struct py_loop_code *code = py_loop_code_get(loops->iterators.codes, site->code);
		if (!code || !code->bytecode)
			continue;
		loops->frames[count].at = (struct py_activation){ site->frame, site->code };
		loops->frames[count].code = code;
		loops->numbers[count++] = *at;
	}
	py_loop_frames_read(loops->iterators.process, loops->frames, count);
	return count;
}

size_t py_loops_read(struct py_loops *loops, const struct py_sample *sample, struct py_loop *out, size_t max)
{
	struct py_reading reading = { .loops = loops, .out = out, .max = max };
	size_t called = py_calls_site(sample);
	check_codes(loops, sample);
	for (size_t at = 0; at < sample->count;) {
		size_t count = read_next_frames(loops, sample, &at);
		for (size_t i = 0; i < count; i++) {
			struct py_loop_frame *frame = &loops->frames[i];
			if (!frame->code || py_bytecode_loop_at(frame->code->bytecode, frame->offset) == PY_NO_LOOP)
				continue;
			py_loop_frame_classify(&loops->iterators.classes, frame);
			reading.frame = frame;
			reading.base =
				(struct py_loop){ .frame_index = loops->numbers[i], .site = &sample->sites[loops->numbers[i]] };
			read_frame(&reading, sample, 0);
			if (called < loops->numbers[i]) {
				py_calls_read(&reading, &sample->sites[called]);
				called = sample->count;
			}
		}
	}
	return reading.count;
}

bool py_loops_read_changes(
	struct py_loops *loops, const struct py_sample *sample, uint64_t code, int line, struct py_loop *out)
{
	struct py_reading reading = { .loops = loops, .out = out, .max = 1 };
	struct py_loop_frame *frame = &loops->frames[0];
	const struct py_loop_code *known = py_loop_code_get(loops->iterators.codes, code);
	for (size_t i = 0; known && known->bytecode && i < sample->count && reading.count == 0; i++) {
		const struct py_site *site = &sample->sites[i];
		const struct py_activation at = { site->frame, site->code };
		if (site->code != code || !py_loop_frame_read(loops->iterators.process, &at, known, frame))
			continue;
		py_loop_frame_classify(&loops->iterators.classes, frame);
		reading.frame = frame;
		reading.base = (struct py_loop){ .frame = site->frame, .code = site->code, .frame_index = i, .site = site };
		py_changes_read(&reading, line);
	}
	return reading.count > 0;
}

/* The innermost loop at an instruction, or NULL. *is_asking: it asks for the loop's next item. */
static const struct py_code_loop *loop_at(struct py_loops *loops, uint64_t code, uint64_t ip, bool *is_asking)
{
	const struct py_loop_code *known = py_loop_code_checked(loops->iterators.codes, code);
	if (!known || !known->bytecode)
		return NULL;
	int64_t offset = py_loop_offset(&loops->iterators.process->location.layout, code, ip);
	int number = py_bytecode_loop_at(known->bytecode, offset);
	const struct py_code_loop *loop = number == PY_NO_LOOP ? NULL : &known->bytecode->loops[number];
	*is_asking = loop && offset >= loop->offset && offset < loop->offset_end;
	return loop;
}

bool py_loops_asks(struct py_loops *loops, uint64_t code, uint64_t ip)
{
	bool is_asking = false;
	return loop_at(loops, code, ip, &is_asking) && is_asking;
}

bool py_loops_yields_in_for(struct py_loops *loops, uint64_t code, uint64_t ip)
{
	bool is_asking;
	const struct py_code_loop *loop = loop_at(loops, code, ip, &is_asking);
	return loop && loop->is_for && loop->yields_once && !is_asking;
}

bool py_loops_gathers(struct py_loops *loops, uint64_t code, uint64_t ip)
{
	bool is_asking;
	const struct py_code_loop *loop = loop_at(loops, code, ip, &is_asking);
	return loop && loop->is_for && !loop->yields_once && py_loops_is_generator(loops, code);
}

bool py_loops_yields_each(struct py_loops *loops, uint64_t code)
{
	const struct py_loop_code *known = py_loop_code_get(loops->iterators.codes, code);
	const struct py_bytecode *bytecode = known ? known->bytecode : NULL;
	return bytecode && bytecode->is_generator && bytecode->loop_count == 1 && bytecode->loops[0].is_for &&
		bytecode->loops[0].yields_once;
}

bool py_loops_source(struct py_loops *loops, const struct py_loop *loop, const char **function, const char **file)
{
	const struct py_loop_code *known = py_loop_code_get(loops->iterators.codes, loop->code);
	if (!known || !known->function || !known->file)
		return false;
	*function = known->function;
	*file = known->file;
	return true;
}

bool py_loops_is_generator(struct py_loops *loops, uint64_t code)
{
	const struct py_loop_code *known = py_loop_code_get(loops->iterators.codes, code);
	return known && known->bytecode && known->bytecode->is_generator;
}

enum py_loop_reading py_loop_poll(struct py_loops *loops, struct py_loop *loop)
{
	enum py_loop_reading reading =
		loop->guards.rebound ? py_variable_poll_rebound(loops, loop) : py_loop_view(&loops->iterators, loop);
	if (reading == PY_LOOP_GOOD && loop->guards.is_of_calls)
		py_calls_adjust(&loops->calls, &loops->iterators.attributes, loop);
	return reading;
}

bool py_loop_read_left(struct py_loops *loops, struct py_loop *loop)
{
	struct py_loop left = *loop;
	if (loop->kind != PY_LOOP_STATE || left.guards.word_count == 0)
		return false;
	/* The first word is that of the variable, in the frame that is gone. */
	left.guards.place_count = 0;
	left.guards.word_count--;
	memmove(left.guards.words, left.guards.words + 1, left.guards.word_count * sizeof *left.guards.words);
	if (py_loop_view(&loops->iterators, &left) != PY_LOOP_GOOD)
		return false;
	loop->position = left.position;
	return true;
}

bool py_loop_range_item(const struct py_loop *loop, uint64_t *item, uint64_t *end)
{
	return py_range_item(loop, item, end);
}

/* -- losses -- */

bool py_loops_gather_loss(const struct py_loops *loops, uint64_t code)
{
	const struct py_loop_code *known = py_loop_code_read_before(loops->iterators.codes, code);
	return known && known->bytecode && known->bytecode->gain_count > 0;
}

bool py_loops_names_backward(const struct py_loops *loops, uint64_t code)
{
	const struct py_loop_code *known = py_loop_code_read_before(loops->iterators.codes, code);
	return known && known->names_backward;
}

bool py_loop_loss(struct py_loops *loops, const struct py_sample *sample, size_t frame_index,
	const struct py_steps_at *at, struct py_loss *out)
{
	struct py_reading reading = { .loops = loops };
	struct py_loop_frame frame;
	const struct py_site *site = &sample->sites[frame_index];
	check_codes(loops, sample);
	const struct py_loop_code *code = py_loop_code_get(loops->iterators.codes, site->code);
	if (!code || !code->bytecode || !py_losses_has(code) ||
		!py_loop_frame_read(loops->iterators.process, &(struct py_activation){ site->frame, site->code }, code, &frame))
		return false;
	reading.frame = &frame;
	if (at->iterator || code->bytecode->gain_count > 0)
		py_loop_frame_classify(&loops->iterators.classes, &frame);
	return py_losses_read(&reading, at, out);
}

bool py_loop_state_loss(struct py_loops *loops, const struct py_loop *state, double *out)
{
	uint64_t slot, object;
	return py_state_loss(&loops->iterators.attributes, state, &slot, &object) &&
		py_losses_float(loops->iterators.process, slot, object, out);
}

/* -- opening -- */

enum status py_loops_open(const struct py_process *process, struct py_loops **out, struct reason *why_not)
{
	enum status status = py_objects_known(&process->location, why_not);
	if (status != STATUS_OK)
		return status;
	struct py_loops *loops = calloc(1, sizeof *loops);
	struct py_loop_codes *codes = loops ? py_loop_codes_new(process) : NULL;
	if (!codes) {
		free(loops);
		return reason_set(why_not, STATUS_NO_MEMORY, NULL, "out of memory");
	}
	loops->iterators.process = loops->iterators.classes.process = loops->iterators.attributes.process = process;
	loops->iterators.codes = codes;
	*out = loops;
	return STATUS_OK;
}

void py_loops_close(struct py_loops *loops)
{
	py_loop_codes_free(loops->iterators.codes);
	free(loops);
}

bool py_loops_lacks_break(struct py_loops *loops, const struct py_loop *loop)
{
	const struct py_loop_code *code = py_loop_code_checked(loops->iterators.codes, loop->code);
	size_t number = loop->guards.place_count > 0 ? (size_t)loop->guards.places[0].loop : SIZE_MAX;
	return code && code->bytecode && number < code->bytecode->loop_count && code->bytecode->loops[number].is_for &&
		!code->bytecode->loops[number].has_break;
}

bool py_loops_code_lacks_break(struct py_loops *loops, uint64_t code)
{
	const struct py_loop_code *known = py_loop_code_checked(loops->iterators.codes, code);
	bool is_any = false;
	for (size_t i = 0; known && known->bytecode && i < known->bytecode->loop_count; i++) {
		if (known->bytecode->loops[i].has_break && known->bytecode->loops[i].is_for)
			return false;
		is_any |= known->bytecode->loops[i].is_for;
	}
	return is_any;
}

bool py_loop_bound(struct py_loops *loops, const struct py_loop *loop, uint64_t ip, struct py_loop_bound *out)
{
	return py_bound_read(&loops->iterators, loop, ip, out);
}

bool py_loops_sums(struct py_loops *loops, const struct py_loop *compared, uint64_t code, uint64_t ip, bool *is_before)
{
	return py_bound_sums(&loops->iterators, compared, code, ip, is_before);
}

uint64_t py_loops_epochs(struct py_loops *loops, uint64_t object) { return py_bound_epochs(&loops->iterators, object); }
