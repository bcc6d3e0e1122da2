#include "src/model/collectives/collectives_pace.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/clock.h"
#include "src/model/collectives/collectives_view.h"
#include "src/model/collectives/exchange.h"
#include "src/model/collectives/own_delay.h"
#include "src/model/model.h"
#include "src/model/statistics/statistics.h"

/* A group with fewer collectives has no straggler yet. */
enum { PACE_MIN = 20 };
/* Delays of a rank that do not count: incidents. The longest three, and of those of a second or more, as evaluations
 * and checkpoints of one rank are, one in 32 collectives. Five shorter ones that are nearly equally long recur: all
 * count. */
enum { INCIDENTS_MIN = 3, INCIDENTS_MAX = 8, INCIDENT_COLLECTIVES = 32, RECURRING_MIN = 5 };
static const double incident_min_s = 1, recurring_ratio = 0.5;
/* A straggler: of the time, by which factor more than the next, how late at least; over at least so long, up to so long
 * ago. The pace is that of the newest collectives, up to pace_max_s. */
static const double straggler_ratio = 0.1, straggler_factor = 2, late_min_s = 1e-3, elapsed_min_s = 1,
					straggler_age_s = 60, pace_max_s = 30, throttled_ratio = 0.1;

/* Inserts a value where it belongs; the smallest falls out. */
static void note_incident(double incidents_s[INCIDENTS_MAX], double seconds)
{
	for (size_t i = 0; i < INCIDENTS_MAX; i++)
		if (seconds > incidents_s[i]) {
			double smaller_s = incidents_s[i];
			incidents_s[i] = seconds;
			seconds = smaller_s;
		}
}

static double sum_incidents(const double incidents_s[INCIDENTS_MAX], size_t collectives)
{
	double sum_s = 0;
	if (incidents_s[0] < incident_min_s && incidents_s[RECURRING_MIN - 1] >= recurring_ratio * incidents_s[0])
		return 0;
	for (size_t i = 0; i < INCIDENTS_MAX; i++)
		if (i < INCIDENTS_MIN || (i < collectives / INCIDENT_COLLECTIVES && incidents_s[i] >= incident_min_s))
			sum_s += incidents_s[i];
	return sum_s;
}

struct sums {
	size_t count;
	double intervals_s[COLLECTIVE_SLOTS], skews_s[COLLECTIVE_SLOTS], delays_s[COLLECTIVE_SLOTS];
	uint64_t sequences[COLLECTIVE_SLOTS];
	size_t interval_count, last[COLLECTIVE_SLOTS], last_count[COLLECTIVE_RANKS_MAX];
	int64_t begin_ns, end_ns;
	/* others waited for its own time (own_delay.h): without counting any time twice */
	double waited_s[COLLECTIVE_RANKS_MAX];
	double incidents_s[COLLECTIVE_RANKS_MAX][INCIDENTS_MAX]; /* its longest delays, longest first */
	int64_t waited_until_ns[COLLECTIVE_RANKS_MAX];
};

/* The first collective of the pace: its newest ones. */
static uint64_t pace_begin(const struct collectives_view *view)
{
	uint64_t newest = (uint64_t)view->max_enqueued, oldest = newest > COLLECTIVE_SLOTS ? newest - COLLECTIVE_SLOTS : 0,
			 at = newest;
	int64_t newest_ns = 0;
	for (size_t count = 0; at > oldest; at--) {
		const struct collective_slot *slot = collective_slot_of(view->group, at);
		int64_t released_ns = slot ? slot->released_ns : 0;
		newest_ns = newest_ns ? newest_ns : released_ns;
		count += released_ns != 0;
		if (count > PACE_MIN && released_ns && seconds_between(released_ns, newest_ns) > pace_max_s)
			break;
	}
	return at + 1;
}

