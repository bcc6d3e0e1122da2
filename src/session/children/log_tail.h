/* log_tail.h: reads the end of a file that grows, such as the output of the command that pmtop started. */
#ifndef PMTOP_SESSION_CHILDREN_LOG_TAIL_H
#define PMTOP_SESSION_CHILDREN_LOG_TAIL_H

#include <stdbool.h>
#include <sys/types.h>

#include "src/base/log_lines.h"

struct log_tail {
	int fd; /* −1: not open */
	off_t at;
	struct log_lines lines;
};

/* NULL: the file cannot be read. */
struct log_tail *log_tail_open(const char *path);
/* Reads what is new, from far behind only its end; returns whether there was something. */
bool log_tail_read(struct log_tail *tail);
void log_tail_close(struct log_tail *tail);

#endif
