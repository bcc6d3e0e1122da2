/* doctor.h: what `pmtop doctor` finds: one row for each figure that pmtop could show, and for each thing that one
 * needs. */
#ifndef PMTOP_DOCTOR_DOCTOR_H
#define PMTOP_DOCTOR_DOCTOR_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/status.h"
#include "src/session/command.h"

struct model;

/* off: there, but not in use; because of how things are set, or because there is nothing to do with it. */
enum finding_state { FINDING_OK, FINDING_MISSING, FINDING_OFF };

enum { FINDINGS_MAX = 96 };

struct finding {
	const char *group;
	char name[48];
	enum finding_state state;
	bool is_essential; /* without it pmtop shows nothing worth while: the exit status is 1 */
	/* text: what it is, or why it is missing; remedy: what brings it, a command where there is one */
	struct reason reason;
};

struct doctor {
	const struct options *options;
	const struct settings *settings;
	/* before /proc, /sys and /dev wherever GPUs, counters and meters are looked for; NULL = "". For tests, as the next
	 * two */
	const char *root;
	const char *nvml_path;                               /* NULL: libnvidia-ml.so.1 */
	int (*open_counter)(uint32_t type, uint64_t config); /* 0, or why not (errno); NULL: the kernel is asked */
	const struct model *model;                           /* of the target, once it is watched */
	const char *group;                                   /* of the rows to come */
	char process[200];                                   /* what the target's group is called */
	bool has_gpus;                                       /* of any maker */
	size_t count;
	struct finding findings[FINDINGS_MAX];
};

/* Fills the newest row's reason and state. */
void doctor_say(struct doctor *doctor, enum finding_state state, const char *remedy, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
/* The next row, ok until something else is said; further rows than there is room for go into the last one. */
struct finding *doctor_row(struct doctor *doctor, const char *name, bool is_essential);

/* Runs a check in a process of its own, for a driver, a library or a file system can hang: then the newest row says so,
 * and the next check follows. `doctor` must be memory that the child shares (MAP_SHARED). */
void doctor_run(struct doctor *doctor, void (*check)(struct doctor *doctor));

/* What would let us look at a process that may not be looked at. */
const char *doctor_access_remedy(void);

/* -- what lies beneath `root` (doctor_inspect.c) -- */

/* The first line of a file. */
bool doctor_read(const struct doctor *doctor, char *out, size_t size, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
/* As access(2): 0, or why not (errno). */
int doctor_access(const struct doctor *doctor, int mode, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* How many entries of a folder begin so, the first `most` of them in `names`, sorted; numbers within them by their
 * value. */
enum { DOCTOR_NAMES_MAX = 32, DOCTOR_NAME_SIZE = 64 };
size_t doctor_names(
	const struct doctor *doctor, const char *folder, const char *begin, char names[][DOCTOR_NAME_SIZE], size_t max);
/* The name that a link ends with. */
bool doctor_link(const struct doctor *doctor, char *out, size_t size, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
/* One of CAP_…, or root's all. */
bool doctor_has_right(const struct doctor *doctor, unsigned capability);
/* Loaded, never called: a row's state for a library that figures need. */
void doctor_say_library(struct doctor *doctor, const char *file, const char *package, const char *what);

/* pmtop itself, the terminal; the machine. */
void doctor_check_machine(struct doctor *doctor);
/* Drivers, libraries, devices and rights of NVIDIA's, AMD's, Intel's and other GPUs: files and dlopen alone, for a
 * driver can hang. */
void doctor_check_nvidia(struct doctor *doctor);
void doctor_check_other_gpus(struct doctor *doctor);
/* The CPUs' counters, energy meters and heat sensors. */
void doctor_check_counters(struct doctor *doctor);
/* What the model got of the target after a few readings, and what the target itself is. */
void doctor_check_process(struct doctor *doctor);

extern const struct command doctor_command;

#endif
