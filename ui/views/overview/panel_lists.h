/* panel_lists.h: warnings and processes, as panels. */
#ifndef PMTOP_UI_VIEWS_OVERVIEW_PANEL_LISTS_H
#define PMTOP_UI_VIEWS_OVERVIEW_PANEL_LISTS_H

#include <stddef.h>

#include "ui/core/canvas.h"
#include "ui/views/overview/panels.h"

struct process;
struct scene;
struct view_state;

/* The processes to show: all that live, and those that ended recently. */
size_t process_rows(const struct scene *scene, const struct process *rows[PROCESS_ROWS_MAX]);
/* Draws them as a table; `state` has the selected row, NULL: none. */
void process_table(const struct scene *scene, struct canvas *canvas, struct rect rect, struct view_state *state);
/* "running", "waiting for disk". */
const char *process_state_words(double state);

#endif
