/* gpu.h: the GPUs of the machine, of all vendors in GPU_VENDORS. A failure of one never stops the others. */
#ifndef PMTOP_SOURCES_GPU_GPU_H
#define PMTOP_SOURCES_GPU_GPU_H

#include <stdbool.h>

#include "src/base/status.h"
#include "src/sources/choices.h"
#include "src/sources/source.h"

/* Calls the drivers itself, where it may block: for the child process only (all other code uses gpu_source). */
extern const struct source gpu_direct_source;

/* Whether any vendor's GPU is likely to be present, by checking files only. */
bool gpu_is_expected(const struct source_choices *choices);
/* NOT_FOUND: no GPU; the reason is one line that names the vendors. */
enum status gpu_none_expected(const struct source_choices *choices, struct reason *why_not);

#endif
