/* fleet_lists.h: the two lists of the fleet's screen. */
#ifndef PMTOP_UI_FLEET_FLEET_LISTS_H
#define PMTOP_UI_FLEET_FLEET_LISTS_H

#include "ui/fleet/fleet_screen.h"

void fleet_hosts_draw(
	struct fleet_screen *screen, struct canvas *canvas, struct rect rect, const struct fleet *fleet, int64_t now_ns);
/* Ranks as rows: figures at the left, the heat map at the right, its newest second last. */
void fleet_ranks_draw(
	struct fleet_screen *screen, struct canvas *canvas, struct rect rect, struct fleet_view *view, int64_t now_ns);

#endif
