/* stacks_loops_list.h: the loops of a process, for a person who chooses whose iterations are the steps. */
#ifndef PMTOP_SOURCES_INFERRED_STACKS_LOOPS_LIST_H
#define PMTOP_SOURCES_INFERRED_STACKS_LOOPS_LIST_H

#include "src/samples/sample_set.h"
#include "src/sources/inferred/steps/stacks_loops.h"
#include "src/sources/inferred/steps/stacks_steps.h"

enum { STACKS_FOUND_MAX = 24, STACKS_FOUND_TEXT_SIZE = 128 };

struct stacks_found_loop {
	char text[STACKS_FOUND_TEXT_SIZE], file[PY_FILE_SIZE];
	size_t level;   /* of its frame, 0 = the outermost */
	unsigned depth; /* among the loops of its frame */
	int quality;    /* of the counter, the lower the better */
	struct loop_row row;
};

/* Of one process; `pid` 0: nobody views them. Protected by a lock if another thread emits. */
struct stacks_found {
	int32_t pid;
	bool is_chosen, is_emitted;
	int64_t read_ns; /* of the reading that was listed last */
	size_t count;
	struct stacks_found_loop loops[STACKS_FOUND_MAX];
};

/* Lists the loops that run, or did so lately, and that can be counted: the outermost first, one for each line. */
void stacks_loops_list(const struct stacks_loops *loops, int32_t pid, struct stacks_found *out);
/* How a loop is shown: its line without the colon, or else the name of the variable that counts it. */
void stacks_loop_write_text(const char *text, const char *name, char *out, size_t size);
void stacks_loop_describe(const struct stacks_counted_loop *loop, bool is_chosen, struct stacks_what *out);
/* Emits a new list. */
void stacks_found_emit(struct stacks_found *found, int64_t now_ns, struct sample_set *out);

#endif
