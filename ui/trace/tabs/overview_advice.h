/* overview_advice.h: the recommendations (config/trace.yaml): what is slow, why it matters, what to do. */
#ifndef PMTOP_UI_TRACE_TABS_OVERVIEW_ADVICE_H
#define PMTOP_UI_TRACE_TABS_OVERVIEW_ADVICE_H

#include "ui/trace/trace_scene.h"

/* The rows that all of them take in the width of `rect`. */
int overview_advice_rows(
	const struct trace_scene *scene, const struct view_state *state, struct canvas *canvas, struct rect rect);
/* Keeps the selected one in view; `state` is that of the list. */
void overview_advice_draw(
	const struct trace_scene *scene, struct view_state *state, struct canvas *canvas, struct rect rect);

#endif
