/* vendor.h: one maker's GPUs (or one kind of driver) behind one table. To add one: a file with its struct, and a line
 * in GPU_VENDORS.
 *
 * All of it runs in a child process of pmtop's own (collect --only=gpu, src/collect/gpu_child.c), which is killed where
 * a driver hangs; so a call may block. A reader paces itself: what is cheap at each reading (about four a second),
 * processes every 2 to 5 s, names once; and reads less often what took long. It emits RECORD_GPU before the first
 * figure of an instance, RECORD_GPU_PROCESSES, RECORD_GPU_EVENT, figures METRIC_GPU_…, and MISSING for what its driver
 * does not tell ("GPU processes", "GPU power", …) with the reason and the remedy. */
#ifndef PMTOP_SOURCES_GPU_VENDOR_H
#define PMTOP_SOURCES_GPU_VENDOR_H

#include <stdbool.h>
#include <stdint.h>

#include "src/base/status.h"
#include "src/samples/sample_set.h"
#include "src/sources/choices.h"
#include "src/sources/target/target.h"

/* Numbers of a vendor's GPUs: from its place in the table × this. A part (MIG) counts on after its GPU: first + 100 +
 * 16 × index + part. */
enum { GPU_INSTANCES = 10000 };

struct gpu_vendor {
	const char *name; /* "nvidia" */
	const char *what; /* for a person: "NVIDIA" */
	/* A look at files alone, no library and no driver call: whether it is worth starting. */
	bool (*is_here)(const struct source_choices *choices);
	/* NOT_FOUND: nothing of it here, and `why_not` says how that was seen ("libnvidia-ml.so.1 was not found"). */
	enum status (*open)(struct target *target, int32_t first_instance, void **state, struct reason *why_not);
	enum status (*read)(void *state, int64_t now_ns, struct sample_set *out);
	void (*explain)(const void *state, struct reason *out); /* why the last read failed; may be NULL */
	/* All else that was told and still stands. NULL: nothing; of records GPU and GPU_PROCESSES the collector keeps
	 * account. */
	void (*emit_all)(void *state, int64_t now_ns, struct sample_set *out);
	void (*close)(void *state);
};

#define GPU_VENDORS(X) \
	X(nvidia) \
	X(amd) \
	X(intel) \
	X(drm)

#define DECLARE_GPU_VENDOR(name) extern const struct gpu_vendor name##_gpus;
GPU_VENDORS(DECLARE_GPU_VENDOR)
#undef DECLARE_GPU_VENDOR

#endif
