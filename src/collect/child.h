/* child.h: another pmtop's stream as a source: for what may hang or crash, and must not take the sampler with it.
 *
 *   open: COMMAND with its stream in a pipe → read: what the pipe holds → sets → records appended to ours, times kept
 * (same machine, same clock)
 *
 * A read never waits. A child that says nothing for `silence_ns`, ends, or speaks something else fails the source with
 * the reason, and is killed with all that it started; the collector's back-off opens it again. Its first dictionary
 * tells all that it knows; later ones are passed on only after a gap. Runs keep the numbers that the child gave them:
 * who merges a child that has runs must see to it that nobody else has these.
 *
 * A source of this kind is four lines:
 *
 *   static enum status open_gpu(struct target *target, void **state, struct reason *why_not) { … return
 * child_open(&command, target, state, why_not); } const struct source gpu_source = { .name = "gpu", .period_ns =
 * SOURCE_SLOW_NS, .open = open_gpu, CHILD_SOURCE }; */
#ifndef PMTOP_COLLECT_CHILD_H
#define PMTOP_COLLECT_CHILD_H

#include <stdint.h>

#include "src/base/status.h"
#include "src/samples/sample_set.h"
#include "src/sources/source.h"

struct child_command {
	const char *name;   /* what it is called in reasons: "the GPU reader" */
	char *const *words; /* ends with NULL; not needed after child_open */
	int64_t silence_ns; /* how long it may say nothing; 0 = 10 s */
	int64_t start_ns;   /* how long until its first word; 0 = silence_ns */
	/* is said to be missing while that takes long; NULL: nothing is said. Lives as long as the source */
	const char *figure;
};

/* Several children that were killed and have not gone (a driver holds them) are enough: then another one is refused. */
enum { CHILDREN_HELD_MAX = 4 };

enum status child_open(
	const struct child_command *command, const struct target *target, void **state, struct reason *why_not);
enum status child_read(void *state, int64_t now_ns, struct sample_set *out);
/* Why the last read failed. */
void child_explain(const void *state, struct reason *out);
/* Kills it and does not wait: somebody else takes note of its end. */
void child_close(void *state);

#define CHILD_SOURCE .read = child_read, .explain = child_explain, .close = child_close

#endif
