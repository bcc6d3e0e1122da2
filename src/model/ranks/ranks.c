#include "src/model/ranks/ranks.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "src/model/ranks/rank_places.h"
#include "src/model/ranks/rank_waits.h"
#include "src/model/run/run_private.h"
#include "src/model/run/steps/baseline.h"
#include "src/model/run/steps/tracks.h"

static const double slowest_step_ratio = 0.02, errors = 3;
/* A rank hangs if nothing has begun or ended for 8 median steps, and at least 2 s. */
static const double still_ratio = 8, still_min_s = 2, stopped_min_s = 1;

/* -- one rank -- */

bool ranks_is_wait(const char *name)
{
	static const char *const words[] = { "backward", "bwd", "backprop", "allreduce", "reduce", "communication", "comm",
		"sync", "synchronize", "barrier" };
	while (*name) {
		size_t length = 0;
		while (isalnum((unsigned char)name[length]))
			length++;
		for (size_t i = 0; i < sizeof words / sizeof *words; i++)
			if (strlen(words[i]) == length && strncasecmp(words[i], name, length) == 0)
				return true;
		name += length ? length : 1;
	}
	return false;
}

/* Caches ranks_is_wait for the names of a run's phases. */
struct known_names {
	const struct run *run;
	size_t count;
	struct {
		uint32_t id;
		bool is_wait;
	} names[RUN_PHASES_MAX * 2];
};

static bool is_wait(struct known_names *known, uint32_t id)
{
	for (size_t i = 0; i < known->count; i++)
		if (known->names[i].id == id)
			return known->names[i].is_wait;
	bool is = ranks_is_wait(run_name(known->run, id));
	if (known->count < sizeof known->names / sizeof *known->names) {
		known->names[known->count].id = id;
		known->names[known->count++].is_wait = is;
	}
	return is;
}

static const struct phase_time *find_phase(const struct batch *batch, uint32_t name)
{
	for (unsigned i = 0; i < batch->phase_count; i++)
		if (batch->phases[i].name == name)
			return &batch->phases[i];
	return NULL;
}

static bool is_inside_wait(struct known_names *known, const struct batch *batch, const struct phase_time *phase)
{
	for (unsigned depth = 0; phase && phase->parent != NAME_NONE && depth < RUN_PHASES_MAX; depth++) {
		if (is_wait(known, phase->parent))
			return true;
		phase = find_phase(batch, phase->parent);
	}
	return false;
}

static double waited_s(struct known_names *known, const struct batch *batch)
{
	double sum_s = 0;
	for (unsigned i = 0; i < batch->phase_count; i++)
		if (is_wait(known, batch->phases[i].name) && !is_inside_wait(known, batch, &batch->phases[i]))
			sum_s += (double)batch->phases[i].seconds;
	return sum_s;
}

static bool has_wait(struct known_names *known, const struct batch *batch)
{
	for (unsigned i = 0; i < batch->phase_count; i++)
		if (is_wait(known, batch->phases[i].name))
			return true;
	return false;
}

void ranks_steps(const struct run *run, uint64_t from, size_t count, struct rank_step *out)
{
	const struct track *track = run_main(run);
	struct known_names known = { .run = run };
	for (size_t i = 0; i < count; i++) {
		const struct batch *batch = track_batch(track, from + i);
		bool is_known = batch && isfinite(batch->step_s) && !batch->is_warmup && has_wait(&known, batch);
		out[i] = is_known ? (struct rank_step){ batch->step_s, waited_s(&known, batch), batch }
						  : (struct rank_step){ NAN, NAN, NULL };
	}
}

/* Of steps inferred from outside, "unattributed" is the whole step, which is no phase. */
static void measure_phases(const struct run *run, const struct track *track, struct pace *pace)
{
	struct phase_row rows[PHASES_SEEN_MAX];
	size_t count = track_phases(track, RUN_RECENT, rows, PHASES_SEEN_MAX, NULL);
	for (size_t i = 0; i < count && pace->phase_count < RUN_PHASES_MAX; i++) {
		if (rows[i].depth > 0 || (run->is_counted && rows[i].name == NAME_UNATTRIBUTED))
			continue;
		pace->phases[pace->phase_count].name = rows[i].name;
		pace->phases[pace->phase_count++].median_s = rows[i].median_s;
	}
}

