/* finished.h: iterates over the finished batches of all ranks: each once, in order within a rank. It returns a batch as
 * late as possible, because some figures arrive after the batch: its step time, its flag, the GPU's own time. Internal
 * to src/export. */
#ifndef PMTOP_EXPORT_FINISHED_H
#define PMTOP_EXPORT_FINISHED_H

#include <stdbool.h>

#include "src/explain/explain.h"
#include "src/export/exporter.h"

struct finished_batch {
	unsigned rank; /* index into model->runs */
	const struct run *run;
	const struct track *track;
	const struct batch *batch;
};

struct finished;
struct finished *finished_new(void); /* NULL: out of memory */
void finished_free(struct finished *finished);
/* Call it after each set until it returns false: no further batch is final, or (`is_end`) none is left. It skips
 * batches that begin outside of the scene's times. */
bool finished_next(
	struct finished *finished, const struct export_scene *scene, bool is_end, struct finished_batch *out);
/* Why the batch was flagged: the stored explanation, or one computed into *room. NULL: not flagged. */
const struct explanation *finished_explain(
	const struct finished_batch *batch, const struct export_scene *scene, struct explanation *room);

/* Iterates likewise over the ended epochs: an epoch follows its last batch. NULL: no further one. */
const struct epoch *finished_epoch(struct finished *finished, const struct export_scene *scene, unsigned *rank);

/* "data"; for a phase within another, "data/decode". */
enum { PHASE_PATH_SIZE = 300 };
const char *phase_path(const struct run *run, const struct phase_time *phase, char out[PHASE_PATH_SIZE]);

bool scene_covers(const struct export_scene *scene, int64_t time_ns);
/* Realtime of a CLOCK_MONOTONIC time. */
int64_t scene_realtime_ns(const struct export_scene *scene, int64_t time_ns);

#endif
