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
	struct energy_past *energy;
};

/* -- processes.c -- */
void model_see_process(struct model *model, const struct record *record);
void model_lose_process(struct model *model, const struct record *record);
void model_replace_process(struct model *model, const struct record *record);
void model_take_figure(struct model *model, const struct record *record);
void model_take_wait(struct model *model, const struct record *record);
void model_take_placement(struct model *model, const struct record *record);
void model_add_resident(struct model *model, int index);
/* After a set: updates rates, series and states. */
void model_refresh_processes(struct model *model);

/* -- memory.c -- */
void model_init_memory(struct model *model);
void model_free_memory(struct model *model);
/* The target was replaced by another program (exec): the growth so far is void. */
void model_restart_memory(struct model *model);
void model_refresh_memory(struct model *model);

/* -- workers.c -- */
void model_init_workers(struct model *model);
void model_free_workers(struct model *model);
void model_take_worker(struct model *model, const struct record *record);
void model_lose_worker(struct model *model, const struct record *record);
/* After a set, and after model_refresh_processes. */
void model_refresh_workers(struct model *model);

/* -- system.c -- */
void model_init_system(struct model *model);
void model_free_system(struct model *model);
void model_name_instance(struct model *model, const struct record *record);
/* False: not a figure of the machine or the cgroup. */
bool model_take_system_figure(struct model *model, const struct record *record);
/* After a set. */
void model_refresh_system(struct model *model);

/* -- gpus.c -- */
void model_init_gpus(struct model *model);
void model_free_gpus(struct model *model);
void model_take_gpu(struct model *model, const struct record *record);
void model_take_gpu_processes(struct model *model, const struct record *record);
void model_take_gpu_event(struct model *model, const struct record *record);
/* False: not a figure of a GPU. */
bool model_take_gpu_figure(struct model *model, const struct record *record);
void model_refresh_gpus(struct model *model);

/* -- code.c -- */
void model_init_code(struct model *model);
void model_free_code(struct model *model);
/* is_snapshot: the record repeats earlier totals, which do not count for the last minute. */
void model_take_code_group(struct model *model, const struct record *record, bool is_snapshot);
void model_take_code(struct model *model, const struct record *record);
void model_take_code_node(struct model *model, const struct record *record);
void model_take_code_time(struct model *model, const struct record *record, bool is_snapshot);
void model_refresh_code(struct model *model);

/* -- perf.c -- */
void model_init_perf(struct model *model);
void model_free_perf(struct model *model);
void model_take_perf_event(struct model *model, const struct record *record);
void model_take_perf_count(struct model *model, const struct record *record);
void model_refresh_perf(struct model *model);

/* -- energy.c -- */
void model_init_energy(struct model *model);
void model_free_energy(struct model *model);
/* Names of meters and sensors. False: not a metric of this family. */
bool model_name_meter(struct model *model, const struct record *record);
/* Call before model_take_gpu_figure: uses the power and energy of GPUs too, but returns false for them. */
bool model_take_energy_figure(struct model *model, const struct record *record);
/* After model_refresh_gpus. */
void model_refresh_energy(struct model *model);

/* -- batch_window.c: notes what happens during the latest batches -- */
void model_init_batch_windows(struct model *model);
void model_free_batch_windows(struct model *model);
/* A counter of the machine grew; NAN = by an unknown amount. */
void model_note_growth(struct model *model, enum metric metric, int32_t instance, int64_t time_ns, double growth);
/* The same for a process; its state; its start and end. */
void model_note_process_growth(struct model *model, size_t process, enum metric metric, int64_t time_ns, double growth);
void model_note_state(struct model *model, size_t process, int64_t time_ns);
void model_note_process_came(struct model *model, size_t process, int64_t time_ns);
void model_note_process_went(struct model *model, size_t process, int64_t time_ns);
void model_forget_watched(struct model *model, struct process_past *past);
/* Call before model_take_worker and model_lose_worker. */
void model_note_worker(struct model *model, const struct record *record);
/* An event that happened between two readings. */
void model_note_moment(struct model *model, enum window_event_kind kind, int64_t from_ns, int64_t to_ns, int32_t pid,
	double value, const char *text);
/* Clocks of GPUs and CPUs, and throttle reasons. Call before the model takes these figures, lists and events. */
void model_note_clock(struct model *model, const struct record *figure);
void model_note_gpu(struct model *model, const struct record *record);
/* Call last after a set: attaches the notes to flagged batches. `all`: to all of them, else only to the newest. */
void model_refresh_batch_windows(struct model *model, bool all);

#endif
