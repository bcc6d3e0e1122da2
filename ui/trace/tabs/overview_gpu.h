/* overview_gpu.h: how busy the GPUs are, and why they are idle. */
#ifndef PMTOP_UI_TRACE_TABS_OVERVIEW_GPU_H
#define PMTOP_UI_TRACE_TABS_OVERVIEW_GPU_H

#include "ui/trace/trace_scene.h"

/* The rows of the panel's inside: one for each cause of idleness, or all in one line. */
int overview_gpu_rows(const struct trace_scene *scene, bool is_short);
void overview_gpu_draw(const struct trace_scene *scene, struct canvas *canvas, struct rect rect, bool is_short);
/* A time as one bar: busy, then each cause of idleness; NULL: the causes are unknown. */
void overview_time_draw(
	struct canvas *canvas, struct rect row, int64_t time_ns, int64_t busy_ns, const int64_t *idle_split_ns);
/* The busy ratio over the time of the trace. */
void overview_busy_draw(const struct trace_scene *scene, struct canvas *canvas, struct rect rect);

#endif
