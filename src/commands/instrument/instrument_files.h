/* instrument_files.h: a private folder inside the target's own root and mount namespace, with the script that the
 * target runs and the file in which the script reports. It belongs to the target's user (0700, files 0600). */
#ifndef PMTOP_COMMANDS_INSTRUMENT_INSTRUMENT_FILES_H
#define PMTOP_COMMANDS_INSTRUMENT_INSTRUMENT_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "src/base/status.h"

struct instrument_files {
	int parent_fd, folder_fd, report_fd; /* −1 = none */
	char name[64];                       /* of the folder, in its parent */
	char folder[96];                     /* its path as the target sees it */
	char script[128];                    /* the script's path as the target sees it */
};

/* `process_fd`: /proc/PID; `uid`: the target's user. NOT_FOUND: pmtop's Python files are missing; DENIED; IO. */
enum status instrument_files_make(
	int process_fd, pid_t pid, uid_t uid, struct instrument_files *out, struct reason *why_not);
/* Returns true once there is a whole line, cleaned and without its newline. */
bool instrument_files_report(const struct instrument_files *files, char *out, size_t size);
void instrument_files_remove(struct instrument_files *files);

#endif
