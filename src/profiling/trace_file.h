/* trace_file.h: where a job writes a trace that pmtop asked for, and when the trace is complete. */
#ifndef PMTOP_PROFILING_TRACE_FILE_H
#define PMTOP_PROFILING_TRACE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "src/base/status.h"

enum { TRACE_PATH_SIZE = 4096, TRACE_FOLDER_SIZE = 512 };

/* Makes a private folder (0700) of the user `uid` in `parent`. */
enum status trace_folder_make(char out[TRACE_FOLDER_SIZE], const char *parent, uid_t uid, struct reason *why_not);
/* Removes it with the files in it. */
void trace_folder_remove(const char *folder);
/* Returns true once the folder has a trace that ends as JSON does and has not grown since the last call, for which
 * *size is retained (at first −1). A link or a device is no trace. */
bool trace_folder_find(const char *folder, off_t *size, char *path, size_t path_size);
/* Whether the path is a regular file, and no link. */
bool trace_file_is_regular(const char *path);
/* Moves a file, also to another file system. */
enum status trace_file_move(const char *from, const char *to, struct reason *why_not);

#endif
