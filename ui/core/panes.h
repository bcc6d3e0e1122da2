/* panes.h: panels that keep their picture for a while. A screen that is refreshed ten times a second need not write
 * figures that often: nobody reads them faster than twice a second. Where the refresh is slower than that, everything
 * is drawn each time. */
#ifndef PMTOP_UI_CORE_PANES_H
#define PMTOP_UI_CORE_PANES_H

#include <stdbool.h>
#include <stdint.h>

#include "ui/core/canvas.h"

/* A refresh that takes so long or longer draws everything. */
#define PANES_SLOW_S 0.4

enum pane_id {
	PANE_HEADER,
	PANE_TABS,
	PANE_HINTS,
	PANE_WHERE,
	PANE_MEMORY,
	PANE_EPOCHS,
	PANE_PROCESSES,
	PANE_WARNINGS,
	PANE_GPU,
	PANE_MACHINE,
	PANE_CODE,
	PANES
};

struct pane {
	struct rect rect;  /* where it was drawn last */
	int64_t drawn_ns;  /* 0 = never */
	bool stands;       /* its cells are still on the canvas, and new enough */
	bool is_asked_for; /* in this frame */
};
struct panes {
	struct pane list[PANES];
	int64_t now_ns; /* of the frame */
	bool keeps;     /* something may stand in it */
	bool has_moved; /* one that stands is not where it was: the frame has to be drawn anew */
};
/* Clears the canvas, but for what may stand: nothing unless the canvas holds the frame before this one (`keeps`). */
void panes_begin(struct panes *panes, struct canvas *canvas, int64_t now_ns, bool keeps);
/* Whether what was made at that time may still be shown; 0 = never. */
bool panes_stands(const struct panes *panes, int64_t made_ns);
/* Whether this panel is to be drawn; else it stands. */
bool pane_is_due(struct panes *panes, enum pane_id id, struct rect rect);
/* False: what stood no longer has its place; begin anew, with nothing kept. */
bool panes_end(struct panes *panes);

#endif
