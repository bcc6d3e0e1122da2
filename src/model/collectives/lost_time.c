#include "src/model/collectives/lost_time.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/clock.h"
#include "src/model/code/code_samples.h"
#include "src/model/collectives/collectives.h"
#include "src/model/collectives/collectives_judge.h"
#include "src/model/collectives/exchange_hang.h"
#include "src/model/collectives/lost_steps.h"
#include "src/model/collectives/lost_without.h"
#include "src/model/collectives/own_delay.h"
#include "src/model/model.h"

enum { COLLECTIVES_MIN = 20 };
static const double stall_min_s = 5, stall_ratio = 10, row_min_ratio = 0.001;
/* Stack samples arrive up to a second after the collective. */
static const double settled_s = 1;
/* A delay shorter than this has hardly a stack sample. */
static const double sampled_min_s = 0.01;
/* A checkpoint's own code computes, too: see collectives_judge.c. */
static const double planned_ratio = 0.2, data_ratio = 0.5;

_Static_assert((int)LOST_RANKS_MAX == (int)COLLECTIVE_RANKS_MAX, "one row for each rank");

const char *lost_cause_name(enum lost_cause cause)
{
	static const char *const names[] = {
#define LOST_CAUSE_NAME(id, name) [LOST_##id] = name,
		LOST_CAUSES(LOST_CAUSE_NAME)
#undef LOST_CAUSE_NAME
	};
	return names[cause];
}

double lost_stall_s(const struct lost_group *lost)
{
	double interval_s = lost->ordinary ? lost->ordinary_s / (double)lost->ordinary : 0;
	return fmax(stall_min_s, stall_ratio * interval_s);
}

/* -- one collective -- */

struct wait {
	size_t rank;
	int64_t entered_ns;
	bool is_waiting; /* it waited until the last one had entered */
};

static int compare_waits(const void *left, const void *right)
{
	const struct wait *a = left, *b = right;
	return (a->entered_ns > b->entered_ns) - (a->entered_ns < b->entered_ns);
}

/* Of the members, in the order in which they entered. `next` NULL: all wait. 0: not all have entered. */
static size_t sort_waits(const struct collectives *all, const struct collective_group *group,
	const struct collective_slot *slot, const struct collective_slot *next, struct wait waits[LOST_RANKS_MAX])
{
	size_t count = 0;
	int64_t last_ns = 0;
	for (size_t i = 0; i < all->rank_count; i++) {
		if (!collective_is_member(all, group, i))
			continue;
		if (!slot->entries[i].entered_ns || (next && !next->entries[i].entered_ns))
			return 0;
		waits[count++] = (struct wait){ i, slot->entries[i].entered_ns, true };
		last_ns = slot->entries[i].entered_ns > last_ns ? slot->entries[i].entered_ns : last_ns;
	}
	for (size_t i = 0; next && i < count; i++)
		waits[i].is_waiting = next->entries[waits[i].rank].entered_ns >= last_ns &&
			!joined_at(&all->ranks[waits[i].rank], waits[i].entered_ns);
	qsort(waits, count, sizeof *waits, compare_waits);
	return count;
}

static enum lost_cause cause_of(
	const struct model *model, const struct lost_group *lost, size_t rank, int64_t from_ns, int64_t to_ns)
{
	static const struct {
		enum code_phase phase;
		enum lost_cause cause;
		const double *ratio;
	} planned[] = { { CODE_PHASE_CHECKPOINT, LOST_CHECKPOINT, &planned_ratio },
		{ CODE_PHASE_COMPILE, LOST_COMPILE, &planned_ratio }, { CODE_PHASE_DATA, LOST_DATA, &data_ratio } };
	struct phase_sums sums = { .samples = 0 };
	double delay_s = seconds_between(from_ns, to_ns);
	if (delay_s >= sampled_min_s)
		model_sum_phases(model, model->collectives->ranks[rank].pid, from_ns, to_ns, &sums);
	for (size_t i = 0; sums.samples && i < sizeof planned / sizeof *planned; i++)
		if (sums.counts[planned[i].phase] >= *planned[i].ratio * sums.samples)
			return planned[i].cause;
	return delay_s >= lost_stall_s(lost) ? LOST_STALL : LOST_STRAGGLER;
}

/* Which part of a rank's delay it is itself the reason for. */
static double own_part(const struct model *model, const struct collective_group *group,
	const struct collective_slot *slot, const struct wait *first, const struct wait *late)
{
	double late_s = seconds_between(first->entered_ns, late->entered_ns);
	if (!(late_s > 0))
		return 0;
	double own_s = own_delay_s(model->collectives, group, slot, first->rank, late->rank, late_s);
	exchange_add(model, group, slot, first->rank, late->rank, own_s, &group->lost->exchanges[late->rank]);
	return own_s / late_s;
}

