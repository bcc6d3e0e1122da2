#include "src/model/memory/memory_verdict.h"

#include <string.h>

#include "src/model/memory/memory_parts.h"
#include "src/model/memory/memory_words.h"
#include "src/model/model_private.h"

enum {
	BLOCKS = 48,
	LAST_BLOCKS_MIN = 8,
	SAMPLES_MIN = 8,
	TEETH_MAX = 64,
	TEETH_MIN = 3,
	TOOTH_SAMPLES_MIN = 6,
	LEAK_BATCHES_MIN = 200
};
#define GROWING_MIN_S 4.0
/* Within fewer batches, growth may be part of a batch. If batches are unknown, a minimum time replaces their number. */
#define GROWING_MIN_BATCHES 10
#define GROWING_UNBATCHED_S 60.0
#define UNBATCHED_LAST_RATIO 0.5
/* While no batch ends for longer (an evaluation, a long step), memory is not judged, for it may fall again; after
 * GROWING_UNBATCHED_S it is. */
#define PAUSE_S 2.0
#define PLATEAU_MIN_S 10.0
#define LEAK_MIN_S 15.0
#define FLAT_MIN_S 30.0
#define LEAK_UNCOUNTED_S 60.0
#define LEAK_UNBATCHED_S 300.0
#define LEAK_FIRST_EPOCH_S 1800.0
#define TOOTH_MIN_S 3.0
#define LEAK_RATIO 0.01
#define LEAK_MIN_BYTES 16e6
#define CACHE_RATIO 0.02
#define CACHE_MIN_BYTES 32e6
#define FRAGMENT_MIN_BYTES 256e6

/* The window: means of blocks of samples, and their slope. */
struct window {
	const struct model *model;
	const struct memory_trend *trend;
	size_t from, blocks, count;
	size_t judged[TREND_SAMPLES_MAX]; /* indices of the samples outside pauses, `count` of them */
	double time_s[BLOCKS], bytes[BLOCKS];
	double length_s, noticeable;
	struct slope whole, last; /* last: of the last third */
};

/* The teeth of a sawtooth: drops by more than the noticeable, each after a rise by more than that. */
struct teeth {
	size_t falls, lows;
	double low_s[TEETH_MAX], low_bytes[TEETH_MAX]; /* the first is the begin of the window */
	double up_s, down_s, height;
	double fallen; /* current distance below the latest high */
};

void memory_forget_slope(struct model *model)
{
	struct memory *memory = &model->memory;
	memory->slope = (struct slope){ NAN, NAN, NAN, 0 };
	memory->slope_per_batch = memory->slope_per_batch_low = memory->slope_per_batch_high = memory->growth_per_epoch =
		NAN;
	memory->verdict = MEMORY_UNKNOWN;
	memory->growing_since_ns = 0;
	memory->grower[0] = '\0';
	memory->grower_kind = MEMORY_KIND_NONE;
	memory->grower_pid = 0;
	memory->grower_share_ratio = NAN;
	memory->shm_others_growth_bytes = NAN;
}

typedef double part_of_sample(const struct memory_sample *sample, struct memory_basis basis);

/* Leaves out the samples in pauses. If batches are unknown, there is no pause. */
static void choose_samples(struct window *window)
{
	const struct memory_sample *samples = window->trend->samples;
	size_t last = window->trend->count - 1, batch = last;
	while (batch > window->from && samples[batch].batches <= samples[batch - 1].batches)
		batch--;
	bool has_stopped = seconds_between(samples[batch].time_ns, samples[last].time_ns) >= GROWING_UNBATCHED_S;
	int64_t batch_ns = samples[window->from].time_ns;
	window->count = 0;
	for (size_t i = window->from; i <= last; i++) {
		bool is_new = i > window->from && samples[i].batches > samples[i - 1].batches;
		batch_ns = is_new || !(samples[i].batches > 0) ? samples[i].time_ns : batch_ns;
		if ((has_stopped && i > batch) || seconds_between(batch_ns, samples[i].time_ns) <= PAUSE_S)
			window->judged[window->count++] = i;
	}
}

