#include "src/playback/timeline.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "src/base/clock.h"
#include "src/base/thread.h"
#include "src/model/run/steps/tracks.h"

enum { BINS = 2048, GAPS_MAX = 1024, READ_AGAIN_MS = 200 };
#define BIN_FIRST_NS (100 * NS_PER_MS)
/* A gap: more time between two sets than this, and than this multiple of the median time. */
#define SILENT_NS (5 * NS_PER_S)
enum { SILENT_TIMES = 20 };

struct bin_steps {
	double sum_s;
	uint64_t count;
};
struct gap {
	int64_t from_ns, to_ns;
	bool is_lost;
};

struct timeline {
	pthread_t thread;
	/* used by the thread only */
	struct player *player;
	struct model *model;
	struct sample_set set;
	/* by run: the first ordinal of its main track whose step is not known; flags counted */
	uint64_t next[MODEL_RUNS_MAX], flags_known[MODEL_RUNS_MAX];
	unsigned main_track[MODEL_RUNS_MAX];
	double baseline_ns; /* between two sets */
	/* shared */
	pthread_mutex_t lock;
	pthread_cond_t stopped;
	bool is_stopping;
	struct timeline_state state;
	int64_t bin_ns;
	struct bin_steps bins[BINS];
	size_t gap_count;
	struct timeline_flag flags[TIMELINE_FLAGS_MAX]; /* the newest of state.flag_count, in a ring */
	struct gap gaps[GAPS_MAX];
};

/* -- the thread; all but looking is done under the lock, set by set -- */

static void halve_bins(struct timeline *timeline)
{
	for (size_t i = 0; i < BINS / 2; i++) {
		struct bin_steps *a = &timeline->bins[2 * i], *b = a + 1;
		timeline->bins[i] = (struct bin_steps){ a->sum_s + b->sum_s, a->count + b->count };
	}
	memset(timeline->bins + BINS / 2, 0, BINS / 2 * sizeof *timeline->bins);
	timeline->bin_ns *= 2;
}

/* A long step fills all bins that it spans: a hang is not a gap. */
static void note_step(struct timeline *timeline, const struct batch *batch)
{
	int64_t from_ns = batch->begin_ns - timeline->state.begin_ns,
			to_ns = from_ns + (int64_t)(batch->step_s * (double)NS_PER_S);
	if (to_ns < 0 || from_ns > INT64_MAX / 4)
		return;
	while (from_ns / timeline->bin_ns >= BINS)
		halve_bins(timeline);
	for (int64_t bin = from_ns > 0 ? from_ns / timeline->bin_ns : 0; bin <= to_ns / timeline->bin_ns && bin < BINS;
		 bin++) {
		timeline->bins[bin].sum_s += batch->step_s;
		timeline->bins[bin].count++;
	}
}

static void note_steps(struct timeline *timeline, unsigned index)
{
	const struct run *run = &timeline->model->runs[index];
	const struct track *track = run_main(run);
	uint64_t *next = &timeline->next[index];
	if (timeline->main_track[index] != run->main_track || *next > track->end || *next < track->first)
		*next = track->first;
	timeline->main_track[index] = run->main_track;
	for (; *next < track->end; (*next)++) {
		const struct batch *batch = track_batch(track, *next);
		if (batch && isnan(batch->step_s) && *next + 1 == track->end)
			break;
		if (batch && !isnan(batch->step_s))
			note_step(timeline, batch);
	}
}

static bool is_known(const struct timeline *timeline, unsigned run, const struct flagged *flagged)
{
	size_t retained = timeline->state.flag_count < TIMELINE_FLAGS_MAX ? timeline->state.flag_count : TIMELINE_FLAGS_MAX;
	for (size_t i = 1; i <= retained; i++) {
		const struct timeline_flag *flag = &timeline->flags[(timeline->state.flag_count - i) % TIMELINE_FLAGS_MAX];
		if (flag->seen_ns < flagged->batch.end_ns - NS_PER_S)
			return false;
		if (flag->run == run && flag->mode == flagged->mode && flag->ordinal == flagged->batch.ordinal)
			return true;
	}
	return false;
}

