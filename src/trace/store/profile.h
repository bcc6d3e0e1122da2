/* profile.h: what one trace file says: host events by thread, the work of each GPU stream, allocations.
 *
 * Kineto (PyTorch), and Chrome traces of other profilers. Times are nanoseconds of the trace's own clock. An event is
 * 32 bytes, so that a trace takes about a tenth of its file's size. profile_read.h fills a profile, profile_host.h and
 * the other files here analyse it. */
#ifndef PMTOP_TRACE_PROFILE_H
#define PMTOP_TRACE_PROFILE_H

#include <stdbool.h>
#include <stdint.h>

#include "src/base/status.h"
#include "src/trace/store/profile_names.h"

enum profile_kind {
	PROFILE_OP,         /* cpu_op, and whatever X event has no known category */
	PROFILE_ANNOTATION, /* user_annotation: record_function, ProfilerStep#N */
	PROFILE_RUNTIME,    /* cuda_runtime, cuda_driver: launches, copies, waits */
	PROFILE_PYTHON,     /* python_function */
	PROFILE_KERNEL,     /* work of a GPU from here on */
	PROFILE_COPY,
	PROFILE_SET,
	PROFILE_KIND_COUNT
};

enum { PROFILE_NAME_BITS = 28, PROFILE_NAME_MASK = (1 << PROFILE_NAME_BITS) - 1 };
#define PROFILE_NONE UINT32_MAX
/* In profile_host.name: the only child of an operator of its name, counted as a part of that (as key_averages does). */
#define PROFILE_MERGED (1u << 31)

#define PROFILE_OPEN_NS (-1)

/* An event of a host thread. */
struct profile_host {
	int64_t start_ns, duration_ns;
	uint32_t name;   /* and enum profile_kind << PROFILE_NAME_BITS */
	uint32_t link;   /* External id of an op or annotation, correlation of a runtime call; 0 = none */
	uint32_t shape;  /* a name: its Input Dims; 0 = not recorded */
	uint32_t parent; /* index in the same track, or PROFILE_NONE; before nesting: as profile_work.op */
};

/* A kernel, copy or memset. */
struct profile_work {
	int64_t start_ns, duration_ns;
	uint32_t name; /* and kind, as above */
	uint32_t correlation, external_id;
	uint32_t op; /* a name: the operation of JAX that it computes; 0 = not said */
};

/* A `[memory]` event. */
struct profile_allocation {
	int64_t at_ns;
	uint64_t address;
	int64_t bytes;           /* negative: freed */
	int64_t total_allocated; /* -1 = unknown */
	uint32_t track;
	int16_t device;
	int16_t device_type; /* 0 = CPU, 1 = CUDA */
};

struct profile_track {
	int64_t pid, tid;
	uint32_t pid_name, tid_name; /* of a pid or tid that is a text; 0 = a number */
	uint32_t process, thread;    /* names by metadata; 0 = none */
	int32_t device;              /* of work; -1 = unknown */
	uint32_t next_device;        /* index of the track of the same pid and tid, for work of another device; 0 = none */
	bool has_runtime;            /* launches work, or waits for it */
	struct profile_host *hosts;
	uint32_t host_count, host_capacity;
	struct profile_work *works;
	uint32_t work_count, work_capacity;
	uint32_t host_base; /* number of host events in the tracks before */
	uint32_t *opened;   /* hosts of B events whose E has not come; their duration is PROFILE_OPEN_NS */
	uint32_t open_count, open_capacity;
};

/* A step that JAX or TensorFlow marks. */
struct profile_mark {
	int64_t start_ns, duration_ns, number;
};

/* A kernel's name: what its events say. */
struct profile_kernel {
	uint32_t name;
	uint64_t count;
	int64_t total_ns, min_ns, max_ns;
	double occupancy_ns, occupancy_sum; /* time with a known occupancy; ratio × time */
	uint32_t registers;                 /* per thread; 0 = unknown */
	int64_t delay_ns;                   /* from launch to start, summed over delay_count */
	uint64_t delay_count;
	uint32_t op; /* the operator that launched most of its time; 0 = unknown */
	int64_t op_ns;
};

/* Copies of one name (direction, kinds of memory). */
struct profile_copy {
	uint32_t name;
	uint64_t count, bytes, bytes_count; /* bytes_count: copies with a known size */
	int64_t total_ns;
};

struct profile_gpu_info {
	int32_t index;
	uint32_t name; /* 0 = unknown */
	double memory_bytes;
	int64_t compute_major; /* of its compute capability; 0 = unknown, or not NVIDIA's */
};