static void fill_blocks(struct window *window, part_of_sample *part)
{
	const struct memory_trend *trend = window->trend;
	size_t count = window->count;
	window->blocks = count < BLOCKS ? count : BLOCKS;
	for (size_t block = 0; block < window->blocks; block++) {
		size_t first = block * count / window->blocks, end = (block + 1) * count / window->blocks;
		double time_s = 0, bytes = 0;
		for (size_t i = first; i < end; i++) {
			const struct memory_sample *sample = &trend->samples[window->judged[i]];
			time_s += seconds_between(trend->samples[window->from].time_ns, sample->time_ns);
			bytes += part(sample, trend->basis);
		}
		window->time_s[block] = time_s / (double)(end - first);
		window->bytes[block] = bytes / (double)(end - first);
	}
}

static bool measure(struct window *window)
{
	window->last.points = 0;
	if (!theil_sen(window->time_s, window->bytes, window->blocks, &window->whole))
		return false;
	/* With few samples, a third has too few for a slope. */
	size_t last = window->blocks / 3 > LAST_BLOCKS_MIN ? window->blocks / 3 : LAST_BLOCKS_MIN,
		   first = window->blocks - last;
	if (2 * last <= window->blocks && !theil_sen(window->time_s + first, window->bytes + first, last, &window->last))
		window->last.points = 0;
	return true;
}

/* -- sawtooth -- */

struct turn {
	double s, bytes;
};

static void note_low(struct teeth *teeth, struct turn low)
{
	if (teeth->lows == TEETH_MAX)
		return;
	teeth->low_s[teeth->lows] = low.s;
	teeth->low_bytes[teeth->lows++] = low.bytes;
}

static void find_teeth(const struct window *window, struct teeth *teeth)
{
	const struct memory_trend *trend = window->trend;
	struct turn low = { 0, memory_retained(&trend->samples[window->from], trend->basis) }, high = low;
	bool is_rising = true;
	*teeth = (struct teeth){ 0 };
	note_low(teeth, low);
	for (size_t i = window->from; i < trend->count; i++) {
		struct turn now = { seconds_between(trend->samples[window->from].time_ns, trend->samples[i].time_ns),
			memory_retained(&trend->samples[i], trend->basis) };
		if (is_rising && now.bytes >= high.bytes) {
			high = now;
		} else if (is_rising && high.bytes - now.bytes > window->noticeable &&
			high.bytes - now.bytes > 0.5 * (high.bytes - low.bytes)) {
			teeth->falls += high.bytes - low.bytes > window->noticeable;
			teeth->up_s += high.s - low.s;
			teeth->height += high.bytes - low.bytes;
			low = now;
			is_rising = false;
		} else if (!is_rising && now.bytes <= low.bytes) {
			low = now;
		} else if (!is_rising && now.bytes - low.bytes > window->noticeable) {
			teeth->down_s += low.s - high.s;
			note_low(teeth, low);
			high = now;
			is_rising = true;
		}
		teeth->fallen = high.bytes - now.bytes;
	}
}

static bool has_rising_lows(const struct window *window, const struct teeth *teeth)
{
	return teeth->lows >= 2 &&
		teeth->low_bytes[teeth->lows - 1] - teeth->low_bytes[teeth->lows >= TEETH_MIN + 1 ? 1 : 0] > window->noticeable;
}

static bool has_alike_turns(const struct window *window, const struct teeth *teeth)
{
	double turns_s[TEETH_MAX], min = INFINITY, max = 0;
	size_t count = 0;
	for (size_t i = 2; i < teeth->lows; i++) {
		turns_s[count] = teeth->low_s[i] - teeth->low_s[i - 1];
		min = fmin(min, turns_s[count]);
		max = fmax(max, turns_s[count++]);
	}
	double median = median_of(turns_s, count),
		   sample_s = window->length_s / (double)(window->trend->count - window->from);
	return count >= 1 && median >= TOOTH_MIN_S && median >= TOOTH_SAMPLES_MIN * sample_s && min > 0.4 * median &&
		max < 2.5 * median;
}

static bool is_sawtooth(const struct window *window, const struct teeth *teeth)
{
	return teeth->falls >= TEETH_MIN && teeth->lows >= TEETH_MIN && !has_rising_lows(window, teeth) &&
		teeth->up_s > teeth->down_s && has_alike_turns(window, teeth);
}

