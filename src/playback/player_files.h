/* player_files.h: the files of a recording: run.pmtop and, with --rotate, run.1.pmtop, run.2.pmtop, … */
#ifndef PMTOP_PLAYBACK_PLAYER_FILES_H
#define PMTOP_PLAYBACK_PLAYER_FILES_H

#include <stdbool.h>
#include <stdint.h>

/* Opens the file with this number if it belongs to the same recording; else −1. */
int files_open(const char *path, unsigned file, const unsigned char uuid[16]);
/* Whether a recorder is writing it: recorders hold a lock. */
bool files_is_locked(int fd);
/* The time of the newest intact block, searched from the end of the file. */
bool files_end_ns(int fd, int64_t *end_ns);

#endif
