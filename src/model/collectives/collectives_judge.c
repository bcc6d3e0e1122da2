#include "src/model/collectives/collectives_judge.h"

#include <math.h>
#include <string.h>

#include "src/base/clock.h"
#include "src/model/code/code_samples.h"
#include "src/model/model.h"
#include "src/model/statistics/statistics.h"

static const double patience_min_s = 5, interval_ratio = 10, skew_ratio = 1.5, first_patience_s = 60, slow_min_s = 10,
					ended_min_s = 10;
/* A group with fewer collectives is at its beginning. */
enum { FIRST_COLLECTIVES = 10, PACE_MIN = 20 };
/* Delays of a rank that do not count: incidents. */
enum { INCIDENTS = 3 };
/* A reading this old is a rank's last: its memory could not be read since. */
static const double reading_age_s = 3;
/* A straggler: of the time, by which factor more than the next, how late at least; over at least so long, up to so long
 * ago. */
static const double straggler_ratio = 0.1, straggler_factor = 2, late_min_s = 1e-3, elapsed_min_s = 1,
					straggler_age_s = 60;
/* Work of one rank for which the others wait as planned: a fifth of its stack samples suffice, because a checkpoint's
 * own code computes, too. */
static const double healthy_ratio = 0.2, healthy_patience_s = 600;

struct view {
	const struct model *model;
	const struct collectives *all;
	const struct collective_group *group;
	size_t count;
	uint8_t members[COLLECTIVE_RANKS_MAX];
	int64_t min_enqueued, max_enqueued, min_completed, max_completed;
};

/* What a rank has entered. Of one that ended, the last reading may be older than its last collectives: it had entered
 * those that others completed. */
static int64_t entered_of(const struct view *view, size_t rank)
{
	int64_t enqueued = view->group->members[rank].enqueued;
	return view->all->ranks[rank].is_gone && enqueued < view->max_completed ? view->max_completed : enqueued;
}

static int64_t completed_of(const struct view *view, size_t rank)
{
	int64_t completed = view->group->members[rank].completed;
	return view->all->ranks[rank].is_gone && completed < view->max_completed ? view->max_completed : completed;
}

static bool view_group(const struct model *model, size_t index, struct view *out)
{
	const struct collectives *all = model->collectives;
	*out = (struct view){ .model = model,
		.all = all,
		.min_enqueued = INT64_MAX,
		.max_enqueued = -1,
		.min_completed = INT64_MAX,
		.max_completed = -1 };
	bool lives = false;
	if (!all || index >= all->group_count || !all->groups[index].is_used)
		return false;
	out->group = &all->groups[index];
	for (size_t i = 0; i < all->rank_count; i++) {
		if (!collective_is_member(all, out->group, i))
			continue;
		int64_t completed = out->group->members[i].completed;
		out->members[out->count++] = (uint8_t)i;
		out->max_completed = completed > out->max_completed ? completed : out->max_completed;
		lives |= !all->ranks[i].is_gone;
	}
	for (size_t i = 0; i < out->count; i++) {
		int64_t enqueued = entered_of(out, out->members[i]), completed = completed_of(out, out->members[i]);
		out->min_enqueued = enqueued < out->min_enqueued ? enqueued : out->min_enqueued;
		out->max_enqueued = enqueued > out->max_enqueued ? enqueued : out->max_enqueued;
		out->min_completed = completed < out->min_completed ? completed : out->min_completed;
	}
	return lives && out->count > 1;
}

/* -- pace -- */

/* Inserts a value where it belongs; the smallest falls out. */
static void note_incident(double incidents_s[INCIDENTS], double seconds)
{
	for (size_t i = 0; i < INCIDENTS; i++)
		if (seconds > incidents_s[i]) {
			double smaller_s = incidents_s[i];
			incidents_s[i] = seconds;
			seconds = smaller_s;
		}
}

static double sum_incidents(const double incidents_s[INCIDENTS])
{
	double sum_s = 0;
	for (size_t i = 0; i < INCIDENTS; i++)
		sum_s += incidents_s[i];
	return sum_s;
}

/* When the first and the last member entered a collective. False: not all have, or it is not retained. */
static bool entered(const struct view *view, uint64_t sequence, int64_t *first_ns, int64_t *last_ns, size_t *last)
{
	const struct collective_slot *slot = collective_slot_of(view->group, sequence);
	*first_ns = INT64_MAX;
	*last_ns = 0;
	for (size_t i = 0; slot && i < view->count; i++) {
		int64_t entered_ns = slot->entries[view->members[i]].entered_ns;
		if (!entered_ns)
			return false;
		*first_ns = entered_ns < *first_ns ? entered_ns : *first_ns;
		if (entered_ns > *last_ns) {
			*last_ns = entered_ns;
			*last = view->members[i];
		}
	}
	return slot;
}

