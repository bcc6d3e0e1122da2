/* gpus_words.h: GPUs as text. */
#ifndef PMTOP_MODEL_GPUS_GPUS_WORDS_H
#define PMTOP_MODEL_GPUS_GPUS_WORDS_H

#include <stdbool.h>
#include <stddef.h>

struct gpu;
struct model;

/* Writes the throttle reasons, joined by ", "; "" = not throttled. Returns `out`. */
const char *gpu_throttle_words(unsigned throttle, char *out, size_t size);
/* Do the bits contain power or heat (not only clocks set by a user, or sync boost)? */
bool gpu_is_throttled(unsigned throttle);
/* "GPU 0", "GPU 1.2" (a part), "AMD GPU 0" with several vendors. Returns `out`. */
const char *gpu_label(const struct model *model, const struct gpu *gpu, char *out, size_t size);
bool gpu_memory_is_growing(const struct gpu *gpu); /* growing, leak or fragmentation */

/* What the verdict means, and what to do next; never NULL. */
const char *gpu_memory_meaning(const struct gpu *gpu);
const char *gpu_memory_next_step(const struct gpu *gpu);

#endif