static void note_flags(struct timeline *timeline, unsigned index)
{
	const struct run *run = &timeline->model->runs[index];
	uint64_t count = 0;
	for (unsigned i = 0; i < run->track_count; i++)
		count += run->tracks[i].flagged_count;
	if (count == timeline->flags_known[index])
		return;
	timeline->flags_known[index] = count;
	/* Newly flagged ones are among the newest, as a rule. */
	size_t first = run->flagged_count > 64 ? run->flagged_count - 64 : 0;
	for (size_t i = first; i < run->flagged_count; i++) {
		const struct flagged *flagged = &run->flagged[i];
		if (is_known(timeline, index, flagged))
			continue;
		timeline->flags[timeline->state.flag_count++ % TIMELINE_FLAGS_MAX] = (struct timeline_flag){
			.run = index,
			.mode = flagged->mode,
			.ordinal = flagged->batch.ordinal,
			.end_ns = flagged->batch.end_ns,
			.seen_ns = timeline->model->now_ns,
		};
	}
}

static void note_gap(struct timeline *timeline, int64_t from_ns, int64_t to_ns, bool is_lost)
{
	double between_ns = (double)(to_ns - from_ns);
	bool is_silent = between_ns > (double)SILENT_NS && between_ns > SILENT_TIMES * timeline->baseline_ns;
	if ((is_lost || is_silent) && timeline->gap_count < GAPS_MAX)
		timeline->gaps[timeline->gap_count++] = (struct gap){ from_ns, to_ns, is_lost };
	if (!is_silent)
		timeline->baseline_ns += (between_ns - timeline->baseline_ns) / 32;
	timeline->state.lost_blocks = player_losses(timeline->player)->blocks;
}

static void note_set(struct timeline *timeline, bool is_lost)
{
	struct timeline_state *state = &timeline->state;
	pthread_mutex_lock(&timeline->lock);
	if (!state->begin_ns)
		state->begin_ns = timeline->set.time_ns;
	else
		note_gap(timeline, state->upto_ns, timeline->set.time_ns, is_lost);
	for (unsigned i = 0; i < timeline->model->run_count && i < MODEL_RUNS_MAX; i++) {
		if (!timeline->model->runs[i].is_used)
			continue;
		note_steps(timeline, i);
		note_flags(timeline, i);
	}
	state->upto_ns = timeline->model->now_ns;
	pthread_mutex_unlock(&timeline->lock);
}

/* Returns true if the thread has to end. */
static bool wait_for_more(struct timeline *timeline)
{
	int64_t until_ns = clock_monotonic_ns() + READ_AGAIN_MS * NS_PER_MS;
	struct timespec until = { .tv_sec = until_ns / NS_PER_S, .tv_nsec = until_ns % NS_PER_S };
	pthread_mutex_lock(&timeline->lock);
	if (!timeline->is_stopping)
		pthread_cond_timedwait(&timeline->stopped, &timeline->lock, &until);
	bool is_stopping = timeline->is_stopping;
	pthread_mutex_unlock(&timeline->lock);
	return is_stopping;
}

static bool is_stopping(struct timeline *timeline)
{
	pthread_mutex_lock(&timeline->lock);
	bool result = timeline->is_stopping;
	pthread_mutex_unlock(&timeline->lock);
	return result;
}

static void *scan(void *argument)
{
	struct timeline *timeline = argument;
	int64_t next_ns;
	while (!is_stopping(timeline)) {
		if (!player_next_ns(timeline->player, &next_ns)) {
			if (player_has_ended(timeline->player) || wait_for_more(timeline))
				break;
			continue;
		}
		bool is_lost = player_lost_before_next(timeline->player);
		if (!player_take(timeline->player, &timeline->set))
			continue;
		model_apply(timeline->model, &timeline->set);
		note_set(timeline, is_lost);
	}
	pthread_mutex_lock(&timeline->lock);
	timeline->state.is_whole = player_has_ended(timeline->player);
	timeline->state.lost_blocks = player_losses(timeline->player)->blocks;
	pthread_mutex_unlock(&timeline->lock);
	model_free(timeline->model);
	timeline->model = NULL;
	return NULL;
}

/* -- main thread -- */

static void free_timeline(struct timeline *timeline)
{
	player_close(timeline->player);
	model_free(timeline->model);
	sample_set_release(&timeline->set);
	free(timeline);
}

static bool start_thread(struct timeline *timeline)
{
	pthread_condattr_t monotonic;
	pthread_mutex_init(&timeline->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&timeline->stopped, &monotonic);
	pthread_condattr_destroy(&monotonic);
	return thread_start(&timeline->thread, scan, timeline) == 0;
}

struct timeline *timeline_start(const struct player *player, const struct model_options *options)
{
	struct timeline *timeline = calloc(1, sizeof *timeline);
	if (!timeline)
		return NULL;
	timeline->bin_ns = BIN_FIRST_NS;
	timeline->player = player_again(player);
	timeline->model = timeline->player ? model_new(options) : NULL;
	if (timeline->model && start_thread(timeline))
		return timeline;
	free_timeline(timeline);
	return NULL;
}