/* A rank in Join is never late, and none is late for it. */
static size_t first_of(const struct collectives_view *view, const struct collective_slot *slot, size_t last)
{
	size_t first = last;
	for (size_t i = 0; i < view->count; i++) {
		size_t rank = view->members[i];
		if (slot->entries[rank].entered_ns < slot->entries[first].entered_ns &&
			!joined_at(&view->all->ranks[rank], slot->entries[rank].entered_ns))
			first = rank;
	}
	return joined_at(&view->all->ranks[last], slot->entries[last].entered_ns) ? last : first;
}

/* Adds the wait for the last rank of a collective, so far as that is itself the reason. */
static void add_wait(struct sums *sums, const struct collectives_view *view, uint64_t sequence, size_t last)
{
	const struct collective_slot *slot = collective_slot_of(view->group, sequence);
	size_t first = first_of(view, slot, last);
	int64_t begin_ns = slot->entries[first].entered_ns, end_ns = slot->entries[last].entered_ns;
	begin_ns = begin_ns > sums->waited_until_ns[last] ? begin_ns : sums->waited_until_ns[last];
	double delay_s = end_ns > begin_ns
		? own_delay_s(view->all, view->group, slot, first, last, seconds_between(begin_ns, end_ns))
		: 0;
	sums->waited_s[last] += delay_s;
	note_incident(sums->incidents_s[last], delay_s);
	sums->waited_until_ns[last] = end_ns > begin_ns ? end_ns : begin_ns;
	sums->delays_s[sums->count] = delay_s;
}

static void add_up(const struct collectives_view *view, struct sums *sums)
{
	int64_t first_ns, last_ns, before_ns = 0;
	size_t last;
	memset(sums, 0, sizeof *sums);
	if (view->max_enqueued < 1)
		return;
	for (uint64_t i = pace_begin(view); i <= (uint64_t)view->max_enqueued; i++) {
		if (!collectives_view_times(view, i, &first_ns, &last_ns, &last)) {
			before_ns = 0;
			continue;
		}
		if (before_ns && first_ns >= before_ns)
			sums->intervals_s[sums->interval_count++] = seconds_between(before_ns, first_ns);
		before_ns = first_ns;
		sums->begin_ns = sums->count ? sums->begin_ns : first_ns;
		sums->end_ns = last_ns > sums->end_ns ? last_ns : sums->end_ns;
		add_wait(sums, view, i, last);
		sums->last_count[last]++;
		sums->last[sums->count] = last;
		sums->sequences[sums->count] = i;
		sums->skews_s[sums->count++] = seconds_between(first_ns, last_ns);
	}
}

static int compare_seconds(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;
	return (a > b) - (a < b);
}

/* Half of the time for which others waited is in delays of at least this length: in a step of several collectives only
 * the first is late, and perhaps not in each step. */
static double late_s(const struct sums *sums, size_t rank)
{
	double delays_s[COLLECTIVE_SLOTS], sum_s = 0;
	size_t count = 0;
	for (size_t i = 0; i < sums->count; i++)
		if (sums->last[i] == rank) {
			sum_s += sums->delays_s[i];
			delays_s[count++] = sums->delays_s[i];
		}
	qsort(delays_s, count, sizeof *delays_s, compare_seconds);
	for (double longer_s = 0; count > 0; count--)
		if ((longer_s += delays_s[count - 1]) >= sum_s / 2)
			return delays_s[count - 1];
	return NAN;
}

/* -- the straggler -- */

static double busy_ratio(const struct collectives_view *view, const struct sums *sums, size_t rank)
{
	struct exchange_pair pair = { .delays_s = 0 };
	for (size_t i = 0; i < sums->count; i++) {
		const struct collective_slot *slot =
			sums->last[i] == rank ? collective_slot_of(view->group, sums->sequences[i]) : NULL;
		if (slot)
			exchange_add(view->model, view->group, slot, first_of(view, slot, rank), rank, sums->delays_s[i], &pair);
	}
	return exchange_busy_ratio(&pair);
}

