#include "src/trace/analysis/profile_modules.h"

#include <stdlib.h>

struct modules {
	struct profile_op **rows; /* by parent */
	uint32_t count, position;
	uint32_t *stack; /* rows whose turn comes, the next one last */
	uint32_t waiting;
};

static bool is_module(const struct profile *profile, const struct profile_op *op)
{
	return op->count && profile_kind_of(op->name) == PROFILE_PYTHON &&
		profile_host_is_module(profile, profile_name_of(op->name));
}

static int by_parent(const void *a, const void *b)
{
	const struct profile_op *x = *(struct profile_op *const *)a, *y = *(struct profile_op *const *)b;
	if (x->parent != y->parent)
		return x->parent < y->parent ? -1 : 1;
	if (x->gpu_total_ns != y->gpu_total_ns)
		return x->gpu_total_ns < y->gpu_total_ns ? 1 : -1;
	if (x->total_ns != y->total_ns)
		return x->total_ns < y->total_ns ? 1 : -1;
	return x->name < y->name ? -1 : 1;
}

static int by_position(const void *a, const void *b)
{
	const struct profile_op *x = *(const struct profile_op *const *)a, *y = *(const struct profile_op *const *)b;
	return x->position < y->position ? -1 : 1;
}

static uint32_t first_of(const struct modules *modules, uint32_t parent)
{
	uint32_t low = 0, high = modules->count;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (modules->rows[middle]->parent < parent)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The children of a module wait for their turn, the first of them on top. Each has one parent, so there is room. */
static void push_children(struct modules *modules, uint32_t parent, uint32_t depth)
{
	uint32_t first = first_of(modules, parent), end = first;
	while (end < modules->count && modules->rows[end]->parent == parent)
		end++;
	while (end > first) {
		struct profile_op *child = modules->rows[--end];
		if (child->position)
			continue;
		child->depth = depth;
		modules->stack[modules->waiting++] = end;
	}
}

static void place_all(struct modules *modules)
{
	while (modules->waiting) {
		struct profile_op *row = modules->rows[modules->stack[--modules->waiting]];
		if (row->position)
			continue;
		row->position = ++modules->position;
		push_children(modules, profile_name_of(row->name), row->depth + 1);
	}
}

bool profile_modules_order(const struct profile *profile, struct profile_ops *ops)
{
	struct modules modules = { .rows = malloc((ops->count + 1) * sizeof *modules.rows),
		.stack = malloc(((size_t)ops->count + 1) * 2 * sizeof *modules.stack) };
	bool is_good = modules.rows && modules.stack;
	for (uint32_t i = 0; i < ops->count && is_good; i++)
		if (is_module(profile, &ops->rows[i]))
			modules.rows[modules.count++] = &ops->rows[i];
	if (is_good && modules.count) {
		qsort(modules.rows, modules.count, sizeof *modules.rows, by_parent);
		push_children(&modules, 0, 0);
		place_all(&modules);
		/* Modules that call each other: the first that is left begins a tree. */
		for (uint32_t i = 0; i < modules.count; i++) {
			modules.stack[modules.waiting++] = i;
			place_all(&modules);
		}
	}
	free(modules.rows);
	free(modules.stack);
	return is_good;
}

const struct profile_op **profile_modules_rows(
	const struct profile *profile, const struct profile_ops *ops, uint32_t *count)
{
	const struct profile_op **rows = malloc((ops->count + 1) * sizeof *rows);
	*count = 0;
	for (uint32_t i = 0; i < ops->count && rows; i++)
		if (is_module(profile, &ops->rows[i]))
			rows[(*count)++] = &ops->rows[i];
	if (rows)
		qsort(rows, *count, sizeof *rows, by_position);
	return rows;
}
