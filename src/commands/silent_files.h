/* silent_files.h: names a file whose reading hangs, in the status line of the screen. */
#ifndef PMTOP_COMMANDS_SILENT_FILES_H
#define PMTOP_COMMANDS_SILENT_FILES_H

#include "src/session/session.h"
#include "ui/screen.h"

struct silent_files {
	size_t count;
	char text[sizeof((struct missing *)0)->text]; /* of the newest; empty if all answer */
};

/* A missing figure whose name is a path is such a file (collector_watch.c). */
void silent_files_show(struct silent_files *silent, const struct model *model, struct screen *screen);

#endif
