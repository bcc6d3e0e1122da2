/* synthetic_scenarios.h: what can happen in an invented run, as a table. A new scenario is one row. */
#ifndef PMTOP_SOURCES_SYNTHETIC_SYNTHETIC_SCENARIOS_H
#define PMTOP_SOURCES_SYNTHETIC_SYNTHETIC_SCENARIOS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/samples/metric.h"

enum synthetic_phase {
	SYNTHETIC_DATA,
	SYNTHETIC_FORWARD,
	SYNTHETIC_BACKWARD,
	SYNTHETIC_OPTIMIZER,
	SYNTHETIC_BETWEEN,
	SYNTHETIC_PHASES
};
/* Whose a figure is: ONE_WORKER is the one that loads the slow batch. */
enum synthetic_who { OF_TRAINER, OF_ONE_WORKER, OF_MACHINE, OF_DISK, OF_CHILD };

enum { EFFECTS_MAX = 8, LEVELS_MAX = 6 };

/* A counter's growth while a slow batch is slow, in the metric's unit for each second that it takes longer. */
struct synthetic_effect {
	enum metric metric;
	enum synthetic_who who;
	double per_s;
};
/* A gauge that is not as in other runs; of a counter, its growth a second. */
struct synthetic_level {
	enum metric metric;
	enum synthetic_who who;
	double value;
};

/* What is not as usual with the node's GPUs. */
struct scenario_node {
	bool is_bare;         /* there are none, and neither counters nor meters */
	bool hides_processes; /* their driver does not say who uses them */
	bool has_no_counters; /* of the CPUs: a virtual machine */
	unsigned which;       /* GPUs that are held back or change, as bits; 0 = all */
	/* of the usual clock in slow batches, whose work takes so much longer; 0 = as usual */
	double clock_ratio;
	bool is_always_throttled;  /* … in every batch */
	unsigned throttle;         /* bits 1 << enum gpu_throttle, meanwhile */
	double limit_w;            /* power limit meanwhile; 0 = as usual */
	double hotter_celsius;     /* all the time */
	double busy_ratio;         /* of the time in which they otherwise compute; 0 = all of it */
	double copied_bytes_per_s; /* beside what is usual, from the host */
	/* of their multiprocessors that otherwise work, and they are never idle; 0 = as usual */
	double fill_ratio;
	bool lacks_tensors;    /* the program computes with 32 bits: its tensor cores stand still */
	double reserved_bytes; /* of the first; 0 = as usual */
	double retained_bytes; /* a batch, of the first */
	double cached_bytes;   /* what the allocator reserves in the end without using it */
	unsigned pcie_width;   /* 0 = 16 */
	/* batch from which on the last falls off the bus; the first has uncorrected memory errors; 0 = never */
	uint64_t lost_at, faulty_at;
	uint64_t neighbour_at;      /* … another process computes on the last */
	double cpu_throttles_per_s; /* heat slows the CPUs down so often */
};

struct scenario {
	const char *name, *help;
	/* the slow batches */
	uint64_t every;   /* every k-th; 0 = none */
	uint64_t episode; /* so many in a row, somewhere in each k batches; 0 = one, the last of them */
	double seconds;   /* how much longer they take */
	enum synthetic_phase phase;
	const char *span;              /* in that phase; NULL = none */
	double cpu_ratio, queue_ratio; /* of those seconds: on the CPU, and waiting for one */
	double minor_per_s, major_per_s, blocks_per_s, forced_per_s;
	double samples_ratio;             /* of the usual; 0 = as usual */
	char trainer_state, worker_state; /* during them; 0 = as usual */
	char worker_usually;              /* state of the workers; 0 = S */
	const char *child;                /* a process that comes for as long as they are slow */
	bool in_worker;                   /* a loader worker's fetch takes so long */
	struct synthetic_effect effects[EFFECTS_MAX];
	/* the whole run */
	struct synthetic_level levels[LEVELS_MAX];
	double step_s;                   /* 0 = 0.1 */
	double shares[SYNTHETIC_PHASES]; /* of a step; all 0 = as usual */
	double fetch_ratio;              /* of the workers' time that fetches take; 0 = 0.5 */
	double first_s;                  /* the first batch takes so much longer */
	double leak_bytes;               /* a batch, see `leaks` */
	/* PROCESS_ANONYMOUS (of `leaker`), PROCESS_SHARED (in /dev/shm), PROCESS_FILE */
	enum metric leaks;
	enum synthetic_who leaker;
	uint64_t sawtooth;    /* batches after which it is all given back; 0 = never */
	uint64_t spike_every; /* memory takes spike_bytes more for eight batches in so many */
	double spike_bytes;
	uint64_t slower_from; /* batch from which on each takes slower_ratio times as long; 0 = never */
	double slower_ratio;
	double other_share, other_ratio; /* a share of batches, which looks random, takes so many times as long */
	uint64_t hang_at;                /* 0 = never */
	/* batch in which the clock is set by clock_s, or the machine sleeps for suspend_s; 0 = never */
	uint64_t step_clock_at;
	double clock_s, suspend_s;
	uint64_t worker_gone_at; /* batch in which a worker is killed; 0 = never */
	bool is_inference;
	uint32_t accumulate; /* the optimizer steps with every k-th; published; 0 = 1 */
	struct scenario_node node;
};

extern const struct scenario scenarios[];
extern const size_t scenario_count;

/* NULL: there is none of that name. */
const struct scenario *scenario_find(const char *name, size_t length);

#endif
