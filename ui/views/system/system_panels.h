/* system_panels.h: the machine in panels and in lines. */
#ifndef PMTOP_UI_VIEWS_SYSTEM_SYSTEM_PANELS_H
#define PMTOP_UI_VIEWS_SYSTEM_SYSTEM_PANELS_H

#include <stdbool.h>

#include "ui/core/line.h"
#include "ui/widgets/view.h"

/* The scale of each plot in the system view. */
enum { SYSTEM_SCALE_CPU, SYSTEM_SCALE_WAITING, SYSTEM_SCALE_MEMORY, SYSTEM_SCALE_POWER };

/* Figures that a raised warning may be about. */
enum system_mark {
	MARK_NONE,
	MARK_CPU,
	MARK_IO_WAIT,
	MARK_MEMORY,
	MARK_SWAP,
	MARK_DISK,
	MARK_THROTTLED,
	MARK_SHM,
	MARK_SPACE,
	MARK_CGROUP_MEMORY
};

/* The use of all CPUs over time, the run's share of it, the run queue. */
void panel_machine_cpu(struct scene *scene, struct canvas *canvas, struct rect rect);
/* Waiting: pressure, I/O wait, throttling, each with its own plot on one scale. */
void panel_waiting(struct scene *scene, struct canvas *canvas, struct rect rect);
/* Usage against capacity: memory, swap, the cgroup's limits, /dev/shm, disk space. */
void panel_capacity(const struct scene *scene, struct canvas *canvas, struct rect rect);
enum { CAPACITY_ROWS = 6 };
void panel_machine_memory(struct scene *scene, struct canvas *canvas, struct rect rect);
/* Disks and network interfaces; active ones first. */
void panel_devices(struct scene *scene, struct canvas *canvas, struct rect rect);
/* The rows it wants inside. */
int panel_devices_rows(const struct model *model);

enum { SYSTEM_LINES = 5 };

#endif
