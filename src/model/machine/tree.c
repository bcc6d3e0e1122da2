#include "src/model/machine/tree.h"

#include <stdbool.h>

struct walk {
	const struct tree_row *rows;
	size_t n, placed;
	size_t *order;
	unsigned *depth;
	bool is_placed[TREE_ROWS_MAX];
};

/* The recursion is at most n deep. */
static void visit(struct walk *walk, size_t row, unsigned depth)
{
	walk->is_placed[row] = true;
	walk->order[walk->placed] = row;
	walk->depth[walk->placed++] = depth;
	for (size_t i = 0; i < walk->n; i++)
		if (!walk->is_placed[i] && walk->rows[i].group == walk->rows[row].group &&
			walk->rows[i].parent == walk->rows[row].name)
			visit(walk, i, depth + 1);
}

static bool has_parent(const struct walk *walk, size_t row)
{
	for (size_t i = 0; i < walk->n; i++)
		if (i != row && walk->rows[i].group == walk->rows[row].group && walk->rows[i].name == walk->rows[row].parent)
			return true;
	return false;
}

static void visit_group(struct walk *walk, uint32_t group)
{
	for (size_t i = 0; i < walk->n; i++)
		if (walk->rows[i].group == group && walk->rows[i].parent == 0 && !walk->is_placed[i])
			visit(walk, i, 0);
	for (size_t i = 0; i < walk->n; i++)
		if (walk->rows[i].group == group && !walk->is_placed[i] && !has_parent(walk, i))
			visit(walk, i, 0);
	for (size_t i = 0; i < walk->n; i++)
		if (walk->rows[i].group == group && !walk->is_placed[i])
			visit(walk, i, 0);
}

void tree_order(const struct tree_row *rows, size_t n, size_t *order, unsigned *depth)
{
	struct walk walk = { .rows = rows, .n = n < TREE_ROWS_MAX ? n : TREE_ROWS_MAX, .order = order, .depth = depth };
	for (size_t i = 0; i < walk.n; i++)
		if (!walk.is_placed[i])
			visit_group(&walk, rows[i].group);
}