static void find_straggler(const struct collectives_view *view, const struct sums *sums, struct collective_pace *out)
{
	size_t most = view->members[0];
	double most_s = -1, next_s = 0, elapsed_s = seconds_between(sums->begin_ns, sums->end_ns), whole_s = elapsed_s;
	for (size_t i = 0; i < view->count; i++) {
		size_t rank = view->members[i];
		double incidents_s = sum_incidents(sums->incidents_s[rank], sums->count),
			   waited_s = sums->waited_s[rank] - incidents_s;
		out->waits_ratio[rank] = whole_s > 0 ? sums->waited_s[rank] / whole_s : (double)NAN;
		elapsed_s -= incidents_s;
		next_s = fmax(next_s, fmin(waited_s, most_s));
		most = waited_s > most_s ? rank : most;
		most_s = fmax(most_s, waited_s);
	}
	out->waited_ratio = 0;
	out->late_s = late_s(sums, most);
	most_s *= most_s >= straggler_ratio * elapsed_s ? busy_ratio(view, sums, most) : 1;
	if (elapsed_s < elapsed_min_s || seconds_between(sums->end_ns, view->model->now_ns) > straggler_age_s ||
		most_s < straggler_ratio * elapsed_s || most_s < straggler_factor * next_s || !(out->late_s >= late_min_s))
		return;
	out->straggler = (int)most;
	out->waited_ratio = fmin(most_s / elapsed_s, 1);
	out->last_ratio = (double)sums->last_count[most] / (double)sums->count;
}

void collectives_view_pace(const struct collectives_view *view, struct collective_pace *out)
{
	struct sums sums;
	add_up(view, &sums);
	out->complete = sums.count;
	out->interval_s = median_of(sums.intervals_s, sums.interval_count);
	if (sums.count >= PACE_MIN)
		find_straggler(view, &sums, out);
	out->skew_s = median_of(sums.skews_s, sums.count);
}

void collectives_pace(const struct model *model, size_t group, struct collective_pace *out)
{
	struct collectives_view view;
	*out = (struct collective_pace){
		.interval_s = NAN, .skew_s = NAN, .straggler = -1, .last_ratio = NAN, .late_s = NAN, .waited_ratio = NAN
	};
	for (size_t i = 0; i < COLLECTIVE_RANKS_MAX; i++)
		out->waits_ratio[i] = NAN;
	if (collectives_view(model, group, &view))
		collectives_view_pace(&view, out);
}

int collectives_slowest(const struct model *model, struct collective_pace *out)
{
	double throttled, others;
	int found = -1, stopped = collectives_throttled(model, &throttled, &others);
	for (size_t i = 0; model->collectives && i < model->collectives->group_count; i++) {
		struct collective_pace pace;
		collectives_pace(model, i, &pace);
		/* It is late in this group because it waited for the throttled one in another. */
		if (stopped >= 0 && pace.straggler != stopped && pace.waited_ratio < throttled) {
			pace.straggler = -1;
			pace.waited_ratio = 0;
		}
		if (isnan(pace.waited_ratio) || (found >= 0 && pace.waited_ratio <= out->waited_ratio))
			continue;
		*out = pace;
		found = (int)i;
	}
	return found;
}

int collectives_throttled(const struct model *model, double *ratio, double *others_ratio)
{
	int found = -1;
	double most = 0, next = 0;
	for (size_t i = 0; model->collectives && i < model->collectives->rank_count; i++) {
		const struct collective_rank *rank = &model->collectives->ranks[i];
		double at = rank->is_gone || isnan(rank->throttle.recent_ratio) ? 0 : rank->throttle.recent_ratio;
		next = fmax(next, fmin(at, most));
		found = at > most ? (int)i : found;
		most = fmax(most, at);
	}
	*ratio = most;
	*others_ratio = next;
	return most >= throttled_ratio && most >= straggler_factor * next ? found : -1;
}
