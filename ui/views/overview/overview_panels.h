/* overview_panels.h: arranges the panels of a run that screen: panels: lists, in that order. */
#ifndef PMTOP_UI_VIEWS_OVERVIEW_OVERVIEW_PANELS_H
#define PMTOP_UI_VIEWS_OVERVIEW_OVERVIEW_PANELS_H

#include "ui/widgets/view.h"

/* The rows that the machine's line needs. */
int overview_machine_rows(const struct scene *scene);
void overview_machine(struct scene *scene, struct canvas *canvas, struct rect row);
/* The panels from the top down; "where" and "memory" share the width if one follows the other. */
void overview_narrow(struct scene *scene, const struct run *run, struct canvas *canvas, struct rect rect);
/* From 160 columns on: plots over time on the left, breakdowns on the right, warnings and the machine across both. */
void overview_wide(struct scene *scene, const struct run *run, struct canvas *canvas, struct rect rect);

#endif
