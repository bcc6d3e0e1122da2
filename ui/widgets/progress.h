/* progress.h: the run's progress: the two lines at the top of the overview, the text for a batch that does not end
 * and for a run that has ended. */
#ifndef PMTOP_UI_WIDGETS_PROGRESS_H
#define PMTOP_UI_WIDGETS_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/text.h"
#include "ui/core/line.h"
#include "ui/widgets/view.h"

/* Two lines: epoch and run, each with its bar and ETA, then rates and loss; for an ended run the second line is its
 * summary. */
void progress_draw(const struct scene *scene, const struct run *run, struct canvas *canvas, struct rect rect);
/* The same as pieces, for a screen of one line. */
void progress_pieces(const struct scene *scene, const struct run *run, struct line *line);

/* Whether a live run's current batch (or the wait for the next) takes far longer than its baseline; writes "in
 * backward for 41 s". */
bool progress_hang(const struct scene *scene, const struct run *run, char *out, size_t size);
/* Whether the target has ended, and when (0 = unknown). `run` may be NULL. */
bool progress_ended(const struct scene *scene, const struct run *run, int64_t *when_ns);

#endif
