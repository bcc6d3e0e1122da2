/* system_energy.h: power and temperature: watts of CPUs and GPUs, joules per batch, sensors. */
#ifndef PMTOP_UI_VIEWS_SYSTEM_SYSTEM_ENERGY_H
#define PMTOP_UI_VIEWS_SYSTEM_SYSTEM_ENERGY_H

struct canvas;
struct line;
struct rect;
struct scene;

/* Power and temperature, taken off the top of *rest: two panels, or one line if room is short; nothing without any
 * figure. */
void system_energy(struct scene *scene, struct canvas *canvas, struct rect *rest);
void system_energy_line(const struct scene *scene, struct line *line);

#endif
