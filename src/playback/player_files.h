/* player_files.h: the files of a recording: run.pmtop and, where its recorder went on in others, run.1.pmtop,
 * run.2.pmtop, … */
#ifndef PMTOP_PLAYBACK_PLAYER_FILES_H
#define PMTOP_PLAYBACK_PLAYER_FILES_H

#include <stdbool.h>
#include <stdint.h>

/* The file of this number, where it is there and of the same recording; −1. */
int files_open(const char *path, unsigned file, const unsigned char uuid[16]);
/* A recorder writes it. */
bool files_is_locked(int fd);
/* The time of the newest block that is whole, looked for at the end of the file. */
bool files_end_ns(int fd, int64_t *end_ns);

#endif
