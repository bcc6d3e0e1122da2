/* system_panels.h: the machine in panels, and folded to lines. */
#ifndef PMTOP_UI_VIEWS_SYSTEM_SYSTEM_PANELS_H
#define PMTOP_UI_VIEWS_SYSTEM_SYSTEM_PANELS_H

#include <stdbool.h>

#include "ui/core/line.h"
#include "ui/widgets/view.h"

/* Which of the system view's scales belongs to which plot. */
enum { SYSTEM_SCALE_CPU, SYSTEM_SCALE_WAITING, SYSTEM_SCALE_MEMORY, SYSTEM_SCALE_POWER };

/* False: nothing was read of the machine (yet). */
bool system_is_known(const struct model *model);
/* The share of all CPUs that the watched tree uses; NAN. */
double system_run_ratio(const struct model *model);
/* Why a figure is missing whose name holds `about`; NULL where nobody says. */
const struct missing *system_missing(const struct model *model, const char *about);

/* What figures a raised warning may be about. */
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
/* The role for such a figure, ROLE_NORMAL where no warning stands, and what to write behind it (" ⚠", of a remark " •",
 * or nothing). */
enum role system_mark_role(const struct scene *scene, enum system_mark mark);
const char *system_mark_sign(const struct scene *scene, enum system_mark mark);

/* All CPUs' use over time, with the run's share of it, the run queue. */
void panel_machine_cpu(struct scene *scene, struct canvas *canvas, struct rect rect);
/* Who waits for what: pressure, I/O wait, throttling, each with its own plot on one scale. */
void panel_waiting(struct scene *scene, struct canvas *canvas, struct rect rect);
/* What is used of what there is: memory, swap, the cgroup's limits, /dev/shm, disk space. */
void panel_room(const struct scene *scene, struct canvas *canvas, struct rect rect);
enum { ROOM_ROWS = 6 };
void panel_machine_memory(struct scene *scene, struct canvas *canvas, struct rect rect);
/* Disks and network interfaces; those that do something first. */
void panel_devices(struct scene *scene, struct canvas *canvas, struct rect rect);
/* How many rows it wants inside. */
int panel_devices_rows(const struct model *model);

/* Power and heat, off the top of *rest: two panels, or where there is no room a line; nothing where nothing is
 * known. */
void system_energy(struct scene *scene, struct canvas *canvas, struct rect *rest);
void system_energy_line(const struct scene *scene, struct line *line);

/* The same, folded: at most `rect.height` lines, the most telling ones. Returns how many. */
int system_lines(const struct scene *scene, struct canvas *canvas, struct rect rect);
enum { SYSTEM_LINES = 5 };

/* The disk that is busiest; NULL where there is none, or nothing is known. */
const struct device *system_busiest(const struct system *system);

#endif
