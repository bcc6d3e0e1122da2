/* system_processes.h: the run's processes as the system view shows them: what each does, where it waits, what it reads
 * and writes; sorted. */
#ifndef PMTOP_UI_VIEWS_SYSTEM_SYSTEM_PROCESSES_H
#define PMTOP_UI_VIEWS_SYSTEM_SYSTEM_PROCESSES_H

#include <stdbool.h>

#include "ui/views/overview/panels.h"

/* In the order that the state says; as they stand where it says none. */
size_t system_processes(const struct scene *scene, const struct process *rows[PROCESS_ROWS_MAX]);
void system_process_table(struct scene *scene, struct canvas *canvas, struct rect rect);
/* < > I and clicks on a heading. */
bool system_process_key(struct scene *scene, struct key_event event);

#endif
