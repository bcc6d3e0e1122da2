#include "src/model/collectives/lost_steps.h"

#include <math.h>
#include <stdlib.h>
#include <strings.h>

#include "src/model/model.h"
#include "src/model/ranks/rank_places.h"
#include "src/model/ranks/ranks.h"
#include "src/model/run/run.h"

enum { STEPS_MIN = 20 };
static const double stall_min_s = 5, stall_ratio = 10, speedup_min_ratio = 1.05;
/* Of a delay: that much more of it in such spans than the first rank has. */
static const double cause_ratio = 0.5;

struct entry {
	size_t rank;
	double own_s;
	const struct rank_step *step;
};

/* The steps that all ranks have finished; each with its ranks in the order in which they began to wait. */
struct window {
	const struct model *model;
	size_t rank_count, step_count;
	unsigned runs[MODEL_RUNS_MAX];
	struct rank_step *steps; /* step_count of each rank */
	struct entry *entries;   /* rank_count of each whole step */
	size_t whole_count;
	double stall_s;
};

/* -- the window -- */

static int by_own_time(const void *left, const void *right)
{
	const struct entry *a = left, *b = right;
	return (a->own_s > b->own_s) - (a->own_s < b->own_s);
}

/* Appends step k to the whole ones. */
static void see(struct window *window, size_t k)
{
	struct entry *entries = &window->entries[window->whole_count * window->rank_count];
	for (size_t i = 0; i < window->rank_count; i++) {
		const struct rank_step *step = &window->steps[i * window->step_count + k];
		if (!step->batch)
			return;
		entries[i] = (struct entry){ i, fmax(step->step_s - step->wait_s, 0), step };
	}
	qsort(entries, window->rank_count, sizeof *entries, by_own_time);
	window->whole_count++;
}

/* The steps that all of them have retained. */
static uint64_t choose_steps(struct window *window)
{
	uint64_t from = 0, to = UINT64_MAX;
	for (size_t i = 0; i < window->rank_count; i++) {
		const struct track *track = run_main(&window->model->runs[window->runs[i]]);
		from = track->first > from ? track->first : from;
		to = track->end < to ? track->end : to;
	}
	if (to > RUN_RECENT && from < to - RUN_RECENT)
		from = to - RUN_RECENT;
	window->step_count = from < to ? (size_t)(to - from) : 0;
	return from;
}

/* False: the ranks do not wait for each other, or it is not known. */
static bool open_window(const struct model *model, struct window *window)
{
	struct ranks ranks;
	int first = ranks_any(model);
	*window = (struct window){ .model = model };
	if (first < 0)
		return false;
	ranks_compare(model, (unsigned)first, &ranks);
	if (!ranks.is_compared || !ranks.is_synchronous)
		return false;
	for (size_t i = 0; i < ranks.count; i++)
		if (ranks.list[i].is_compared)
			window->runs[window->rank_count++] = ranks.list[i].run;
	uint64_t from = choose_steps(window);
	if (window->step_count < STEPS_MIN)
		return false;
	window->steps = calloc(window->step_count * window->rank_count, sizeof *window->steps);
	window->entries = calloc(window->step_count * window->rank_count, sizeof *window->entries);
	if (!window->steps || !window->entries)
		return false;
	for (size_t i = 0; i < window->rank_count; i++)
		ranks_steps(&model->runs[window->runs[i]], from, window->step_count, &window->steps[i * window->step_count]);
	for (size_t k = 0; k < window->step_count; k++)
		see(window, k);
	window->stall_s = fmax(stall_min_s, stall_ratio * ranks.list[0].step_s);
	return window->whole_count >= STEPS_MIN;
}

static const struct entry *entries_of(const struct window *window, size_t k)
{
	return &window->entries[k * window->rank_count];
}

static double mean_step(const struct window *window, const struct entry *entries)
{
	double sum_s = 0;
	for (size_t i = 0; i < window->rank_count; i++)
		sum_s += entries[i].step->step_s;
	return sum_s / (double)window->rank_count;
}

/* -- the ledger -- */

