/* tree.h: sorts rows that name their parent depth first: children follow their parent, siblings stay in their order. */
#ifndef PMTOP_MODEL_MACHINE_TREE_H
#define PMTOP_MODEL_MACHINE_TREE_H

#include <stddef.h>
#include <stdint.h>

enum { TREE_ROWS_MAX = 512 };

/* `group` separates trees (modes); groups are in the order of their first rows. Parent 0 = a root. Rows whose parent is
 * missing, and one row of each cycle, follow their group's roots as additional roots. */
struct tree_row {
	uint32_t group, name, parent;
};

/* Fills order[n] with indexes into `rows`, and depth[i] with the depth of order[i]. n ≤ TREE_ROWS_MAX; O(n²). */
void tree_order(const struct tree_row *rows, size_t n, size_t *order, unsigned *depth);

#endif
