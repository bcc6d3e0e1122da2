#include "ui/terminal/term_text.h"

#include "src/base/text.h"

static int used_width(const struct cell *row, int width)
{
	while (width > 0 && row[width - 1].code == ' ')
		width--;
	return width;
}

void canvas_as_text(const struct canvas *canvas, struct buffer *out)
{
	for (int y = 0; y < canvas->height; y++) {
		const struct cell *row = canvas->cells + (size_t)y * (size_t)canvas->width;
		int width = used_width(row, canvas->width);
		for (int x = 0; x < width; x++) {
			char bytes[4];
			if (row[x].code != 0)
				buffer_add(out, bytes, utf8_encode(row[x].code, bytes));
		}
		buffer_puts(out, "\n");
	}
}