/* Of the newest steps that began at from_ns or later. */
static void measure_pace(const struct run *run, const struct track *track, int64_t from_ns, struct pace *pace)
{
	int64_t since_ns = 0;
	double steps_s[RUN_RECENT], alone_s[RUN_RECENT];
	size_t count = 0;
	struct known_names known = { .run = run };
	for (uint64_t ordinal = track->end; ordinal > track->first && count < RUN_RECENT; ordinal--) {
		const struct batch *batch = track_batch(track, ordinal - 1);
		if (!batch || !isfinite(batch->step_s) || batch->is_warmup || batch->begin_ns < from_ns)
			continue;
		since_ns = batch->begin_ns;
		steps_s[count] = batch->step_s;
		alone_s[count++] = fmax(batch->step_s - waited_s(&known, batch), 0);
	}
	*pace = (struct pace){ .is_valid = true, .steps = count, .since_ns = since_ns };
	pace->step_s = median_of(steps_s, count);
	pace->step_mad_s = mad_of(steps_s, count, pace->step_s);
	pace->alone_s = median_of(alone_s, count);
	pace->alone_mad_s = mad_of(alone_s, count, pace->alone_s);
	if (count >= RANK_STEPS_MIN)
		measure_phases(run, track, pace);
}

static const struct pace *pace_of(const struct run *run, struct pace *own)
{
	const struct track *track = run_main(run);
	struct pace *pace = track->priv ? &track->priv->pace : own;
	if (!track->priv || !pace->is_valid)
		measure_pace(run, track, 0, pace);
	return pace;
}

static int compare_phases(const void *left, const void *right)
{
	const struct rank_phase *a = left, *b = right;
	return (a->median_s < b->median_s) - (a->median_s > b->median_s);
}

static void fill_phases(const struct run *run, const struct pace *pace, struct rank *rank)
{
	for (size_t i = 0; i < pace->phase_count; i++) {
		const char *name = run_name(run, pace->phases[i].name);
		rank->phases[rank->phase_count++] =
			(struct rank_phase){ name, pace->phases[i].name, ranks_is_wait(name), pace->phases[i].median_s };
	}
	if (rank->phase_count)
		qsort(rank->phases, rank->phase_count, sizeof rank->phases[0], compare_phases);
}

static int64_t later(int64_t a, int64_t b) { return a > b ? a : b; }

/* When any batch or epoch last began or ended, in any mode; *ended_ns: when a batch last ended. 0 = never. */
static int64_t last_move_ns(const struct run *run, int64_t *ended_ns)
{
	int64_t newest_ns = run->state.batch_begin_ns;
	*ended_ns = 0;
	for (unsigned i = 0; i < run->track_count; i++) {
		const struct track *track = &run->tracks[i];
		for (uint64_t back = 1; back <= 2 && track->end >= track->first + back; back++) {
			const struct batch *batch = track_batch(track, track->end - back);
			if (!batch)
				continue;
			newest_ns = later(newest_ns, later(batch->begin_ns, batch->end_ns));
			*ended_ns = later(*ended_ns, batch->end_ns);
		}
	}
	if (run->epoch_count) {
		const struct epoch *epoch = &run->epochs[run->epoch_count - 1];
		newest_ns = later(newest_ns, later(epoch->begin_ns, epoch->end_ns));
	}
	return newest_ns;
}

static const struct open_span *innermost(const struct run *run)
{
	const struct open_span *found = NULL;
	for (size_t i = 0; i < run->open_span_count; i++)
		if (!found || run->open_spans[i].depth > found->depth)
			found = &run->open_spans[i];
	return found;
}

static enum rank_state first_state(const struct run *run, const struct rank *rank)
{
	double process = run->priv->process_state;
	const struct run_state *state = &run->state;
	if (!run->is_live || state->is_ended)
		return state->is_ended ? RANK_ENDED : RANK_KILLED;
	if ((process == 'T' || process == 't') && rank->still_s >= stopped_min_s)
		return RANK_STOPPED;
	if (rank->batches == 0)
		return RANK_STARTING;
	bool is_training = state->in_epoch || state->epochs_begun == 0;
	return is_training && rank->still_s >= fmax(still_min_s, still_ratio * rank->step_s) ? RANK_STUCK : RANK_RUNNING;
}

