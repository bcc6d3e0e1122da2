/* model_private.h: what the model keeps for itself, shared by model.c, processes.c and memory.c. */
#ifndef PMTOP_MODEL_MODEL_PRIVATE_H
#define PMTOP_MODEL_MODEL_PRIVATE_H

#include "src/model/memory_private.h"
#include "src/model/model.h"
#include "src/model/run_private.h"

enum { PROCESSES_MOST = 512, RUN_IDS = 256 };

/* The last reading of each counter, and what it grew by since the one before. */
struct process_past {
	int64_t time_ns[METRIC_COUNT];       /* 0 = never read */
	double rate_per_s[METRIC_COUNT];     /* NAN = not known: first reading, or the counter was reset */
	int64_t state_since_ns;
	bool is_new_in_set;
	struct process_growth growth;
};

struct model_private {
	int16_t run_by_id[RUN_IDS];          /* index into runs, −1 = none */
	size_t process_room, newest_process;
	struct process_past *pasts;          /* as processes */
	bool is_tree_changed;
	int64_t self_cpu_ns;                 /* when it was read */
	double self_cpu;
	struct memory_trend trend;
	struct memory_spikes spikes;
	uint64_t tree_version;               /* changes with the processes that there are, and with the runs */
	struct workers *workers;             /* NULL: out of memory */
};

/* -- processes.c -- */
void model_see_process(struct model *model, const struct record *record);
void model_lose_process(struct model *model, const struct record *record);
void model_replace_process(struct model *model, const struct record *record);
void model_take_figure(struct model *model, const struct record *record);
void model_tell_resident(struct model *model, int index);
/* After a set: rates of what was read in it, series, states. */
void model_refresh_processes(struct model *model);

/* -- memory.c -- */
void model_init_memory(struct model *model);
void model_free_memory(struct model *model);
/* Another program runs in the target: what it grew by before says nothing. */
void model_restart_memory(struct model *model);
void model_refresh_memory(struct model *model);

/* -- workers.c -- */
void model_init_workers(struct model *model);
void model_free_workers(struct model *model);
void model_take_worker(struct model *model, const struct record *record);
void model_lose_worker(struct model *model, const struct record *record);
/* After a set, and after model_refresh_processes. */
void model_refresh_workers(struct model *model);

#endif
