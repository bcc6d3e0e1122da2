#include "ui/core/layout.h"

static int at_most(int size, int room)
{
	if (size < 0)
		return 0;
	return size < room ? size : room;
}

struct rect rect_take_top(struct rect *rest, int size)
{
	struct rect taken = *rest;
	taken.height = at_most(size, rest->height);
	rest->y += taken.height;
	rest->height -= taken.height;
	return taken;
}

struct rect rect_take_bottom(struct rect *rest, int size)
{
	struct rect taken = *rest;
	taken.height = at_most(size, rest->height);
	rest->height -= taken.height;
	taken.y = rest->y + rest->height;
	return taken;
}

struct rect rect_take_left(struct rect *rest, int size)
{
	struct rect taken = *rest;
	taken.width = at_most(size, rest->width);
	rest->x += taken.width;
	rest->width -= taken.width;
	return taken;
}

struct rect rect_take_right(struct rect *rest, int size)
{
	struct rect taken = *rest;
	taken.width = at_most(size, rest->width);
	rest->width -= taken.width;
	taken.x = rest->x + rest->width;
	return taken;
}

struct rect rect_row(struct rect rect, int row)
{
	int y = row < 0 ? rect.height + row : row;
	if (y < 0 || y >= rect.height)
		return (struct rect){ rect.x, rect.y, rect.width, 0 };
	return (struct rect){ rect.x, rect.y + y, rect.width, 1 };
}

bool rect_has(struct rect rect, int x, int y)
{
	return x >= rect.x && x < rect.x + rect.width && y >= rect.y && y < rect.y + rect.height;
}
