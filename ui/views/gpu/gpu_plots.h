/* gpu_plots.h: the plots of a GPU. */
#ifndef PMTOP_UI_VIEWS_GPU_GPU_PLOTS_H
#define PMTOP_UI_VIEWS_GPU_GPU_PLOTS_H

#include "ui/core/canvas.h"

struct gpu;
struct scene;

/* Busy and SM active only, without an axis if it is low; throttle marks below. */
void gpu_plot_busy(struct scene *scene, const struct gpu *gpu, struct canvas *canvas, struct rect rect, int zoom);
/* Panels over time in `columns` columns: utilization, memory, power, clock, temperature, as many as fit. */
void gpu_plots(struct scene *scene, const struct gpu *gpu, struct canvas *canvas, struct rect rect, int columns);

#endif
