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

/* -- gpu_words.c -- */

/* "0"; for a MIG part "0.1": its GPU's number, then its own. */
const char *gpu_number(char out[NUMBER_SIZE], const struct model *model, const struct gpu *gpu);
/* "NVIDIA H200". */
const char *gpu_name(char *out, size_t size, const struct gpu *gpu);
const char *gpu_watts(char out[NUMBER_SIZE], double watts);     /* "412 W" */
const char *gpu_degrees(char out[NUMBER_SIZE], double celsius); /* "62 °C" */
const char *gpu_hertz(char out[NUMBER_SIZE], double hertz);     /* "1980 MHz" */
/* "41.2/151 GB", "412/700 W": one unit for both; only `used` if the whole is unknown. */
const char *gpu_bytes_of(char out[NUMBER_SIZE], double used, double whole);
const char *gpu_watts_of(char out[NUMBER_SIZE], double watts, double limit);
/* The ranks that use it: "0", "0-3", "run" if ranks have no numbers; with "?" if only their environment says so; ""
 * = none known. */
const char *gpu_ranks(char out[NUMBER_SIZE], const struct model *model, const struct gpu *gpu);
/* The shown run if it uses this GPU, else another run that does; NULL. */
const struct run *gpu_run(const struct scene *scene, const struct gpu *gpu);
/* The GPUs to show for a run (NULL: the tree): those it uses and lost ones; if unknown, all that are no MIG parts.
 * Returns how many. */
size_t gpus_to_show(const struct model *model, const struct run *run, const struct gpu *out[GPUS_MAX]);
/* Whether its PCIe link is narrower, or (under load) slower, than GPU and slot allow. */
bool gpu_link_is_narrow(const struct gpu *gpu);
bool gpu_link_is_slow(const struct gpu *gpu);
/* The figures of one or several GPUs in a line: "GPU 71 %  SM 38 %  41.2/151 GB  412 W  62 °C". */
void gpu_short_line(const struct gpu *const gpus[], size_t count, struct line *line);

/* -- gpu_meaning.c -- */

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

/* -- gpu_table.c -- */

/* All GPUs, one per row; the chosen one is selected. */
void gpu_table(struct scene *scene, struct canvas *canvas, struct rect rect, int chosen);

/* -- gpu_facts.c -- */

/* The facts of one GPU, one per line, and their meaning; the least important lines are dropped if they do not fit. */
void gpu_facts(struct scene *scene, const struct gpu *gpu, struct canvas *canvas, struct rect rect);
/* The number of lines it wants. */
int gpu_facts_rows(struct scene *scene, const struct gpu *gpu);

/* -- gpu_plots.c -- */

/* Busy and SM active only, without an axis if it is low; throttle marks below. */
void gpu_plot_busy(struct scene *scene, const struct gpu *gpu, struct canvas *canvas, struct rect rect, int zoom);
/* Panels over time in `columns` columns: utilization, memory, power, clock, temperature, as many as fit. */
void gpu_plots(struct scene *scene, const struct gpu *gpu, struct canvas *canvas, struct rect rect, int columns);

/* -- gpu_processes.c -- */

void gpu_processes(struct scene *scene, const struct gpu *gpu, struct canvas *canvas, struct rect rect);

#endif
