/* tree.h: rows that name their parent, put in order: depth first, children under their parent, siblings as they
 * stand. */
#ifndef PMTOP_MODEL_MACHINE_TREE_H
#define PMTOP_MODEL_MACHINE_TREE_H

#include <stddef.h>
#include <stdint.h>

enum { TREE_ROWS_MAX = 512 };

/* `group` keeps trees apart (a mode); groups come in the order of their first row. Parent 0 = a root. A row whose
 * parent is not there comes after its group's roots, as a root would; so does one of each circle. */
struct tree_row {
	uint32_t group, name, parent;
};

/* Fills order[n] with places in `rows`, and depth[n] by place in `order`. n ≤ TREE_ROWS_MAX; O(n²). */
void tree_order(const struct tree_row *rows, size_t n, size_t *order, unsigned *depth);

#endif
