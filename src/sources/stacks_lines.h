/* stacks_lines.h: what stands in the lines that a Python process runs, from its files as that process finds them (its root, its working directory).
 * Each is read once. A file that was changed after the process began is not what it runs, so nothing is said of it. */
#ifndef PMTOP_SOURCES_STACKS_LINES_H
#define PMTOP_SOURCES_STACKS_LINES_H

#include <stdint.h>

struct stacks_lines;

struct stacks_lines *stacks_lines_new(void);
void stacks_lines_free(struct stacks_lines *lines);
/* Without its indentation, clean, of a long one the beginning; NULL: not known. It may wait for a disk. `process_fd`: /proc/PID; `started_ns`: when the
 * process began, of CLOCK_REALTIME. Valid until stacks_lines_free. */
const char *stacks_lines_text(struct stacks_lines *lines, int process_fd, const char *file, int line, int64_t started_ns);

#endif
