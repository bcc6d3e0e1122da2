#include "ui/terminal/term_svg.h"

#include <string.h>

#include "src/base/text.h"
#include "ui/core/theme.h"
#include "ui/terminal/term_text.h"

/* All lengths refer to a cell of 16 × 32, so that eighths of it are whole numbers; the picture is shown at half
 * size. */
enum { CELL_WIDTH = 16, CELL_HEIGHT = 32, SCALE = 2, GROUND = 0x121212, INK = 0xd0d0d0 };

/* How a cell's character is drawn. */
enum shape { SHAPE_NONE, SHAPE_TEXT, SHAPE_DOTS, SHAPE_FILL, SHAPE_LINE, SHAPE_SHADE };

struct part {
	uint8_t x, y, width, height;
}; /* in eighths of a cell */

/* The part of a cell that blocks (without the shades) and heavy lines fill; up to two rectangles. */
static size_t parts_of(uint32_t code, struct part parts[2])
{
	static const struct {
		uint32_t code;
		struct part parts[2];
	} others[] = {
		{ 0x2501, { { 0, 3, 8, 1 } } },
		{ 0x2578, { { 0, 3, 4, 1 } } },
		{ 0x257a, { { 4, 3, 4, 1 } } },
		{ 0x2580, { { 0, 0, 8, 4 } } },
		{ 0x2590, { { 4, 0, 4, 8 } } },
		{ 0x2594, { { 0, 0, 8, 1 } } },
		{ 0x2595, { { 7, 0, 1, 8 } } },
		{ 0x2596, { { 0, 4, 4, 4 } } },
		{ 0x2597, { { 4, 4, 4, 4 } } },
		{ 0x2598, { { 0, 0, 4, 4 } } },
		{ 0x259d, { { 4, 0, 4, 4 } } },
		{ 0x2599, { { 0, 0, 4, 8 }, { 4, 4, 4, 4 } } },
		{ 0x259a, { { 0, 0, 4, 4 }, { 4, 4, 4, 4 } } },
		{ 0x259b, { { 0, 0, 8, 4 }, { 0, 4, 4, 4 } } },
		{ 0x259c, { { 0, 0, 8, 4 }, { 4, 4, 4, 4 } } },
		{ 0x259e, { { 4, 0, 4, 4 }, { 0, 4, 4, 4 } } },
		{ 0x259f, { { 4, 0, 4, 8 }, { 0, 4, 4, 4 } } },
	};
	if (code >= 0x2581 && code <= 0x2588) {
		uint8_t height = (uint8_t)(code - 0x2580);
		parts[0] = (struct part){ 0, (uint8_t)(8 - height), 8, height };
		return 1;
	}
	if (code >= 0x2589 && code <= 0x258f) {
		parts[0] = (struct part){ 0, 0, (uint8_t)(0x2590 - code), 8 };
		return 1;
	}
	for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
		if (others[i].code == code) {
			memcpy(parts, others[i].parts, sizeof others[i].parts);
			return parts[1].width > 0 ? 2 : 1;
		}
	return 0;
}

enum { LEFT = 1, RIGHT = 2, UP = 4, DOWN = 8 };

/* The arms of a line character from the middle of its cell; 0 if it is none. */
static unsigned arms_of(uint32_t code)
{
	static const struct {
		uint32_t code;
		unsigned arms;
	} lines[] = {
		{ 0x2500, LEFT | RIGHT },
		{ 0x2502, UP | DOWN },
		{ 0x250c, RIGHT | DOWN },
		{ 0x2510, LEFT | DOWN },
		{ 0x2514, RIGHT | UP },
		{ 0x2518, LEFT | UP },
		{ 0x251c, UP | DOWN | RIGHT },
		{ 0x2524, UP | DOWN | LEFT },
		{ 0x252c, LEFT | RIGHT | DOWN },
		{ 0x2534, LEFT | RIGHT | UP },
		{ 0x253c, LEFT | RIGHT | UP | DOWN },
		{ 0x256d, RIGHT | DOWN },
		{ 0x256e, LEFT | DOWN },
		{ 0x256f, LEFT | UP },
		{ 0x2570, RIGHT | UP },
	};
	for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
		if (lines[i].code == code)
			return lines[i].arms;
	return 0;
}

