/* Figures of the memory of the process and its children. */
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "src/base/clock.h"
#include "src/model/memory/memory_words.h"
#include "src/rules/inputs/figures.h"

static double of_slope(const struct context *context, double value)
{
	return context->model->memory.slope.points ? value : NAN;
}

NUMBER(slope) { return of_slope(context, context->model->memory.slope.per_s); }
NUMBER(slope_low) { return of_slope(context, context->model->memory.slope.low_per_s); }
NUMBER(slope_high) { return of_slope(context, context->model->memory.slope.high_per_s); }

NUMBER(growth_seconds)
{
	int64_t since_ns = context->model->memory.growth_since_ns;
	return since_ns ? seconds_between(since_ns, context->model->now_ns) : NAN;
}

NUMBER(limit_in) { return context->model->memory.limit ? context->model->memory.limit_in_s : NAN; }
NUMBER(limit_room) { return context->model->memory.limit ? context->model->memory.limit_room_bytes : NAN; }
TEXT(limit) { snprintf(out, FIGURE_TEXT_SIZE, "%s", context->model->memory.limit ? context->model->memory.limit : ""); }
TEXT(verdict)
{
	const char *word = memory_verdict_word(context->model->memory.verdict);
	snprintf(out, FIGURE_TEXT_SIZE, "%s", word ? word : "");
}
TEXT(grower) { snprintf(out, FIGURE_TEXT_SIZE, "%s", context->model->memory.grower); }
TEXT(grower_kind)
{
	snprintf(out, FIGURE_TEXT_SIZE, "%s",
		context->model->memory.grower_kind ? memory_kind_word(context->model->memory.grower_kind) : "");
}

static double machine_bytes(const struct context *context)
{
	double bytes = context->model->system.now[METRIC_SYSTEM_MEMORY];
	return bytes > 0 ? bytes : NAN;
}

NUMBER(tree_share) { return context->model->memory.tree_rss_bytes / machine_bytes(context); }

/* Uses the verdict, not the slope, which may stay positive long after the growth has ended. */
NUMBER(grows) { return memory_is_growing(&context->model->memory); }

#define SPIKE_RECENT_NS (60 * NS_PER_S)

NUMBER(spike)
{
	const struct memory *memory = &context->model->memory;
	if (isnan(memory->tree_rss_bytes))
		return NAN;
	return memory->spike_ns && context->model->now_ns - memory->spike_ns < SPIKE_RECENT_NS ? memory->spike_bytes : 0;
}

NUMBER(spike_share) { return spike(context, argument) / context->model->memory.tree_rss_bytes; }

#define MEMORY(name, form, member, what) MEMBER_ROW(name, form, memory.member, what, NULL)
#define MADE(name, form, function, what) NUMBER_ROW(name, form, MODEL, function, what, NULL)
#define WORDS(name, function, what) TEXT_ROW(name, MODEL, function, what, NULL)

static const struct figure rows[] = {
	MEMORY("memory.rss_bytes", BYTES, rss_bytes, "resident memory of the process"),
	MEMORY("memory.peak_rss_bytes", BYTES, peak_rss_bytes, "its peak"),
	MEMORY("memory.anonymous_bytes", BYTES, anonymous_bytes, "anonymous memory of the process"),
	MEMORY("memory.shared_bytes", BYTES, shared_bytes, "shared memory of the process"),
	MEMORY("memory.swap_bytes", BYTES, swap_bytes, "memory of the process in swap"),
	MEMORY("memory.tree_rss_bytes", BYTES, tree_rss_bytes,
		"resident memory of the process and its children: an upper bound"),
	MEMORY("memory.tree_peak_bytes", BYTES, tree_peak_bytes, "its peak"),
	MADE("memory.tree_share_ratio", PERCENT, tree_share, "the same ÷ the machine's memory"),
	MEMORY("memory.growth_bytes", BYTES, growth_bytes, "growth since the warm-up"),
	MADE("memory.growth_s", SECONDS, growth_seconds, "duration of that growth"),
	MADE("memory.slope_bytes_per_s", BYTES_PER_S, slope, "slope of the growth (Theil–Sen)"),
	MADE("memory.slope_low_bytes_per_s", BYTES_PER_S, slope_low, "lower bound of the slope's confidence interval"),
	MADE("memory.slope_high_bytes_per_s", BYTES_PER_S, slope_high, "upper bound"),
	MEMORY("memory.slope_bytes_per_batch", BYTES, slope_per_batch, "growth per batch"),
	MEMORY("memory.growth_bytes_per_epoch", BYTES, growth_per_epoch, "growth per epoch"),
	WORDS("memory.verdict", verdict, "growing, leak, cache, plateau, sawtooth, fragmentation or unknown"),
	WORDS("memory.grower", grower, "process or file that grows most"),
	WORDS("memory.grower_kind", grower_kind, "its kind of memory: anonymous, file or shared"),
	MEMORY("memory.grower_share_ratio", PERCENT, grower_share_ratio, "its share of the growth"),
	WORDS("memory.limit", limit, "the nearest limit: machine, cgroup or /dev/shm"),
	MADE("memory.limit_room_bytes", BYTES, limit_room, "memory left below that limit"),
	MADE("memory.limit_in_s", SECONDS, limit_in, "time until the limit at this slope"),
	MEMORY("memory.shm_others_growth_bytes", BYTES, shm_others_growth_bytes,
		"growth of files in /dev/shm that no process of the run has open"),
	MADE("memory.grows", COUNT, grows, "1 if the verdict is growing or leak, else 0"),
	MADE("memory.spike_bytes", BYTES, spike, "height of a peak in the last minute above the memory before and after"),
	MADE("memory.spike_ratio", PERCENT, spike_share, "the same ÷ the memory now"),
};

const struct figure_part memory_figures = { rows, sizeof rows / sizeof *rows };
