/* synthetic_scenarios.h: the scenarios of synthetic runs, as a table. A new scenario is one row. */
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
/* The owner of a figure: ONE_WORKER is the one that loads the slow batch. */
enum synthetic_who { OF_TRAINER, OF_ONE_WORKER, OF_MACHINE, OF_DISK, OF_CHILD };

enum { EFFECTS_MAX = 8, LEVELS_MAX = 6 };

/* A counter's growth during a slow batch, in the metric's unit per extra second. */
struct synthetic_effect {
	enum metric metric;
	enum synthetic_who who;
	double per_s;
};
/* A gauge with another value than in other runs; for a counter, its growth per second. */
struct synthetic_level {
	enum metric metric;
	enum synthetic_who who;
	double value;
};

/* How the node's GPUs differ from the default. */
struct scenario_node {
	bool is_bare;         /* there are no GPUs, counters or meters */
	bool hides_processes; /* their driver does not report their processes */
	bool has_no_counters; /* of the CPUs: a virtual machine */
	unsigned which;       /* GPUs that are throttled or change, as bits; 0 = all */
	/* clock in slow batches relative to the default, which makes the work slower; 0 = default */
	double clock_ratio;
	bool is_always_throttled;  /* in every batch */
	unsigned throttle;         /* bits 1 << enum gpu_throttle, while throttled */
	double limit_w;            /* power limit while throttled; 0 = default */
	double hotter_celsius;     /* always */
	double busy_ratio;         /* share of the default compute time; 0 = all of it */
	double copied_bytes_per_s; /* from the host, in addition to the default */
	/* share of the default multiprocessors, and the GPUs never idle; 0 = default */
	double fill_ratio;
	bool has_idle_tensor_cores; /* the program computes in fp32: its tensor cores are idle */
	double reserved_bytes;      /* of the first GPU; 0 = default */
	double retained_bytes;      /* per batch, of the first GPU */
	double cached_bytes;        /* memory that the allocator reserves in the end but does not use */
	unsigned pcie_width;        /* 0 = 16 */
	/* batch from which on the last GPU is lost; the first has uncorrected memory errors; 0 = never */
	uint64_t lost_at, faulty_at;
	uint64_t neighbour_at;      /* batch from which on another process computes on the last GPU */
	double cpu_throttles_per_s; /* rate of thermal throttling of the CPUs */
};

struct scenario {
	const char *name, *help;
	/* the slow batches */
	uint64_t every;   /* every k-th; 0 = none */
	uint64_t episode; /* length of a sequence of slow batches, somewhere in each k batches; 0 = one, the last of them */
	double seconds;   /* by how much they are longer */
	enum synthetic_phase phase;
	const char *span;              /* in that phase; NULL = none */
	double cpu_ratio, queue_ratio; /* share of those seconds on the CPU, and waiting for one */
	double minor_per_s, major_per_s, blocks_per_s, forced_per_s;
	double samples_ratio;             /* relative to the default; 0 = default */
	char trainer_state, worker_state; /* during slow batches; 0 = default */
	char worker_default_state;        /* state of the workers otherwise; 0 = S */
	const char *child;                /* a process that exists while they are slow */
	bool in_worker;                   /* a DataLoader worker's fetch is the slow part */
	struct synthetic_effect effects[EFFECTS_MAX];
	/* the whole run */
	struct synthetic_level levels[LEVELS_MAX];
	double step_s;                   /* 0 = 0.1 */
	double shares[SYNTHETIC_PHASES]; /* of a step; all 0 = default */
	double fetch_ratio;              /* share of the workers' time in fetches; 0 = 0.5 */
	double first_s;                  /* by how much the first batch is longer */
	double leak_bytes;               /* per batch, see `leaks` */
	/* PROCESS_ANONYMOUS (of `leaker`), PROCESS_SHARED (in /dev/shm), PROCESS_FILE */
	enum metric leaks;
	enum synthetic_who leaker;
	uint64_t sawtooth;    /* batches after which all of it is freed; 0 = never */
	uint64_t spike_every; /* memory grows by spike_bytes for eight of this many batches */
	double spike_bytes;
	uint64_t slower_from; /* batch from which on each takes slower_ratio times as long; 0 = never */
	double slower_ratio;
	double other_share, other_ratio; /* a pseudo-random share of batches takes other_ratio times as long */
	uint64_t hang_at;                /* 0 = never */
	/* batch in which the clock is set by clock_s, or the machine is suspended for suspend_s; 0 = never */
	uint64_t step_clock_at;
	double clock_s, suspend_s;
	uint64_t worker_gone_at; /* batch in which a worker is killed; 0 = never */
	bool is_inference;
	uint32_t accumulate; /* the optimizer steps in every k-th batch, which the run's meta reports; 0 = 1 */
	struct scenario_node node;
};

extern const struct scenario scenarios[];
extern const size_t scenario_count;

/* NULL: there is no scenario of this name. */
const struct scenario *scenario_find(const char *name, size_t length);

#endif
