/* system_processes.h: the sorted table of the run's processes in the system view: state, wait channel, reads and
 * writes. */
#ifndef PMTOP_UI_VIEWS_SYSTEM_SYSTEM_PROCESSES_H
#define PMTOP_UI_VIEWS_SYSTEM_SYSTEM_PROCESSES_H

#include <stdbool.h>

#include "ui/views/overview/panels.h"

/* In the sort order of the state, if it has one. */
size_t system_processes(const struct scene *scene, const struct process *rows[PROCESS_ROWS_MAX]);
void system_process_table(struct scene *scene, struct canvas *canvas, struct rect rect);
/* < > I and clicks on a heading. */
bool system_process_key(struct scene *scene, struct key_event event);

#endif
