/* stacks_lines.h: the source lines that a Python process runs, from its files as that process finds them (its root,
 * its working directory), and only from files that its own user may read (foreign_file.h). Each file is read once. A
 * file that changed after the process started may differ from what it runs, so pmtop does not use it. Cells of a
 * notebook have no files: their text is in the process's memory. */
#ifndef PMTOP_SOURCES_INFERRED_STACKS_LINES_H
#define PMTOP_SOURCES_INFERRED_STACKS_LINES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "src/samples/sample_set.h"
#include "src/sources/python/py_sampler.h"

struct stacks_lines;

/* The process that runs the lines. */
struct stacks_owner {
	int process_fd;          /* /proc/PID */
	int64_t started_ns;      /* when the process started, CLOCK_REALTIME */
	bool has_user, is_mixed; /* mixed: it gained rights while it was watched; no file is read for it */
	uid_t uid;               /* its effective uid when the file names were read from its memory */
	unsigned view;           /* used by stacks_lines; 0 = unknown yet */
	/* Where its own texts are, of what has no file (py_linecache.h); 0 = unknown. */
	const struct py_process *python;
	uint64_t line_cache;
};

struct stacks_lines *stacks_lines_new(void);
void stacks_lines_free(struct stacks_lines *lines);
/* Call right before file names are read from its memory, and before and after its sampler is opened: a name that it
 * chose as an ordinary user is never read with rights that it gained later (sudo). */
void stacks_owner_note_user(struct stacks_owner *owner);
/* Call after a sample, before texts of its lines are wanted: a cell of a notebook has no file. */
void stacks_owner_note_cells(
	struct stacks_owner *owner, const struct py_process *process, const struct py_sample *sample);
/* The line without indentation, cleaned and cut to a maximum length; NULL: unknown. May wait for a disk, for about a
 * second. Valid until stacks_lines_free. */
const char *stacks_lines_text(struct stacks_lines *lines, struct stacks_owner *owner, const char *file, int line);
/* Emits once why there are no more texts, if so. From any thread. */
void stacks_lines_emit_missing(
	const struct stacks_lines *lines, bool *was_emitted, int64_t now_ns, struct sample_set *out);

#endif
