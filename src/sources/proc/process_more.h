/* process_more.h: what is read of a process less often. */
#ifndef PMTOP_SOURCES_PROC_PROCESS_MORE_H
#define PMTOP_SOURCES_PROC_PROCESS_MORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct process_reader;
struct sample_set;

/* Call it before those of the members. */
void process_begin_more(struct process_reader *reader, struct sample_set *out, int64_t now_ns);
/* For a member whose stat was read. `with_others`: also emits what is read only about once a second. */
void process_emit_more(
	struct process_reader *reader, size_t index, bool with_others, struct sample_set *out, int64_t now_ns);

#endif
