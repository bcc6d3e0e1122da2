#include "src/trace/store/profile_flops.h"

#include <math.h>

#include "src/trace/store/profile_table.h"

enum { INPUTS_MAX = 8, DIMS_MAX = 8, KIND_SHIFT = 1 };

struct shape {
	size_t count;
	double dims[DIMS_MAX];
};

struct shapes {
	size_t count;
	struct shape inputs[INPUTS_MAX];
};

/* "[[32, 64], [], [8]]". False: another form. */
static bool parse_shapes(struct profile_slice text, struct shapes *out)
{
	*out = (struct shapes){ 0 };
	struct shape *shape = NULL;
	int depth = 0;
	for (size_t i = 0; i < text.length; i++) {
		char byte = text.text[i];
		if (byte == '[' && ++depth == 2) {
			if (out->count == INPUTS_MAX)
				return true;
			shape = &out->inputs[out->count++];
		} else if (byte == ']') {
			depth--;
		} else if (byte >= '0' && byte <= '9' && depth == 2) {
			double number = 0;
			for (; i < text.length && text.text[i] >= '0' && text.text[i] <= '9'; i++)
				number = number * 10 + (text.text[i] - '0');
			i--;
			if (shape->count == DIMS_MAX || number > 1e12)
				return false;
			shape->dims[shape->count++] = number;
		} else if (depth > 2) {
			return false;
		}
	}
	return depth == 0;
}

/* The numbers of the string number `index` of an array of strings: "[2, 2]" or "1". */
static struct shape concrete_at(struct profile_slice text, size_t index)
{
	struct shape shape = { 0 };
	bool is_inside = false;
	size_t string = 0;
	for (size_t i = 0; i < text.length; i++) {
		char byte = text.text[i];
		if (byte == '"') {
			string += is_inside;
			is_inside = !is_inside;
		} else if (is_inside && string == index && byte >= '0' && byte <= '9' && shape.count < DIMS_MAX) {
			double number = 0;
			for (; i < text.length && text.text[i] >= '0' && text.text[i] <= '9'; i++)
				number = number * 10 + (text.text[i] - '0');
			i--;
			shape.dims[shape.count++] = number;
		}
	}
	return shape;
}

static double product(const struct shape *shape)
{
	double result = 1;
	for (size_t i = 0; i < shape->count; i++)
		result *= shape->dims[i];
	return result;
}

static double matrix(const struct shape *a, const struct shape *b)
{
	return a->count == 2 && b->count == 2 && a->dims[1] == b->dims[0] ? 2 * product(a) * b->dims[1] : NAN;
}

static double batched(const struct shape *a, const struct shape *b)
{
	return a->count == 3 && b->count == 3 && a->dims[2] == b->dims[1] ? 2 * product(a) * b->dims[2] : NAN;
}

static double pair(const struct shape *shape, size_t i, double otherwise)
{
	return shape->count > i ? shape->dims[i] : shape->count == 1 ? shape->dims[0] : otherwise;
}

/* aten::conv2d: inputs are image, weight, bias, stride, padding, dilation, groups. */
static double convolution(const struct shapes *shapes, struct profile_slice concrete)
{
	const struct shape *image = &shapes->inputs[0], *weight = &shapes->inputs[1];
	struct shape stride = concrete_at(concrete, 3), padding = concrete_at(concrete, 4),
				 dilation = concrete_at(concrete, 5), groups = concrete_at(concrete, 6);
	if (image->count != 4 || weight->count != 4 || !stride.count || !padding.count || !dilation.count ||
		groups.count != 1 || groups.dims[0] <= 0)
		return NAN;
	double result = 2 * image->dims[0] * image->dims[1] * product(weight) / weight->dims[1];
	for (size_t i = 0; i < 2; i++) {
		double step = pair(&stride, i, 1);
		if (step <= 0)
			return NAN;
		result *= floor((image->dims[2 + i] + 2 * pair(&padding, i, 0) -
							pair(&dilation, i, 1) * (weight->dims[2 + i] - 1) - 1) /
					  step) +
			1;
	}
	return result / groups.dims[0];
}

static double flops_of(struct profile_slice name, struct profile_slice dims, struct profile_slice concrete)
{
	struct shapes shapes;
	size_t length = name.length - 6;
	const char *op = name.text + 6;
#define IS(text) (length == sizeof(text) - 1 && memcmp(op, text, sizeof(text) - 1) == 0)
	if (!(IS("mm") || IS("addmm") || IS("bmm") || IS("baddbmm") || IS("conv2d") || IS("add") || IS("mul")) ||
		!parse_shapes(dims, &shapes))
		return NAN;
	if (IS("mm"))
		return matrix(&shapes.inputs[0], &shapes.inputs[1]);
	if (IS("addmm"))
		return matrix(&shapes.inputs[1], &shapes.inputs[2]);
	if (IS("bmm"))
		return batched(&shapes.inputs[0], &shapes.inputs[1]);
	if (IS("baddbmm"))
		return batched(&shapes.inputs[1], &shapes.inputs[2]);
	if (IS("conv2d"))
		return convolution(&shapes, concrete);
#undef IS
	return shapes.count ? product(&shapes.inputs[0]) : NAN;
}

void profile_flops_add(
	struct profile *profile, uint32_t name, uint32_t shape, struct profile_slice dims, struct profile_slice concrete)
{
	struct profile_slice text = profile_names_text(&profile->names, name);
	if (text.length < 8 || text.length > 13 || memcmp(text.text, "aten::", 6) != 0)
		return;
	double flops = flops_of(text, dims, concrete);
	struct profile_entry *entry =
		isfinite(flops) && flops > 0 ? profile_table_at(profile->flops, profile_flops_key(name, shape)) : NULL;
	if (!entry)
		return;
	entry->number += flops;
	entry->count++;
}

void profile_flops_remove(struct profile *profile, uint32_t name, uint32_t shape)
{
	uint64_t key = profile_flops_key(name, shape);
	if (!profile_table_find(profile->flops, key))
		return;
	struct profile_entry *entry = profile_table_at(profile->flops, key);
	if (entry && entry->count) {
		entry->number -= entry->number / entry->count;
		entry->count--;
	}
}
