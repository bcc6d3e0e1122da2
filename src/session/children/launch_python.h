/* launch_python.h: instruments the training in a command that pmtop starts, without a change to its code:
 * src/python/launch is put first in PYTHONPATH. Main thread only.
 *
 *   launch_python_prepare → fork → launch_python_set → exec → (pmtop_launch_hooks.py writes into `report`) →
 * launch_python_news */
#ifndef PMTOP_SESSION_CHILDREN_LAUNCH_PYTHON_H
#define PMTOP_SESSION_CHILDREN_LAUNCH_PYTHON_H

#include <stdbool.h>
#include <stdint.h>

#include "src/base/status.h"

struct launch_python {
	char *path, *package; /* PYTHONPATH and PMTOP_LAUNCH_PACKAGE; path NULL: the environment stays as it is */
	char *report;         /* PMTOP_LAUNCH: the file with a line from each Python that has something to report */
	char name[64];        /* the command's, for messages */
	int fd;               /* of `report`; −1 = none */
	int64_t begun_ns, read_ns;
	char isolation;              /* the option that makes the command's Python ignore `path`: I, E or S; 0 = none */
	char instrumented[160];      /* the frameworks that were reported so far, each with a space and ';' behind it */
	unsigned instrumented_count; /* reports of them; ranks and other processes repeat one */
	bool has_started, has_failed, is_refused; /* what else was reported so far */
};

/* `folder`: where `report` is created; empty = none. Leaves the environment alone where pmtop's Python files are
 * missing. */
void launch_python_prepare(struct launch_python *python, char *const *command, const char *folder, int64_t now_ns);
/* In the child: sets the environment. */
void launch_python_set(const struct launch_python *python);
/* Returns true, with the text, when there is something new for the user. `publishes`: a run is instrumented.
 * `is_failure`: pmtop could not instrument. */
bool launch_python_news(
	struct launch_python *python, bool publishes, int64_t now_ns, struct reason *news, bool *is_failure);
/* Removes `report`. Does nothing if nothing was prepared. */
void launch_python_end(struct launch_python *python);

#endif
