#include "src/sources/python/loops/py_losses.h"

#include <math.h>
#include <string.h>

#include "src/sources/python/loops/py_bounds.h"
#include "src/sources/python/loops/py_loop_view.h"
#include "src/sources/python/loops/py_loss_names.h"
#include "src/sources/python/loops/py_stack_entries.h"
#include "src/sources/python/loops/py_tensors.h"
#include "src/sources/python/loops/py_variables.h"
#include "src/sources/python/remote.h"

/* AverageMeter, as ImageNet's example and timm have it: `val` is the newest. */
static const char *const meter_names[] = { "losses", "losses_m", "loss_meter", "loss_m", "train_losses",
	"train_loss_meter", NULL };
static const char newest[] = "val";

static bool is_one_of(const char *const *names, const char *name)
{
	for (; *names; names++)
		if (strcmp(name, *names) == 0)
			return true;
	return false;
}

/* Reads what a variable holds, of this type: as an int in py_loop_view.c. */
static bool read_as(const struct py_process *process, uint64_t type, uint64_t slot, uint64_t object, uint64_t *out)
{
	uint64_t slots[3], values[2][3];
	const struct remote_piece pieces[] = {
		{ slot, &slots[0], sizeof slots[0] },
		{ object, values[0], sizeof values[0] },
		{ slot, &slots[1], sizeof slots[1] },
		{ object, values[1], sizeof values[1] },
		{ slot, &slots[2], sizeof slots[2] },
	};
	const struct py_layout *layout = &process->location.layout;
	if (!object || object % 8 || !type || !remote_read_pieces(process->pid, pieces, sizeof pieces / sizeof *pieces) ||
		py_layout_object(layout, slots[0]) != object || py_layout_object(layout, slots[1]) != object ||
		py_layout_object(layout, slots[2]) != object || values[0][1] != type ||
		py_layout_references(layout, values[0][0]) == 0 ||
		memcmp(values[0] + 1, values[1] + 1, 2 * sizeof(uint64_t)) != 0)
		return false;
	*out = values[0][2];
	return true;
}

static bool take(double found, double *out)
{
	*out = isnan(found) ? *out : found;
	return !isnan(found);
}

bool py_losses_float(const struct py_process *process, uint64_t slot, uint64_t object, double *out)
{
	uint64_t word;
	double found;
	if (!read_as(process, process->location.types[PY_FLOAT], slot, object, &word))
		return false;
	memcpy(&found, &word, sizeof found);
	return take(found, out);
}

/* The same, or one of NumPy's. */
static bool read_number(struct py_reading *reading, uint64_t slot, uint64_t object, double *out)
{
	const struct py_process *process = reading->loops->iterators.process;
	enum py_class class;
	uint64_t type, word;
	double found;
	float single;
	if (py_losses_float(process, slot, object, out))
		return true;
	class = py_class_of(&reading->loops->iterators.classes, object);
	if ((class != PY_CLASS_FLOAT64 && class != PY_CLASS_FLOAT32) ||
		!remote_word(process->pid, object + process->location.layout.object_type, &type) ||
		py_class_of_type(&reading->loops->iterators.classes, object, type) != class ||
		!read_as(process, type, slot, object, &word))
		return false;
	memcpy(&found, &word, sizeof found);
	memcpy(&single, &word, sizeof single);
	return take(class == PY_CLASS_FLOAT64 ? found : (double)single, out);
}

/* A tensor's, too. */
static bool read_scalar(
	struct py_reading *reading, const struct py_store *store, uint64_t slot, uint64_t object, double *out)
{
	double found;
	return read_number(reading, slot, object, out) ||
		(store->is_only && py_class_of(&reading->loops->iterators.classes, object) == PY_CLASS_TENSOR &&
			py_tensor_read(reading->loops->iterators.process, slot, object, &found) && take(found, out));
}

static bool can_be_loss(const struct py_loop_code *code, size_t store)
{
	return !code->bytecode->stores[store].is_sum && py_loss_names_has(code->variables[store].name);
}

bool py_losses_has(const struct py_loop_code *code)
{
	if (code->bytecode->gain_count > 0)
		return true;
	for (size_t i = 0; i < code->bytecode->store_count; i++)
		if (can_be_loss(code, i))
			return true;
	for (size_t i = 0; i < code->local_count; i++)
		if (is_one_of(meter_names, code->local_names[i]))
			return true;
	return false;
}

static bool read_meter(struct py_reading *reading, double *out)
{
	const struct py_loop_frame *frame = reading->frame;
	struct py_iterators *iterators = &reading->loops->iterators;
	struct py_attribute found;
	uint64_t value;
	for (size_t i = 0; i < frame->local_count; i++)
		if (is_one_of(meter_names, frame->code->local_names[i]) &&
			py_attributes_get(&iterators->attributes, frame->objects[i], newest, &found, &value) &&
			read_number(reading, found.slot, value, out))
			return true;
	return false;
}

