/* vendor.h: the GPUs of one vendor (or one kind of driver) behind one table. To add a vendor: a file with its
 * struct, and a line in GPU_VENDORS.
 *
 * All of it runs in a child process of pmtop (collect --only=gpu, src/collect/gpu_child.c), which is killed if a
 * driver hangs; so a call may block. A vendor sets its own pace: cheap figures at each reading (about four a
 * second), processes every 2 to 5 s, names once; what takes long is read less often. It emits RECORD_GPU before the
 * first figure of an instance, RECORD_GPU_PROCESSES, RECORD_GPU_EVENT, figures METRIC_GPU_…, and MISSING for what
 * its driver does not report ("GPU processes", "GPU power", …) with reason and remedy. */
#ifndef PMTOP_SOURCES_GPU_VENDOR_H
#define PMTOP_SOURCES_GPU_VENDOR_H

#include <stdbool.h>
#include <stdint.h>

#include "src/base/status.h"
#include "src/samples/sample_set.h"
#include "src/sources/choices.h"
#include "src/sources/target/target.h"

/* Instance numbers of a vendor's GPUs start at its index in the table × this. A part (MIG) has the number first +
 * 100 + 16 × index + part. */
enum { GPU_INSTANCES = 10000 };

struct gpu_vendor {
	const char *name; /* "nvidia" */
	const char *what; /* as displayed: "NVIDIA" */
	/* Whether it is worth opening, by checking files only: no library and no driver call. */
	bool (*is_here)(const struct source_choices *choices);
	/* NOT_FOUND: no such GPU; `why_not` says how that was determined ("libnvidia-ml.so.1 was not found"). */
	enum status (*open)(struct target *target, int32_t first_instance, void **state, struct reason *why_not);
	enum status (*read)(void *state, int64_t now_ns, struct sample_set *out);
	void (*explain)(const void *state, struct reason *out); /* why the last read failed; may be NULL */
	/* Emits again all other valid records. NULL: there are none; the collector stores the records GPU and
	 * GPU_PROCESSES itself. */
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