static enum shape shape_of(uint32_t code)
{
	struct part parts[2];
	if (code == ' ' || code == 0 || code == 0x2800)
		return SHAPE_NONE;
	if (code > 0x2800 && code <= 0x28ff)
		return SHAPE_DOTS;
	if (code >= 0x2591 && code <= 0x2593)
		return SHAPE_SHADE;
	if (arms_of(code))
		return SHAPE_LINE;
	return parts_of(code, parts) ? SHAPE_FILL : SHAPE_TEXT;
}

/* One style: a role, reversed or not. Its cells are drawn together. */
struct layer {
	const struct canvas *canvas;
	struct buffer *out;
	int role, reverse;
	uint32_t ink, ground;
	bool is_bold;
};
static const struct cell *cell_in(const struct layer *layer, int x, int y)
{
	const struct cell *cell = &layer->canvas->cells[(size_t)y * (size_t)layer->canvas->width + (size_t)x];
	return cell->role == layer->role && (cell->reverse != 0) == layer->reverse ? cell : NULL;
}

static void rectangle(struct buffer *out, int x, int y, int width, int height)
{
	buffer_printf(out, "M%d %dh%dv%dh-%dz", x, y, width, height, width);
}

static void add_lines(struct buffer *out, int x, int y, unsigned arms)
{
	int middle_x = x * CELL_WIDTH + CELL_WIDTH / 2, middle_y = y * CELL_HEIGHT + CELL_HEIGHT / 2;
	if (arms & LEFT)
		buffer_printf(out, "M%d %dh%d", x * CELL_WIDTH, middle_y, CELL_WIDTH / 2 + 1);
	if (arms & RIGHT)
		buffer_printf(out, "M%d %dh%d", middle_x - 1, middle_y, CELL_WIDTH / 2 + 1);
	if (arms & UP)
		buffer_printf(out, "M%d %dv%d", middle_x, y * CELL_HEIGHT, CELL_HEIGHT / 2);
	if (arms & DOWN)
		buffer_printf(out, "M%d %dv%d", middle_x, middle_y, CELL_HEIGHT / 2);
}

static void add_fill(struct buffer *out, int x, int y, uint32_t code)
{
	struct part parts[2];
	size_t count = parts_of(code, parts);
	for (size_t i = 0; i < count; i++)
		rectangle(out, x * CELL_WIDTH + parts[i].x * 2, y * CELL_HEIGHT + parts[i].y * 4, parts[i].width * 2,
			parts[i].height * 4);
}

/* How many cells from x on have the same code in this layer. */
static int same_from(const struct layer *layer, int x, int y, uint32_t code)
{
	int count = 0;
	while (x + count < layer->canvas->width) {
		const struct cell *cell = cell_in(layer, x + count, y);
		if (!cell || cell->code != code)
			break;
		count++;
	}
	return count;
}

/* Adds the path of the cells from x on in this shape; returns how many cells, 0 = none. */
static int add_cells(const struct layer *layer, struct buffer *path, enum shape shape, uint32_t only, int x, int y)
{
	const struct cell *cell = cell_in(layer, x, y);
	if (!cell || shape_of(cell->code) != shape || (only && cell->code != only))
		return 0;
	int count = same_from(layer, x, y, cell->code);
	if (shape == SHAPE_LINE && arms_of(cell->code) == (LEFT | RIGHT)) {
		buffer_printf(path, "M%d %dh%d", x * CELL_WIDTH, y * CELL_HEIGHT + CELL_HEIGHT / 2, count * CELL_WIDTH);
		return count;
	}
	if (shape == SHAPE_SHADE || cell->code == 0x2588) {
		rectangle(path, x * CELL_WIDTH, y * CELL_HEIGHT, count * CELL_WIDTH, CELL_HEIGHT);
		return count;
	}
	if (shape == SHAPE_LINE)
		add_lines(path, x, y, arms_of(cell->code));
	else
		add_fill(path, x, y, cell->code);
	return 1;
}