/* CURVE_SIZE: the parts of the window of curves over time. */
enum { PROFILE_GPUS_MAX = 64, PROFILE_CURVE_SIZE = 240, PROFILE_TRACKS_MAX = 1 << 16 };

struct profile {
	struct profile_names names;
	struct profile_track *tracks;
	uint32_t track_count, track_capacity;
	uint32_t *track_slots, track_slot_count;
	struct profile_kernel *kernels;
	uint32_t kernel_count, kernel_capacity;
	struct profile_copy *copies;
	uint32_t copy_count, copy_capacity;
	struct profile_allocation *allocations;
	uint32_t allocation_count, allocation_capacity;
	struct profile_mark *steps;
	uint32_t step_count, step_capacity;
	bool has_device_steps;           /* `steps` are of a device's line of steps, not of the host */
	struct profile_table *flops;     /* FLOPs by (name, shape) */
	struct profile_table *copy_rows; /* name → index in copies + 1 */
	struct profile_table *links;     /* ids of 33 bits and more → the number that stands for them */
	struct profile_gpu_info gpus[PROFILE_GPUS_MAX];
	uint32_t gpu_count;
	int64_t start_ns, end_ns; /* of the first and of the last event; equal: no event */
	int64_t rank, world_size; /* -1 = unknown */
	double peak_reserved_bytes;
	uint64_t event_count;     /* of all kinds, read whole */
	bool has_categories;      /* an event has one ("cat"): JAX and TensorFlow write none */
	bool is_torch;            /* an event has a category of PyTorch's profiler */
	bool has_phases;          /* an event says its phase ("ph"): the file is a trace */
	uint64_t ignored_count;   /* X events without a time, and the like */
	uint64_t untracked_count; /* events of threads beyond the first PROFILE_TRACKS_MAX */
	uint64_t unpaired_count;  /* B events without an E, and E events without a B */
	uint64_t stray_count;     /* events far from all others */
	uint64_t damaged_count;   /* not JSON */
	uint64_t damaged_offset;  /* of the first; of none: cut_offset */
	bool is_cut;              /* the file ends within an event or before its end */
	uint64_t cut_offset;      /* of that event, or of the end */
	bool has_more;            /* something follows the trace, at end_offset */
	uint64_t end_offset;
	bool is_compressed;
	uint64_t size;               /* bytes read (decompressed) */
	struct reason why_cut;       /* why reading ended early; empty = it did not */
	bool has_graphs;             /* a call launches a graph of kernels */
	uint64_t graph_kernel_count; /* after profile_device_join() */
	bool has_skewed_clock;       /* kernels begin before their launch: times of the GPU do not compare with the CPU's */
	bool has_shapes, has_stacks, has_modules, has_memory;
	bool no_memory; /* pmtop ran out of memory: events are missing */
};

bool profile_init(struct profile *profile);
void profile_release(struct profile *profile);

static inline enum profile_kind profile_kind_of(uint32_t name)
{
	return (enum profile_kind)(name >> PROFILE_NAME_BITS & 7);
}
static inline uint32_t profile_name_of(uint32_t name) { return name & PROFILE_NAME_MASK; }
static inline int64_t profile_host_end(const struct profile_host *host) { return host->start_ns + host->duration_ns; }
static inline int64_t profile_work_end(const struct profile_work *work) { return work->start_ns + work->duration_ns; }

/* Adds [start, end) to a curve: the time that falls into each part of the profile's window. */
void profile_curve_add(
	const struct profile *profile, int64_t curve_ns[PROFILE_CURVE_SIZE], int64_t start_ns, int64_t end_ns);
/* The track of a process and thread (texts of the file), added if new. NULL: no memory, or too many. */
struct profile_track *profile_track_of(struct profile *profile, struct profile_slice pid, struct profile_slice tid);
/* The same for work of a device. */
struct profile_track *profile_track_on(
	struct profile *profile, struct profile_slice pid, struct profile_slice tid, int32_t device);
struct profile_host *profile_add_host(struct profile *profile, struct profile_track *track);
/* What the profile spans includes this. */
void profile_widen(struct profile *profile, int64_t start_ns, int64_t end_ns);
struct profile_work *profile_add_work(struct profile *profile, struct profile_track *track);
struct profile_kernel *profile_kernel_of(struct profile *profile, uint32_t name);
struct profile_copy *profile_copy_of(struct profile *profile, uint32_t name);
struct profile_allocation *profile_add_allocation(struct profile *profile);
void profile_add_step(struct profile *profile, int64_t start_ns, int64_t duration_ns, int64_t number);
/* Makes room for one more element; false (and profile->no_memory) if there is none. */
bool profile_grow(struct profile *profile, void *array, uint32_t *capacity, uint32_t count, size_t size);

#endif