/* Between the entries of two ranks, those before wait for those after. */
static void blame(const struct model *model, const struct collective_group *group, const struct collective_slot *slot,
	const struct wait *waits, size_t count)
{
	double owed_s = 0;
	size_t waiting = 0;
	for (size_t i = 0; i + 1 < count; i++) {
		waiting += waits[i].is_waiting;
		owed_s +=
			(double)waiting * seconds_between(waits[i].entered_ns, waits[i + 1].entered_ns) / (double)(count - i - 1);
		if (owed_s > 0)
			group->lost->seconds[waits[i + 1].rank][cause_of(model, group->lost, waits[i + 1].rank, waits[0].entered_ns,
				waits[i + 1].entered_ns)] += owed_s * own_part(model, group, slot, &waits[0], &waits[i + 1]);
	}
}

/* -- one after another -- */

static void add(struct model *model, struct collective_group *group, const struct collective_slot *slot,
	const struct wait *waits, size_t count)
{
	struct lost_group *lost = group->lost;
	int64_t last_ns = waits[count - 1].entered_ns;
	double elapsed_s = seconds_between(lost->released_ns, last_ns),
		   skew_s = seconds_between(waits[0].entered_ns, last_ns);
	lost->added++;
	if (!lost->released_ns && lost->ended_ns && last_ns > lost->ended_ns) {
		lost->restart_s += seconds_between(lost->ended_ns, last_ns);
		lost->elapsed_s += seconds_between(lost->ended_ns, last_ns);
		lost->ended_ns = 0;
	}
	if (lost->released_ns && elapsed_s >= 0) {
		lost->elapsed_s += elapsed_s;
		if (skew_s < lost_stall_s(lost)) {
			lost->ordinary_s += elapsed_s;
			lost->ordinary++;
		}
		blame(model, group, slot, waits, count);
	}
	lost->released_ns = last_ns;
}

static uint64_t newest_of(const struct collectives *all, const struct collective_group *group)
{
	int64_t newest = 0;
	for (size_t i = 0; i < all->rank_count; i++)
		if (collective_is_member(all, group, i) && group->members[i].enqueued > newest)
			newest = group->members[i].enqueued;
	return (uint64_t)newest;
}

static void advance(struct model *model, struct collective_group *group)
{
	const struct collectives *all = model->collectives;
	struct lost_group *lost = group->lost;
	struct wait waits[LOST_RANKS_MAX];
	uint64_t newest = newest_of(all, group), oldest = newest > COLLECTIVE_SLOTS ? newest - COLLECTIVE_SLOTS + 1 : 1;
	if (lost->next < oldest) {
		lost->next = oldest;
		lost->released_ns = 0; /* some were missed */
	}
	for (; lost->next < newest; lost->next++) {
		const struct collective_slot *slot = collective_slot_of(group, lost->next),
									 *next = collective_slot_of(group, lost->next + 1);
		size_t count = slot && next ? sort_waits(all, group, slot, next, waits) : 0;
		bool is_old = lost->next + COLLECTIVE_SLOTS / 2 < newest;
		if (count < 2 && !is_old)
			return;
		if (count < 2)
			lost->released_ns = 0;
		else if (!is_old && seconds_between(waits[count - 1].entered_ns, model->now_ns) < settled_s)
			return;
		else
			add(model, group, slot, waits, count);
	}
}

void model_refresh_lost_time(struct model *model)
{
	struct collectives *all = model->collectives;
	if (all)
		model_refresh_joined(model);
	for (size_t i = 0; all && i < all->group_count; i++) {
		struct collective_group *group = &all->groups[i];
		if (group->slots && !group->lost)
			group->lost = calloc(1, sizeof *group->lost);
		if (group->slots && group->lost)
			advance(model, group);
	}
}

/* -- the table -- */

struct table {
	double seconds[LOST_RANKS_MAX][LOST_CAUSE_COUNT], elapsed_s[LOST_RANKS_MAX], restart_s[LOST_RANKS_MAX];
};

