#include "tests/support/picture.h"

#include <check.h>

#include "src/base/buffer.h"
#include "src/base/text.h"

struct canvas picture_canvas(int width, int height, enum charset charset)
{
	struct canvas canvas = { .charset = charset };
	ck_assert(canvas_resize(&canvas, width, height));
	return canvas;
}

void picture_expect(const struct canvas *canvas, const char *expected)
{
	struct buffer seen = BUFFER_INIT;
	for (int y = 0; y < canvas->height; y++) {
		for (int x = 0; x < canvas->width; x++) {
			char bytes[4];
			uint32_t code = canvas->cells[(size_t)y * (size_t)canvas->width + (size_t)x].code;
			if (code != 0)
				buffer_add(&seen, bytes, utf8_encode(code, bytes));
		}
		buffer_puts(&seen, "|\n");
	}
	ck_assert_msg(strcmp(seen.data, expected) == 0, "drawn:\n%swanted:\n%s", seen.data, expected);
	buffer_release(&seen);
}