struct sums {
	size_t count;
	double intervals_s[COLLECTIVE_SLOTS], skews_s[COLLECTIVE_SLOTS];
	size_t interval_count, last[COLLECTIVE_SLOTS], last_count[COLLECTIVE_RANKS_MAX];
	int64_t begin_ns, end_ns;
	double waited_s[COLLECTIVE_RANKS_MAX]; /* of each rank that was last: without counting any time twice */
	double incidents_s[COLLECTIVE_RANKS_MAX][INCIDENTS]; /* its longest delays, longest first */
	int64_t waited_until_ns[COLLECTIVE_RANKS_MAX];
};

static void add_up(const struct view *view, struct sums *sums)
{
	int64_t first_ns, last_ns, before_ns = 0;
	size_t last;
	uint64_t from = view->max_enqueued > COLLECTIVE_SLOTS ? (uint64_t)view->max_enqueued - COLLECTIVE_SLOTS + 1 : 1;
	memset(sums, 0, sizeof *sums);
	for (uint64_t i = from; view->max_enqueued > 0 && i <= (uint64_t)view->max_enqueued; i++) {
		if (!entered(view, i, &first_ns, &last_ns, &last)) {
			before_ns = 0;
			continue;
		}
		if (before_ns && first_ns >= before_ns)
			sums->intervals_s[sums->interval_count++] = seconds_between(before_ns, first_ns);
		before_ns = first_ns;
		sums->begin_ns = sums->count ? sums->begin_ns : first_ns;
		sums->end_ns = last_ns > sums->end_ns ? last_ns : sums->end_ns;
		int64_t begin_ns = first_ns > sums->waited_until_ns[last] ? first_ns : sums->waited_until_ns[last];
		if (last_ns > begin_ns) {
			sums->waited_s[last] += seconds_between(begin_ns, last_ns);
			note_incident(sums->incidents_s[last], seconds_between(begin_ns, last_ns));
		}
		sums->waited_until_ns[last] = last_ns > begin_ns ? last_ns : begin_ns;
		sums->last_count[last]++;
		sums->last[sums->count] = last;
		sums->skews_s[sums->count++] = seconds_between(first_ns, last_ns);
	}
}

/* The median of the delays that are at least half the 90th percentile: in a step of several collectives only the first
 * is late. */
static double late_s(const struct sums *sums, size_t rank)
{
	double delays_s[COLLECTIVE_SLOTS], sorted_s[COLLECTIVE_SLOTS];
	size_t count = 0, kept = 0;
	for (size_t i = 0; i < sums->count; i++)
		if (sums->last[i] == rank)
			delays_s[count++] = sums->skews_s[i];
	memcpy(sorted_s, delays_s, count * sizeof *delays_s);
	double limit_s = quantile_of(sorted_s, count, 0.9) / 2;
	for (size_t i = 0; i < count; i++)
		if (delays_s[i] >= limit_s)
			delays_s[kept++] = delays_s[i];
	return median_of(delays_s, kept);
}

static void find_straggler(const struct view *view, const struct sums *sums, struct collective_pace *out)
{
	size_t most = view->members[0];
	double most_s = -1, next_s = 0, elapsed_s = seconds_between(sums->begin_ns, sums->end_ns), whole_s = elapsed_s;
	for (size_t i = 0; i < view->count; i++) {
		size_t rank = view->members[i];
		double incidents_s = sum_incidents(sums->incidents_s[rank]), waited_s = sums->waited_s[rank] - incidents_s;
		out->waits_ratio[rank] = whole_s > 0 ? sums->waited_s[rank] / whole_s : (double)NAN;
		elapsed_s -= incidents_s;
		next_s = fmax(next_s, fmin(waited_s, most_s));
		most = waited_s > most_s ? rank : most;
		most_s = fmax(most_s, waited_s);
	}
	out->waited_ratio = 0;
	out->late_s = late_s(sums, most);
	if (elapsed_s < elapsed_min_s || seconds_between(sums->end_ns, view->model->now_ns) > straggler_age_s ||
		most_s < straggler_ratio * elapsed_s || most_s < straggler_factor * next_s || !(out->late_s >= late_min_s))
		return;
	out->straggler = (int)most;
	out->waited_ratio = fmin(most_s / elapsed_s, 1);
	out->last_ratio = (double)sums->last_count[most] / (double)sums->count;
}

