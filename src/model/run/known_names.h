/* known_names.h: names that programs and pmtop's own adapters publish, and that mean something to pmtop. */
#ifndef PMTOP_MODEL_RUN_KNOWN_NAMES_H
#define PMTOP_MODEL_RUN_KNOWN_NAMES_H

#include <stdbool.h>
#include <stdint.h>

struct run;

#define KNOWN_NAMES(X) \
	X(DATA, "data")             /* a phase: the DataLoader wait */ \
	X(COMPILE, "compile")       /* a phase: a function is compiled, as JAX does for each new shape */ \
	X(SYNC, "sync")             /* a phase: the CPU waits until the GPU is done */ \
	X(DISPATCH, "dispatch")     /* a phase: a call returns before its result is computed, as JAX's do */ \
	X(TRANSFER, "transfer")     /* a phase: a copy between the CPU and the GPU */ \
	X(INFERENCE, "inference")   /* a mode: requests are served; a phase: forwards without gradients between steps */ \
	X(GPU_BATCH, "gpu.batch_s") /* a figure: the whole batch, by the GPU's clock */
enum known_name {
#define KNOWN_NAME_ID(id, text) KNOWN_##id,
	KNOWN_NAMES(KNOWN_NAME_ID)
#undef KNOWN_NAME_ID
};

bool name_is(const char *text, enum known_name known);
/* `name` is an id of the run's names. */
bool run_name_is(const struct run *run, uint32_t name, enum known_name known);
/* "gpu.PHASE_s": seconds by the GPU's clock, of a phase or of the whole batch. */
bool name_is_gpu_time(const char *text);
/* "false" or "0", in any case: how programs publish that a setting is off. */
bool value_is_off(const char *value);

#endif
