#include "src/sources/python/loops/py_losses.h"

#include <math.h>
#include <string.h>

#include "src/sources/python/loops/py_variables.h"
#include "src/sources/python/remote.h"

/* Not of a validation, nor a sum of losses. */
static const char *const loss_names[] = { "loss", "train_loss", "training_loss", "loss_val", "loss_value", "loss_item",
	"loss_float", "lossf", "loss_f", "loss_scalar", "batch_loss", "step_loss", "cur_loss", "current_loss", NULL };

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

/* Reads a float that a variable holds: as an int in py_loop_view.c. */
bool py_losses_float(const struct py_process *process, uint64_t slot, uint64_t object, double *out)
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
	double found;
	if (!object || object % 8 || !process->location.types[PY_FLOAT] ||
		!remote_read_pieces(process->pid, pieces, sizeof pieces / sizeof *pieces) ||
		py_layout_object(layout, slots[0]) != object || py_layout_object(layout, slots[1]) != object ||
		py_layout_object(layout, slots[2]) != object || values[0][1] != process->location.types[PY_FLOAT] ||
		py_layout_references(layout, values[0][0]) == 0 ||
		memcmp(values[0] + 1, values[1] + 1, 2 * sizeof(uint64_t)) != 0)
		return false;
	memcpy(&found, &values[0][2], sizeof found);
	if (isnan(found))
		return false;
	*out = found;
	return true;
}

static bool can_be_loss(const struct py_loop_code *code, size_t store)
{
	return !code->bytecode->stores[store].is_sum && is_one_of(loss_names, code->variables[store].name);
}

bool py_losses_has(const struct py_loop_code *code)
{
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
			py_losses_float(iterators->process, found.slot, value, out))
			return true;
	return false;
}

bool py_losses_read(struct py_reading *reading, double *out)
{
	const struct py_loop_code *code = reading->frame->code;
	int innermost = py_bytecode_loop_at(code->bytecode, reading->frame->offset);
	for (size_t i = 0; i < code->bytecode->store_count && innermost != PY_NO_LOOP; i++) {
		struct py_loop variable = reading->base;
		if (can_be_loss(code, i) &&
			py_variable_find(reading, &code->variables[i], &code->bytecode->stores[i], &variable) &&
			py_losses_float(reading->loops->iterators.process, variable.slot, variable.guards.source, out))
			return true;
	}
	return innermost != PY_NO_LOOP && read_meter(reading, out);
}
