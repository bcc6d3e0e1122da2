#include "tests/support/story_region.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void story_region_init(struct story_region *region)
{
	memset(region, 0, sizeof *region);
	region->state.loss = NAN;
	region->bin_width = 1;
}

static void add_to_total(
	struct story_region *region, enum total_kind kind, uint32_t mode, const struct record *span, double seconds)
{
	uint32_t name = span ? span->span.name : 0, parent = span ? span->span.parent : 0;
	struct total_row *row = region->totals;
	while (row < region->totals + region->total_count &&
		(row->kind != kind || row->mode != mode || row->name != name || row->parent != parent))
		row++;
	if (row == region->totals + STORY_TOTALS_MAX)
		abort();
	if (row == region->totals + region->total_count) {
		region->total_count++;
		*row = (struct total_row){ .kind = kind,
			.mode = mode,
			.name = name,
			.parent = parent,
			.depth = span ? span->span.depth : 0,
			.min_s = seconds,
			.max_s = seconds,
			.cpu_s = NAN,
			.memory_bytes = NAN,
			.has_histogram = true };
	}
	row->count++;
	row->total_s += seconds;
	row->self_s += span ? (double)span->span.self_s : seconds;
	row->min_s = fmin(row->min_s, seconds);
	row->max_s = fmax(row->max_s, seconds);
	row->last_s = seconds;
	row->squares_s2 += seconds * seconds;
	if (span && !isnan(span->span.cpu_s))
		row->cpu_s = (isnan(row->cpu_s) ? 0 : row->cpu_s) + (double)span->span.cpu_s;
	row->histogram[histogram_bucket((uint64_t)llround(seconds * 1e9))]++;
}

static void merge_bins(struct story_region *region)
{
	for (size_t i = 0; i < STORY_BINS_MAX / 2; i++) {
		struct history_row left = region->bins[2 * i], right = region->bins[2 * i + 1];
		left.count += right.count;
		left.sum_s += right.sum_s;
		left.min_s = fmin(left.min_s, right.min_s);
		left.max_s = fmax(left.max_s, right.max_s);
		region->bins[i] = left;
	}
	region->bin_count = STORY_BINS_MAX / 2;
	region->bin_width *= 2;
}

static void close_step(struct story_region *region, double seconds)
{
	region->has_step = false;
	region->closed_step_s = seconds;
	region->closed_step_mode = region->step_mode;
	add_to_total(region, TOTAL_STEP, region->step_mode, NULL, seconds);
	struct history_row *bin = region->bin_count ? &region->bins[region->bin_count - 1] : NULL;
	if (!bin || bin->count >= region->bin_width) {
		if (region->bin_count == STORY_BINS_MAX)
			merge_bins(region);
		bin = &region->bins[region->bin_count++];
		*bin = (struct history_row){
			.first = region->steps, .min_s = seconds, .max_s = seconds, .begin_ns = region->step_begin_ns
		};
	}
	bin->count++;
	bin->sum_s += seconds;
	bin->min_s = fmin(bin->min_s, seconds);
	bin->max_s = fmax(bin->max_s, seconds);
	region->steps++;
}

static void close_last_step(struct story_region *region)
{
	if (region->has_step)
		close_step(region, region->step_batch_s);
}

static void begin_epoch(struct story_region *region, const struct record *event)
{
	if (region->epoch_count == STORY_EPOCHS_MAX) {
		memmove(region->epochs, region->epochs + 1, (STORY_EPOCHS_MAX - 1) * sizeof *region->epochs);
		region->epoch_count--;
		region->epochs_dropped++;
	}
	region->epochs[region->epoch_count++] =
		(struct epoch_row){ .index = event->epoch.index, .mode = region->state.mode, .begin_ns = event->time_ns };
	region->state.in_epoch = true;
	region->state.epoch_index = event->epoch.index;
	region->state.epoch_begin_ns = event->time_ns;
	region->state.epochs_begun++;
	region->state.batches_in_epoch = 0;
}

static void end_batch(struct story_region *region, const struct record *event)
{
	double seconds = (double)(event->time_ns - event->batch.begin_ns) * 1e-9;
	add_to_total(region, TOTAL_BATCH, region->step_mode, NULL, seconds);
	region->step_batch_s = seconds;
	region->state.in_batch = false;
	if (!isnan(event->batch.loss))
		region->state.loss = event->batch.loss;
	struct epoch_row *epoch = region->epoch_count ? &region->epochs[region->epoch_count - 1] : NULL;
	if (!epoch || epoch->end_ns || epoch->mode != region->step_mode)
		return;
	epoch->min_s = epoch->batches ? fmin(epoch->min_s, seconds) : seconds;
	epoch->max_s = epoch->batches ? fmax(epoch->max_s, seconds) : seconds;
	epoch->sum_s += seconds;
	region->state.batches_in_epoch = ++epoch->batches;
}

void story_region_account(struct story_region *region, const struct record *event)
{
	region->closed_step_s = NAN;
	switch ((enum record_kind)event->kind) {
	case RECORD_BATCH_BEGIN:
		if (region->has_step)
			close_step(region, (double)(event->time_ns - region->step_begin_ns) * 1e-9);
		region->has_step = true;
		region->step_begin_ns = event->time_ns;
		region->step_mode = region->state.mode;
		region->state.in_batch = true;
		region->state.batch_index = event->batch.index;
		region->state.batch_begin_ns = event->time_ns;
		break;
	case RECORD_BATCH_END: end_batch(region, event); break;
	case RECORD_SPAN:
		add_to_total(region, TOTAL_SPAN, region->state.mode, event, (double)event->span.duration_ns * 1e-9);
		break;
	case RECORD_MODE: region->state.mode = event->mode.name; break;
	case RECORD_EPOCH_BEGIN: begin_epoch(region, event); break;
	case RECORD_EPOCH_END:
		close_last_step(region);
		region->epochs[region->epoch_count - 1].end_ns = event->time_ns;
		region->state.in_epoch = false;
		break;
	default: break;
	}
	for (size_t i = 0; i < region->total_count; i++)
		region->totals[i].upto = event->sequence + 1;
}

static void *copy_rows(struct sample_set *out, const void *rows, size_t size)
{
	void *copy = sample_set_allocate(out, size ? size : 1);
	if (!copy)
		abort();
	memcpy(copy, rows, size);
	return copy;
}

void story_region_emit_state(const struct story_region *region, struct sample_set *out, unsigned run, int64_t time_ns)
{
	sample_set_add(out, RECORD_STATE, run, time_ns)->state = copy_rows(out, &region->state, sizeof region->state);
}

void story_region_emit(const struct story_region *region, struct sample_set *out, unsigned run, int64_t time_ns)
{
	story_region_emit_state(region, out, run, time_ns);
	for (size_t i = 0; i < region->total_count; i++)
		sample_set_add(out, RECORD_TOTAL, run, time_ns)->total =
			copy_rows(out, &region->totals[i], sizeof region->totals[i]);
	struct record *history = sample_set_add(out, RECORD_HISTORY, run, time_ns);
	history->history.count = region->bin_count;
	history->history.rows = copy_rows(out, region->bins, region->bin_count * sizeof *region->bins);
	struct record *epochs = sample_set_add(out, RECORD_EPOCHS, run, time_ns);
	epochs->epochs.count = region->epoch_count;
	epochs->epochs.dropped = region->epochs_dropped;
	epochs->epochs.rows = copy_rows(out, region->epochs, region->epoch_count * sizeof *region->epochs);
}