static void fill_rank(const struct model *model, unsigned index, struct rank *rank)
{
	const struct run *run = &model->runs[index];
	struct pace own = { .is_valid = false };
	const struct pace *pace = pace_of(run, &own);
	const struct open_span *span = innermost(run);
	int64_t batch_ns, moved_ns = last_move_ns(run, &batch_ns), now_ns = model->now_ns;
	*rank = (struct rank){ .run = index,
		.number = rank_number(run),
		.pid = run->pid ? run->pid : run->inner_pid,
		.batches = run_main(run)->count,
		.steps = pace->steps,
		.step_s = NAN,
		.own_s = NAN,
		.own_error_s = NAN,
		.last_batch_age_s = NAN,
		.still_s = NAN,
		.loss = run->loss,
		.resident_bytes = run->priv->resident_bytes,
		.where = span ? run_name(run, span->name) : NULL };
	if (run->priv->closed_ns)
		rank->ended_ns = now_ns = run->priv->was_live ? run->priv->closed_ns : later(moved_ns, 1);
	if (batch_ns)
		rank->last_batch_age_s = fmax(seconds_between(batch_ns, now_ns), 0);
	if (moved_ns)
		rank->still_s = fmax(seconds_between(moved_ns, now_ns), 0);
	if (pace->steps >= RANK_STEPS_MIN) {
		rank->step_s = pace->step_s;
		fill_phases(run, pace, rank);
	}
	rank->state = first_state(run, rank);
}

/* -- all of them -- */

/* A restarted rank replaces the one that ended. Of two live ones the first counts (the other is its child). */
static bool replaces(const struct run *run, const struct run *before)
{
	if (run->is_live != before->is_live)
		return run->is_live;
	return run->is_live ? run->start_ns < before->start_ns : run->start_ns > before->start_ns;
}

static void gather(const struct model *model, const struct run *run, struct ranks *out)
{
	unsigned order[MODEL_RUNS_MAX], count = ranks_order(model, order);
	for (unsigned i = 0; i < count; i++) {
		const struct run *other = &model->runs[order[i]];
		struct rank *last = out->count ? &out->list[out->count - 1] : NULL;
		if (!ranks_are_of_one_run(run, other))
			continue;
		if (!last || last->number != rank_number(other))
			fill_rank(model, order[i], &out->list[out->count++]);
		else if (replaces(other, &model->runs[last->run]))
			fill_rank(model, order[i], last);
	}
}

static bool is_over(const struct rank *rank) { return rank->state == RANK_ENDED || rank->state == RANK_KILLED; }

/* Compares the live ranks, or, if all have ended, all. */
static void find_compared(struct ranks *out)
{
	bool lives = false;
	for (size_t i = 0; i < out->count; i++)
		lives |= !is_over(&out->list[i]);
	for (size_t i = 0; i < out->count; i++)
		out->list[i].is_compared = isfinite(out->list[i].step_s) && (!lives || !is_over(&out->list[i]));
}

/* pmtop may have found the steps of one process later than those of another: steps that were inferred from outside are
 * compared over the time in which all ranks have them. */
static const struct pace *pace_since(const struct run *run, int64_t since_ns, struct pace *own)
{
	const struct pace *pace = pace_of(run, own);
	if (!run->is_counted || seconds_between(pace->since_ns, since_ns) <= 2 * pace->step_s)
		return pace;
	measure_pace(run, run_main(run), since_ns, own);
	return own;
}

/* Returns when that time begins. */
static int64_t compare_same_time(const struct model *model, struct ranks *out)
{
	int64_t since_ns = 0;
	struct pace own = { .is_valid = false };
	for (size_t i = 0; i < out->count; i++) {
		const struct run *run = &model->runs[out->list[i].run];
		if (out->list[i].is_compared && run->is_counted)
			since_ns = later(since_ns, pace_of(run, &own)->since_ns);
		own.is_valid = false;
	}
	for (size_t i = 0; i < out->count; i++) {
		struct rank *rank = &out->list[i];
		const struct pace *pace = pace_since(&model->runs[rank->run], since_ns, &own);
		rank->is_compared &= pace->steps >= RANK_STEPS_MIN;
		rank->step_s = rank->is_compared ? pace->step_s : rank->step_s;
		own.is_valid = false;
	}
	return since_ns;
}

