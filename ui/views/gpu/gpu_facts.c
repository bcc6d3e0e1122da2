#include "ui/views/gpu/gpu_facts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "src/base/clock.h"
#include "src/model/gpus/gpus_words.h"
#include "ui/core/layout.h"
#include "ui/views/gpu/gpu_meaning.h"
#include "ui/views/gpu/gpu_parts.h"
#include "ui/views/gpu/gpu_words.h"
#include "ui/views/overview/panel_process.h"
#include "ui/views/overview/panels.h"
#include "ui/widgets/parts.h"
#include "ui/widgets/plots/throttle_lane.h"
#include "ui/widgets/plots/trace.h"

/* One line: a value, a bar with two shares, and details. */
struct fact_row {
	char value[48];
	enum role role;
	bool has_bar;
	double first, second; /* shares of the bar */
	struct line more;
	bool is_urgent; /* never dropped */
};
struct shown {
	struct scene *scene;
	const struct gpu *gpu;
};

static void set_value(struct fact_row *row, enum role role, const char *value)
{
	snprintf(row->value, sizeof row->value, "%.46s", value);
	row->role = role;
}

/* Adds why the figure is unknown, if a source reported a reason. */
static void add_reason(const struct shown *shown, const char *figure, struct line *line)
{
	const struct missing *missing = gpu_missing(shown->scene->model, figure);
	if (!missing)
		return;
	line_add(line, 0, ROLE_DIM, "%s", missing->text);
	if (missing->remedy[0] != '\0')
		line_add(line, 1, ROLE_DIM, "→ %s", missing->remedy);
}

static void add_percent(struct line *line, int rank, enum role role, const char *name, double ratio)
{
	char text[NUMBER_SIZE];
	if (!isnan(ratio))
		line_add(line, rank, role, "%s %s", name, format_percent(text, ratio));
}

static void add_bytes(struct line *line, int rank, enum role role, const char *name, double bytes, const char *after)
{
	char text[NUMBER_SIZE];
	if (!isnan(bytes))
		line_add(line, rank, role, "%s %s%s", name, format_bytes(text, bytes), after);
}

/* -- what it does -- */

static bool show_lost(const struct shown *shown, struct fact_row *row)
{
	if (shown->gpu->lost[0] == '\0')
		return false;
	set_value(row, ROLE_CRITICAL, "⚠ no answer");
	line_add(&row->more, 0, ROLE_CRITICAL, "%s", shown->gpu->lost);
	return true;
}

static bool show_busy(const struct shown *shown, struct fact_row *row)
{
	const struct gpu *gpu = shown->gpu;
	double busy = gpu_now(gpu, METRIC_GPU_BUSY), sm = gpu_now(gpu, METRIC_GPU_SM_ACTIVE);
	const struct missing *activity;
	char text[NUMBER_SIZE];
	set_value(row, ROLE_STRONG, format_percent(text, busy));
	if (isnan(busy))
		add_reason(shown, "GPU utilisation", &row->more);
	add_percent(&row->more, 0, ROLE_NORMAL, "SMs active", sm);
	if (isnan(sm) && (activity = gpu_missing(shown->scene->model, "GPU activity")) != NULL)
		line_add(&row->more, 4, ROLE_DIM, "SMs –: %s", activity->text);
	if (!isnan(gpu->run_busy_ratio) && gpu->is_ours)
		line_add(
			&row->more, 2, ROLE_NORMAL, "%s by the run at its last reading", format_percent(text, gpu->run_busy_ratio));
	add_percent(&row->more, 3, ROLE_DIM, "memory busy", gpu_now(gpu, METRIC_GPU_MEMORY_BUSY));
	return true;
}

