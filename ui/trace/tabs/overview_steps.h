/* overview_steps.h: the steps of the trace, as bars: how long each takes, and how much of it the GPU is busy. */
#ifndef PMTOP_UI_TRACE_TABS_OVERVIEW_STEPS_H
#define PMTOP_UI_TRACE_TABS_OVERVIEW_STEPS_H

#include "ui/trace/trace_scene.h"

void overview_steps_draw(const struct trace_scene *scene, struct canvas *canvas, struct rect rect);

#endif