static void fill_own_times(const struct model *model, int64_t since_ns, struct ranks *out)
{
	double min_s = INFINITY, max_s = 0;
	size_t compared = 0;
	for (size_t i = 0; i < out->count; i++) {
		if (!out->list[i].is_compared)
			continue;
		min_s = fmin(min_s, out->list[i].step_s);
		max_s = fmax(max_s, out->list[i].step_s);
		compared++;
	}
	out->is_compared = compared >= 2;
	out->is_synchronous = out->is_compared && max_s <= min_s * RANK_SYNCHRONOUS_RATIO;
	for (size_t i = 0; i < out->count; i++) {
		struct rank *rank = &out->list[i];
		struct pace room = { .is_valid = false };
		const struct pace *pace = pace_since(&model->runs[rank->run], since_ns, &room);
		if (isnan(rank->step_s))
			continue;
		/* Steps inferred from outside have no phases, so the wait for other ranks is unknown. */
		bool has_waits = !model->runs[rank->run].is_counted || pace->phase_count > 0;
		rank->own_s = !out->is_synchronous ? pace->step_s : has_waits ? pace->alone_s : (double)NAN;
		/* The standard error of a median is 1.253 times that of a mean; 1.4826 MAD estimates a normal standard
		 * deviation. */
		rank->own_error_s =
			1.253 * 1.4826 * (out->is_synchronous ? pace->alone_mad_s : pace->step_mad_s) / sqrt((double)pace->steps);
	}
}

/* The median over all compared ranks except one. */
static double median_of_others(const struct ranks *ranks, size_t but,
	double (*value)(const struct rank *rank, const void *argument), const void *argument)
{
	double values[MODEL_RUNS_MAX];
	size_t count = 0;
	for (size_t i = 0; i < ranks->count; i++)
		if (i != but && ranks->list[i].is_compared)
			values[count++] = value(&ranks->list[i], argument);
	return median_of(values, count);
}

static double own_of(const struct rank *rank, const void *argument)
{
	(void)argument;
	return rank->own_s;
}

static double error_of(const struct rank *rank, const void *argument)
{
	(void)argument;
	return rank->own_error_s;
}

/* 0 for a rank without the phase. */
static double phase_of(const struct rank *rank, const void *name)
{
	for (size_t i = 0; i < rank->phase_count; i++)
		if (strcmp(rank->phases[i].name, name) == 0)
			return rank->phases[i].median_s;
	return 0;
}

/* `phase` is the one with the largest excess of the slowest rank; `wait` is the waiting phase in which the others spend
 * the most additional time. */
static void find_phase_of_slowest(struct ranks *out, size_t slowest)
{
	const struct rank *rank = &out->list[slowest];
	double max_s = 0;
	out->wait_s = 0;
	for (size_t i = 0; i < rank->phase_count; i++) {
		const struct rank_phase *phase = &rank->phases[i];
		double others_s = median_of_others(out, slowest, phase_of, phase->name), excess_s = phase->median_s - others_s;
		if (out->is_synchronous && phase->is_wait) {
			if (-excess_s > out->wait_s) {
				out->wait = phase->name;
				out->wait_s = -excess_s;
			}
		} else if (excess_s > max_s) {
			out->phase = phase->name;
			out->phase_s = phase->median_s;
			out->phase_others_s = others_s;
			max_s = excess_s;
		}
	}
}

/* Each goes on at its own pace (Hogwild). */
static bool are_apart(const struct model *model, const struct ranks *ranks)
{
	for (size_t i = 0; i < ranks->count; i++)
		if (ranks->list[i].is_compared && !model->runs[ranks->list[i].run].is_rank_apart)
			return false;
	return true;
}