/* -- leak -- */

/* Without batches, growth may be the program's start (imports, the model, its data): it must go on in the last third.
 */
static bool goes_on(const struct window *window)
{
	return window->last.points && window->last.low_per_s > 0 &&
		window->last.per_s >= UNBATCHED_LAST_RATIO * window->whole.per_s;
}

/* Sum of squared distances from the mean. */
static double scatter(const double *bytes, size_t count)
{
	double mean = 0, sum = 0;
	for (size_t i = 0; i < count; i++)
		mean += bytes[i] / (double)count;
	for (size_t i = 0; i < count; i++)
		sum += (bytes[i] - mean) * (bytes[i] - mean);
	return sum;
}

/* Whether the blocks from `first` on are closer to a line than to a single rise between two constant levels: what an
 * evaluation or a checkpoint leaves in the allocator is no trend. */
static bool is_line(const struct window *window, size_t first)
{
	const double *bytes = window->bytes + first, *time_s = window->time_s + first;
	size_t count = window->blocks - first;
	double mean_s = 0, mean = 0, cross = 0, level = INFINITY;
	for (size_t i = 0; i < count; i++) {
		mean_s += time_s[i] / (double)count;
		mean += bytes[i] / (double)count;
	}
	for (size_t i = 0; i < count; i++)
		cross += (time_s[i] - mean_s) * (bytes[i] - mean);
	for (size_t i = 1; i < count; i++)
		level = fmin(level, scatter(bytes, i) + scatter(bytes + i, count - i));
	return scatter(bytes, count) - cross * cross / scatter(time_s, count) <= level;
}

/* In the whole window, or in its last third, if growth began late. */
static bool has_trend(const struct window *window)
{
	size_t first = window->blocks - window->last.points;
	return is_line(window, 0) ||
		(window->last.points && window->last.low_per_s * window->length_s / 3 > window->noticeable &&
			is_line(window, first));
}

static bool is_growth(const struct window *window)
{
	const struct memory_trend *trend = window->trend;
	double batches = trend->samples[trend->count - 1].batches - trend->samples[window->from].batches;
	bool is_long = batches >= GROWING_MIN_BATCHES
		? window->length_s >= GROWING_MIN_S
		: !(batches > 0) && window->length_s >= GROWING_UNBATCHED_S && goes_on(window);
	return is_long && window->whole.low_per_s * window->length_s > window->noticeable && has_trend(window);
}

/* Of an inferred run whose epochs have no number, the passes that pmtop saw count. */
static bool is_second_or_later(const struct run *run, const struct epoch *epoch)
{
	uint32_t number = run_epoch_number(run, epoch->ordinal);
	return (number ? number : epoch->ordinal) >= 2;
}

/* *begin_ns: when the second training epoch began, or the oldest one after it that is retained; INT64_MAX = not yet.
 * False: no epochs are published. */
static bool second_epoch(const struct model *model, int64_t *begin_ns)
{
	bool has_epochs = false;
	*begin_ns = INT64_MAX;
	for (unsigned k = 0; k < model->run_count; k++) {
		const struct run *run = &model->runs[k];
		for (size_t i = 0; i < run->epoch_count; i++) {
			const struct epoch *epoch = &run->epochs[i];
			has_epochs = true;
			if (epoch->mode != run_main(run)->mode || !is_second_or_later(run, epoch))
				continue;
			if (epoch->begin_ns < *begin_ns)
				*begin_ns = epoch->begin_ns;
			break; /* epochs are in order: to number each of thousands would take longer with every one */
		}
	}
	return has_epochs;
}

static bool is_long_enough(const struct window *window)
{
	const struct memory_trend *trend = window->trend;
	const struct memory *memory = &window->model->memory;
	int64_t begin_ns, newest_ns = trend->samples[trend->count - 1].time_ns;
	double batches = trend->samples[trend->count - 1].batches - trend->samples[window->from].batches;
	if (second_epoch(window->model, &begin_ns)) {
		if (memory->growing_since_ns && seconds_between(memory->growing_since_ns, newest_ns) >= LEAK_FIRST_EPOCH_S)
			return true;
		return begin_ns <= newest_ns - (int64_t)(window->length_s / 3 * 1e9);
	}
	return batches >= LEAK_BATCHES_MIN ? window->length_s >= LEAK_UNCOUNTED_S : window->length_s >= LEAK_UNBATCHED_S;
}

