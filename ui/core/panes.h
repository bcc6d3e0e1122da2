/* panes.h: redraws the figures of a panel at most about twice a second: nobody reads them faster. At slower refresh
 * rates every panel is drawn each time. */
#ifndef PMTOP_UI_CORE_PANES_H
#define PMTOP_UI_CORE_PANES_H

#include <stdbool.h>
#include <stdint.h>

#include "ui/core/canvas.h"

/* At this refresh interval and above, every panel is drawn each time. */
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
	bool is_reused;    /* its cells are still on the canvas and recent enough */
	bool is_requested; /* requested in this frame */
};
struct panes {
	struct pane list[PANES];
	int64_t now_ns; /* of the frame */
	bool can_reuse; /* panels may be reused in this frame */
	bool has_moved; /* a reused panel has moved: the frame has to be redrawn */
};
/* Clears the canvas except for panels that can be reused: none unless `can_reuse`, which says that the canvas holds
 * the previous frame. */
void panes_begin(struct panes *panes, struct canvas *canvas, int64_t now_ns, bool can_reuse);
/* Whether content made at that time is recent enough to show; 0 = never made. */
bool panes_is_fresh(const struct panes *panes, int64_t made_ns);
/* Whether the caller has to draw this panel; if not, its cells are reused. */
bool pane_is_due(struct panes *panes, enum pane_id id, struct rect rect);
/* False: a reused panel has moved; begin again without reuse. */
bool panes_end(struct panes *panes);

#endif
