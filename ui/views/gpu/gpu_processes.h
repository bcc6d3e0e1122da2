/* gpu_processes.h: the processes of GPUs as a table. */
#ifndef PMTOP_UI_VIEWS_GPU_GPU_PROCESSES_H
#define PMTOP_UI_VIEWS_GPU_GPU_PROCESSES_H

#include "ui/core/canvas.h"

struct gpu;
struct scene;

void gpu_processes(struct scene *scene, const struct gpu *gpu, struct canvas *canvas, struct rect rect);

#endif
