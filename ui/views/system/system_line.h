/* system_line.h: the machine in lines, and the figures that warnings mark. */
#ifndef PMTOP_UI_VIEWS_SYSTEM_SYSTEM_LINE_H
#define PMTOP_UI_VIEWS_SYSTEM_SYSTEM_LINE_H

#include <stdbool.h>

#include "ui/core/canvas.h"
#include "ui/views/system/system_panels.h"

struct device;
struct missing;
struct model;
struct scene;
struct system;

/* False: nothing about the machine was read (yet). */
bool system_is_known(const struct model *model);
/* The share of all CPUs that the watched tree uses; NAN. */
double system_run_ratio(const struct model *model);
/* Why a figure is missing whose name contains `about`; NULL if no source reported a reason. */
const struct missing *system_missing(const struct model *model, const char *about);
/* The role of such a figure (ROLE_NORMAL without a warning), and the sign behind it: " ⚠", " •" for a note, or
 * nothing. */
enum role system_mark_role(const struct scene *scene, enum system_mark mark);
const char *system_mark_sign(const struct scene *scene, enum system_mark mark);

/* The same in lines: at most `rect.height`, the most important ones. Returns how many. */
int system_lines(const struct scene *scene, struct canvas *canvas, struct rect rect);
/* The busiest disk; NULL without disks or figures. */
const struct device *system_busiest(const struct system *system);

#endif
