#include "src/fleet/fleet_lost.h"

#include <math.h>
#include <stdlib.h>

#include "src/fleet/fleet_median.h"

enum { SORTED_MAX = 64 };
static const double late_ratio = 1.05;

static int by_own(const void *left, const void *right)
{
	const struct fleet_due *a = left, *b = right;
	return (a->own_s > b->own_s) - (a->own_s < b->own_s);
}

/* NAN: it has no such step, or does not wait for the others. */
static double own_of(const struct fleet_row *row, uint64_t number, double *step_s)
{
	const struct fleet_step *step = row->is_alike ? fleet_rank_step(row->rank, number) : NULL;
	*step_s = step ? fleet_step_time(step) : 0;
	return step ? fleet_step_own(step) : (double)NAN;
}

/* The ranks above `limit_s`, in the order in which they are waited for. */
static size_t sort_dues(struct fleet_view *view, uint64_t number, double limit_s)
{
	size_t count = 0;
	double step_s;
	for (size_t i = 0; i < view->count; i++) {
		double own_s = own_of(&view->rows[i], number, &step_s);
		if (own_s > limit_s)
			view->dues[count++] = (struct fleet_due){ own_s, i };
	}
	if (count)
		qsort(view->dues, count, sizeof *view->dues, by_own);
	return count;
}

/* Returns the time of all ranks in this step; 0: half of them do not have it. */
static double add_step(struct fleet_view *view, uint64_t number)
{
	size_t known = 0;
	double all_s = 0, step_s, owed_s = 0;
	for (size_t i = 0; i < view->count; i++) {
		double own_s = own_of(&view->rows[i], number, &step_s);
		if (!isfinite(own_s))
			continue;
		view->values[known++] = own_s;
		all_s += step_s;
	}
	if (known < 2 || 2 * known < view->count)
		return 0;
	bool is_small = known <= SORTED_MAX;
	double median_s = fleet_median(view->values, known);
	size_t dues = sort_dues(view, number, is_small ? -1 : late_ratio * median_s), waiting = known - dues;
	double before_s = is_small ? view->dues[0].own_s : median_s;
	for (size_t i = 0; i < dues; i++) {
		owed_s += (double)waiting++ * (view->dues[i].own_s - before_s) / (double)(dues - i);
		before_s = view->dues[i].own_s;
		view->rows[view->dues[i].row].lost_s += owed_s;
	}
	return all_s;
}

void fleet_lost_measure(struct fleet_view *view, uint64_t newest)
{
	double all_s = 0, lost_s = 0;
	for (size_t i = 0; i < view->count; i++)
		view->rows[i].lost_s = 0;
	for (uint64_t k = 0; k < FLEET_STEPS && k <= newest; k++)
		all_s += add_step(view, newest - k);
	for (size_t i = 0; i < view->count; i++) {
		struct fleet_row *row = &view->rows[i];
		row->lost_s = all_s > 0 && isfinite(row->own_s) && row->is_alike ? row->lost_s : (double)NAN;
		row->lost_ratio = row->lost_s / all_s;
		lost_s += isfinite(row->lost_s) ? row->lost_s : 0;
	}
	view->lost_ratio = all_s > 0 ? lost_s / all_s : (double)NAN;
}
