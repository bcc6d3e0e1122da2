/* panel_workers.h: the DataLoader's workers in words, and their cells in the table of processes. */
#ifndef PMTOP_UI_VIEWS_OVERVIEW_PANEL_WORKERS_H
#define PMTOP_UI_VIEWS_OVERVIEW_PANEL_WORKERS_H

#include "src/base/text.h"
#include "ui/core/line.h"
#include "ui/widgets/view.h"

/* Whether workers of this run are instrumented; then they have their own line. */
bool workers_are_instrumented(const struct scene *scene);
/* "workers 4: 3 busy, 1 idle · 12.3 ms per sample (p5–p95 4.1–31.0) · decode 78 %". */
void panel_workers_line(const struct scene *scene, struct canvas *canvas, struct rect row);
/* The workers as far as /proc shows them: "workers 4: 3 busy", "worker 4711 waits for disk for 2.1 s". */
void workers_add(struct line *line, const struct model *model, int run);

/* NULL if the process is no instrumented worker. */
const struct worker_shown *worker_of(const struct model *model, int32_t pid);
enum worker_cell { WORKER_CELL_NAME, WORKER_CELL_STATE, WORKER_CELL_BUSY, WORKER_CELL_ITEM, WORKER_CELL_RATE };
const char *worker_cell(const struct worker_shown *shown, enum worker_cell cell, char out[NUMBER_SIZE]);

#endif
