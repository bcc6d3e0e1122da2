#include "ui/trace/trace_reading.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "src/base/text.h"
#include "ui/core/layout.h"
#include "ui/widgets/chrome.h"

enum { BAR_MAX = 60 };

void trace_reading_draw(const struct trace_reading *reading, struct canvas *canvas)
{
	struct rect whole = { 0, 0, canvas->width, canvas->height };
	const char *slash = strrchr(reading->path, '/'), *path = slash ? slash + 1 : reading->path;
	char name[200], percent[NUMBER_SIZE];
	int width = canvas->width - 4 < BAR_MAX ? canvas->width - 4 : BAR_MAX, x = (canvas->width - width) / 2,
		y = canvas->height / 3;
	canvas_unclip(canvas);
	canvas_clear(canvas);
	text_clean(name, sizeof name, path, strlen(path));
	canvas_text(canvas, 1, 0, canvas->width - 1, ROLE_ACCENT, "pmtop trace");
	canvas_text(canvas, x, y, width, ROLE_TITLE, name);
	if (reading->count > 1)
		canvas_printf(canvas, x, y + 1, width, ROLE_DIM, "trace %zu of %zu", reading->number, reading->count);
	canvas_printf(canvas, x, y + 2, width, ROLE_NORMAL, reading->ratio >= 1 ? "analysing" : "reading %s",
		format_percent(percent, reading->ratio));
	canvas_fill(canvas, (struct rect){ x, y + 3, width, 1 }, 0xb7, ROLE_BORDER);
	canvas_bar(canvas, x, y + 3, width, reading->ratio, ROLE_PLOT);
	struct rect last = rect_row(whole, -1);
	rect_take_left(&last, 1);
	chrome_hints(canvas, last, "q quit");
}
