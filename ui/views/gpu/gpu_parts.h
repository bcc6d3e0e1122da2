/* gpu_parts.h: what the GPU view and the overview's GPU panel are made of. */
#ifndef PMTOP_UI_VIEWS_GPU_GPU_PARTS_H
#define PMTOP_UI_VIEWS_GPU_GPU_PARTS_H

#include <stdbool.h>
#include <stddef.h>

#include "src/base/text.h"
#include "src/model/gpus/gpus.h"
#include "ui/core/line.h"
#include "ui/widgets/view.h"

/* Which of the GPU view's scales belongs to which plot. */
enum { GPU_SCALE_MEMORY, GPU_SCALE_POWER, GPU_SCALE_CLOCK, GPU_SCALE_HEAT };

enum { GPU_WORDS_SIZE = 240 };

/* -- gpu_words.c -- */

/* "0"; of a part its GPU's number before its own: "0.1". */
const char *gpu_number(char out[NUMBER_SIZE], const struct model *model, const struct gpu *gpu);
/* "NVIDIA H200". */
const char *gpu_name(char *out, size_t size, const struct gpu *gpu);
const char *gpu_watts(char out[NUMBER_SIZE], double watts);     /* "412 W" */
const char *gpu_degrees(char out[NUMBER_SIZE], double celsius); /* "62 °C" */
const char *gpu_hertz(char out[NUMBER_SIZE], double hertz);     /* "1980 MHz" */
/* "41.2/151 GB", "412/700 W": one unit for both; what is used alone where the whole is not known. */
const char *gpu_bytes_of(char out[NUMBER_SIZE], double used, double whole);
const char *gpu_watts_of(char out[NUMBER_SIZE], double watts, double limit);
/* Which ranks are on it: "0", "0-3", "run" where ranks have no numbers; with a "?" where only their environment says
 * so; "" = none, as far as is known. */
const char *gpu_ranks(char out[NUMBER_SIZE], const struct model *model, const struct gpu *gpu);
/* The shown run where it is on this GPU, else another that is; NULL. */
const struct run *gpu_run(const struct scene *scene, const struct gpu *gpu);
/* The GPUs to show of a run (NULL: of the tree): those that it is on, and those that are lost; where that is not known,
 * all that are no parts. Returns how many. */
size_t gpus_to_show(const struct model *model, const struct run *run, const struct gpu *out[GPUS_MAX]);
/* Its link is narrower, or (while it has work) slower, than GPU and slot can do. */
bool gpu_link_is_narrow(const struct gpu *gpu);
bool gpu_link_is_slow(const struct gpu *gpu);
/* All figures of one or several in a line: "GPU 71 %  SM 38 %  41.2/151 GB  412 W  62 °C". */
void gpu_short_line(const struct gpu *const gpus[], size_t count, struct line *line);

/* -- gpu_meaning.c -- */

/* What its figures of the last minute mean together, a sentence without a full stop; "" where nothing is to be said.
 * True: it could do better. */
bool gpu_meaning(const struct scene *scene, const struct gpu *gpu, char out[GPU_WORDS_SIZE]);
/* What the run's memory on it does, and when it is full. */
void gpu_verdict_line(const struct gpu *gpu, struct line *line);
/* Why a figure is missing; NULL where nobody says. By its name, or how that begins, whatever its case. */
const struct missing *gpu_missing(const struct model *model, const char *figure);
/* Why there is no GPU, in a line and with all that is known. */
void gpu_absent_line(const struct model *model, struct line *line);
void gpu_absent_text(const struct model *model, char *out, size_t size);

/* -- gpu_table.c -- */

/* All GPUs, a row each; the chosen one is selected. */
void gpu_table(struct scene *scene, struct canvas *canvas, struct rect rect, int chosen);

/* -- gpu_facts.c -- */

/* What is known of one, a line a thing, and what it means; the least telling lines are left out where they do not
 * fit. */
void gpu_facts(struct scene *scene, const struct gpu *gpu, struct canvas *canvas, struct rect rect);
/* How many lines there are of it. */
int gpu_facts_rows(struct scene *scene, const struct gpu *gpu);

/* -- gpu_plots.c -- */

/* Busy and SM active alone, without an axis where it is low; with marks below where something held it back. */
void gpu_plot_busy(struct scene *scene, const struct gpu *gpu, struct canvas *canvas, struct rect rect, int zoom);
/* Panels over time in so many columns: busy, memory, power, clock, heat, as many as have room. */
void gpu_plots(struct scene *scene, const struct gpu *gpu, struct canvas *canvas, struct rect rect, int columns);

/* -- gpu_processes.c -- */

void gpu_processes(struct scene *scene, const struct gpu *gpu, struct canvas *canvas, struct rect rect);

#endif
