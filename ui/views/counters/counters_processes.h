/* counters_processes.h: CPU counters by process. */
#ifndef PMTOP_UI_VIEWS_COUNTERS_COUNTERS_PROCESSES_H
#define PMTOP_UI_VIEWS_COUNTERS_COUNTERS_PROCESSES_H

#include "ui/core/canvas.h"

struct scene;

void counter_processes(const struct scene *scene, struct canvas *canvas, struct rect rect);

#endif