static bool is_leak(const struct window *window, const struct teeth *teeth)
{
	const struct memory *memory = &window->model->memory;
	double min = fmax(LEAK_RATIO * memory->tree_rss_bytes, LEAK_MIN_BYTES),
		   grown = window->whole.per_s * window->length_s;
	bool is_steady = window->last.points && window->last.per_s >= 0.5 * window->whole.per_s;
	bool falls_back = teeth->fallen > 0.3 * grown || (teeth->falls > 0 && !has_rising_lows(window, teeth));
	return window->length_s >= LEAK_MIN_S && memory->growth_bytes >= min && is_steady && !falls_back &&
		is_long_enough(window);
}

/* -- plateau and cache -- */

static bool is_flat_now(const struct window *window)
{
	double third_s = window->length_s / 3;
	return window->length_s >= FLAT_MIN_S && window->last.points &&
		window->last.high_per_s * third_s < window->noticeable &&
		window->last.per_s < 0.25 * fmax(window->whole.per_s, 0) &&
		window->bytes[window->blocks - 1] - window->bytes[0] > window->noticeable;
}

static double retained_at(const struct memory_trend *trend, int64_t time_ns)
{
	for (size_t i = 0; i < trend->count; i++)
		if (trend->samples[i].time_ns >= time_ns)
			return memory_retained(&trend->samples[i], trend->basis);
	return NAN;
}

/* Memory grew steadily during the first epoch and not since: data that was read once is cached. Allocations at the
 * start would grow at once, not steadily. */
static bool filled_in_first_epoch(const struct window *window)
{
	const struct memory_trend *trend = window->trend;
	const struct run *run = window->model->run_count ? &window->model->runs[0] : NULL;
	if (!run || run->epoch_count == 0 || (run->is_counted ? run->epochs[0].ordinal != 1 : run->epochs_dropped > 0) ||
		run->epochs[0].index == EPOCH_UNKNOWN || !run->epochs[0].end_ns || trend->count == 0)
		return false;
	const struct epoch *first = &run->epochs[0];
	int64_t length_ns = first->end_ns - first->begin_ns;
	if (trend->samples[0].time_ns > first->begin_ns + length_ns / 8)
		return false;
	double begin = retained_at(trend, first->begin_ns), middle = retained_at(trend, first->begin_ns + length_ns / 2),
		   end = retained_at(trend, first->end_ns);
	double grown = end - begin, since = window->bytes[window->blocks - 1] - end;
	return grown > fmax(CACHE_RATIO * window->model->memory.tree_rss_bytes, CACHE_MIN_BYTES) &&
		middle - begin > 0.25 * grown && middle - begin < 0.75 * grown && fabs(since) < 0.1 * grown;
}

static bool is_fragmented(const struct window *window)
{
	const struct series *series = NULL;
	double held, min, max, anonymous = window->model->memory.anonymous_bytes;
	for (unsigned i = 0; i < window->model->run_count; i++)
		if (window->model->runs[i].pid == window->model->target_pid &&
			run_gauge(&window->model->runs[i], "heap.allocated_bytes", &held, &series))
			return series_extremes(series, &min, &max) && anonymous > 2 * held &&
				anonymous - held > FRAGMENT_MIN_BYTES && max > 1.5 * held;
	return false;
}

/* -- the verdict -- */

static enum memory_verdict verdict_of(const struct window *window)
{
	struct teeth teeth;
	find_teeth(window, &teeth);
	if (is_sawtooth(window, &teeth))
		return MEMORY_SAWTOOTH;
	if (is_flat_now(window))
		return filled_in_first_epoch(window) ? MEMORY_CACHE
			: is_fragmented(window)          ? MEMORY_FRAGMENTATION
											 : MEMORY_PLATEAU;
	if (is_growth(window))
		return is_leak(window, &teeth) ? MEMORY_LEAK : MEMORY_GROWING;
	if (window->length_s < PLATEAU_MIN_S || window->whole.high_per_s * window->length_s >= window->noticeable)
		return MEMORY_UNKNOWN;
	return filled_in_first_epoch(window) ? MEMORY_CACHE : is_fragmented(window) ? MEMORY_FRAGMENTATION : MEMORY_PLATEAU;
}

