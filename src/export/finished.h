/* finished.h: the finished batches of all ranks, each once and in each rank's order, told as late as can be: what
 * becomes known of a batch only afterwards (its step, a flag, what a GPU's clock said) is then in it. Internal to
 * src/export. */
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
/* False: no further one is settled, or (`is_end`) there is none. To be asked until then after each set. Batches that
 * begin outside of the scene's times are left out. */
bool finished_next(
	struct finished *finished, const struct export_scene *scene, bool is_end, struct finished_batch *out);
/* Why it was flagged: what it holds, else worked out into *room. NULL: it is not flagged. */
const struct explanation *finished_explain(
	const struct finished_batch *batch, const struct export_scene *scene, struct explanation *room);

/* The epochs that have ended, in each rank's order, the same way: one whose batches are all told. */
const struct epoch *finished_epoch(struct finished *finished, const struct export_scene *scene, unsigned *rank);

/* "data", and of a phase within another "data/decode". */
enum { PHASE_PATH_SIZE = 300 };
const char *phase_path(const struct run *run, const struct phase_time *phase, char out[PHASE_PATH_SIZE]);

bool scene_covers(const struct export_scene *scene, int64_t time_ns);
/* Realtime of a CLOCK_MONOTONIC time. */
int64_t scene_realtime_ns(const struct export_scene *scene, int64_t time_ns);

#endif
