#include "ui/core/plot.h"

#include <math.h>

/* How many dots a cell has: braille 2 × 4, blocks two halves. */
struct raster {
	int across, down;
};

static struct raster raster_of(const struct canvas *canvas)
{
	static const struct raster rasters[] = {
		[CHARSET_BRAILLE] = { 2, 4 },
		[CHARSET_BLOCK] = { 1, 2 },
		[CHARSET_ASCII] = { 1, 1 },
	};
	return rasters[canvas->charset];
}

enum { FLAG_SIGN = 0x25b2 };

static const uint32_t halves[] = { ' ', 0x2580, 0x2584, 0x2588 };

/* The bit of a dot: braille's own numbering, or upper and lower half. */
static unsigned bit_of(enum charset charset, int across, int down)
{
	static const unsigned char braille[2][4] = { { 0x01, 0x02, 0x04, 0x40 }, { 0x08, 0x10, 0x20, 0x80 } };
	return charset == CHARSET_BRAILLE ? braille[across][down] : 1u << down;
}

/* The bits of the lowest `count` dots of a column. */
static unsigned bits_below(const struct raster *raster, int across, int count)
{
	static const unsigned char braille[2][5] = { { 0, 0x40, 0x44, 0x46, 0x47 }, { 0, 0x80, 0xa0, 0xb0, 0xb8 } };
	static const unsigned char blocks[3] = { 0, 2, 3 };
	return raster->down == 4 ? braille[across][count] : blocks[count];
}

static struct cell *cell_at(const struct canvas *canvas, int x, int y)
{
	const struct rect *clip = &canvas->clip;
	if (x < clip->x || y < clip->y || x >= clip->x + clip->width || y >= clip->y + clip->height)
		return NULL;
	return &canvas->cells[(size_t)y * (size_t)canvas->width + (size_t)x];
}

static unsigned bits_in(enum charset charset, uint32_t code)
{
	if (charset == CHARSET_BRAILLE)
		return code > 0x2800 && code <= 0x28ff ? code & 0xff : 0;
	for (unsigned bits = 1; bits < 4; bits++)
		if (halves[bits] == code)
			return bits;
	return 0;
}

/* Adds dots to a cell. Data replaces faint dots; flagged cells stay flagged. */
static void add_bits(struct canvas *canvas, int x, int y, unsigned bits, enum role role)
{
	struct cell *cell = cell_at(canvas, x, y);
	if (!cell || cell->code == FLAG_SIGN)
		return;
	bool is_faint = cell->role == ROLE_MEDIAN || cell->role == ROLE_BAND;
	if (!is_faint)
		bits |= bits_in(canvas->charset, cell->code);
	if (cell->role == ROLE_FLAG && cell->code != ' ')
		role = ROLE_FLAG;
	if (canvas->charset == CHARSET_BRAILLE && cell->code != 0 && (x + 1 >= canvas->width || cell[1].code != 0)) {
		*cell = (struct cell){ 0x2800 + bits, (uint16_t)role, 0 };
		return;
	}
	canvas_put(canvas, x, y, canvas->charset == CHARSET_BRAILLE ? 0x2800 + bits : halves[bits & 3], role);
}

/* The dot row of a value, counted from the bottom. */
static int dot_of(const struct scale *scale, double value, int dots)
{
	double ratio = (value - scale->min) / (scale->max - scale->min);
	if (!(ratio > 0))
		return 0;
	return ratio >= 1 ? dots - 1 : (int)lrint(ratio * (dots - 1));
}

int plot_row(const struct canvas *canvas, struct rect rect, const struct scale *scale, double value)
{
	int down = raster_of(canvas).down;
	return rect.y + rect.height - 1 - dot_of(scale, value, rect.height * down) / down;
}

/* Wider than any terminal in dots; a plot beyond that shows its newest points. */
enum { COLUMNS_MAX = 4096 };

struct span {
	int low, high;
}; /* rows of dots; low > high: nothing */

static const struct span NO_SPAN = { 1, 0 };

/* Whether the rectangle and the scale allow any drawing. */
static bool is_drawable(struct rect rect, const struct scale *scale)
{
	return rect.width > 0 && rect.height > 0 && scale->max > scale->min;
}

static struct span span_of(const struct scale *scale, const struct plot_point *point, int dots)
{
	if (isnan(point->high))
		return NO_SPAN;
	int high = dot_of(scale, point->high, dots);
	if (isnan(point->low) || point->low == point->high)
		return (struct span){ high, high };
	int low = dot_of(scale, point->low, dots);
	return low < high ? (struct span){ low, high } : (struct span){ high, low };
}