static bool show_units(const struct shown *shown, struct fact_row *row)
{
	const struct gpu *gpu = shown->gpu;
	char text[NUMBER_SIZE];
	if (isnan(gpu_now(gpu, METRIC_GPU_SM_OCCUPANCY)) && isnan(gpu_now(gpu, METRIC_GPU_TENSOR_ACTIVE)) &&
		isnan(gpu_now(gpu, METRIC_GPU_DRAM_ACTIVE)))
		return false;
	snprintf(
		row->value, sizeof row->value, "occupancy %s", format_percent(text, gpu_now(gpu, METRIC_GPU_SM_OCCUPANCY)));
	add_percent(&row->more, 0, ROLE_NORMAL, "tensor", gpu_now(gpu, METRIC_GPU_TENSOR_ACTIVE));
	add_percent(&row->more, 1, ROLE_NORMAL, "bandwidth", gpu_now(gpu, METRIC_GPU_DRAM_ACTIVE));
	return true;
}

/* -- memory -- */

static bool show_memory(const struct shown *shown, struct fact_row *row)
{
	const struct gpu *gpu = shown->gpu;
	double used = gpu_now(gpu, METRIC_GPU_MEMORY_USED), whole = gpu_now(gpu, METRIC_GPU_MEMORY);
	double own = gpu->is_ours && !isnan(gpu->run_memory_bytes) ? gpu->run_memory_bytes : 0;
	char text[NUMBER_SIZE];
	set_value(row, ROLE_STRONG, gpu_bytes_of(text, used, whole));
	if (isnan(used))
		add_reason(shown, "GPU memory", &row->more);
	else
		line_add(&row->more, 0, ROLE_NORMAL, "%s", format_percent(text, used / whole));
	row->has_bar = !isnan(used) && whole > 0;
	row->first = own / whole;
	row->second = (used - own) / whole;
	return true;
}

static bool show_shares(const struct shown *shown, struct fact_row *row)
{
	const struct gpu *gpu = shown->gpu;
	double whole = gpu_now(gpu, METRIC_GPU_MEMORY), used = gpu_now(gpu, METRIC_GPU_MEMORY_USED);
	char text[NUMBER_SIZE];
	if (isnan(used))
		return false;
	if (!gpu->is_ours)
		set_value(row, ROLE_DIM, "none of the run's");
	else if (isnan(gpu->run_memory_bytes))
		set_value(row, ROLE_NORMAL, "run –");
	else
		snprintf(row->value, sizeof row->value, "█ run %s", format_bytes(text, gpu->run_memory_bytes)),
			row->role = ROLE_MEMORY;
	add_bytes(&row->more, 1, ROLE_NORMAL, "▒ others", gpu->others_memory_bytes, "");
	if (!isnan(whole))
		add_bytes(&row->more, 0, ROLE_DIM, "free",
			whole - used -
				(isnan(gpu_now(gpu, METRIC_GPU_MEMORY_RESERVED)) ? 0 : gpu_now(gpu, METRIC_GPU_MEMORY_RESERVED)),
			"");
	return true;
}

/* Neither used nor free. */
static bool show_reserved(const struct shown *shown, struct fact_row *row)
{
	double reserved = gpu_now(shown->gpu, METRIC_GPU_MEMORY_RESERVED);
	char text[NUMBER_SIZE];
	if (!(reserved > 0))
		return false;
	snprintf(row->value, sizeof row->value, "driver %s", format_bytes(text, reserved));
	row->role = ROLE_DIM;
	line_add(&row->more, 0, ROLE_DIM, "neither used nor free");
	return true;
}

static bool show_allocator(const struct shown *shown, struct fact_row *row)
{
	const struct run *run = gpu_run(shown->scene, shown->gpu);
	char text[NUMBER_SIZE];
	if (!has_allocator(run))
		return false;
	struct allocator allocator = run_allocator(run);

	snprintf(row->value, sizeof row->value, "allocated %s", format_bytes(text, allocator.allocated_bytes));
	add_bytes(&row->more, 0, ROLE_NORMAL, "reserved", allocator.reserved_bytes, "");
	add_bytes(&row->more, 1, ROLE_DIM, "peak", allocator.peak_bytes, "");
	return true;
}

