/* choices.h: the user's settings for sources, from pmtop.yaml and the command line. Set before the sources open;
 * `wants_…` and `loop` may change while they run. */
#ifndef PMTOP_SOURCES_CHOICES_H
#define PMTOP_SOURCES_CHOICES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { CHOSEN_EVENTS_MAX = 16, STACKS_HZ_VIEWED = 100, LOOPS_OF_ANY = -1 };

struct source_choices {
	bool no_nvml;          /* gpu: nvml: false, or --no-nvml */
	const char *nvml_path; /* NULL: libnvidia-ml.so.1. Tests set another one (PMTOP_NVML) */
	/* the program that is started as `collect --only=gpu` to read GPUs; NULL = none is started, and there are no GPU
	 * figures */
	const char *program;
	const char *config;     /* --config, for that program; NULL = not given */
	int64_t gpu_silence_ns; /* how long that program may be silent; 0 = the default. Tests use a shorter time */
	const char *sys_root;   /* NULL: /sys */
	const char *dev_root;   /* NULL: /dev */
	unsigned event_count;   /* counters: events: by their libpfm4 names; 0 = the default events */
	const char *events[CHOSEN_EVENTS_MAX];
	/* FILE:LINE of the loop whose iterations are the steps (--loop, or key s); NULL = pmtop chooses. A text that it had
	 * lives as long as the sources */
	const char *_Atomic loop;
	/* the user views the loops of this process to choose one; 0 = of none, LOOPS_OF_ANY = of the first that has some */
	_Atomic int32_t wants_loops_of;
	double stacks_hz;          /* stack samples per second and Python process; 0 = none */
	_Atomic bool wants_stacks; /* the user views them (view 7): sample more often */
	_Atomic bool seeks_lines;  /* the causes of slow batches need them: the same */
	/* the user views the CPU counters (view 9, --counters). Before that none is opened, because each slows down
	 * every context switch of the watched threads */
	_Atomic bool wants_counters;
	_Atomic unsigned instrumented; /* how many processes have reported to launch mode that they publish a run */
};

/* The choices of `target`, or the defaults if it has none. */
struct target;
const struct source_choices *source_choices(const struct target *target);

#endif