static double in_spans(const struct window *window, const struct entry *entry, const char *name)
{
	const struct batch *batch = entry->step->batch;
	const struct run *run = &window->model->runs[window->runs[entry->rank]];
	for (unsigned i = 0; i < batch->phase_count; i++)
		if (strcasecmp(run_name(run, batch->phases[i].name), name) == 0)
			return (double)batch->phases[i].seconds;
	return 0;
}

static enum lost_cause cause_of(const struct window *window, const struct entry *first, const struct entry *late)
{
	static const struct {
		const char *name;
		enum lost_cause cause;
	} spans[] = { { "data", LOST_DATA }, { "checkpoint", LOST_CHECKPOINT } };
	double delay_s = late->own_s - first->own_s;
	for (size_t i = 0; i < sizeof spans / sizeof *spans; i++)
		if (in_spans(window, late, spans[i].name) - in_spans(window, first, spans[i].name) >= cause_ratio * delay_s)
			return spans[i].cause;
	return delay_s >= window->stall_s ? LOST_STALL : LOST_STRAGGLER;
}

/* As in lost_time.c: between two ranks, those before wait for those after, in equal parts. */
static void blame(const struct window *window, const struct entry *entries, double seconds[][LOST_CAUSE_COUNT])
{
	double owed_s = 0;
	for (size_t i = 0; i + 1 < window->rank_count; i++) {
		owed_s += (double)(i + 1) * (entries[i + 1].own_s - entries[i].own_s) / (double)(window->rank_count - i - 1);
		if (owed_s > 0)
			seconds[entries[i + 1].rank][cause_of(window, &entries[0], &entries[i + 1])] += owed_s;
	}
}

static struct lost_who who_of(const struct window *window, size_t rank)
{
	const struct run *run = &window->model->runs[window->runs[rank]];
	return (struct lost_who){ rank_number(run), run->pid ? run->pid : run->inner_pid };
}

static void fill(const struct window *window, struct lost_time *out)
{
	double seconds[MODEL_RUNS_MAX][LOST_CAUSE_COUNT] = { { 0 } };
	for (size_t k = 0; k < window->whole_count; k++) {
		out->rank_seconds += mean_step(window, entries_of(window, k)) * (double)window->rank_count;
		blame(window, entries_of(window, k), seconds);
	}
	for (size_t i = 0; i < window->rank_count; i++)
		for (size_t cause = 0; cause < LOST_CAUSE_COUNT; cause++)
			if (seconds[i][cause] > 0)
				lost_add_row(out, (int)window->runs[i], who_of(window, i), (enum lost_cause)cause, seconds[i][cause]);
}

/* -- without the delays of one rank -- */

/* How long all others wait for the last one. */
static double alone_s(const struct window *window, const struct entry *entries)
{
	size_t last = window->rank_count - 1;
	double delay_s = entries[last].own_s - entries[last - 1].own_s;
	return entries[last].own_s - entries[0].own_s < window->stall_s ? delay_s : 0;
}

/* Its own time is replaced by one that is never the last, so the others wait for the second to last. */
static void fill_without(const struct window *window, struct lost_time *out)
{
	double saved_s[MODEL_RUNS_MAX] = { 0 }, elapsed_s = 0;
	size_t most = 0, ordinary = 0;
	for (size_t k = 0; k < window->whole_count; k++) {
		const struct entry *entries = entries_of(window, k);
		saved_s[entries[window->rank_count - 1].rank] += alone_s(window, entries);
		if (entries[window->rank_count - 1].own_s - entries[0].own_s >= window->stall_s)
			continue;
		elapsed_s += mean_step(window, entries);
		ordinary++;
	}
	for (size_t i = 0; i < window->rank_count; i++)
		most = saved_s[i] > saved_s[most] ? i : most;
	double rest_s = elapsed_s - saved_s[most];
	if (!ordinary || !(rest_s > 0) || elapsed_s / rest_s < speedup_min_ratio)
		return;
	out->without = (int)window->runs[most];
	out->without_who = who_of(window, most);
	out->speedup_ratio = elapsed_s / rest_s;
	out->step_s = rest_s / (double)ordinary;
}

void lost_steps_measure(const struct model *model, struct lost_time *out)
{
	struct window window;
	if (open_window(model, &window)) {
		out->is_known = true;
		fill(&window, out);
		fill_without(&window, out);
	}
	free(window.steps);
	free(window.entries);
}