static bool show_growth(const struct shown *shown, struct fact_row *row)
{
	struct piece *first = &row->more.pieces[0];
	if (!shown->gpu->is_ours || isnan(shown->gpu->run_memory_bytes))
		return false;
	gpu_verdict_line(shown->gpu, &row->more);
	if (row->more.count == 0)
		return false;
	set_value(row, first->role, first->text);
	row->is_urgent = first->role == ROLE_WARNING;
	row->more.count--;
	memmove(first, first + 1, row->more.count * sizeof *first);
	return true;
}

/* -- power, heat, clock -- */

static bool show_power(const struct shown *shown, struct fact_row *row)
{
	const struct gpu *gpu = shown->gpu;
	double limit = gpu_now(gpu, METRIC_GPU_POWER_LIMIT);
	char text[NUMBER_SIZE];
	set_value(row, ROLE_STRONG, gpu_watts_of(text, gpu->power_w, limit));
	if (isnan(gpu->power_w)) {
		add_reason(shown, "GPU power", &row->more);
		return gpu->parent < 0;
	}
	row->has_bar = limit > 0;
	row->first = gpu->power_w / limit;
	if (limit > 0)
		line_add(&row->more, 0, ROLE_NORMAL, "%s", format_percent(text, gpu->power_w / limit));
	return true;
}

static bool show_heat(const struct shown *shown, struct fact_row *row)
{
	const struct gpu *gpu = shown->gpu;
	double celsius = gpu_now(gpu, METRIC_GPU_TEMPERATURE), limit = gpu_now(gpu, METRIC_GPU_TEMPERATURE_LIMIT),
		   memory = gpu_now(gpu, METRIC_GPU_TEMPERATURE_MEMORY);
	char text[NUMBER_SIZE];
	set_value(row, celsius >= limit ? ROLE_CRITICAL : ROLE_STRONG, gpu_degrees(text, celsius));
	if (isnan(celsius))
		add_reason(shown, "GPU temperature", &row->more);
	if (!isnan(limit))
		line_add(&row->more, 1, ROLE_DIM, "throttles at %s", gpu_degrees(text, limit));
	if (!isnan(memory))
		line_add(&row->more, 0, ROLE_NORMAL, "memory %s", gpu_degrees(text, memory));
	return !isnan(celsius) || gpu->parent < 0;
}

static bool show_clock(const struct shown *shown, struct fact_row *row)
{
	const struct gpu *gpu = shown->gpu;
	double now = gpu_now(gpu, METRIC_GPU_CLOCK), max = gpu_now(gpu, METRIC_GPU_CLOCK_MAX),
		   memory = gpu_now(gpu, METRIC_GPU_CLOCK_MEMORY);
	char text[NUMBER_SIZE];
	set_value(row, ROLE_STRONG, gpu_hertz(text, now));
	if (isnan(now))
		add_reason(shown, "GPU clock", &row->more);
	if (!isnan(max))
		line_add(&row->more, 0, ROLE_NORMAL, "max %s", gpu_hertz(text, max));
	if (!isnan(memory))
		line_add(&row->more, 1, ROLE_DIM, "memory %s", gpu_hertz(text, memory));
	return !isnan(now) || gpu->parent < 0;
}

/* The GPU's own throttle counters between the last two readings; the throttle reasons above are only sampled. */
static void add_counted(struct line *line, const char *what, double ratio)
{
	add_percent(line, 2, ROLE_NORMAL, what, ratio > 0 ? ratio : NAN);
}