static void find_slowest(const struct model *model, struct ranks *out)
{
	size_t slowest = out->count;
	bool are_own_known = true;
	for (size_t i = 0; i < out->count; i++) {
		are_own_known &= !out->list[i].is_compared || !isnan(out->list[i].own_s);
		if (out->list[i].is_compared && (slowest == out->count || out->list[i].own_s > out->list[slowest].own_s))
			slowest = i;
	}
	if (!out->is_compared || !are_own_known || are_apart(model, out))
		return;
	const struct rank *rank = &out->list[slowest];
	out->others_own_s = median_of_others(out, slowest, own_of, NULL);
	double error_s = rank->own_error_s + median_of_others(out, slowest, error_of, NULL),
		   excess_s = rank->own_s - out->others_own_s;
	if (!(excess_s > RANK_SLOWEST_RATIO * out->others_own_s && excess_s > errors * error_s &&
			excess_s > slowest_step_ratio * rank->step_s))
		return;
	out->slowest = (int)slowest;
	out->excess_s = excess_s;
	out->excess_ratio = excess_s / out->others_own_s;
	find_phase_of_slowest(out, slowest);
}

/* -- ranks that hang -- */

/* Inside a batch but outside all spans, it may be waiting. */
static bool may_wait(const struct model *model, const struct rank *rank)
{
	const struct run *run = &model->runs[rank->run];
	bool is = run->open_span_count == 0 && run->state.in_batch;
	for (size_t i = 0; i < run->open_span_count && !is; i++)
		is = ranks_is_wait(run_name(run, run->open_spans[i].name));
	return is;
}

static bool blocks(const struct model *model, const struct rank *blocker, const struct rank *rank)
{
	if (is_over(blocker) || blocker->state == RANK_STOPPED)
		return true;
	bool is_still = blocker->state == RANK_STUCK || blocker->state == RANK_WAITING;
	return is_still && (!may_wait(model, blocker) || blocker->batches < rank->batches);
}

static void find_waiting(const struct model *model, struct ranks *out)
{
	for (size_t i = 0; i < out->count; i++) {
		struct rank *rank = &out->list[i];
		bool is_blocked = false;
		for (size_t k = 0; k < out->count && rank->state == RANK_STUCK && may_wait(model, rank) && !is_blocked; k++)
			is_blocked = k != i && blocks(model, &out->list[k], rank);
		if (is_blocked)
			rank->state = RANK_WAITING;
		if (rank->state == RANK_WAITING && rank->where)
			out->still_wait = rank->where;
	}
}

/* A killed rank counts as hanging while others are live. */
static void find_still(struct ranks *out)
{
	bool lives = false;
	for (size_t i = 0; i < out->count; i++) {
		const struct rank *rank = &out->list[i], *before = out->still >= 0 ? &out->list[out->still] : NULL;
		lives |= !is_over(rank);
		bool is_still = rank->state == RANK_STUCK || rank->state == RANK_STOPPED || rank->state == RANK_KILLED;
		if (is_still &&
			(!before || rank->state > before->state ||
				(rank->state == before->state && rank->still_s > before->still_s)))
			out->still = (int)i;
	}
	if (!lives)
		out->still = -1;
}

/* -- public -- */

int64_t ranks_moved_ns(const struct model *model, int32_t pid)
{
	int64_t moved_ns = 0, ended_ns;
	for (unsigned i = 0; i < model->run_count; i++)
		if (model->runs[i].is_used && model->runs[i].pid == pid)
			moved_ns = later(moved_ns, last_move_ns(&model->runs[i], &ended_ns));
	return moved_ns;
}

const char *rank_state_name(enum rank_state state)
{
	static const char *const names[] = {
#define RANK_STATE_NAME(id, name) [RANK_##id] = name,
		RANK_STATES(RANK_STATE_NAME)
#undef RANK_STATE_NAME
	};
	return names[state];
}

void ranks_compare(const struct model *model, unsigned run, struct ranks *out)
{
	out->count = 0;
	out->is_compared = out->is_synchronous = false;
	out->slowest = out->still = -1;
	out->excess_s = out->excess_ratio = out->others_own_s = out->phase_s = out->phase_others_s = out->wait_s = NAN;
	out->phase = out->wait = out->still_wait = NULL;
	out->world_size = 0;
	if (run >= model->run_count || rank_number(&model->runs[run]) < 0)
		return;
	out->world_size = rank_world_size(&model->runs[run]);
	gather(model, &model->runs[run], out);
	find_compared(out);
	int64_t since_ns = compare_same_time(model, out);
	fill_own_times(model, since_ns, out);
	find_slowest(model, out);
	rank_waits_take(model, out);
	find_waiting(model, out);
	find_still(out);
}
