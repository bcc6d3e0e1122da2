/* gpu_parts.h: parts of the GPU view and of the overview's GPU panel. */
#ifndef PMTOP_UI_VIEWS_GPU_GPU_PARTS_H
#define PMTOP_UI_VIEWS_GPU_GPU_PARTS_H

#include <stdbool.h>
#include <stddef.h>

#include "src/base/text.h"
#include "src/model/gpus/gpus.h"
#include "ui/core/line.h"
#include "ui/widgets/view.h"

/* The scale of each plot in the GPU view. */
enum { GPU_SCALE_MEMORY, GPU_SCALE_POWER, GPU_SCALE_CLOCK, GPU_SCALE_HEAT };

enum { GPU_WORDS_SIZE = 240 };

#endif
