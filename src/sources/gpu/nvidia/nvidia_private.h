/* nvidia_private.h: shared by the files of the NVIDIA vendor.
 *
 *   nvidia.c paces: for each GPU and part, for each group that is due → nvidia_read_… → figures; lost GPUs; what is
 *   missing
 *
 * Each GPU, and each part of one (MIG), is a device. Every NVML return code goes through nvidia_check. */
#ifndef PMTOP_SOURCES_GPU_NVIDIA_NVIDIA_PRIVATE_H
#define PMTOP_SOURCES_GPU_NVIDIA_NVIDIA_PRIVATE_H

#include "src/sources/gpu/nvidia/nvml.h"
#include "src/sources/gpu/pids.h"
#include "src/sources/gpu/vendor.h"

enum {
	NVIDIA_GPUS_MAX = 64,
	NVIDIA_PARTS_MAX = 16,
	NVIDIA_DEVICES_MAX = NVIDIA_GPUS_MAX + 4 * NVIDIA_PARTS_MAX,
	NVIDIA_PARTS_FROM = 100, /* vendor.h: numbers of parts */
	NVIDIA_LISTS = 3,        /* of processes: compute, graphics, MPS */
	NVIDIA_LOST_SIZE = 80,
};

/* Groups of figures that are read together: (group, period in ms, maximum share of one CPU for all GPUs together, in
 * 1/10,000, whether parts have it too).
 *
 * Values that the driver caches cost 0.4 to 10 us a call and are read each time; values that it fetches from the GPU
 * are read as rarely as is useful. On an H100 (driver 580) these cost, in us of CPU: energy 3,300; each maximum
 * clock 1,000; utilisation by processes about 2,000; throttled time 450 each by heat and by the power brake; MIG
 * mode 150; PCIe replays 140; each temperature threshold 110; PCIe bytes 85 each way. One such GPU takes 2.5 to 3 ms
 * a second; eight are limited to the sum of the shares. */
#define NVIDIA_GROUPS(X) \
	X(parts, 10000, 3, false) /* first: the other groups depend on it */ \
	X(figures, 240, 15, true) \
	X(counters, 1000, 15, false) \
	X(throttled, 2000, 8, false) \
	X(energy, 2000, 20, false) \
	X(errors, 5000, 2, false) \
	X(limits, 60000, 2, false) /* before the settings, which emit them */ \
	X(settings, 2000, 4, false) \
	X(processes, 2000, 4, true) \
	X(use, 2000, 5, false) /* after their list, before they are emitted */ \
	X(users, 2000, 4, true) \
	X(graphics, 5000, 2, false) \
	X(gpm, 1000, 6, true)

#define NVIDIA_SHARE(name, period_ms, share, of_parts) +(share)
enum { NVIDIA_SHARE_WHOLE = 10000, NVIDIA_SHARES = 0 NVIDIA_GROUPS(NVIDIA_SHARE) };
#undef NVIDIA_SHARE
_Static_assert((int)NVIDIA_SHARES * 100 <= (int)NVIDIA_SHARE_WHOLE, "all of it is less than 1 % of a CPU");

enum nvidia_group {
#define NVIDIA_GROUP_ID(name, period_ms, share, of_parts) NVIDIA_GROUP_##name,
	NVIDIA_GROUPS(NVIDIA_GROUP_ID)
#undef NVIDIA_GROUP_ID
		NVIDIA_GROUP_COUNT
};

/* Figures that are emitted as missing if they are. */
#define NVIDIA_WANTED(X) \
	X(UTILISATION, "GPU utilisation") \
	X(MEMORY, "GPU memory") \
	X(CLOCK, "GPU clock") \
	X(TEMPERATURE, "GPU temperature") \
	X(POWER, "GPU power") \
	X(ENERGY, "GPU energy") \
	X(THROTTLE, "GPU throttle reasons") \
	X(PROCESSES, "GPU processes") \
	X(PROCESS_MEMORY, "GPU memory of processes") \
	X(ACTIVITY, "GPU activity") \
	X(PACE, "GPU pace") \
	X(DEVICE, "GPUs")

enum nvidia_wanted {
#define NVIDIA_WANTED_ID(id, name) NVIDIA_WANTED_##id,
	NVIDIA_WANTED(NVIDIA_WANTED_ID)
#undef NVIDIA_WANTED_ID
		NVIDIA_WANTED_COUNT
};

