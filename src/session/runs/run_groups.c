#include "src/session/runs/run_groups.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/text.h"
#include "src/model/ranks/ranks.h"
#include "src/model/statistics/statistics.h"
#include "src/region/tables.h"
#include "src/sources/region/region_ranks.h"

enum { TOTALS_MAX = 64 * 1024, GROUP_MAX = 512 };

/* -- totals of a region -- */

static bool is_wait(struct region *region, uint32_t name)
{
	const char *text;
	size_t length;
	char clean[128];
	if (name == 0 || region_read_name(region, name, &text, &length) != REGION_OK)
		return false;
	text_clean(clean, sizeof clean, text, length);
	return ranks_is_wait(clean);
}

void run_groups_read(struct region *region, struct run_row *row)
{
	struct region_rank rank;
	struct region_total *total = malloc(sizeof *total);
	double steps_s = 0, waits_s = 0, count = 0;
	row->rank_number = -1;
	row->step_s = row->own_s = NAN;
	uint32_t totals = total && region_rank_read(region, &rank) ? region_total_count(region) : 0;
	if (totals) {
		row->rank_number = rank.rank;
		text_clean(row->run_id, sizeof row->run_id, rank.run_id, strlen(rank.run_id));
	}
	for (uint32_t i = 0; i < totals && i < TOTALS_MAX; i++) {
		if (region_read_total(region, i, total) != REGION_OK || !isfinite(total->total_s))
			continue;
		if (total->kind == TOTAL_STEP) {
			steps_s += total->total_s;
			count += (double)total->count;
		} else if (total->kind == TOTAL_SPAN && is_wait(region, total->name) && !is_wait(region, total->parent)) {
			waits_s += total->total_s;
		}
	}
	free(total);
	if (count < RANK_STEPS_MIN)
		return;
	row->step_s = steps_s / count;
	row->own_s = fmax(steps_s - waits_s, 0) / count;
}

/* -- groups -- */

bool run_groups_are_one(const struct run_row *a, const struct run_row *b)
{
	return a->rank_number >= 0 && b->rank_number >= 0 && strcmp(a->run_id, b->run_id) == 0;
}

static int by_rank(const void *left, const void *right)
{
	const struct run_row *a = left, *b = right;
	return a->rank_number != b->rank_number ? (a->rank_number > b->rank_number) - (a->rank_number < b->rank_number)
											: b->is_live - a->is_live;
}

static bool is_compared(const struct run_row *row) { return row->is_live && isfinite(row->step_s); }

/* Synchronous ranks have equal step times, so their own times (without waits for others) are compared; those of
 * asynchronous ranks are the step times. */
static void fill_times(const struct run_row *rows, size_t count, double *times_s)
{
	double min_s = INFINITY, max_s = 0;
	for (size_t i = 0; i < count; i++)
		if (is_compared(&rows[i])) {
			min_s = fmin(min_s, rows[i].step_s);
			max_s = fmax(max_s, rows[i].step_s);
		}
	for (size_t i = 0; i < count; i++)
		times_s[i] = max_s <= min_s * RANK_SYNCHRONOUS_RATIO ? rows[i].own_s : rows[i].step_s;
}

/* Compares means over the whole run. */
static void mark_slowest(struct run_row *rows, size_t count)
{
	double times_s[GROUP_MAX], others_s[GROUP_MAX];
	size_t slowest = count, others = 0;
	fill_times(rows, count, times_s);
	for (size_t i = 0; i < count; i++)
		if (is_compared(&rows[i]) && (slowest == count || times_s[i] > times_s[slowest]))
			slowest = i;
	for (size_t i = 0; i < count; i++)
		if (i != slowest && is_compared(&rows[i]))
			others_s[others++] = times_s[i];
	if (others > 0)
		rows[slowest].is_slowest = times_s[slowest] > (1 + RANK_SLOWEST_RATIO) * median_of(others_s, others);
}

void run_groups_arrange(struct run_row *rows, size_t count)
{
	for (size_t first = 0, end; first < count; first = end) {
		end = first + 1;
		for (size_t i = end; i < count; i++) {
			if (!run_groups_are_one(&rows[first], &rows[i]))
				continue;
			struct run_row row = rows[i];
			memmove(&rows[end + 1], &rows[end], (i - end) * sizeof *rows);
			rows[end++] = row;
		}
		qsort(&rows[first], end - first, sizeof *rows, by_rank);
		if (end - first > 1 && end - first <= GROUP_MAX)
			mark_slowest(&rows[first], end - first);
	}
}
