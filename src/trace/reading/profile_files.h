/* profile_files.h: the traces that a command line names. */
#ifndef PMTOP_TRACE_PROFILE_FILES_H
#define PMTOP_TRACE_PROFILE_FILES_H

#include <stddef.h>

#include "src/base/status.h"

enum { PROFILE_FILES_MAX = 1024 };

struct profile_files {
	char **paths;
	size_t count;
};

/* Adds a file, or the traces (*.json, *.json.gz) in a folder, sorted by name. */
enum status profile_files_add(struct profile_files *files, const char *word, struct reason *why_not);
void profile_files_release(struct profile_files *files);

#endif
