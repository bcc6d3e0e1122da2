/* fleet_screen.h: the screen of pmtop fleet: all ranks as a heat map over time, or the hosts. */
#ifndef PMTOP_UI_FLEET_FLEET_SCREEN_H
#define PMTOP_UI_FLEET_FLEET_SCREEN_H

#include <stdbool.h>
#include <stdint.h>

#include "src/fleet/fleet_view.h"
#include "ui/core/canvas.h"
#include "ui/core/keys.h"

enum { FLEET_MESSAGE_SIZE = 200, FLEET_KEY_SIZE = 64 };

/* What is selected and shown. Zero: the ranks, slowest first. */
struct fleet_screen {
	bool shows_hosts, has_help;
	enum fleet_sort sort;
	int row, scroll, host_row, host_scroll;
	int list_top, list_height; /* of the list as last drawn */
	char message[FLEET_MESSAGE_SIZE];
	/* the selected rank, which keeps its selection while ranks change places; NULL: the row's */
	const struct fleet_rank *rank;
};

enum fleet_wish { FLEET_WISH_NOTHING, FLEET_WISH_QUIT, FLEET_WISH_OPEN /* the selected rank */ };

/* now_ns: of the view; clock_ns: realtime, for the header. */
void fleet_screen_draw(struct fleet_screen *screen, struct canvas *canvas, const struct fleet *fleet,
	struct fleet_view *view, int64_t now_ns, int64_t clock_ns);
enum fleet_wish fleet_screen_key(
	struct fleet_screen *screen, struct key_event event, const struct fleet *fleet, const struct fleet_view *view);
/* The selected row; NULL: none. */
const struct fleet_row *fleet_screen_row(const struct fleet_screen *screen, const struct fleet_view *view);

#endif
