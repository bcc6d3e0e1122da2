/* log_limit.h: bounds the disk space of a file to which another process appends. That process notices nothing: the
 * middle of the file becomes a hole, and what is written next follows the end as before. */
#ifndef PMTOP_SESSION_CHILDREN_LOG_LIMIT_H
#define PMTOP_SESSION_CHILDREN_LOG_LIMIT_H

#include <stdbool.h>

enum log_limit_result {
	LOG_LIMIT_NOTHING,
	LOG_LIMIT_CUT,    /* from now on the file has a hole, which begins with a note: once */
	LOG_LIMIT_REFUSED /* the file system has no holes: once, then the file grows on */
};

struct log_limit {
	int fd;                               /* writes, does not append; −1: none */
	long used_max, first_kept, last_kept; /* bytes; used_max is well above the sum of the others */
	bool is_cut;
};

/* Of the file at `path`, to which a launched command writes; fd −1 where it cannot be opened. */
struct log_limit log_limit_open(const char *path);
/* To be called every second or so. */
enum log_limit_result log_limit_apply(struct log_limit *limit);
void log_limit_close(struct log_limit *limit);

#endif