/* -- what a loop gathers -- */

enum { LIST_REFERENCES, LIST_TYPE, LIST_COUNT, LIST_ITEMS, LIST_WORDS, STORE_SIZE = 8 };

/* The list is the same before and after, and so is its last item while that is read. */
static bool read_last(struct py_reading *reading, uint64_t list, double *out)
{
	const struct py_process *process = reading->loops->iterators.process;
	uint64_t before[LIST_WORDS], after[LIST_WORDS], item;
	if (!list || list % 8 || !remote_read(process->pid, list, before, sizeof before) ||
		before[LIST_TYPE] != process->location.types[PY_LIST] || before[LIST_COUNT] == 0 ||
		before[LIST_COUNT] > INT64_MAX / 8)
		return false;
	uint64_t slot = before[LIST_ITEMS] + 8 * (before[LIST_COUNT] - 1);
	return remote_word(process->pid, slot, &item) && read_number(reading, slot, item, out) &&
		remote_read(process->pid, list, after, sizeof after) &&
		memcmp(before + LIST_TYPE, after + LIST_TYPE, (LIST_WORDS - LIST_TYPE) * sizeof *before) == 0;
}

/* What the loop iterates over. */
static bool find_loop(struct py_reading *reading, int number, struct py_loop *out)
{
	struct py_iterators *iterators = &reading->loops->iterators;
	const struct py_loop_frame *frame = reading->frame;
	size_t entry;
	uint64_t object;
	*out = reading->base;
	if (!py_stack_entry_find(frame, number, &entry, &object))
		return false;
	out->slot = py_loop_stack_slot(iterators->process, frame, entry);
	out->loader = frame->classes[frame->local_count + entry] == PY_CLASS_LOADER ? object : 0;
	if (out->loader)
		return true;
	return py_loop_guard_place(&out->guards, frame, number, false) &&
		py_loop_guard_word(&out->guards, out->slot, object) &&
		py_iterator_measure(iterators, frame, entry, &frame->code->bytecode->loops[number], out);
}

/* Items that the loop has got: a DataLoader's own count, where its iterator is all that has one. */
static bool count_items(struct py_reading *reading, int number, uint64_t *out)
{
	struct py_iterators *iterators = &reading->loops->iterators;
	struct py_loop loop;
	if (!find_loop(reading, number, &loop))
		return false;
	if (loop.loader && !loop.has_position && loop.kind != PY_LOOP_ITERTOOLS)
		return py_attributes_int(&iterators->attributes, loop.loader, "_num_yielded", out);
	*out = loop.position;
	return loop.has_position && py_loop_view(iterators, &loop) == PY_LOOP_GOOD && loop.position == *out;
}

enum phase { PHASE_UNKNOWN, PHASE_BEFORE, PHASE_ADDED };

/* While the loop asks for its next item, the iteration that it is in is not known. */
static enum phase phase_of(const struct py_loop_frame *frame, const struct py_gain *gain)
{
	const struct py_bytecode *bytecode = frame->code->bytecode;
	const struct py_code_loop *loop = &bytecode->loops[gain->into.loop];
	int64_t offset = frame->offset, store = gain->into.offset;
	if (!py_bytecode_is_in(bytecode, offset, gain->into.loop) ||
		(offset >= loop->offset && offset < loop->offset_end) || (offset >= store && offset < store + STORE_SIZE))
		return PHASE_UNKNOWN;
	return bytecode->is_added[offset / 2] >> (gain->counted - 1) & 1 ? PHASE_ADDED : PHASE_BEFORE;
}

static int64_t floor_of(int64_t dividend, int64_t divisor) { return dividend / divisor - (dividend % divisor < 0); }

/* The iteration in progress may have advanced the index, or do so before it compares it. */
static void read_index(struct py_reading *reading, const struct py_period *period, struct py_loss *out)
{
	struct py_iterators *iterators = &reading->loops->iterators;
	int64_t length, rest;
	if (!py_bound_operand(iterators, reading->frame, &period->index, &out->index) ||
		!py_bound_operand(iterators, reading->frame, &period->length, &length) ||
		!py_bound_operand(iterators, reading->frame, &period->rest, &rest) || length < 1)
		return;
	out->has_index = true;
	out->resets_before = floor_of(out->index - 1 - rest, length);
	out->resets = floor_of(out->index - rest, length);
}

