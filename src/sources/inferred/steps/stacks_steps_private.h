/* stacks_steps_private.h: what stacks_steps.c infers and stacks_steps_emit.c emits. */
#ifndef PMTOP_SOURCES_INFERRED_STACKS_STEPS_PRIVATE_H
#define PMTOP_SOURCES_INFERRED_STACKS_STEPS_PRIVATE_H

#include "src/sources/inferred/steps/stacks_steps.h"

enum { STEPS_EPOCHS_MAX = 16, STEPS_LOADERS_MAX = 16, STEPS_LOSSES_MAX = 16 };

enum mode { MODE_TRAIN = 1, MODE_VALIDATION = 2, MODES }; /* ids of names */

struct pace {
	double step_s;  /* moving average of the step time; NAN */
	unsigned noted; /* step times in it */
};

/* An epoch, or a validation pass. */
struct epoch {
	uint64_t serial;
	enum mode mode;
	bool is_undecided;              /* as in struct py_counted */
	uint64_t base, joined;          /* as in struct py_counted; batches before pmtop's start */
	uint64_t emitted;               /* batches whose begin was emitted */
	uint64_t yielded;               /* at the last poll */
	int64_t since_ns;               /* when it was found */
	int64_t emitted_ns, yielded_ns; /* begin of the last emitted batch; last poll that saw a new batch */
	int64_t gap_ns;                 /* between the last two polls that saw a new batch */
	int64_t read_ns;                /* last poll that could read it */
	bool is_begun;                  /* EPOCH_BEGIN was emitted, if it is of training */
	bool is_further;                /* a further pass of the epoch before it */
	bool is_alone;                  /* as in struct py_counted */
	bool is_first;                  /* as in struct py_counted */
	uint64_t length;                /* batches in the epoch, samples in a batch; 0 = unknown */
	uint32_t batch_size;
	uint64_t number, count, key; /* as in struct py_counted */
};

/* The mode of the loop in which a loader was found. */
struct loader {
	uint64_t sampler;
	enum mode mode;
};

struct event {
	enum record_kind kind;
	int64_t time_ns;
	uint64_t index, number;
	enum mode mode;
	uint32_t epoch;
	double loss;      /* NAN = none */
	bool is_numbered; /* false: `epoch` only counts the passes since pmtop attached */
};

/* The epoch of training of the last emitted event, with its batches so far. */
struct emitted_epoch {
	bool is_open, is_numbered;
	uint32_t index;
	int64_t begin_ns;
	uint64_t batches;
};

struct stacks_steps {
	uint8_t run;
	pid_t pid;
	char name[128], uuid[33];
	struct stacks_what what;
	struct stacks_job job;
	bool is_elsewhere;
	char line[12], micro_batches[12], steps_before[24], steps_planned[24];
	struct whole {
		uint64_t before, planned; /* batches of the run before those counted here, and of both; planned 0 = unknown */
	} whole;
	bool has_new_what, has_new_job;
	bool is_at_least; /* batches may have been missed */
	bool is_emitted, is_ended, has_ended_emitted;
	bool replaces, has_replaced; /* a run of another loop was emitted; also that this one takes its place */
	bool is_withdrawn;           /* a run was emitted that is none */
	size_t epoch_count;
	struct epoch epochs[STEPS_EPOCHS_MAX];
	size_t loader_count;
	struct loader loaders[STEPS_LOADERS_MAX];
	uint64_t epoch_key;  /* of the current epoch, as in struct py_counted */
	bool restarts;       /* the numbers of epochs begin anew: for another fold, another client */
	bool has_alone;      /* a loop that no other is around has begun */
	bool is_numbered;    /* state.epoch_index is the number of the epoch, not only of the pass */
	uint32_t next_index; /* of the next epoch, if nothing shows another one */
	uint64_t current;    /* serial of the epoch whose batch is open; 0 = none */
	enum mode mode;
	uint64_t sequence, number; /* of the next event; of the next batch */
	uint64_t counted[3];       /* ended batches, by mode, including those before pmtop's start */
	struct run_state state;
	struct emitted_epoch emitted;
	struct run_state emitted_state; /* after the emitted events */
	int64_t epoch_until_ns;         /* the first output waits until then for the number of the epoch; 0 = it does not */
	int64_t event_ns;               /* time of the newest event: events are in order */
	struct pace paces[MODES];       /* of the batches of each mode */
	size_t loss_count;              /* losses so far; the newest are retained, from the ring on */
	struct {
		double value;
		int64_t read_ns;
	} losses[STEPS_LOSSES_MAX];
	size_t event_count, event_room;
	struct event *events; /* not emitted yet */
};

#endif
