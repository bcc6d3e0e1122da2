/* drm_gpus.h: the shared part of all vendors behind the DRM: AMD, Intel and other drivers differ only by a struct
 * drm_family.
 *
 *   find devices → refresh (names, sensors: once the device is awake) → emit (figures, at each reading) → processes
 *   (fdinfo, about every 2 s) → what is missing
 *
 * A suspended device is not woken, and a device that could suspend is left alone so that it can. One that disappears
 * is emitted as lost, and refreshed when it is back. What takes long is read less often. */
#ifndef PMTOP_SOURCES_GPU_DRM_DRM_GPUS_H
#define PMTOP_SOURCES_GPU_DRM_DRM_GPUS_H

#include "src/sources/gpu/drm/drm_devices.h"
#include "src/sources/gpu/drm/drm_link.h"
#include "src/sources/gpu/drm/fdinfo_tree.h"
#include "src/sources/gpu/drm/hwmon.h"
#include "src/sources/gpu/vendor.h"

enum { DRM_NAME_SIZE = 96, DRM_ROWS_MAX = 64, DRM_COMMAND_SIZE = 64 };

/* What is emitted as missing if there is no figure of this metric. */
#define DRM_MISSING(X) \
	X(BUSY, "GPU utilisation", METRIC_GPU_BUSY) \
	X(MEMORY, "GPU memory", METRIC_GPU_MEMORY_USED) \
	X(POWER, "GPU power", METRIC_GPU_POWER) \
	X(TEMPERATURE, "GPU temperature", METRIC_GPU_TEMPERATURE) \
	X(CLOCK, "GPU clock", METRIC_GPU_CLOCK) \
	X(THROTTLE, "GPU throttling", METRIC_GPU_THROTTLE)

enum drm_missing {
#define DRM_MISSING_ID(id, figure, metric) MISSING_##id,
	DRM_MISSING(DRM_MISSING_ID)
#undef DRM_MISSING_ID
		MISSING_PROCESSES,
	MISSING_COUNT
};

struct drm_gpu {
	struct drm_device device;
	int32_t instance;
	uint32_t index;
	char vendor[DRM_DRIVER_SIZE], name[DRM_NAME_SIZE], uuid[48], version[64];
	bool is_read, is_emitted, is_lost, is_asleep;
	bool is_unified; /* it uses the machine's memory as its own */
	/* missing figures are emitted only while a process uses it: e.g. an integrated GPU beside the one that computes */
	bool is_aside;
	/* unlikely to compute: not emitted before a process of the run uses it */
	bool is_silent;
	struct gpu_hwmon hwmon;
	struct drm_link link;
	unsigned turn;               /* readings of its figures */
	int64_t reading_ns, next_ns; /* duration of all readings; time of the next one */
	int64_t used_ns;             /* when it was last in use */
	bool is_resting;             /* it has been unused for long */
	bool has[MISSING_COUNT];     /* emitted at the last reading */
	bool has_emitted_rows;
	size_t row_count;
	struct gpu_process_row rows[DRM_ROWS_MAX];
	char commands[DRM_ROWS_MAX][DRM_COMMAND_SIZE];
	double busy_ratio; /* as emitted last; NAN = unknown */
	void *own;         /* of family->own_size bytes, zeroed */
};

struct drm_gpus;

struct drm_family {
	const char *none; /* why there are none: "there is no device of the driver amdgpu" */
	size_t own_size;  /* at least 1 */
	bool (*is_mine)(const char *driver);
	void (*refresh)(struct drm_gpus *all, struct drm_gpu *gpu);
	void (*emit)(struct drm_gpus *all, struct drm_gpu *gpu, int64_t now_ns, struct sample_set *out);
	/* Called after fdinfo has filled the rows: adds what else is known of processes. NULL: nothing. */
	void (*emit_processes)(struct drm_gpus *all, struct drm_gpu *gpu, int64_t now_ns, struct sample_set *out);
	/* Why a figure of an awake device is missing. An empty text: it is not emitted. */
	void (*explain)(const struct drm_gpu *gpu, enum drm_missing missing, struct reason *out);
	void (*close)(struct drm_gpu *gpu); /* frees the contents of `own`; NULL: nothing to free */
};

struct drm_gpus {
	const struct drm_family *family;
	const struct target *target;
	const struct source_choices *choices;
	struct fdinfo_tree *tree;
	int64_t next_processes_ns;
	size_t count;
	struct drm_gpu *gpus;
	/* why users of a device are hidden, set by the family; empty = they are not */
	struct reason hidden;
	char emitted[MISSING_COUNT][sizeof((struct reason *)0)->text]; /* what is missing, as emitted last; "" = nothing */
};

enum status drm_gpus_open(const struct drm_family *family, struct target *target, int32_t first_instance, void **state,
	struct reason *why_not);
enum status drm_gpus_read(void *state, int64_t now_ns, struct sample_set *out);
void drm_gpus_emit_all(void *state, int64_t now_ns, struct sample_set *out);
void drm_gpus_close(void *state);

#define DRM_GPUS .read = drm_gpus_read, .emit_all = drm_gpus_emit_all, .close = drm_gpus_close

/* Whether the records from `from` on include this figure. */
bool drm_has_figure(const struct sample_set *set, size_t from, enum metric metric, int32_t instance);
/* The row of a process; a new one if it has none; NULL if there is no room. */
struct gpu_process_row *drm_gpu_row(struct drm_gpu *gpu, int32_t pid);

#endif
