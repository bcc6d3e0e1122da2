#include "ui/widgets/plots/earlier.h"

#include <math.h>
#include <stdio.h>

#include "src/model/statistics/statistics.h"
#include "ui/core/layout.h"
#include "ui/widgets/parts.h"

enum { RING = 0x2218, CUT = 0x2191, SAMPLES_MAX = 4096 };

/* -- figures -- */

static uint64_t end_of(const struct earlier *earlier, uint64_t end)
{
	return end < earlier->count ? end : earlier->count;
}

double earlier_mean(const struct earlier *earlier, uint64_t first, uint64_t end)
{
	double sum_s = 0;
	size_t count = 0;
	for (uint64_t i = first; i < end_of(earlier, end); i++)
		if (!isnan(earlier->steps_s[i])) {
			sum_s += (double)earlier->steps_s[i];
			count++;
		}
	return count > 0 ? sum_s / (double)count : NAN;
}

double earlier_longest(const struct earlier *earlier, uint64_t first, uint64_t end)
{
	double max = NAN;
	for (uint64_t i = first; i < end_of(earlier, end); i++)
		if (!isnan(earlier->steps_s[i]) && !((double)earlier->steps_s[i] <= max))
			max = (double)earlier->steps_s[i];
	return max;
}

double earlier_median(const struct earlier *earlier, uint64_t first, uint64_t end)
{
	double values[SAMPLES_MAX];
	size_t count = 0;
	end = end_of(earlier, end);
	uint64_t stride = end > first ? (end - first + SAMPLES_MAX - 1) / SAMPLES_MAX : 1;

	for (uint64_t i = first; i < end; i += stride)
		if (!isnan(earlier->steps_s[i]))
			values[count++] = (double)earlier->steps_s[i];
	return count > 0 ? median_of(values, count) : NAN;
}

const char *earlier_words(
	const struct earlier *earlier, uint64_t first, uint64_t end, double now_s, char *out, size_t size)
{
	char text[NUMBER_SIZE];
	out[0] = '\0';
	if (!earlier || !earlier->is_shown)
		return out;
	double median_s = earlier_median(earlier, first, end);

	if (earlier->is_reading)
		snprintf(out, size, "reading %s %.0f %%", earlier->name, 100 * earlier->done_ratio);
	else if (earlier->count == 0)
		snprintf(out, size, "no batches in %s", earlier->name);
	else if (isnan(median_s))
		snprintf(out, size, "earlier run: %s batches only", parts_thousands(text, (double)earlier->count));
	else if (isnan(now_s) || !(median_s > 0))
		snprintf(out, size, "earlier %s", parts_time(text, median_s, median_s));
	else
		snprintf(
			out, size, "earlier %s, now %+.0f %%", parts_time(text, median_s, now_s), 100 * (now_s / median_s - 1));
	return out;
}

/* -- drawing -- */

static uint32_t ring(const struct canvas *canvas) { return canvas->charset == CHARSET_ASCII ? '=' : RING; }

static const struct cell *cell_of(const struct canvas *canvas, int x, int y)
{
	bool is_inside = x >= 0 && y >= 0 && x < canvas->width && y < canvas->height;
	return is_inside ? &canvas->cells[y * canvas->width + x] : NULL;
}

static bool is_on(const struct scale *scale, double value) { return scale->max > scale->min && value >= scale->min; }

/* Values above the scale are drawn at its top, like cut-off steps. */
static uint32_t sign(const struct canvas *canvas, const struct scale *scale, double value)
{
	return value <= scale->max ? ring(canvas) : canvas->charset == CHARSET_ASCII ? '+' : CUT;
}

/* In free cells, and every few columns over a level line of the shown run, so that both stay visible. */
static bool has_room(const struct canvas *canvas, int x, int y)
{
	const struct cell *cell = cell_of(canvas, x, y), *above = cell_of(canvas, x, y - 1);
	if (!cell || cell->code == ' ')
		return cell;
	return x % 4 == 0 && cell->role == ROLE_PLOT && above && above->role != ROLE_PLOT && above->role != ROLE_FLAG;
}

void earlier_plot(
	struct canvas *canvas, struct rect rect, const struct scale *scale, const double *values, size_t count)
{
	size_t across = rect.width > 0 ? count / (size_t)rect.width : 0;
	across = across > 0 ? across : 1;
	for (size_t i = 0; i < count; i += across) {
		double value = NAN;

		for (size_t k = i; k < i + across && k < count; k++)
			value = fmax(value, values[k]);
		int x = rect.x + (int)(i / across), y = is_on(scale, value) ? plot_row(canvas, rect, scale, value) : -1;

		if (has_room(canvas, x, y))
			canvas_put(canvas, x, y, sign(canvas, scale, value), ROLE_EARLIER);
	}
}

void earlier_mark(struct canvas *canvas, struct rect rect, int x, const struct scale *scale, double value)
{
	int y = is_on(scale, value) ? plot_row(canvas, rect, scale, value) : -1;
	const struct cell *cell = cell_of(canvas, x, y);
	if (cell && cell->role != ROLE_FLAG && cell->role != ROLE_ACCENT)
		canvas_put(canvas, x, y, sign(canvas, scale, value), ROLE_EARLIER);
}

void earlier_prompt(const struct earlier *earlier, struct canvas *canvas, struct rect row)
{
	/* Shows the end of a long path, where the cursor is. */
	const char *typed = earlier->typed;
	int room = row.width - 20;

	rect_take_left(&row, 1);
	while (room > 0 && (int)text_cells(typed) > room)
		do
			typed++;
		while ((*typed & 0xc0) == 0x80);
	rect_take_left(&row, canvas_printf(canvas, row.x, row.y, row.width, ROLE_STRONG, "overlay: %s_", typed) + 3);
	canvas_text(canvas, row.x, row.y, row.width, ROLE_DIM, "a recording of an earlier run");
}
