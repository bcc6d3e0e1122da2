/* panel_process.h: CPU and memory of the process, as panels and lines. */
#ifndef PMTOP_UI_VIEWS_OVERVIEW_PANEL_PROCESS_H
#define PMTOP_UI_VIEWS_OVERVIEW_PANEL_PROCESS_H

#include <stdbool.h>

struct line;
struct run;
struct scene;

void memory_trend_line(const struct scene *scene, struct line *line, int width);
bool has_allocator(const struct run *run); /* false also for NULL */

#endif
