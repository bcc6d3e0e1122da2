/* choices.h: what the user chose about sources, from pmtop.yaml and the command line. Set before they open; `wants_…`
 * may change while they run. */
#ifndef PMTOP_SOURCES_CHOICES_H
#define PMTOP_SOURCES_CHOICES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { CHOSEN_EVENTS_MAX = 16, STACKS_HZ_LOOKED_AT = 100 };

struct source_choices {
	bool no_nvml;          /* gpu: nvml: false, or --no-nvml */
	const char *nvml_path; /* NULL: libnvidia-ml.so.1. Tests name another (PMTOP_NVML) */
	/* what is started as `collect --only=gpu` to read GPUs; NULL = nothing is, and there are no figures of them */
	const char *program;
	const char *config;     /* --config, for that one; NULL = not given */
	int64_t gpu_silence_ns; /* how long it may say nothing; 0 = as usual. Tests are less patient */
	const char *sys_root;   /* NULL: /sys */
	const char *dev_root;   /* NULL: /dev */
	unsigned event_count;   /* counters: events: as libpfm4 names them; 0 = the usual ones */
	const char *events[CHOSEN_EVENTS_MAX];
	double stacks_hz;            /* looks a second at the Python stacks of each process; 0 = none */
	_Atomic bool wants_stacks;   /* somebody looks at them (view 7): then more often */
	_Atomic bool wants_counters; /* somebody looks at the CPU counters (view 9, --counters): before that none is opened,
								  * for each costs the watched threads something at every switch */
};

/* Of a target, or the defaults where it has none. */
struct target;
const struct source_choices *source_choices(const struct target *target);

#endif
