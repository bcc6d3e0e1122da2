/* gpu_words.h: GPUs as text: names, numbers with units, ranks, the short line. */
#ifndef PMTOP_UI_VIEWS_GPU_GPU_WORDS_H
#define PMTOP_UI_VIEWS_GPU_GPU_WORDS_H

#include <stdbool.h>
#include <stddef.h>

#include "src/base/text.h"
#include "src/model/gpus/gpus.h"

struct line;
struct scene;

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

#endif
