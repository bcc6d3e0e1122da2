/* batch_window_clocks.h: notes clocks of GPUs and CPUs and events of GPUs, and finds them for a window. */
#ifndef PMTOP_MODEL_BATCH_WINDOW_BATCH_WINDOW_CLOCKS_H
#define PMTOP_MODEL_BATCH_WINDOW_BATCH_WINDOW_CLOCKS_H

#include <stdbool.h>
#include <stdint.h>

#include "src/model/batch_window/batch_window.h"

struct record;

/* The share of the last `seconds` in which a GPU was throttled for any of these reasons (1 << enum gpu_throttle); NAN =
 * unknown. *clock_hz (may be NULL): its mean clock while throttled; NAN = not throttled, or unknown. */
double gpu_throttled_ratio(
	const struct model *model, int32_t instance, uint32_t bits, double seconds, double *clock_hz);
/* Adds drops of clocks in the window. */
void batch_window_add_clocks(
	const struct model *model, const struct run *run, const struct batch_window *out, struct candidates *candidates);
/* Writes "GPU 1", "GPU" if there is only one, or "" if it is unknown. */
void batch_window_name_gpu(const struct model *model, int32_t instance, char out[WINDOW_GPU_SIZE]);
/* Does the run use this GPU? */
bool batch_window_is_on(const struct model *model, const struct run *run, int32_t gpu);
/* Clocks of GPUs and CPUs, and throttle reasons. Call before the model takes these figures, lists and events. */
void model_note_clock(struct model *model, const struct record *figure);
void model_note_gpu(struct model *model, const struct record *record);

#endif