static void measure_pace(const struct view *view, struct collective_pace *out)
{
	struct sums sums;
	add_up(view, &sums);
	out->complete = sums.count;
	out->interval_s = median_of(sums.intervals_s, sums.interval_count);
	if (sums.count >= PACE_MIN)
		find_straggler(view, &sums, out);
	out->skew_s = median_of(sums.skews_s, sums.count);
}

bool collectives_entered(
	const struct model *model, size_t group, uint64_t sequence, int64_t *first_ns, int64_t *last_ns, size_t *last)
{
	struct view view;
	return view_group(model, group, &view) && entered(&view, sequence, first_ns, last_ns, last);
}

void collectives_pace(const struct model *model, size_t group, struct collective_pace *out)
{
	struct view view;
	*out = (struct collective_pace){
		.interval_s = NAN, .skew_s = NAN, .straggler = -1, .last_ratio = NAN, .late_s = NAN, .waited_ratio = NAN
	};
	for (size_t i = 0; i < COLLECTIVE_RANKS_MAX; i++)
		out->waits_ratio[i] = NAN;
	if (view_group(model, group, &view))
		measure_pace(&view, out);
}

int collectives_slowest(const struct model *model, struct collective_pace *out)
{
	int found = -1;
	for (size_t i = 0; model->collectives && i < model->collectives->group_count; i++) {
		struct collective_pace pace;
		collectives_pace(model, i, &pace);
		if (isnan(pace.waited_ratio) || (found >= 0 && pace.waited_ratio <= out->waited_ratio))
			continue;
		*out = pace;
		found = (int)i;
	}
	return found;
}

/* -- different operations -- */