/* Ranks wait now for one that is late: it may never come. */
static void add_open_wait(const struct model *model, struct table *table)
{
	const struct collectives *all = model->collectives;
	struct collective_judgement now;
	collectives_judge(model, &now);
	if (now.finding != COLLECTIVE_BEHIND || !(now.waited_s >= stall_min_s))
		return;
	const struct collective_group *group = &all->groups[now.group];
	const struct collective_slot *slot = collective_slot_of(group, now.sequence);
	int64_t until_ns = model->now_ns, first_ns = until_ns;
	double waited_s = 0;
	for (size_t i = 0; slot && i < all->rank_count; i++) {
		int64_t entered_ns = collective_is_member(all, group, i) ? slot->entries[i].entered_ns : 0;
		if (!entered_ns)
			continue;
		waited_s += seconds_between(entered_ns, until_ns);
		first_ns = entered_ns < first_ns ? entered_ns : first_ns;
	}
	for (size_t i = 0; group->lost && i < now.behind_count; i++)
		table->seconds[now.behind[i]][cause_of(model, group->lost, now.behind[i], first_ns, until_ns)] +=
			waited_s / (double)now.behind_count;
	for (size_t i = 0; i < all->rank_count; i++)
		if (collective_is_member(all, group, i))
			table->elapsed_s[i] += seconds_between(first_ns, until_ns);
}

/* The time of a rank is that of the group in which it was observed for the longest. */
static void add_group(const struct collectives *all, const struct collective_group *group, struct table *table)
{
	const struct lost_group *lost = group->lost;
	for (size_t i = 0; i < all->rank_count; i++) {
		double busy_ratio = exchange_busy_ratio(&lost->exchanges[i]);
		for (size_t cause = 0; cause < LOST_CAUSE_COUNT; cause++)
			table->seconds[i][cause] += lost->seconds[i][cause] * busy_ratio;
		if (!collective_is_member(all, group, i))
			continue;
		table->elapsed_s[i] = fmax(table->elapsed_s[i], lost->elapsed_s);
		table->restart_s[i] = fmax(table->restart_s[i], lost->restart_s);
	}
}

void lost_add_row(struct lost_time *out, int rank, struct lost_who who, enum lost_cause cause, double seconds)
{
	double share_ratio = seconds / out->rank_seconds;
	out->lost_s += seconds;
	if (!(share_ratio >= row_min_ratio))
		return;
	size_t at = out->count < LOST_ROWS_MAX ? out->count++ : LOST_ROWS_MAX - 1;
	if (at == LOST_ROWS_MAX - 1 && out->rows[at].seconds >= seconds)
		return;
	while (at > 0 && out->rows[at - 1].seconds < seconds) {
		out->rows[at] = out->rows[at - 1];
		at--;
	}
	out->rows[at] = (struct lost_row){ rank, who, cause, seconds, share_ratio };
}

static struct lost_who who_of(const struct collectives *all, size_t rank)
{
	return (struct lost_who){ all->ranks[rank].number, all->ranks[rank].pid };
}

/* A rank that was restarted has one row. */
static size_t same_rank(const struct collectives *all, size_t rank)
{
	size_t at = rank;
	for (size_t i = rank + 1; all->ranks[rank].number >= 0 && i < all->rank_count; i++)
		at = all->ranks[i].number == all->ranks[rank].number ? i : at;
	return at;
}

static void fill(const struct collectives *all, struct table *table, struct lost_time *out)
{
	double restart_s = 0;
	for (size_t i = 0; i < all->rank_count; i++) {
		size_t at = same_rank(all, i);
		out->rank_seconds += table->elapsed_s[i];
		restart_s += table->restart_s[i];
		for (size_t cause = 0; at != i && cause < LOST_CAUSE_COUNT; cause++)
			table->seconds[at][cause] += table->seconds[i][cause];
		if (at != i)
			memset(table->seconds[i], 0, sizeof table->seconds[i]);
	}
	for (size_t i = 0; i < all->rank_count; i++)
		for (size_t cause = 0; cause < LOST_CAUSE_COUNT; cause++)
			if (table->seconds[i][cause] > 0)
				lost_add_row(out, (int)i, who_of(all, i), (enum lost_cause)cause, table->seconds[i][cause]);
	if (restart_s > 0)
		lost_add_row(out, -1, (struct lost_who){ -1, 0 }, LOST_RESTART, restart_s);
}

void lost_time_measure(const struct model *model, struct lost_time *out)
{
	const struct collectives *all = model->collectives;
	struct table table = { .seconds = { { 0 } } };
	*out = (struct lost_time){ .without = -1, .speedup_ratio = NAN, .step_s = NAN };
	for (size_t i = 0; all && i < all->group_count; i++) {
		const struct collective_group *group = &all->groups[i];
		if (!group->is_used || !group->lost || group->lost->added < COLLECTIVES_MIN)
			continue;
		out->is_known = true;
		out->is_device |= group->is_device;
		add_group(all, group, &table);
	}
	if (!out->is_known) {
		lost_steps_measure(model, out);
		return;
	}
	add_open_wait(model, &table);
	fill(all, &table, out);
	lost_without_measure(model, out);
	if (out->without >= 0)
		out->without_who = who_of(all, (size_t)out->without);
}
