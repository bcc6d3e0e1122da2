#include "src/model/collectives/collectives_judge.h"

#include <math.h>
#include <string.h>

#include "src/base/clock.h"
#include "src/model/code/code_samples.h"
#include "src/model/collectives/collectives_view.h"
#include "src/model/model.h"
#include "src/model/ranks/ranks.h"

static const double patience_min_s = 5, interval_ratio = 10, skew_ratio = 1.5, first_patience_s = 60, slow_min_s = 10,
					ended_min_s = 10;
/* A group with fewer collectives is at its beginning. */
enum { FIRST_COLLECTIVES = 10 };
/* A reading this old is a rank's last: its memory could not be read since. */
static const double reading_age_s = 3;
/* Work of one rank for which the others wait as planned: a fifth of its stack samples suffice, because a checkpoint's
 * own code computes, too. */
static const double healthy_ratio = 0.2, healthy_patience_s = 600;
/* A rank that works in the last seconds, at a validation perhaps, does not hang. */
static const double working_window_s = 4, working_patience_s = 60, running_min_ratio = 0.5, moving_s = 5;
/* A rank that has executed the same few lines all this time does not validate; one line may be a long call. */
static const double repeating_s = 15, repeating_one_s = 30;

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

static bool is_other(const struct collectives_view *view, uint32_t a, uint32_t b)
{
	const struct collective_op *one = collective_op_of(view->all, a), *other = collective_op_of(view->all, b);
	if (a == b || !one || !other)
		return false;
	return strcmp(one->name, other->name) != 0 ||
		(has_equal_sizes(one->name) && one->sizes[0] && other->sizes[0] && strcmp(one->sizes, other->sizes) != 0);
}

/* How many members entered it in the collectives before this one. */
static size_t count_before(const struct collectives_view *view, uint64_t sequence, uint32_t op)
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
static uint32_t common_op(const struct collectives_view *view, const struct collective_slot *slot)
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

static bool find_mismatch(const struct collectives_view *view, struct collective_judgement *out)
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
static int64_t known_until_ns(const struct collectives_view *view, size_t rank)
{
	const struct collective_rank *at = &view->all->ranks[rank];
	bool is_old = !at->is_gone && seconds_between(at->read_ns, view->model->now_ns) > reading_age_s;
	return is_old ? at->read_ns : view->model->now_ns;
}

static int64_t entered_ns(const struct collectives_view *view, size_t rank, uint64_t sequence)
{
	const struct collective_slot *slot = collective_slot_of(view->group, sequence);
	return slot && slot->entries[rank].entered_ns ? slot->entries[rank].entered_ns
												  : view->group->members[rank].moved_ns;
}

static double patience_s(const struct collectives_view *view)
{
	struct collective_pace pace = { .straggler = -1 };
	collectives_view_pace(view, &pace);
	double patience = fmax(patience_min_s, skew_ratio * view->group->longest_skew_s);
	if (!isnan(pace.interval_s))
		patience = fmax(patience, interval_ratio * pace.interval_s);
	return pace.complete < FIRST_COLLECTIVES ? fmax(patience, first_patience_s) : patience;
}

/* CHECKPOINT or COMPILE, if the rank did that while the others waited; else OTHER. */
static enum code_phase phase_of(const struct collectives_view *view, size_t rank, int64_t from_ns, int64_t to_ns)
{
	struct phase_sums sums = { .samples = 0 };
	model_sum_phases(view->model, view->all->ranks[rank].pid, from_ns, to_ns, &sums);
	enum code_phase phase = sums.counts[CODE_PHASE_COMPILE] > sums.counts[CODE_PHASE_CHECKPOINT]
		? CODE_PHASE_COMPILE
		: CODE_PHASE_CHECKPOINT;
	return sums.samples > 0 && sums.counts[phase] >= healthy_ratio * sums.samples ? phase : CODE_PHASE_OTHER;
}

static size_t repeated_stacks(
	const struct collectives_view *view, const struct collective_rank *rank, double seconds, int64_t until_ns)
{
	return model_repeated_stacks(view->model, rank->pid, until_ns - (int64_t)(seconds * (double)NS_PER_S), until_ns);
}

static bool is_moving(const struct collectives_view *view, size_t rank, int64_t until_ns)
{
	return seconds_between(ranks_moved_ns(view->model, view->all->ranks[rank].pid), until_ns) < moving_s;
}

/* Its steps go on, and those of the rank that waits do not. Their stacks are equal if they wait for a loader. */
static bool is_validating(
	const struct collectives_view *view, const struct collective_judgement *judgement, int64_t until_ns)
{
	return is_moving(view, judgement->behind[0], until_ns) && !is_moving(view, judgement->waiting, until_ns);
}

/* For how long the others' wait is normal, by what the rank does. */
static double work_patience_s(
	const struct collectives_view *view, const struct collective_judgement *judgement, int64_t until_ns)
{
	if (judgement->phase != CODE_PHASE_OTHER)
		return healthy_patience_s;
	const struct collective_rank *rank = &view->all->ranks[judgement->behind[0]];
	int64_t from_ns = until_ns - (int64_t)(working_window_s * (double)NS_PER_S);
	bool is_working = is_validating(view, judgement, until_ns) || rank->running_ratio >= running_min_ratio ||
		model_is_working(view->model, rank->pid, from_ns, until_ns);
	if (rank->is_gone || !is_working)
		return 0;
	if (repeated_stacks(view, rank, repeating_s, until_ns) > 1)
		return repeating_s;
	return repeated_stacks(view, rank, repeating_one_s, until_ns) > 0 ? repeating_one_s : working_patience_s;
}

static bool find_behind(const struct collectives_view *view, struct collective_judgement *out)
{
	int64_t first_ns = INT64_MAX, until_ns = 0;
	if (view->min_enqueued == view->max_enqueued)
		return false;
	out->finding = COLLECTIVE_BEHIND;
	out->sequence = view->min_enqueued > 0 ? (uint64_t)view->min_enqueued + 1 : 1;
	for (size_t i = 0; i < view->count; i++) {
		size_t rank = view->members[i];
		if (collectives_view_entered(view, rank) < (int64_t)out->sequence) {
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
	out->patience_s = fmax(patience_s(view), work_patience_s(view, out, until_ns));
	out->is_due = out->waited_s >= out->patience_s;
	return true;
}

static void find_slow(const struct collectives_view *view, struct collective_judgement *out)
{
	int64_t first_ns, last_ns;
	size_t last = 0;
	if (view->min_completed < 1 || view->min_completed >= view->min_enqueued)
		return;
	out->sequence = (uint64_t)view->min_completed + 1;
	if (!collectives_view_times(view, out->sequence, &first_ns, &last_ns, &last))
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
static void find_ended(const struct collectives_view *view, struct collective_judgement *out)
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
	struct collectives_view view;
	*out = (struct collective_judgement){ .group = group, .waited_s = NAN, .patience_s = NAN };
	if (!collectives_view(model, group, &view))
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

bool collectives_entered(
	const struct model *model, size_t group, uint64_t sequence, int64_t *first_ns, int64_t *last_ns, size_t *last)
{
	struct collectives_view view;
	return collectives_view(model, group, &view) && collectives_view_times(&view, sequence, first_ns, last_ns, last);
}
