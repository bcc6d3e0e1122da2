/* child.h: a source that reads the stream of another pmtop process. For code that may hang or crash (GPU drivers), so
 * that the sampler survives.
 *
 *   open: starts COMMAND, which writes its stream into a pipe
 *   read: pipe → sets → records appended to `out` (times unchanged: same clock)
 *
 * A read never waits. The source fails, with the reason, if the child sends nothing for `silence_ns`, ends, or sends
 * anything but a pmtop stream; its process group is killed, and the collector opens the source again after its
 * back-off. The child's first dictionary is passed on, later ones only after a gap. Run numbers are passed on
 * unchanged: they must not collide with those of other sources.
 *
 * A source of this kind:
 *
 *   static enum status open_gpu(struct target *target, void **state, struct reason *why_not)
 *   {
 *       …
 *       return child_open(&command, target, state, why_not);
 *   }
 *   const struct source gpu_source = { .name = "gpu", .open = open_gpu, CHILD_SOURCE };
 */
#ifndef PMTOP_COLLECT_CHILD_H
#define PMTOP_COLLECT_CHILD_H

#include <stdint.h>

#include "src/base/status.h"
#include "src/samples/sample_set.h"
#include "src/sources/source.h"

struct child_command {
	const char *name;   /* its name in error messages: "the GPU reader" */
	char *const *words; /* argv, ends with NULL; only used during child_open */
	int64_t silence_ns; /* it is killed after sending nothing for so long; 0 = 10 s */
	int64_t start_ns;   /* the same until its first set; 0 = silence_ns */
	/* the figure reported as missing while the start takes long; NULL: none. Must live as long as the source */
	const char *figure;
};

/* Limit of killed children that have not ended (a driver blocks them): beyond it child_open fails. */
enum { CHILDREN_HELD_MAX = 4 };

enum status child_open(
	const struct child_command *command, const struct target *target, void **state, struct reason *why_not);
enum status child_read(void *state, int64_t now_ns, struct sample_set *out);
/* The reason why the last read failed. */
void child_explain(const void *state, struct reason *out);
/* Kills the child and does not wait: a detached thread reaps it. */
void child_close(void *state);

#define CHILD_SOURCE .read = child_read, .explain = child_explain, .close = child_close

#endif