static bool show_throttled(const struct shown *shown, struct fact_row *row)
{
	const struct gpu *gpu = shown->gpu;
	const struct lane lane = { 1, { gpu } };
	int64_t from_ns = trace_since(shown->scene, shown->scene->state->zoom);
	double share = lane_share(&lane, from_ns, shown->scene->now_ns),
		   window_s = seconds_between(from_ns, shown->scene->now_ns);
	bool is_throttled = gpu_is_throttled(gpu->throttle), is_known = !isnan(gpu_now(gpu, METRIC_GPU_THROTTLE));
	char words[120], text[NUMBER_SIZE], time[NUMBER_SIZE];
	if (!is_known) {
		set_value(row, ROLE_DIM, "–");
		add_reason(shown, "GPU throttl", &row->more);
		return row->more.count > 0;
	}
	gpu_throttle_words(gpu->throttle, words, sizeof words);
	if (gpu->throttle != 0 && !is_throttled)
		snprintf(row->value, sizeof row->value, "no (%.40s)", words);
	else
		set_value(row, is_throttled ? ROLE_WARNING : ROLE_NORMAL, is_throttled ? words : share > 0 ? "not now" : "no");
	if (share > 0 && window_s >= 1)
		line_add(&row->more, 0, is_throttled ? ROLE_WARNING : ROLE_NORMAL, "%s of the last %s",
			format_percent(text, share), parts_waiting(time, window_s));
	add_counted(&row->more, "by counter now: power", gpu->throttled_power_ratio);
	add_counted(&row->more, "by counter now: heat", gpu->throttled_thermal_ratio);
	row->is_urgent = is_throttled;
	return true;
}

/* -- links -- */

static void add_directions(struct line *line, int rank, double in, double out)
{
	char text[NUMBER_SIZE];
	if (!isnan(in))
		line_add(line, rank, ROLE_NORMAL, "in %s/s", format_bytes(text, in));
	if (!isnan(out))
		line_add(line, rank, ROLE_NORMAL, "out %s/s", format_bytes(text, out));
}

static bool show_pcie(const struct shown *shown, struct fact_row *row)
{
	const struct gpu *gpu = shown->gpu;
	double generation = gpu_now(gpu, METRIC_GPU_PCIE_GENERATION), width = gpu_now(gpu, METRIC_GPU_PCIE_WIDTH),
		   max = gpu_now(gpu, METRIC_GPU_PCIE_GENERATION_MAX);
	double in = gpu_rate(gpu, METRIC_GPU_PCIE_RECEIVED), out = gpu_rate(gpu, METRIC_GPU_PCIE_SENT);
	bool is_bad = gpu_link_is_narrow(gpu) || gpu_link_is_slow(gpu);
	if (isnan(generation) && isnan(width) && isnan(in) && isnan(out))
		return false;
	set_value(row, is_bad ? ROLE_WARNING : ROLE_NORMAL, "–");
	if (!isnan(generation) && !isnan(width))
		snprintf(row->value, sizeof row->value, "%.0f.0 ×%.0f%s", generation, width, is_bad ? " ⚠" : "");
	else if (!isnan(width))
		snprintf(row->value, sizeof row->value, "×%.0f%s", width, is_bad ? " ⚠" : "");
	if (gpu_link_is_narrow(gpu))
		line_add(&row->more, 0, ROLE_WARNING, "of ×%.0f", gpu_now(gpu, METRIC_GPU_PCIE_WIDTH_MAX));
	if (generation < max)
		line_add(&row->more, gpu_link_is_slow(gpu) ? 0 : 3, gpu_link_is_slow(gpu) ? ROLE_WARNING : ROLE_DIM,
			gpu_link_is_slow(gpu) ? "of %.0f.0" : "up to %.0f.0 when busy", max);
	add_directions(&row->more, 1, in, out);
	row->is_urgent = is_bad;
	return true;
}

static bool show_nvlink(const struct shown *shown, struct fact_row *row)
{
	double in = gpu_rate(shown->gpu, METRIC_GPU_NVLINK_RECEIVED), out = gpu_rate(shown->gpu, METRIC_GPU_NVLINK_SENT);
	char text[NUMBER_SIZE];
	if (isnan(in) && isnan(out))
		return false;
	snprintf(row->value, sizeof row->value, "in %s/s", format_bytes(text, in));
	add_directions(&row->more, 0, NAN, out);
	return true;
}

/* -- errors, and the cost -- */

