#include "ui/core/plot_axis.h"

#include <math.h>
#include <stdio.h>

#include "src/base/text.h"
#include "ui/core/plot.h"

enum { CALM_UPDATES = 40, STEPS = 4 };

/* The smallest of 1, 2, 2.5 and 5 × 10^k that is at least `value`. */
static double round_step(double value)
{
	static const double rounds[] = { 1, 2, 2.5, 5, 10 };
	double power = pow(10, floor(log10(value)));
	size_t i = 0;
	while (i < 4 && rounds[i] * power < value * (1 - 1e-9))
		i++;
	return rounds[i] * power;
}

static double step_of(double min, double max) { return round_step((max - min) / STEPS); }

static struct scale round_scale(double min, double max, bool from_zero)
{
	if (from_zero)
		min = 0;
	double size = fmax(fabs(min), fabs(max)), room = size > 1e-290 ? size * 0.02 : 1;
	if (max - min < room)
		max = min + room;
	double step = step_of(min, max);
	return (struct scale){ floor(min / step + 1e-9) * step, ceil(max / step - 1e-9) * step, 0 };
}

void scale_update(struct scale *scale, double min, double max, bool from_zero)
{
	if (!isfinite(min) || !isfinite(max) || !isfinite(max - min) || max < min)
		return;
	struct scale wanted = round_scale(min, max, from_zero);
	if (!(scale->max > scale->min)) {
		*scale = wanted;
		return;
	}
	if (max > scale->max || wanted.min < scale->min) {
		*scale = round_scale(fmin(min, scale->min), fmax(max, scale->max), from_zero);
		return;
	}
	bool is_small = max - (from_zero ? 0 : min) < (scale->max - scale->min) / 2;
	scale->calm = is_small ? scale->calm + 1 : 0;
	if (scale->calm >= CALM_UPDATES)
		*scale = wanted;
}

struct axis_unit {
	double min, scale;
	const char *name;
};

/* The unit of the axis: the largest one that its upper end reaches. */
static const struct axis_unit *unit_of(enum plot_unit unit, double max)
{
	static const struct axis_unit units[][7] = {
		[PLOT_SECONDS] = { { 0.1, 1, " s" }, { 1e-4, 1e-3, " ms" }, { 1e-7, 1e-6, " µs" }, { 0, 1e-9, " ns" } },
		[PLOT_BYTES] = { { 1e15, 1e15, " PB" }, { 1e12, 1e12, " TB" }, { 1e9, 1e9, " GB" }, { 1e6, 1e6, " MB" },
			{ 1e3, 1e3, " kB" }, { 0, 1, " B" } },
		[PLOT_PERCENT] = { { 0, 0.01, " %" } },
		[PLOT_COUNT] = { { 1e12, 1e12, "T" }, { 1e9, 1e9, "G" }, { 1e6, 1e6, "M" }, { 1e4, 1e3, "k" }, { 0, 1, "" } },
		[PLOT_WATTS] = { { 1e4, 1e3, " kW" }, { 0, 1, " W" } },
		[PLOT_HERTZ] = { { 1e9, 1e9, " GHz" }, { 1e6, 1e6, " MHz" }, { 1e3, 1e3, " kHz" }, { 0, 1, " Hz" } },
		[PLOT_CELSIUS] = { { 0, 1, " °C" } },
		[PLOT_CPUS] = { { 0, 1e9, " CPUs" } },
	};
	const struct axis_unit *chosen = units[unit];
	while (chosen->min > 0 && max < chosen->min * (1 - 1e-9))
		chosen++;
	return chosen;
}

/* Decimals that distinguish multiples of `step`. */
static int decimals_of(double step)
{
	int decimals = 0;
	while (decimals < 6 && fabs(step - rint(step)) > 1e-6 * step) {
		step *= 10;
		decimals++;
	}
	return decimals;
}

/* Which multiples of `step` are labelled: first, first + every, … */
struct ticks {
	double step;
	long first, last, every;
};

static struct ticks ticks_of(const struct scale *scale, int height)
{
	struct ticks ticks = { .step = step_of(scale->min, scale->max), .every = 1 };
	ticks.first = (long)ceil(scale->min / ticks.step - 1e-6);
	ticks.last = (long)floor(scale->max / ticks.step + 1e-6);
	long spaces = ticks.last - ticks.first, max = (height - 1) / 2;
	if (spaces > max)
		ticks.every = spaces % 2 == 0 && spaces / 2 <= max ? 2 : spaces;
	return ticks;
}

static void write_label(char out[NUMBER_SIZE], const struct ticks *ticks, long tick, const struct axis_unit *unit)
{
	bool is_top = tick + ticks->every > ticks->last;
	int spacing = decimals_of(ticks->step * (double)ticks->every / unit->scale),
		first = decimals_of(ticks->step * (double)ticks->first / unit->scale);
	int decimals = tick == 0 ? 0 : spacing > first ? spacing : first;
	snprintf(out, NUMBER_SIZE, "%.*f%s", decimals, (double)tick * ticks->step / unit->scale, is_top ? unit->name : "");
}

struct rect plot_axis(struct canvas *canvas, struct rect rect, const struct scale *scale, enum plot_unit unit)
{
	enum { WIDTH_MIN = 20, LABEL_MIN = 6 };
	if (rect.width < WIDTH_MIN || rect.height < 2 || !(scale->max > scale->min))
		return rect;
	struct ticks ticks = ticks_of(scale, rect.height);
	const struct axis_unit *of = unit_of(unit, fmax(fabs(scale->min), fabs(scale->max)));
	char label[NUMBER_SIZE];
	int width = LABEL_MIN;
	for (long tick = ticks.first; tick <= ticks.last; tick += ticks.every) {
		write_label(label, &ticks, tick, of);
		width = text_cells(label) > (size_t)width ? (int)text_cells(label) : width;
	}
	struct rect inside = { rect.x + width + 2, rect.y, rect.width - width - 2, rect.height };
	canvas_fill(canvas, (struct rect){ inside.x - 1, rect.y, 1, rect.height }, 0x2502, ROLE_BORDER);
	for (long tick = ticks.first; tick <= ticks.last; tick += ticks.every) {
		int y = plot_row(canvas, inside, scale, (double)tick * ticks.step);
		write_label(label, &ticks, tick, of);
		canvas_text_right(canvas, rect.x, y, width, ROLE_DIM, label);
		canvas_put(canvas, inside.x - 1, y, 0x2524, ROLE_BORDER);
	}
	return inside;
}
