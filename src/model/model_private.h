/* model_private.h: internal state of the model, shared by the files of src/model. */
#ifndef PMTOP_MODEL_MODEL_PRIVATE_H
#define PMTOP_MODEL_MODEL_PRIVATE_H

#include "src/model/memory/memory_private.h"
#include "src/model/model.h"
#include "src/model/run/run_private.h"

enum { PROCESSES_MAX = 512, RUN_IDS = 256 };

/* The last readings of a process's counters, and their rates. */
struct process_past {
	int64_t time_ns[PROCESS_METRICS];   /* 0 = never read */
	double rate_per_s[PROCESS_METRICS]; /* NAN = unknown: first reading, or the counter was reset */
	int64_t state_since_ns;
	bool is_new_in_set;
	struct process_growth growth;
	/* it started after this reading, with all counters at 0; 0 = it existed when pmtop attached */
	int64_t came_after_ns;
	struct watched *watched; /* of batch_window.c; NULL = not tracked */
};

/* pmtop itself and its child processes. */
enum { MODEL_SELVES = 4 };

struct model_private {
	int16_t run_by_id[RUN_IDS]; /* index into runs, −1 = none */
	size_t process_room, newest_process;
	struct process_past *pasts; /* same indexes as processes */
	bool is_tree_changed;
	/* CPU and memory of pmtop's own processes; times of the readings, 0 = never */
	struct {
		double cpu, cpu_ratio, memory_bytes;
		int64_t cpu_ns, seen_ns;
	} selves[MODEL_SELVES];
	struct memory_trend trend;
	struct memory_spikes spikes;
	uint64_t tree_version;   /* changes when a process starts or ends, or a run opens */
	struct workers *workers; /* NULL: out of memory, here and below */
	struct system_past *system;
	struct window_notes *window_notes;
	struct gpus_past *gpus;
	struct perf_past *perf;
	struct code_past *code;
	struct code_samples *code_samples; /* NULL: none yet */
	struct code_threads *code_threads; /* NULL: none yet */
	struct energy_past *energy;
};

#endif