static bool show_ecc(const struct shown *shown, struct fact_row *row)
{
	double corrected = gpu_now(shown->gpu, METRIC_GPU_ECC_CORRECTED),
		   uncorrected = gpu_now(shown->gpu, METRIC_GPU_ECC_UNCORRECTED);
	double replays = gpu_now(shown->gpu, METRIC_GPU_PCIE_REPLAYS);
	char text[NUMBER_SIZE];
	if (isnan(corrected) && isnan(uncorrected))
		return false;
	row->is_urgent = uncorrected > 0;
	row->role = uncorrected > 0 ? ROLE_CRITICAL : ROLE_NORMAL;
	snprintf(row->value, sizeof row->value, "%s%s uncorrected", uncorrected > 0 ? "⚠ " : "",
		parts_thousands(text, uncorrected));
	line_add(&row->more, 0, ROLE_NORMAL, "%s corrected", parts_thousands(text, corrected));
	if (replays > 0)
		line_add(&row->more, 1, ROLE_NORMAL, "%s PCIe replays", parts_thousands(text, replays));
	return true;
}

static bool show_happening(const struct shown *shown, struct fact_row *row)
{
	const struct gpus *gpus = &shown->scene->model->gpus;
	char text[NUMBER_SIZE];
	for (uint64_t i = gpus->happening_count; i-- > 0 && i + GPU_EVENTS_RETAINED >= gpus->happening_count;) {
		const struct gpu_happening *happening = &gpus->happenings[i % GPU_EVENTS_RETAINED];

		if (happening->instance != shown->gpu->instance)
			continue;
		if (happening->code != 0)
			snprintf(row->value, sizeof row->value, "⚠ XID %u", happening->code);
		else
			snprintf(row->value, sizeof row->value, "⚠");
		row->role = ROLE_WARNING;
		row->is_urgent = true;
		line_add(&row->more, 1, ROLE_NORMAL, "%s", parts_clock(text, shown->scene, happening->time_ns));
		line_add(&row->more, 0, ROLE_NORMAL, "%s", happening->text);
		return true;
	}
	return false;
}

static bool show_cost(const struct shown *shown, struct fact_row *row)
{
	double ns_per_s = gpu_rate(shown->gpu, METRIC_GPU_READING);
	char text[NUMBER_SIZE];
	if (isnan(ns_per_s))
		return false;
	snprintf(row->value, sizeof row->value, "%s per second", format_seconds(text, ns_per_s * 1e-9));
	row->role = ROLE_DIM;
	line_add(&row->more, 0, ROLE_DIM, "to query the driver");
	return true;
}

/* -- together -- */

static const struct fact {
	const char *label;
	int rank;
	bool (*show)(const struct shown *, struct fact_row *);
} facts[] = {
	{ "lost", 0, show_lost },
	{ "busy", 0, show_busy },
	{ "activity", 4, show_units },
	{ "memory", 0, show_memory },
	{ "", 3, show_shares },
	{ "", 9, show_reserved },
	{ "allocator", 6, show_allocator },
	{ "growth", 5, show_growth },
	{ "power", 1, show_power },
	{ "temp", 2, show_heat },
	{ "clock", 2, show_clock },
	{ "throttled", 1, show_throttled },
	{ "PCIe", 7, show_pcie },
	{ "NVLink", 8, show_nvlink },
	{ "ECC", 9, show_ecc },
	{ "event", 3, show_happening },
	{ "overhead", 10, show_cost },
};
enum {
	FACTS = sizeof facts / sizeof facts[0],
	LABEL_WIDTH = 11,
	VALUE_WIDTH = 15,
	BAR_MAX = 24,
	BAR_MIN = 8,
	MORE_WIDTH = 7
};

static bool show(const struct shown *shown, int fact, struct fact_row *row)
{
	row->value[0] = '\0';
	row->role = ROLE_NORMAL;
	row->has_bar = row->is_urgent = false;
	row->first = row->second = 0;
	line_start(&row->more, " · ");
	return facts[fact].show(shown, row);
}