/* Whether the inputs of an operation have the same sizes in all ranks. */
static bool has_equal_sizes(const char *name)
{
	static const char *const names[] = { "all_reduce", "broadcast", "reduce", "_all_gather_base",
		"_reduce_scatter_base", "all_reduce_coalesced" };
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

static bool is_other(const struct view *view, uint32_t a, uint32_t b)
{
	const struct collective_op *one = collective_op_of(view->all, a), *other = collective_op_of(view->all, b);
	if (a == b || !one || !other)
		return false;
	return strcmp(one->name, other->name) != 0 ||
		(has_equal_sizes(one->name) && one->sizes[0] && other->sizes[0] && strcmp(one->sizes, other->sizes) != 0);
}

/* How many members entered it in the collectives before this one. */
static size_t count_before(const struct view *view, uint64_t sequence, uint32_t op)
{
	size_t count = 0;
	for (uint64_t i = sequence > COLLECTIVE_SLOTS ? sequence - COLLECTIVE_SLOTS + 1 : 1; i < sequence; i++) {
		const struct collective_slot *slot = collective_slot_of(view->group, i);
		for (size_t k = 0; slot && k < view->count; k++)
			count += slot->entries[view->members[k]].op == op;
	}
	return count;
}

/* The operation that most members entered; of equally many the one that was usual before. */
static uint32_t common_op(const struct view *view, const struct collective_slot *slot)
{
	uint32_t common = 0;
	size_t most = 0;
	for (size_t i = 0; i < view->count; i++) {
		uint32_t op = slot->entries[view->members[i]].op;
		size_t same = 0;
		for (size_t k = 0; op && k < view->count; k++)
			same += slot->entries[view->members[k]].op == op;
		bool is_usual = same == most && op != common &&
			count_before(view, slot->sequence, op) > count_before(view, slot->sequence, common);
		if (same > most || (op && is_usual)) {
			most = same;
			common = op;
		}
	}
	return common;
}

static bool find_mismatch(const struct view *view, struct collective_judgement *out)
{
	uint64_t from = view->max_enqueued > COLLECTIVE_SLOTS ? (uint64_t)view->max_enqueued - COLLECTIVE_SLOTS + 1 : 1;
	for (uint64_t sequence = from; view->max_enqueued > 0 && sequence <= (uint64_t)view->max_enqueued; sequence++) {
		const struct collective_slot *slot = collective_slot_of(view->group, sequence);
		uint32_t common = slot ? common_op(view, slot) : 0;
		for (size_t i = 0; common && i < view->count; i++) {
			uint32_t op = slot->entries[view->members[i]].op;
			if (slot->entries[view->members[i]].entered_ns && is_other(view, op, common)) {
				out->behind[out->behind_count++] = view->members[i];
				out->odd_op = op;
			} else if (slot->entries[view->members[i]].entered_ns) {
				out->waiting = view->members[i];
			}
		}
		if (out->behind_count == 0)
			continue;
		out->finding = COLLECTIVE_MISMATCH;
		out->sequence = sequence;
		out->op = common;
		out->is_due = true;
		return true;
	}
	return false;
}

/* -- behind -- */

/* Until when it is known that a rank has not entered more. */
static int64_t known_until_ns(const struct view *view, size_t rank)
{
	const struct collective_rank *at = &view->all->ranks[rank];
	bool is_old = !at->is_gone && seconds_between(at->read_ns, view->model->now_ns) > reading_age_s;
	return is_old ? at->read_ns : view->model->now_ns;
}

static int64_t entered_ns(const struct view *view, size_t rank, uint64_t sequence)
{
	const struct collective_slot *slot = collective_slot_of(view->group, sequence);
	return slot && slot->entries[rank].entered_ns ? slot->entries[rank].entered_ns
												  : view->group->members[rank].moved_ns;
}

static double patience_s(const struct view *view)
{
	struct collective_pace pace = { .straggler = -1 };
	measure_pace(view, &pace);
	double patience = fmax(patience_min_s, skew_ratio * view->group->longest_skew_s);
	if (!isnan(pace.interval_s))
		patience = fmax(patience, interval_ratio * pace.interval_s);
	return pace.complete < FIRST_COLLECTIVES ? fmax(patience, first_patience_s) : patience;
}

/* CHECKPOINT or COMPILE, if the rank did that while the others waited; else OTHER. */
static enum code_phase phase_of(const struct view *view, size_t rank, int64_t from_ns, int64_t to_ns)
{
	struct phase_sums sums = { .samples = 0 };
	model_sum_phases(view->model, view->all->ranks[rank].pid, from_ns, to_ns, &sums);
	enum code_phase phase = sums.counts[CODE_PHASE_COMPILE] > sums.counts[CODE_PHASE_CHECKPOINT]
		? CODE_PHASE_COMPILE
		: CODE_PHASE_CHECKPOINT;
	return sums.samples > 0 && sums.counts[phase] >= healthy_ratio * sums.samples ? phase : CODE_PHASE_OTHER;
}

static bool find_behind(const struct view *view, struct collective_judgement *out)
{
	int64_t first_ns = INT64_MAX, until_ns = 0;
	if (view->min_enqueued == view->max_enqueued)
		return false;
	out->finding = COLLECTIVE_BEHIND;
	out->sequence = view->min_enqueued > 0 ? (uint64_t)view->min_enqueued + 1 : 1;
	for (size_t i = 0; i < view->count; i++) {
		size_t rank = view->members[i];
		if (entered_of(view, rank) < (int64_t)out->sequence) {
			int64_t known_ns = known_until_ns(view, rank);
			out->behind[out->behind_count++] = (uint8_t)rank;
			until_ns = known_ns > until_ns ? known_ns : until_ns;
			continue;
		}
		int64_t at_ns = entered_ns(view, rank, out->sequence);
		if (at_ns < first_ns) {
			first_ns = at_ns;
			out->waiting = rank;
		}
	}
	const struct collective_slot *slot = collective_slot_of(view->group, out->sequence);
	out->op = slot ? slot->entries[out->waiting].op : 0;
	out->waited_s = first_ns < until_ns ? seconds_between(first_ns, until_ns) : 0;
	out->phase = phase_of(view, out->behind[0], first_ns, until_ns);
	if (!(out->waited_s >= patience_min_s))
		return true;
	out->patience_s = fmax(patience_s(view), out->phase == CODE_PHASE_OTHER ? 0 : healthy_patience_s);
	out->is_due = out->waited_s >= out->patience_s;
	return true;
}

static void find_slow(const struct view *view, struct collective_judgement *out)
{
	int64_t first_ns, last_ns;
	size_t last = 0;
	if (view->min_completed < 1 || view->min_completed >= view->min_enqueued)
		return;
	out->sequence = (uint64_t)view->min_completed + 1;
	if (!entered(view, out->sequence, &first_ns, &last_ns, &last))
		return;
	out->finding = COLLECTIVE_SLOW;
	out->op = collective_slot_of(view->group, out->sequence)->entries[last].op;
	out->waiting = last;
	for (size_t i = 0; i < view->count; i++) {
		const struct collective_rank *rank = &view->all->ranks[view->members[i]];
		if (rank->is_gone || rank->state == 'T' || rank->state == 't')
			out->behind[out->behind_count++] = view->members[i];
		else
			out->waiting = view->members[i];
	}
	out->waited_s = seconds_between(last_ns, known_until_ns(view, out->waiting));
	out->is_due =
		out->waited_s >= slow_min_s && out->waited_s >= (out->patience_s = fmax(slow_min_s, patience_s(view)));
}

static size_t count_living(const struct collectives *all)
{
	size_t count = 0;
	for (size_t i = 0; i < all->rank_count; i++)
		count += !all->ranks[i].is_gone;
	return count;
}

/* Those that live have completed all that they entered, by an error perhaps, as gloo's do when another one ends. */
static void find_ended(const struct view *view, struct collective_judgement *out)
{
	int64_t moved_ns = 0;
	size_t living = count_living(view->all);
	bool has_first = false;
	for (size_t i = 0; i < view->count; i++) {
		size_t rank = view->members[i];
		if (view->all->ranks[rank].is_gone) {
			has_first |= view->all->ranks[rank].number == 0;
			out->behind[out->behind_count++] = (uint8_t)rank;
			continue;
		}
		moved_ns = view->group->members[rank].moved_ns > moved_ns ? view->group->members[rank].moved_ns : moved_ns;
		out->waiting = rank;
	}
	if (out->behind_count == 0 || view->max_enqueued < 1 || (living < 2 && !has_first)) {
		out->behind_count = 0;
		return;
	}
	const struct collective_slot *slot = collective_slot_of(view->group, (uint64_t)view->max_enqueued);
	out->finding = COLLECTIVE_ENDED;
	out->sequence = (uint64_t)view->max_enqueued;
	out->op = slot ? slot->entries[out->waiting].op : 0;
	out->waited_s = seconds_between(moved_ns, known_until_ns(view, out->waiting));
	out->is_due =
		out->waited_s >= ended_min_s && out->waited_s >= (out->patience_s = fmax(ended_min_s, patience_s(view)));
}

/* -- public -- */

void collectives_judge_group(const struct model *model, size_t group, struct collective_judgement *out)
{
	struct view view;
	*out = (struct collective_judgement){ .group = group, .waited_s = NAN, .patience_s = NAN };
	if (!view_group(model, group, &view))
		return;
	out->member_count = view.count;
	if (find_mismatch(&view, out) || find_behind(&view, out))
		return;
	find_slow(&view, out);
	if (out->finding == COLLECTIVE_FINE)
		find_ended(&view, out);
}

/* Whether a rank that is behind in one group waits in another, so that it is not to blame. */
static bool waits_elsewhere(const struct model *model, const struct collective_judgement *judgement)
{
	for (size_t i = 0; i < model->collectives->group_count; i++) {
		struct collective_judgement other;
		if (i == judgement->group)
			continue;
		collectives_judge_group(model, i, &other);
		const struct collective_member *member = &model->collectives->groups[i].members[judgement->behind[0]];
		if (other.finding == COLLECTIVE_BEHIND && member->is_member && member->enqueued >= (int64_t)other.sequence &&
			member->completed < (int64_t)other.sequence)
			return true;
	}
	return false;
}

static bool is_worse(
	const struct model *model, const struct collective_judgement *a, const struct collective_judgement *b)
{
	if (a->is_due != b->is_due)
		return a->is_due;
	if (a->finding != b->finding)
		return a->finding > b->finding;
	if (a->finding == COLLECTIVE_BEHIND) {
		bool a_waits = waits_elsewhere(model, a), b_waits = waits_elsewhere(model, b);
		if (a_waits != b_waits)
			return b_waits;
	}
	return a->waited_s > b->waited_s;
}

/* A rank that is behind because another one of its groups has ended. */
static void blame_ended(const struct model *model, struct collective_judgement *out)
{
	if (out->finding != COLLECTIVE_BEHIND)
		return;
	for (size_t i = 0; i < model->collectives->group_count; i++) {
		struct collective_judgement other;
		collectives_judge_group(model, i, &other);
		if (other.finding != COLLECTIVE_ENDED || !model->collectives->groups[i].members[out->behind[0]].is_member)
			continue;
		other.is_due |= out->is_due;
		*out = other;
		return;
	}
}

void collectives_judge(const struct model *model, struct collective_judgement *out)
{
	*out = (struct collective_judgement){ .waited_s = NAN, .patience_s = NAN };
	for (size_t i = 0; model->collectives && i < model->collectives->group_count; i++) {
		struct collective_judgement other;
		collectives_judge_group(model, i, &other);
		if (other.finding != COLLECTIVE_FINE && (out->finding == COLLECTIVE_FINE || is_worse(model, &other, out)))
			*out = other;
	}
	blame_ended(model, out);
}
