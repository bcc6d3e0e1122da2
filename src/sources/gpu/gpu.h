/* gpu.h: the GPUs of the machine, of every maker in GPU_VENDORS. One of them failing never stops the others. */
#ifndef PMTOP_SOURCES_GPU_GPU_H
#define PMTOP_SOURCES_GPU_GPU_H

#include <stdbool.h>

#include "src/base/status.h"
#include "src/sources/choices.h"
#include "src/sources/source.h"

/* Asks the drivers itself, and may hang in one: for the child process alone (gpu_source is what everybody else
 * reads). */
extern const struct source gpu_direct_source;

/* A look at files alone: whether any maker's GPU can be expected to answer. */
bool gpu_is_expected(const struct source_choices *choices);
/* NOT_FOUND: that none is, in one line that names the makers. */
enum status gpu_none_expected(const struct source_choices *choices, struct reason *why_not);

#endif
