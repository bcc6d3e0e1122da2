/* doctor.h: what `pmtop doctor` finds: one row for each figure that pmtop could show, and for each thing that one needs. */
#ifndef PMTOP_COMMANDS_DOCTOR_H
#define PMTOP_COMMANDS_DOCTOR_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include "src/base/status.h"
#include "src/commands/command.h"

struct model;

/* off: there, but not in use; because of how things are set, or because there is nothing to do with it. */
enum finding_state { FINDING_OK, FINDING_MISSING, FINDING_OFF };

enum { FINDINGS_MOST = 96 };

struct finding {
	const char *group;
	char name[48];
	enum finding_state state;
	bool is_essential;               /* without it pmtop shows nothing worth while: the exit status is 1 */
	struct reason reason;            /* text: what it is, or why it is missing; remedy: what brings it, a command where there is one */
};

struct doctor {
	const struct options *options;
	const struct settings *settings;
	const char *group;               /* of the rows to come */
	char process[200];               /* what the target's group is called */
	size_t count;
	struct finding findings[FINDINGS_MOST];
};

/* Fills the newest row's reason and state. */
void doctor_say(struct doctor *doctor, enum finding_state state, const char *remedy, const char *format, ...) __attribute__((format(printf, 4, 5)));
/* The next row, ok until something else is said; further rows than there is room for go into the last one. */
struct finding *doctor_row(struct doctor *doctor, const char *name, bool is_essential);

/* What would let us look at a process that may not be looked at. */
const char *doctor_access_remedy(void);

/* pmtop itself, the terminal; the machine. */
void doctor_check_machine(struct doctor *doctor);
/* What the model got of the target after a few readings, and what the target itself is. */
void doctor_check_process(struct doctor *doctor, const struct model *model);

#endif
