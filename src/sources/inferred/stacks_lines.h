/* stacks_lines.h: what stands in the lines that a Python process runs, from its files as that process finds them (its
 * root, its working directory), and only from those that its own user may read (foreign_file.h). Each is read once. A
 * file that was changed after the process began is not what it runs, so nothing is said of it. */
#ifndef PMTOP_SOURCES_INFERRED_STACKS_LINES_H
#define PMTOP_SOURCES_INFERRED_STACKS_LINES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "src/samples/sample_set.h"

struct stacks_lines;

/* The process whose lines they are. */
struct stacks_owner {
	int process_fd;          /* /proc/PID */
	int64_t started_ns;      /* when the process began, of CLOCK_REALTIME */
	bool has_user, is_mixed; /* mixed: it gained rights while it was watched, and no file is read for it */
	uid_t uid;               /* its effective one when the file names were read from its memory */
	unsigned view;           /* stacks_lines' own; 0 = not known yet */
};

struct stacks_lines *stacks_lines_new(void);
void stacks_lines_free(struct stacks_lines *lines);
/* Right before file names are read from its memory, and around the opening of its sampler: a name that it chose as an
 * ordinary user is never read with the rights of what it became (sudo) later. */
void stacks_owner_note_user(struct stacks_owner *owner);
/* Without its indentation, clean, of a long one the beginning; NULL: not known. It may wait for a disk, for about a
 * second. Valid until stacks_lines_free. */
const char *stacks_lines_text(struct stacks_lines *lines, struct stacks_owner *owner, const char *file, int line);
/* Appends once why no more texts come, where that is so. From any thread. */
void stacks_lines_emit_missing(
	const struct stacks_lines *lines, bool *was_emitted, int64_t now_ns, struct sample_set *out);

#endif
