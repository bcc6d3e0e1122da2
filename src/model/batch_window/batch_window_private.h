/* batch_window_private.h: notes of the last two minutes, written by batch_window_notes.c and read by batch_window.c. */
#ifndef PMTOP_MODEL_BATCH_WINDOW_BATCH_WINDOW_PRIVATE_H
#define PMTOP_MODEL_BATCH_WINDOW_BATCH_WINDOW_PRIVATE_H

#include "src/model/batch_window/clock_history.h"
#include "src/model/machine/readings.h"
#include "src/model/model_private.h"
#include "src/model/workers/workers_private.h"

/* Metrics noted for all watched processes, and, in the second list, for the target and publishers of runs only. */
#define WATCHED_OF_ALL(X) \
	X(PROCESS_CPU_USER) \
	X(PROCESS_CPU_SYSTEM) \
	X(PROCESS_RUN_QUEUE_WAIT) \
	X(PROCESS_DISK_WAIT) \
	X(PROCESS_READ) \
	X(PROCESS_WRITTEN) \
	X(PROCESS_MAJOR_FAULTS)
#define WATCHED_OF_RUNS(X) \
	X(PROCESS_MINOR_FAULTS) \
	X(PROCESS_SWITCHES_WILLING) \
	X(PROCESS_SWITCHES_FORCED) \
	X(PROCESS_READ_CALLS)
#define WATCHED_OF_SYSTEM(X) \
	X(SYSTEM_CPU_BUSY) \
	X(SYSTEM_CPU_IO_WAIT) \
	X(SYSTEM_CPU_STOLEN) \
	X(SYSTEM_SWAP_IN) \
	X(SYSTEM_SWAP_OUT) \
	X(SYSTEM_PRESSURE_CPU) \
	X(SYSTEM_PRESSURE_MEMORY) \
	X(SYSTEM_PRESSURE_IO) \
	X(CGROUP_CPU) \
	X(CGROUP_THROTTLED) \
	X(CGROUP_THROTTLED_PERIODS) \
	X(CGROUP_PERIODS) \
	X(CGROUP_OOM_KILLS)
#define WATCHED_OF_DEVICES(X) \
	X(DISK_BUSY) \
	X(DISK_READ) \
	X(DISK_WRITTEN) \
	X(NETWORK_RECEIVED)

enum watched_slot {
#define WATCHED_SLOT(metric) SLOT_##metric,
	WATCHED_OF_ALL(WATCHED_SLOT) SLOTS_OF_ALL,
	SLOT_BEFORE_RUNS = SLOTS_OF_ALL - 1,
	WATCHED_OF_RUNS(WATCHED_SLOT) SLOT_COUNT
#undef WATCHED_SLOT
};

enum {
	WATCHED_MAX = 64,
	MACHINE_COUNTERS_MAX = 40,
	DEVICES_WATCHED = 4,
	MOMENTS_MAX = 64,
	FETCHES_NOTED = 128,
	CLOCK_HISTORIES_MAX = GPUS_MAX + 1,
	CANDIDATES_MAX = 96
};

/* The notes of a process of the tree. */
struct watched {
	struct readings slots[SLOT_COUNT];
	struct readings on_disk, stopped; /* seconds in the states D, and T or t: a reading holds until the next */
	char state;                       /* 0 = not read yet */
	int64_t state_ns;
	bool is_of_run; /* it has the slots of WATCHED_OF_RUNS */
};

struct machine_counter {
	enum metric metric;
	int32_t instance;
	struct readings readings;
};

/* An event between two readings: after from_ns, not after to_ns. */
struct moment {
	enum window_event_kind kind;
	int32_t pid;
	uint32_t worker;
	int32_t gpu; /* −1 = none */
	int64_t from_ns, to_ns;
	double value;
	char text[WINDOW_TEXT_SIZE];
};

struct fetch_noted {
	int32_t pid;
	uint32_t worker;
	int64_t begin_ns, end_ns;
	int64_t since_ns; /* when only its length is known: it may have ended at any time from here to end_ns; else 0 */
	double baseline_s;
};

struct window_notes {
	struct readings process_readings; /* readings of the process source, counted */
	int64_t processes_read_ns;        /* time of the latest */
	size_t watched_count;
	size_t machine_count, moment_count, moment_next, fetch_count, fetch_next;
	struct machine_counter machine[MACHINE_COUNTERS_MAX];
	struct moment moments[MOMENTS_MAX]; /* a ring, as is `fetches` */
	struct fetch_noted fetches[FETCHES_NOTED];
	int64_t swept_ns;
	size_t clock_history_count;
	struct clock_history clock_histories[CLOCK_HISTORIES_MAX];
};

static inline struct window_notes *window_notes_of(const struct model *model)
{
	return model->priv ? model->priv->window_notes : NULL;
}

/* All events of a window, before the most important are selected. */
struct candidates {
	size_t count;
	struct window_event events[CANDIDATES_MAX];
};

#endif
