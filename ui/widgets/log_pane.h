/* log_pane.h: the output of the command that pmtop started, below the view or in its place. Nothing that the command
 * writes reaches the terminal as it is: canvas_put() makes each character safe. */
#ifndef PMTOP_UI_WIDGETS_LOG_PANE_H
#define PMTOP_UI_WIDGETS_LOG_PANE_H

#include <stdbool.h>

#include "src/base/log_lines.h"
#include "ui/core/canvas.h"
#include "ui/core/keys.h"

struct log_pane {
	const struct log_lines *lines; /* NULL: pmtop started no command */
	const char *path;              /* of the file with all of it */
	bool is_open, is_whole;        /* whole: in place of the view */
	int scroll;                    /* rows between the last one shown and the newest */
};

/* The rows that it takes from a view of `height` rows. */
int log_pane_rows(const struct log_pane *pane, int height);
void log_pane_draw(const struct log_pane *pane, struct canvas *canvas, struct rect rect);
/* Handles `l`, `L` and, in place of the view, the keys that scroll; false: not its key. `rect`: as given to draw. */
bool log_pane_key(struct log_pane *pane, struct key_event event, struct rect rect);

#endif