static void add_shape(const struct layer *layer, enum shape shape, uint32_t only, const char *attributes)
{
	struct buffer path = BUFFER_INIT;
	for (int y = 0; y < layer->canvas->height; y++)
		for (int x = 0; x < layer->canvas->width;) {
			int count = add_cells(layer, &path, shape, only, x, y);
			x += count > 0 ? count : 1;
		}
	if (path.length > 0)
		buffer_printf(layer->out, "<path %s=\"#%06x\" %s d=\"%s\"/>\n", shape == SHAPE_LINE ? "stroke" : "fill",
			(unsigned)layer->ink, attributes, path.data);
	buffer_release(&path);
}

static bool has_dot(const struct layer *layer, int column, int row)
{
	static const uint8_t bits[4][2] = { { 0x01, 0x08 }, { 0x02, 0x10 }, { 0x04, 0x20 }, { 0x40, 0x80 } };
	const struct cell *cell = cell_in(layer, column / 2, row / 4);
	return cell && shape_of(cell->code) == SHAPE_DOTS && (cell->code & bits[row % 4][column % 2]);
}

/* Neighbouring dots become one dashed stroke, which keeps the file small. */
static void add_dots(const struct layer *layer)
{
	struct buffer path = BUFFER_INIT;
	enum { PITCH = CELL_WIDTH / 2, DOT = 6 };
	for (int row = 0; row < layer->canvas->height * 4; row++)
		for (int column = 0; column < layer->canvas->width * 2; column++) {
			int start = column;
			while (column < layer->canvas->width * 2 && has_dot(layer, column, row))
				column++;
			if (column > start)
				buffer_printf(
					&path, "M%d %dh%d", start * PITCH + 1, row * PITCH + PITCH / 2, (column - start - 1) * PITCH + DOT);
		}
	if (path.length > 0)
		buffer_printf(layer->out, "<path stroke=\"#%06x\" stroke-width=\"6\" stroke-dasharray=\"6 2\" d=\"%s\"/>\n",
			(unsigned)layer->ink, path.data);
	buffer_release(&path);
}

static bool is_used(const struct layer *layer)
{
	for (int y = 0; y < layer->canvas->height; y++)
		for (int x = 0; x < layer->canvas->width; x++)
			if (cell_in(layer, x, y))
				return true;
	return false;
}

static void add_ground(const struct layer *layer)
{
	struct buffer path = BUFFER_INIT;
	for (int y = 0; y < layer->canvas->height; y++)
		for (int x = 0; x < layer->canvas->width; x++) {
			int start = x;
			while (x < layer->canvas->width && cell_in(layer, x, y))
				x++;
			if (x > start)
				rectangle(&path, start * CELL_WIDTH, y * CELL_HEIGHT, (x - start) * CELL_WIDTH, CELL_HEIGHT);
		}
	if (path.length > 0)
		buffer_printf(layer->out, "<path fill=\"#%06x\" d=\"%s\"/>\n", (unsigned)layer->ground, path.data);
	buffer_release(&path);
}

static void add_character(struct buffer *out, uint32_t code)
{
	char bytes[4];
	const char *escaped = code == '&' ? "&amp;" : code == '<' ? "&lt;" : code == '>' ? "&gt;" : NULL;
	if (escaped)
		buffer_puts(out, escaped);
	else
		buffer_add(out, bytes, utf8_encode(code, bytes));
}