/* Draws a point's own span and the line down to its lower neighbours, so that a lone peak is one column wide. */
static struct span joined_span(const struct span *spans, size_t count, size_t i)
{
	struct span span = spans[i];
	if (span.low > span.high)
		return span;
	for (int side = -1; side <= 1; side += 2) {
		size_t beside = i + (size_t)side;
		if ((side < 0 && i == 0) || beside >= count)
			continue;
		struct span other = spans[beside];
		if (other.low <= other.high && other.high + 1 < span.low)
			span.low = other.high + 1;
	}
	return span;
}

static void draw_ascii_span(struct canvas *canvas, int x, int bottom, struct span span, const struct plot_point *point)
{
	enum role role = point->is_flagged ? ROLE_FLAG : point->role;
	for (int dot = span.low; dot <= span.high; dot++) {
		const struct cell *cell = cell_at(canvas, x, bottom - dot);
		bool is_top = dot == span.high;
		if (cell && cell->code != '^' && (is_top || cell->code != '*'))
			canvas_put(canvas, x, bottom - dot, !is_top ? '|' : point->is_flagged ? '#' : '*', role);
	}
}

static void draw_span(
	struct canvas *canvas, struct rect rect, size_t column, struct span span, const struct plot_point *point)
{
	struct raster raster = raster_of(canvas);
	int x = rect.x + (int)column / raster.across, bottom = rect.y + rect.height - 1;
	if (canvas->charset == CHARSET_ASCII) {
		draw_ascii_span(canvas, x, bottom, span, point);
		return;
	}
	if (span.low > span.high)
		return;
	int across = (int)column % raster.across, first = span.low / raster.down, last = span.high / raster.down;
	for (int row = first; row <= last; row++) {
		int from = row == first ? span.low % raster.down : 0,
			to = row == last ? span.high % raster.down : raster.down - 1;
		unsigned bits = bits_below(&raster, across, to + 1) & ~bits_below(&raster, across, from);
		add_bits(canvas, x, bottom - row, bits, point->is_flagged ? ROLE_FLAG : point->role);
	}
}

size_t plot_resolution(const struct canvas *canvas, struct rect rect)
{
	return rect.width > 0 ? (size_t)rect.width * (size_t)raster_of(canvas).across : 0;
}

/* Draws ▲ above the other characters of the flagged point's column, or in the top row. */
static void draw_flag(struct canvas *canvas, struct rect rect, size_t column, const struct span *spans, size_t count)
{
	struct raster raster = raster_of(canvas);
	size_t across = (size_t)raster.across, first = column / across * across;
	int top = 0;
	for (size_t i = first; i < first + across && i < count; i++)
		if (spans[i].low <= spans[i].high && spans[i].high > top)
			top = spans[i].high;
	int row = top / raster.down + 1;
	int y = rect.y + rect.height - 1 - (row < rect.height ? row : rect.height - 1);
	canvas_put(canvas, rect.x + (int)(column / across), y, FLAG_SIGN, ROLE_FLAG);
}

void plot_points(struct canvas *canvas, struct rect rect, const struct scale *scale, const struct plot_point *points,
	size_t count, bool is_line)
{
	struct span spans[COLUMNS_MAX];
	size_t columns = plot_resolution(canvas, rect);
	int dots = rect.height * raster_of(canvas).down;
	if (!is_drawable(rect, scale))
		return;
	columns = columns < COLUMNS_MAX ? columns : COLUMNS_MAX;
	if (count > columns) {
		points += count - columns;
		count = columns;
	}
	for (size_t i = 0; i < count; i++)
		spans[i] = span_of(scale, &points[i], dots);
	for (size_t i = 0; i < count; i++)
		draw_span(canvas, rect, i, is_line ? joined_span(spans, count, i) : spans[i], &points[i]);
	for (size_t i = 0; i < count; i++)
		if (points[i].is_flagged && !isnan(points[i].high))
			draw_flag(canvas, rect, i, spans, count);
}

static bool is_blank(const struct canvas *canvas, int x, int y)
{
	const struct cell *cell = cell_at(canvas, x, y);
	return cell && cell->code == ' ';
}

void plot_level(struct canvas *canvas, struct rect rect, const struct scale *scale, double value, enum role role)
{
	struct raster raster = raster_of(canvas);
	if (!is_drawable(rect, scale) || !(value >= scale->min && value <= scale->max))
		return;
	int dot = dot_of(scale, value, rect.height * raster.down);
	int y = rect.y + rect.height - 1 - dot / raster.down;
	unsigned bit = bit_of(canvas->charset, 0, raster.down - 1 - dot % raster.down);
	static const uint32_t lines[] = { [CHARSET_BLOCK] = 0x2500, [CHARSET_ASCII] = '-' };
	uint32_t code = canvas->charset == CHARSET_BRAILLE ? 0x2800 + bit : lines[canvas->charset];
	for (int x = rect.x; x < rect.x + rect.width; x++)
		if (is_blank(canvas, x, y))
			canvas_put(canvas, x, y, code, role);
}