/* Reads the frame anew. */
static enum phase read_phase(struct py_reading *reading, const struct py_gain *gain, struct py_loop_frame *out)
{
	const struct py_loop_frame *frame = reading->frame;
	return py_loop_frame_read(reading->loops->iterators.process, &frame->at, frame->code, out) ? phase_of(out, gain)
																							   : PHASE_UNKNOWN;
}

/* Between two equal counts it is in one iteration, and between two equal phases on one side of the addition. A sum that
 * may be reset after that is read before it. */
static bool read_sum(
	struct py_reading *reading, const struct py_gain *gain, const struct py_loop *variable, struct py_loss *out)
{
	struct py_reading again = *reading;
	struct py_loop_frame frame;
	uint64_t count;
	again.frame = &frame;
	if (!count_items(reading, gain->into.loop, &out->count))
		return false;
	enum phase phase = read_phase(reading, gain, &frame);
	if (phase == PHASE_UNKNOWN || (gain->is_reset && phase == PHASE_ADDED))
		return false;
	if (gain->has_period)
		read_index(&again, &gain->period, out);
	if (!read_number(reading, variable->slot, variable->guards.source, &out->value) ||
		read_phase(reading, gain, &frame) != phase)
		return false;
	py_loop_frame_classify(&reading->loops->iterators.classes, &frame);
	if (!count_items(&again, gain->into.loop, &count) || count != out->count)
		return false;
	out->count += phase == PHASE_ADDED;
	out->is_sum = true;
	out->is_reset = gain->is_reset;
	out->slot = variable->slot;
	return true;
}

/* The loop around the current instruction that has the steps. */
static int find_steps(struct py_reading *reading, const struct py_steps_at *at)
{
	const struct py_loop_code *code = reading->frame->code;
	int number = py_bytecode_loop_at(code->bytecode, reading->frame->offset);
	struct py_loop loop;
	for (; number != PY_NO_LOOP; number = code->bytecode->loops[number].parent)
		if ((at->line > 0 && code->loop_lines[number] == at->line) ||
			(at->iterator && find_loop(reading, number, &loop) && loop.loader == at->iterator))
			break;
	return number;
}

static bool read_gain(struct py_reading *reading, size_t number, int steps, struct py_loss *out)
{
	const struct py_loop_code *code = reading->frame->code;
	const struct py_gain *gain = &code->bytecode->gains[number];
	struct py_loop variable = reading->base;
	if (!(gain->is_append || gain->counted) || gain->into.loop != steps ||
		!py_variable_find(reading, &code->gains[number], &gain->into, &variable))
		return false;
	return gain->is_append ? read_last(reading, variable.guards.source, &out->value)
						   : read_sum(reading, gain, &variable, out);
}

/* A list first: its last item is of one batch. */
static bool read_gains(struct py_reading *reading, int steps, struct py_loss *out)
{
	const struct py_bytecode *bytecode = reading->frame->code->bytecode;
	for (int is_append = 1; is_append >= 0; is_append--)
		for (size_t i = 0; i < bytecode->gain_count; i++)
			if (bytecode->gains[i].is_append == is_append && read_gain(reading, i, steps, out))
				return true;
	return false;
}

static bool is_within(const struct py_bytecode *bytecode, int loop, int around)
{
	while (loop != PY_NO_LOOP && loop != around)
		loop = bytecode->loops[loop].parent;
	return loop == around;
}

/* What a loop around this one assigns is of a whole epoch: `train_loss = running_loss / len(loader)`. */
static bool read_variable(struct py_reading *reading, int within, double *out)
{
	const struct py_loop_code *code = reading->frame->code;
	for (size_t i = 0; i < code->bytecode->store_count; i++) {
		struct py_loop variable = reading->base;
		const struct py_store *store = &code->bytecode->stores[i];
		if (can_be_loss(code, i) && is_within(code->bytecode, store->loop, within) &&
			py_variable_find(reading, &code->variables[i], store, &variable) &&
			read_scalar(reading, store, variable.slot, variable.guards.source, out))
			return true;
	}
	return false;
}

bool py_losses_read(struct py_reading *reading, const struct py_steps_at *at, struct py_loss *out)
{
	int innermost = py_bytecode_loop_at(reading->frame->code->bytecode, reading->frame->offset);
	int steps = find_steps(reading, at);
	*out = (struct py_loss){ .is_sum = false };
	if (innermost == PY_NO_LOOP || (at->line > 0 && steps == PY_NO_LOOP))
		return false;
	return (at->is_function &&
			   (read_variable(reading, steps == PY_NO_LOOP ? innermost : steps, &out->value) ||
				   read_meter(reading, &out->value))) ||
		(steps != PY_NO_LOOP && read_gains(reading, steps, out));
}