static int draw_shares(struct canvas *canvas, struct rect rect, const struct fact_row *row)
{
	double first = fmin(fmax(row->first, 0), 1), second = fmin(fmax(row->second, 0), 1);
	int end = (int)lrint((first + second) * rect.width), own = (int)lrint(first * rect.width);
	own = first > 0 && own == 0 ? 1 : own;
	for (int x = 0; x < rect.width; x++)
		canvas_put(canvas, rect.x + x, rect.y,
			x < own       ? 0x2588
				: x < end ? 0x2592
						  : 0xb7,
			x < own ? ROLE_MEMORY : ROLE_DIM);
	return rect.width;
}

static void draw_fact(struct canvas *canvas, struct rect row, const char *label, struct fact_row *fact)
{
	int bar = row.width - LABEL_WIDTH - VALUE_WIDTH - MORE_WIDTH;
	canvas_text(canvas, row.x, row.y, LABEL_WIDTH - 1, ROLE_DIM, label);
	rect_take_left(&row, LABEL_WIDTH);
	int used = canvas_text(canvas, row.x, row.y, row.width, fact->role, fact->value);

	if (fact->has_bar && bar >= BAR_MIN) {
		rect_take_left(&row, VALUE_WIDTH);
		rect_take_left(
			&row, draw_shares(canvas, (struct rect){ row.x, row.y, bar < BAR_MAX ? bar : BAR_MAX, 1 }, fact) + 1);
	} else if (line_fit(&fact->more, row.width - used - 3) > 0) {
		rect_take_left(&row, used);
		rect_take_left(&row, canvas_text(canvas, row.x, row.y, row.width, ROLE_DIM, " · "));
	}
	line_draw(&fact->more, canvas, row.x, row.y, row.width);
}

int gpu_facts_rows(struct scene *scene, const struct gpu *gpu)
{
	const struct shown shown = { scene, gpu };
	char meaning[GPU_WORDS_SIZE];
	struct fact_row row;
	int rows = 0;
	for (int i = 0; i < FACTS; i++)
		rows += show(&shown, i, &row);
	gpu_meaning(scene, gpu, meaning);
	return rows + (meaning[0] != '\0' ? 1 : 0);
}

/* Chooses the lines to draw: drops the least important until the rest fits. */
static void choose(const struct shown *shown, int height, bool chosen[FACTS])
{
	int ranks[FACTS], count = 0;
	struct fact_row row;
	for (int i = 0; i < FACTS; i++) {
		chosen[i] = show(shown, i, &row);
		ranks[i] = row.is_urgent ? 0 : facts[i].rank;
		count += chosen[i];
	}
	while (count > height) {
		int min = -1;
		for (int i = 0; i < FACTS; i++)
			if (chosen[i] && (min < 0 || ranks[i] >= ranks[min]))
				min = i;
		chosen[min] = false;
		count--;
	}
}

void gpu_facts(struct scene *scene, const struct gpu *gpu, struct canvas *canvas, struct rect rect)
{
	const struct shown shown = { scene, gpu };
	char meaning[GPU_WORDS_SIZE];
	bool chosen[FACTS], is_complaint = gpu_meaning(scene, gpu, meaning);
	struct rect measure = { 0, 0, rect.width, 0 };
	struct fact_row row;
	if (rect.height < 1)
		return;
	int rows = meaning[0] != '\0' && rect.height >= 3 ? parts_wrap(canvas, measure, ROLE_NORMAL, meaning) : 0;
	struct rect below = rect_take_bottom(&rect, rows > 2 && rect.height < 10 ? 2 : rows);

	choose(&shown, rect.height, chosen);
	for (int i = 0; i < FACTS; i++)
		if (chosen[i] && show(&shown, i, &row))
			draw_fact(canvas, rect_take_top(&rect, 1), facts[i].label, &row);
	/* an empty row above it, if there is one */
	if (rect.height > 0 && below.height > 0)
		below.y -= rect.height - 1;
	parts_wrap(canvas, below, is_complaint ? ROLE_WARNING : ROLE_GOOD, meaning);
}
