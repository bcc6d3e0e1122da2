/* gpu_meaning.h: one sentence on a GPU's figures, the trend of its memory, and why there is no GPU. */
#ifndef PMTOP_UI_VIEWS_GPU_GPU_MEANING_H
#define PMTOP_UI_VIEWS_GPU_GPU_MEANING_H

#include <stdbool.h>
#include <stddef.h>

#include "ui/views/gpu/gpu_parts.h"

struct gpu;
struct line;
struct missing;
struct model;
struct scene;

/* What its figures of the last minute mean, as a sentence that begins with "GPU", without a full stop; "" if there
 * is nothing to say. True: it could do better. */
bool gpu_meaning(const struct scene *scene, const struct gpu *gpu, char out[GPU_WORDS_SIZE]);
/* The trend of the run's memory on it, and when it is full. */
void gpu_verdict_line(const struct gpu *gpu, struct line *line);
/* Why a figure is missing, by its name or its beginning, ignoring case; NULL if no source reported a reason. */
const struct missing *gpu_missing(const struct model *model, const char *figure);
/* Why there is no GPU: in one line, and in full. */
void gpu_absent_line(const struct model *model, struct line *line);
void gpu_absent_text(const struct model *model, char *out, size_t size);

#endif
