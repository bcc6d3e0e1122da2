/* progress.h: how far the run is: the two lines atop the overview, the words for a batch that does not end and for a
 * run that has ended. */
#ifndef PMTOP_UI_WIDGETS_PROGRESS_H
#define PMTOP_UI_WIDGETS_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/text.h"
#include "ui/core/line.h"
#include "ui/widgets/view.h"

/* Two lines: epoch and run, each with its bar and its ETA, then rates and loss; an ended run's second line is its
 * summary. */
void progress_draw(const struct scene *scene, const struct run *run, struct canvas *canvas, struct rect rect);
/* The same as pieces, for a screen of one line. */
void progress_pieces(const struct scene *scene, const struct run *run, struct line *line);

/* A live run's current batch (or the wait for the next) is far over what is usual: writes "in backward for 41 s" and
 * returns true. */
bool progress_hang(const struct scene *scene, const struct run *run, char *out, size_t size);
/* Whether what is watched has ended, and when (0 = not known). `run` may be NULL. */
bool progress_ended(const struct scene *scene, const struct run *run, int64_t *when_ns);

#endif