/* Reasons beyond NVML's codes, found by pmtop itself. */
enum nvidia_missing {
	NVIDIA_MISSING_HIDDEN = 10000,
	NVIDIA_MISSING_UNIFIED,
	NVIDIA_MISSING_MIG,
	NVIDIA_MISSING_SLOW,
	NVIDIA_MISSING_OLD_GPU,
	NVIDIA_MISSING_OLD_DRIVER
};

/* Turns a counter that may wrap, or restart with the driver, into one that only grows. */
struct nvidia_counter {
	bool is_begun;
	uint64_t raw;
	double total;
	int64_t read_ns;
	double bytes_per_s; /* by GPM; 0 or NAN = unknown */
};
enum nvidia_wrapping {
	NVIDIA_PCIE_SENT,
	NVIDIA_PCIE_RECEIVED,
	NVIDIA_NVLINK_SENT,
	NVIDIA_NVLINK_RECEIVED,
	NVIDIA_WRAPPING_COUNT
};

struct nvidia_user {
	uint32_t driver_pid, kind;
	double memory_bytes;
}; /* driver_pid: as the driver reports it */
struct nvidia_list {
	struct nvidia_user *users;
	size_t count, capacity;
};

/* Utilisation of the GPU by a process: the mean of samples. */
struct nvidia_use {
	uint32_t driver_pid;
	double sum;
	unsigned count;
};
enum { NVIDIA_USES_MAX = 256 };

/* Values that hardly ever change; NAN = unknown. */
struct nvidia_limits {
	double clock_hz, clock_memory_hz, celsius;
};

struct nvidia_device {
	struct nvml_device *handle;
	struct nvidia_device *whole;  /* of a part: its GPU; else NULL */
	uint32_t index, gpu_instance; /* gpu_instance: of a part, as in GPM and its processes */
	int32_t instance;
	char name[NVML_NAME_SIZE], uuid[NVML_NAME_SIZE], pci[24];
	char lost[NVIDIA_LOST_SIZE];                    /* "" = it is not lost */
	bool is_emitted, has_failed;                    /* has_failed: a call in this reading returned that it is lost */
	bool has_parts;                                 /* MIG is on */
	int64_t next_ns[NVIDIA_GROUP_COUNT], sample_ns; /* sample_ns: when to check again whether a lost GPU is back */
	int64_t waited_ns[NVIDIA_GROUP_COUNT];          /* duration of the last reading */
	double reading_ns;
	uint16_t codes[NVIDIA_WANTED_COUNT];

	double memory_total_bytes; /* NAN = unknown */
	double power_limit_w;      /* as emitted last; NAN = not yet */
	struct nvidia_limits limits;
	struct nvidia_counter counters[NVIDIA_WRAPPING_COUNT];
	uint8_t throttle_parts; /* which counters of throttled time it has; 0 = not checked yet */
	bool has_pcie_field, has_nvlink_field;

	struct nvidia_list lists[NVIDIA_LISTS];
	unsigned hidden; /* users outside pmtop's container, at the last reading */
	int list_code;   /* of the last reading */
	uint64_t use_newest_us;
	bool has_use, is_use_older; /* is_use_older: only the older call works */
	unsigned use_rows;          /* buffer size that was enough; 0 = unknown */
	struct nvidia_use *uses;    /* NVIDIA_USES_MAX of them, allocated at the first reading */
	size_t use_count;

	bool is_gpm_known, has_gpm, is_sample_old;
	struct nvml_sample *samples[2];
	int64_t sampled_ns; /* when samples[0] was taken; 0 = never */
};

struct nvidia_events;

struct nvidia {
	struct nvml nvml;
	struct target *target;
	const struct source_choices *choices;
	int32_t first_instance;
	char driver[64];
	size_t count;
	struct nvidia_device *devices[NVIDIA_DEVICES_MAX];
	unsigned listed, refused; /* GPUs that the driver lists; how many of them it refuses */
	int refused_code;
	struct nvidia_events *events; /* NULL: this driver has none */
	struct pids pids;
	char emitted[NVIDIA_WANTED_COUNT][200]; /* what is missing, as emitted last; "" = nothing */
	struct nvml_gpm *gpm;                   /* buffer for its answer */
	void *room, *use_room;                  /* buffers for lists of processes, and for samples of their utilisation */
	size_t room_bytes, use_room_bytes;
	bool is_gone; /* the driver was unloaded or restarted */
	struct reason why;
};

#endif
