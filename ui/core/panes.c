#include "ui/core/panes.h"

#include "src/base/clock.h"

/* A little less than half a second, because refreshes jitter. */
#define REUSE_NS (450 * NS_PER_MS)

/* Clears row y from x to the next reused cell; returns where to continue. */
static int clear_stretch(const struct panes *panes, struct canvas *canvas, int x, int y)
{
	int end = canvas->width;
	for (int i = 0; i < PANES; i++) {
		const struct rect *rect = &panes->list[i].rect;
		if (!panes->list[i].is_reused || y < rect->y || y >= rect->y + rect->height || x >= rect->x + rect->width)
			continue;
		if (x >= rect->x)
			return rect->x + rect->width;
		end = rect->x < end ? rect->x : end;
	}
	canvas_fill(canvas, (struct rect){ x, y, end - x, 1 }, ' ', ROLE_NORMAL);
	return end;
}

bool panes_is_fresh(const struct panes *panes, int64_t made_ns)
{
	int64_t age_ns = panes->now_ns - made_ns;
	return panes->can_reuse && made_ns != 0 && age_ns >= 0 && age_ns < REUSE_NS;
}

void panes_begin(struct panes *panes, struct canvas *canvas, int64_t now_ns, bool can_reuse)
{
	panes->now_ns = now_ns;
	panes->can_reuse = can_reuse;
	panes->has_moved = false;
	for (int i = 0; i < PANES; i++) {
		struct pane *pane = &panes->list[i];
		pane->is_reused = panes_is_fresh(panes, pane->drawn_ns);
		pane->is_requested = false;
	}
	canvas_unclip(canvas);
	if (!can_reuse)
		canvas_clear(canvas);
	for (int y = 0; can_reuse && y < canvas->height; y++)
		for (int x = 0; x < canvas->width;)
			x = clear_stretch(panes, canvas, x, y);
}

static bool is_same(struct rect a, struct rect b)
{
	return a.x == b.x && a.y == b.y && a.width == b.width && a.height == b.height;
}

bool pane_is_due(struct panes *panes, enum pane_id id, struct rect rect)
{
	struct pane *pane = &panes->list[id];
	pane->is_requested = true;
	if (pane->is_reused) {
		panes->has_moved |= !is_same(pane->rect, rect);
		return false;
	}
	pane->rect = rect;
	pane->drawn_ns = panes->now_ns;
	return true;
}

bool panes_end(struct panes *panes)
{
	for (int i = 0; i < PANES; i++) {
		struct pane *pane = &panes->list[i];
		panes->has_moved |= pane->is_reused && !pane->is_requested;
		if (!pane->is_requested)
			pane->drawn_ns = 0;
	}
	return !panes->has_moved;
}