/* Where a run of text that begins at x ends: at another style, at a shape, or before two blanks. */
static int text_end(const struct layer *layer, int x, int y)
{
	int end = x;
	for (int blanks = 0; x < layer->canvas->width && blanks < 2; x++) {
		const struct cell *cell = cell_in(layer, x, y);
		if (!cell || (cell->code != ' ' && cell->code != 0 && shape_of(cell->code) != SHAPE_TEXT))
			break;
		blanks = cell->code == ' ' ? blanks + 1 : 0;
		if (cell->code != ' ')
			end = x + 1;
	}
	return end;
}

static void add_text(const struct layer *layer)
{
	for (int y = 0; y < layer->canvas->height; y++)
		for (int x = 0; x < layer->canvas->width; x++) {
			const struct cell *cell = cell_in(layer, x, y);
			if (!cell || shape_of(cell->code) != SHAPE_TEXT)
				continue;
			int end = text_end(layer, x, y);
			buffer_printf(layer->out, "<text x=\"%d\" y=\"%d\" textLength=\"%d\" fill=\"#%06x\"%s>", x * CELL_WIDTH,
				y * CELL_HEIGHT + 24, (end - x) * CELL_WIDTH, (unsigned)layer->ink,
				layer->is_bold ? " font-weight=\"bold\"" : "");
			for (; x < end; x++)
				if (cell_in(layer, x, y)->code != 0)
					add_character(layer->out, cell_in(layer, x, y)->code);
			buffer_puts(layer->out, "</text>\n");
			x = end - 1;
		}
}

static uint32_t ground_of(struct style style)
{
	return style.background == COLOR_NONE ? GROUND : (uint32_t)style.background;
}

static void add_layer(const struct canvas *canvas, const struct theme *theme, struct buffer *out, int role, int reverse)
{
	struct style style = theme_style(theme, PALETTE_DIRECT, (enum role)role, reverse);
	uint32_t ink = style.foreground == COLOR_NONE ? INK : (uint32_t)style.foreground, ground = ground_of(style);
	struct layer layer = { canvas, out, role, reverse, style.is_reversed ? ground : ink,
		style.is_reversed ? ink : ground, style.is_bold };
	static const char *const shades[] = { "fill-opacity=\".3\"", "fill-opacity=\".5\"", "fill-opacity=\".75\"" };
	if (!is_used(&layer))
		return;
	if (layer.ground != ground_of(theme_style(theme, PALETTE_DIRECT, ROLE_NORMAL, false)))
		add_ground(&layer);
	add_shape(&layer, SHAPE_FILL, 0, "");
	for (uint32_t i = 0; i < 3; i++)
		add_shape(&layer, SHAPE_SHADE, 0x2591 + i, shades[i]);
	add_shape(&layer, SHAPE_LINE, 0, "stroke-width=\"2\"");
	add_dots(&layer);
	add_text(&layer);
}

void canvas_as_svg(const struct canvas *canvas, const struct theme *theme, struct buffer *out)
{
	int width = canvas->width * CELL_WIDTH, height = canvas->height * CELL_HEIGHT;
	buffer_printf(out, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\">\n",
		width / SCALE, height / SCALE, width, height);
	buffer_puts(out,
		"<g font-family=\"DejaVu Sans Mono,Menlo,Consolas,monospace\" font-size=\"26.6\" "
		"shape-rendering=\"crispEdges\">\n");
	buffer_printf(out, "<rect width=\"%d\" height=\"%d\" fill=\"#%06x\"/>\n", width, height,
		(unsigned)ground_of(theme_style(theme, PALETTE_DIRECT, ROLE_NORMAL, false)));
	for (int role = 0; role < ROLE_COUNT; role++)
		for (int reverse = 0; reverse < 2; reverse++)
			add_layer(canvas, theme, out, role, reverse);
	buffer_puts(out, "</g>\n</svg>\n");
}