static void set_slope(struct model *model, const struct window *window)
{
	struct memory *memory = &model->memory;
	const struct memory_trend *trend = window->trend;
	double batches = trend->samples[trend->count - 1].batches - trend->samples[window->from].batches;
	memory->slope = window->whole;
	if (!(batches > 0))
		return;
	memory->slope_per_batch = window->whole.per_s * window->length_s / batches;
	memory->slope_per_batch_low = window->whole.low_per_s * window->length_s / batches;
	memory->slope_per_batch_high = window->whole.high_per_s * window->length_s / batches;
}

/* Growth per epoch: slope × the time between the begins of the last two training epochs, else slope per batch × planned
 * batches. */
static void set_growth_per_epoch(struct memory *memory, const struct run *run)
{
	const struct epoch *next = NULL;
	for (size_t i = run->epoch_count; i-- > 0;) {
		const struct epoch *epoch = &run->epochs[i];
		if (epoch->mode != run_main(run)->mode)
			continue;
		if (next) {
			memory->growth_per_epoch = memory->slope.per_s * seconds_between(epoch->begin_ns, next->begin_ns);
			return;
		}
		next = epoch;
	}
	if (run->epoch_length)
		memory->growth_per_epoch = memory->slope_per_batch * (double)run->epoch_length;
}

/* Files are judged only if nothing else grows: the kernel reclaims their pages when memory is short. */
static bool judge_files(struct model *model, struct window *window)
{
	double grown = memory_part_growth(window->trend, window->from, window->trend->basis.file);
	if (!(grown > window->noticeable))
		return false;
	struct window files = *window;
	fill_blocks(&files, memory_cached);
	if (!measure(&files) || !is_growth(&files))
		return false;
	set_slope(model, &files);
	model->memory.verdict = MEMORY_CACHE;
	return true;
}

static double others_in_shm(const struct memory_sample *sample, struct memory_basis basis)
{
	(void)basis;
	return sample->part[PART_SHM_OTHERS];
}

/* Growth of other programs' files in /dev/shm; NAN = none, or not distinguishable. */
static void judge_others_in_shm(struct model *model, const struct window *window)
{
	struct window others = *window;
	double grown = memory_part_growth(window->trend, window->from, PART_SHM_OTHERS);
	model->memory.shm_others_growth_bytes = NAN;
	if (!(grown > window->noticeable))
		return;
	fill_blocks(&others, others_in_shm);
	if (measure(&others) && is_growth(&others))
		model->memory.shm_others_growth_bytes = grown;
}

void memory_judge(struct model *model, size_t from)
{
	struct memory *memory = &model->memory;
	struct window window = { .model = model, .trend = &model->priv->trend, .from = from };
	int64_t growing_since_ns = memory->growing_since_ns;
	memory_forget_slope(model);
	if (window.trend->count < from + SAMPLES_MIN)
		return;
	memory->growing_since_ns = growing_since_ns;
	window.noticeable = memory_noticeable(memory);
	window.length_s =
		seconds_between(window.trend->samples[from].time_ns, window.trend->samples[window.trend->count - 1].time_ns);
	choose_samples(&window);
	judge_others_in_shm(model, &window);
	fill_blocks(&window, memory_retained);
	if (!measure(&window))
		return;
	set_slope(model, &window);
	memory->verdict = verdict_of(&window);
	bool is_growing = memory_is_growing(memory);
	memory->growing_since_ns = !is_growing ? 0
		: growing_since_ns                 ? growing_since_ns
										   : window.trend->samples[from].time_ns;
	if (!is_growing)
		judge_files(model, &window);
	if (model->run_count)
		set_growth_per_epoch(memory, &model->runs[0]);
	memory_attribute(model, from, window.noticeable);
}

double memory_trend_left_s(const struct memory *memory, int64_t now_ns)
{
	return memory->growth_since_ns ? FLAT_MIN_S - seconds_between(memory->growth_since_ns, now_ns) : NAN;
}