void timeline_stop(struct timeline *timeline)
{
	if (!timeline)
		return;
	pthread_mutex_lock(&timeline->lock);
	timeline->is_stopping = true;
	pthread_cond_signal(&timeline->stopped);
	pthread_mutex_unlock(&timeline->lock);
	pthread_join(timeline->thread, NULL);
	pthread_mutex_destroy(&timeline->lock);
	pthread_cond_destroy(&timeline->stopped);
	free_timeline(timeline);
}

void timeline_read(struct timeline *timeline, struct timeline_state *out)
{
	*out = (struct timeline_state){ 0 };
	if (!timeline)
		return;
	pthread_mutex_lock(&timeline->lock);
	*out = timeline->state;
	pthread_mutex_unlock(&timeline->lock);
}

size_t timeline_flags(struct timeline *timeline, struct timeline_flag out[TIMELINE_FLAGS_MAX])
{
	if (!timeline)
		return 0;
	pthread_mutex_lock(&timeline->lock);
	uint64_t count = timeline->state.flag_count, retained = count < TIMELINE_FLAGS_MAX ? count : TIMELINE_FLAGS_MAX;
	for (uint64_t i = 0; i < retained; i++)
		out[i] = timeline->flags[(count - retained + i) % TIMELINE_FLAGS_MAX];
	pthread_mutex_unlock(&timeline->lock);
	return (size_t)retained;
}

/* -- columns */

struct columns {
	int64_t begin_ns, end_ns;
	struct replay_column *list;
	size_t count;
};

static size_t column_of(const struct columns *columns, int64_t time_ns)
{
	double share = (double)(time_ns - columns->begin_ns) / (double)(columns->end_ns - columns->begin_ns);
	double column = share * (double)columns->count;
	return column <= 0 ? 0 : column >= (double)columns->count ? columns->count - 1 : (size_t)column;
}

static double mean_between(const struct timeline *timeline, int64_t from_ns, int64_t to_ns)
{
	struct bin_steps all = { 0 };
	int64_t first = (from_ns - timeline->state.begin_ns) / timeline->bin_ns,
			last = (to_ns - 1 - timeline->state.begin_ns) / timeline->bin_ns;
	for (int64_t bin = first < 0 ? 0 : first; bin <= last && bin < BINS; bin++) {
		all.sum_s += timeline->bins[bin].sum_s;
		all.count += timeline->bins[bin].count;
	}
	return all.count ? all.sum_s / (double)all.count : NAN;
}

static void mark_gaps(const struct timeline *timeline, const struct columns *columns)
{
	int64_t column_ns = (columns->end_ns - columns->begin_ns) / (int64_t)columns->count;
	for (size_t i = 0; i < timeline->gap_count; i++) {
		const struct gap *gap = &timeline->gaps[i];
		size_t first = column_of(columns, gap->from_ns), last = column_of(columns, gap->to_ns);
		if (gap->is_lost)
			columns->list[first].is_lost = true;
		/* Only empty columns: a gap narrower than one column cannot be shown. */
		for (size_t column = first + 1; column < last; column++)
			columns->list[column].is_silent = true;
		if (gap->is_lost && gap->to_ns - gap->from_ns > column_ns)
			columns->list[last].is_lost = true;
	}
}

void timeline_columns(
	struct timeline *timeline, int64_t begin_ns, int64_t end_ns, struct replay_column *out, size_t count)
{
	struct columns columns = { begin_ns, end_ns, out, count };
	for (size_t i = 0; i < count; i++)
		out[i] = (struct replay_column){ .step_s = NAN };
	if (!timeline || end_ns <= begin_ns || !count)
		return;
	pthread_mutex_lock(&timeline->lock);
	double column_ns = (double)(end_ns - begin_ns) / (double)count;
	for (size_t i = 0; i < count && timeline->state.begin_ns; i++)
		out[i].step_s = mean_between(
			timeline, begin_ns + (int64_t)((double)i * column_ns), begin_ns + (int64_t)((double)(i + 1) * column_ns));
	uint64_t flags = timeline->state.flag_count, retained = flags < TIMELINE_FLAGS_MAX ? flags : TIMELINE_FLAGS_MAX;
	for (uint64_t i = flags - retained; i < flags; i++)
		out[column_of(&columns, timeline->flags[i % TIMELINE_FLAGS_MAX].end_ns)].is_flagged = true;
	mark_gaps(timeline, &columns);
	pthread_mutex_unlock(&timeline->lock);
}