/* The dots of one cell of a band: every other column and row, so that it stays a background. */
static uint32_t band_code(enum charset charset, int x, int low, int high)
{
	unsigned bits = 0;
	if (charset == CHARSET_ASCII)
		return x % 2 ? ' ' : '.';
	if (charset == CHARSET_BLOCK)
		return x % 2 ? ' ' : 0xb7;
	for (int dot = low; dot <= high; dot++)
		if (dot % 2 == 0)
			bits |= bit_of(charset, dot / 2 % 2, 3 - dot);
	return bits ? 0x2800 + bits : ' ';
}

void plot_band(
	struct canvas *canvas, struct rect rect, const struct scale *scale, double low, double high, enum role role)
{
	struct raster raster = raster_of(canvas);
	int dots = rect.height * raster.down;
	if (!is_drawable(rect, scale) || !(low <= high) || high < scale->min || low > scale->max)
		return;
	int first = dot_of(scale, low, dots), last = dot_of(scale, high, dots);
	for (int row = first / raster.down; row <= last / raster.down; row++) {
		int from = row == first / raster.down ? first % raster.down : 0;
		int to = row == last / raster.down ? last % raster.down : raster.down - 1;
		int y = rect.y + rect.height - 1 - row;
		for (int x = rect.x; x < rect.x + rect.width; x++)
			if (is_blank(canvas, x, y))
				canvas_put(canvas, x, y, band_code(canvas->charset, x - rect.x, from, to), role);
	}
}

struct sign {
	uint32_t shape;
	char letter;
};

static struct sign sign_of(enum role role)
{
	static const struct sign signs[] = {
		{ 0x2588, 'd' },
		{ 0x2593, 'f' },
		{ 0x2592, 'b' },
		{ 0x2591, 'o' },
		{ 0x259a, 'p' },
		{ 0x259e, 'q' },
		{ 0x2261, 'r' },
		{ 0xb7, 'u' },
	};
	if (role < ROLE_PHASE_0 || role > ROLE_PHASE_7)
		return (struct sign){ 0x2588, '#' };
	return signs[role - ROLE_PHASE_0];
}

uint32_t plot_sign(const struct canvas *canvas, enum role role)
{
	struct sign sign = sign_of(role);
	return canvas->charset == CHARSET_ASCII ? (unsigned char)sign.letter : sign.shape;
}

/* A line from ▼ in the top row down to the bar; on a flagged bar the flag is drawn reversed instead. */
static void draw_cursor(struct canvas *canvas, struct rect column)
{
	const struct cell *top = cell_at(canvas, column.x, column.y);
	for (int y = column.y; y < column.y + column.height; y++)
		if (is_blank(canvas, column.x, y))
			canvas_put(canvas, column.x, y, 0x2502, ROLE_ACCENT);
	if (top && top->role == ROLE_FLAG)
		canvas_reverse(canvas, (struct rect){ column.x, column.y, 1, 1 });
	else
		canvas_put(canvas, column.x, column.y, 0x25bc, ROLE_ACCENT);
}

/* The part that covers most of [low, high), so a small part never hides a large one. */
static const struct stack_part *main_part(const struct stack_part *parts, size_t count, double low, double high)
{
	const struct stack_part *main = NULL;
	double sum = 0, max = 0;
	for (size_t i = 0; i < count; i++) {
		double from = sum;
		if (!(parts[i].value > 0))
			continue;
		sum += parts[i].value;
		double covered = fmin(sum, high) - fmax(from, low);
		if (covered > max) {
			max = covered;
			main = &parts[i];
		}
	}
	return main;
}

void plot_stack(struct canvas *canvas, struct rect rect, int x, const struct scale *scale,
	const struct stack_part *parts, size_t count, bool is_flagged, bool is_selected)
{
	int rows = 0, bottom = rect.y + rect.height - 1;
	double sum = 0;
	if (!is_drawable(rect, scale))
		return;
	for (size_t i = 0; i < count; i++)
		sum += parts[i].value > 0 ? parts[i].value : 0;
	double per_row = (scale->max - scale->min) / rect.height, filled = (sum - scale->min) / per_row;
	int height = filled >= rect.height ? rect.height : (int)fmax(round(fmax(filled, 0)), sum > 0 ? 1 : 0);
	for (; rows < height; rows++) {
		double low = rows ? scale->min + rows * per_row : 0;
		const struct stack_part *part = main_part(parts, count, low, scale->min + (rows + 1) * per_row);
		if (part)
			canvas_put(canvas, x, bottom - rows, plot_sign(canvas, part->role), part->role);
	}
	if (is_flagged)
		canvas_put(canvas, x, rows < rect.height ? bottom - rows : rect.y, FLAG_SIGN, ROLE_FLAG);
	if (is_selected)
		draw_cursor(canvas, (struct rect){ x, rect.y, 1, rect.height });
}
