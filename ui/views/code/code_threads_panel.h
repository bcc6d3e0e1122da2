/* code_threads_panel.h: the threads of a process beside its main thread. */
#ifndef PMTOP_UI_VIEWS_CODE_CODE_THREADS_PANEL_H
#define PMTOP_UI_VIEWS_CODE_CODE_THREADS_PANEL_H

#include "ui/views/code/code_parts.h"

/* How many rows it wants of `height`; 0: no thread ran or waited for the GIL. */
int code_threads_height(
	const struct scene *scene, const struct code_sampled *sample, const struct canvas *canvas, int height);
void code_threads_panel(
	const struct scene *scene, const struct code_sampled *sample, struct canvas *canvas, struct rect rect);

#endif
