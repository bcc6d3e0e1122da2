/* ranking_columns.h: further figures of ranked runs: a column each, for those that any run has. Internal to
 * src/compare.
 */
#ifndef PMTOP_COMPARE_RANKING_COLUMNS_H
#define PMTOP_COMPARE_RANKING_COLUMNS_H

#include <stddef.h>

struct buffer;
struct ranking;

/* The run's name in tables: in a column of batch sizes its file. */
void ranking_label(const struct ranking *ranking, size_t row, char *out, size_t size);
/* Prints tables of at most `width` cells, each after an empty line; nothing if no run has any of these figures. */
void ranking_columns(struct buffer *out, const struct ranking *ranking, int width, int label_cells);

#endif
