/* doctor.h: the findings of `pmtop doctor`: one row for each figure that pmtop can show, and for what the figures
 * require. */
#ifndef PMTOP_DOCTOR_DOCTOR_H
#define PMTOP_DOCTOR_DOCTOR_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/status.h"
#include "src/session/command.h"

struct model;

/* off: not in use, because of a setting, or because there is nothing to read (no GPU, no Python). */
enum finding_state { FINDING_OK, FINDING_MISSING, FINDING_OFF };

enum { FINDINGS_MAX = 96 };

struct finding {
	const char *group;
	char name[48];
	enum finding_state state;
	bool is_essential; /* pmtop is of no use without it: the exit status is 1 */
	/* text: what it is, or why it is missing; remedy: how to get it, if possible a command */
	struct reason reason;
};

struct doctor {
	const struct options *options;
	const struct settings *settings;
	/* prefix of /proc, /sys and /dev in the checks of GPUs, counters and energy; NULL = "". For tests, as are the next
	 * two */
	const char *root;
	const char *nvml_path;                               /* NULL: libnvidia-ml.so.1 */
	int (*open_counter)(uint32_t type, uint64_t config); /* returns 0 or an errno; NULL: perf_event_open */
	const struct model *model;                           /* of the target, once it is watched */
	const char *group;                                   /* of the next rows */
	char process[200];                                   /* the name of the target's group */
	bool has_gpus;                                       /* of any vendor */
	size_t count;
	struct finding findings[FINDINGS_MAX];
};

/* Fills the newest row's reason and state. */
void doctor_say(struct doctor *doctor, enum finding_state state, const char *remedy, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
/* Adds a row, in the state ok. If there are FINDINGS_MAX rows already, it overwrites the last. */
struct finding *doctor_row(struct doctor *doctor, const char *name, bool is_essential);

/* Runs a check in a child process, because a driver, a library or a file system can hang: the newest row then says so,
 * and doctor_run returns. `doctor` must be in shared memory (MAP_SHARED). */
void doctor_run(struct doctor *doctor, void (*check)(struct doctor *doctor));

/* The remedy if pmtop may not read a process. */
const char *doctor_access_remedy(void);

/* Checks pmtop itself, the terminal and the machine. */
void doctor_check_machine(struct doctor *doctor);
/* Check drivers, libraries, devices and permissions of GPUs. They use files and dlopen only, because a driver can
 * hang. */
void doctor_check_nvidia(struct doctor *doctor);
void doctor_check_other_gpus(struct doctor *doctor);
/* Checks the CPUs' counters, energy meters and temperature sensors. */
void doctor_check_counters(struct doctor *doctor);
/* Checks which figures of the target the model has after a few readings, and what kind of process it is. */
void doctor_check_process(struct doctor *doctor);
/* Checks whether pmtop profile can take a trace of the target. */
void doctor_check_traces(struct doctor *doctor);

extern const struct command doctor_command;

#endif
