#include "src/fleet/fleet_view.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/clock.h"
#include "src/fleet/fleet_lost.h"
#include "src/fleet/fleet_median.h"

static const double synchronous_ratio = 1.10, synchronous_share = 0.9;
static const double still_steps = 10, still_min_s = 5;
/* Of the heat map: above these ratios to the median. */
static const double heat_levels[FLEET_HEAT_COUNT] = {
	[FLEET_HEAT_WARM] = 1.1, [FLEET_HEAT_SLOW] = 1.5, [FLEET_HEAT_HOT] = 2
};
enum { LATE_STEPS = 8 };
#define STEP_MAX 9e18

const char *fleet_rank_state_name(enum fleet_rank_state state)
{
	static const char *const names[] = {
#define FLEET_RANK_STATE_NAME(id, name) [FLEET_RANK_##id] = name,
		FLEET_RANK_STATES(FLEET_RANK_STATE_NAME)
#undef FLEET_RANK_STATE_NAME
	};
	return names[state];
}

const char *fleet_sort_name(enum fleet_sort sort)
{
	static const char *const names[] = {
#define FLEET_SORT_NAME(id, name) [FLEET_SORT_##id] = name,
		FLEET_SORTS(FLEET_SORT_NAME)
#undef FLEET_SORT_NAME
	};
	return names[sort];
}

bool fleet_rank_is_problem(enum fleet_rank_state state) { return state < FLEET_RANK_RUNNING; }

const char *fleet_row_name(const struct fleet_row *row, char *out, size_t size)
{
	if (row->rank->number >= 0)
		snprintf(out, size, "rank %ld", row->rank->number);
	else
		snprintf(out, size, "pid %d", (int)row->rank->pid);
	return out;
}

/* -- one row -- */

static enum fleet_rank_state still_state(const struct fleet_rank *rank)
{
	const struct fleet_name *where = rank->where ? fleet_rank_name(rank, rank->where) : NULL;
	return where && where->is_wait ? FLEET_RANK_WAITING : FLEET_RANK_STUCK;
}

static enum fleet_rank_state state_of(const struct fleet_row *row)
{
	const struct fleet_rank *rank = row->rank;
	double still_max_s = fmax(still_min_s, still_steps * (isfinite(row->step_s) ? row->step_s : 0));
	if (rank->has_ended)
		return rank->is_orderly ? FLEET_RANK_ENDED : FLEET_RANK_KILLED;
	if (row->host->state != FLEET_HOST_LIVE)
		return FLEET_RANK_SILENT;
	if (rank->process_state == 'T' || rank->process_state == 't')
		return FLEET_RANK_STOPPED;
	if (!rank->step_count)
		return FLEET_RANK_STARTING;
	return row->still_s > still_max_s ? still_state(rank) : FLEET_RANK_RUNNING;
}

/* Of the hosts that show a rank, a live one that watches it by itself comes first. */
static int by_identity(const void *a, const void *b)
{
	const struct fleet_row *x = a, *y = b;
	int order = strcmp(x->rank->uuid, y->rank->uuid);
	int x_dead = x->host->state != FLEET_HOST_LIVE, y_dead = y->host->state != FLEET_HOST_LIVE;
	order = order ? order : x_dead - y_dead;
	order = order ? order : (y->rank->pid == y->host->target_pid) - (x->rank->pid == x->host->target_pid);
	return order ? order : (x->rank > y->rank) - (x->rank < y->rank);
}

/* A host shows all ranks of a run that it has; two names of one host must not show them twice. */
static void drop_repeated(struct fleet_view *view)
{
	size_t retained = 0;
	if (view->count)
		qsort(view->rows, view->count, sizeof *view->rows, by_identity);
	for (size_t i = 0; i < view->count; i++) {
		const char *uuid = view->rows[i].rank->uuid;
		if (!retained || !uuid[0] || strcmp(uuid, view->rows[retained - 1].rank->uuid) != 0)
			view->rows[retained++] = view->rows[i];
	}
	view->count = retained;
}

static void fill_row(
	struct fleet_row *row, const struct fleet_host *host, const struct fleet_rank *rank, int64_t now_ns)
{
	*row = (struct fleet_row){ .host = host,
		.rank = rank,
		.has_steps = rank->has_batch || rank->batch_number,
		.step = rank->batch_number,
		.step_s = fleet_rank_mean(rank, fleet_step_time),
		.own_s = fleet_rank_mean(rank, fleet_step_own),
		.wait_s = fleet_rank_mean(rank, fleet_step_wait),
		.data_s = fleet_rank_mean(rank, fleet_step_data),
		.lost_s = NAN,
		.lost_ratio = NAN,
		.ratio = NAN,
		.late_s = NAN,
		.still_s = rank->event_ns ? fmax(seconds_between(rank->event_ns, now_ns), 0) : (double)NAN };
	row->wait_ratio = row->wait_s / row->step_s;
	row->state = state_of(row);
}

/* -- all rows -- */

static bool reserve(struct fleet_view *view, size_t count)
{
	if (count <= view->capacity)
		return true;
	struct fleet_row *rows = realloc(view->rows, count * sizeof *rows);
	view->rows = rows ? rows : view->rows;
	double *values = realloc(view->values, count * sizeof *values);
	view->values = values ? values : view->values;
	struct fleet_due *dues = realloc(view->dues, count * sizeof *dues);
	view->dues = dues ? dues : view->dues;
	if (!rows || !values || !dues)
		return false;
	view->capacity = count;
	return true;
}

static double median_of(struct fleet_view *view, size_t offset)
{
	size_t count = 0;
	for (size_t i = 0; i < view->count; i++) {
		double value = *(const double *)((const char *)&view->rows[i] + offset);
		if (isfinite(value))
			view->values[count++] = value;
	}
	return fleet_median(view->values, count);
}

static void compare(struct fleet_view *view)
{
	size_t alike = 0, known = 0, with_own = 0;
	view->median_step_s = median_of(view, offsetof(struct fleet_row, step_s));
	for (size_t i = 0; i < view->count; i++) {
		double ratio = view->rows[i].step_s / view->median_step_s;
		known += isfinite(ratio) != 0;
		with_own += isfinite(view->rows[i].own_s) != 0;
		view->rows[i].is_alike = ratio < synchronous_ratio && ratio > 1 / synchronous_ratio;
		alike += view->rows[i].is_alike;
	}
	view->is_synchronous = known > 1 && with_own == known && (double)alike >= synchronous_share * (double)known;
	view->median_s = view->is_synchronous ? median_of(view, offsetof(struct fleet_row, own_s)) : view->median_step_s;
	for (size_t i = 0; i < view->count; i++) {
		struct fleet_row *row = &view->rows[i];
		row->ratio = (view->is_synchronous ? row->own_s : row->step_s) / view->median_s;
		row->ratio = isfinite(row->ratio) ? row->ratio : (double)NAN;
	}
}

/* The newest step that half of the ranks have finished. */
static bool common_step(struct fleet_view *view, uint64_t *number)
{
	size_t count = 0;
	for (size_t i = 0; i < view->count; i++)
		if (view->rows[i].state == FLEET_RANK_RUNNING && view->rows[i].step)
			view->values[count++] = (double)(view->rows[i].step - 1);
	double median = fleet_median(view->values, count);
	bool is_known = count > 1 && median < STEP_MAX;
	*number = is_known ? (uint64_t)median : 0;
	return is_known;
}

static void measure_late(struct fleet_view *view, uint64_t newest)
{
	int64_t first_ns[LATE_STEPS];
	for (unsigned k = 0; k < LATE_STEPS; k++) {
		first_ns[k] = INT64_MAX;
		for (size_t i = 0; i < view->count; i++) {
			const struct fleet_step *step = fleet_rank_step(view->rows[i].rank, newest - k);
			if (step && step->begin_ns < first_ns[k])
				first_ns[k] = step->begin_ns;
		}
	}
	for (size_t i = 0; i < view->count; i++) {
		double late_s[LATE_STEPS];
		size_t count = 0;
		for (unsigned k = 0; k < LATE_STEPS; k++) {
			const struct fleet_step *step = fleet_rank_step(view->rows[i].rank, newest - k);
			if (step)
				late_s[count++] = seconds_between(first_ns[k], step->begin_ns);
		}
		view->rows[i].late_s = fleet_median(late_s, count);
	}
}

static void measure_steps(struct fleet_view *view)
{
	uint64_t newest;
	if (!common_step(view, &newest))
		return;
	measure_late(view, newest);
	if (view->is_synchronous)
		fleet_lost_measure(view, newest);
}

/* -- order -- */

static int by_number(double a, double b) { return isnan(a) || isnan(b) ? isnan(a) - isnan(b) : (a > b) - (a < b); }

static int by_rank(const void *a, const void *b)
{
	const struct fleet_row *x = a, *y = b;
	double x_number = x->rank->number >= 0 ? (double)x->rank->number : (double)NAN;
	double y_number = y->rank->number >= 0 ? (double)y->rank->number : (double)NAN;
	int order = by_number(x_number, y_number);
	order = order ? order : strverscmp(x->host->name, y->host->name);
	return order ? order : (x->rank->pid > y->rank->pid) - (x->rank->pid < y->rank->pid);
}

static int by_host(const void *a, const void *b)
{
	const struct fleet_row *x = a, *y = b;
	int order = strverscmp(x->host->name, y->host->name);
	return order ? order : by_rank(a, b);
}

/* The largest first, unknown ones last. */
static int descending(double a, double b) { return isnan(a) || isnan(b) ? by_number(a, b) : by_number(b, a); }

static int by_slowness(const void *a, const void *b)
{
	const struct fleet_row *x = a, *y = b;
	int x_state = fleet_rank_is_problem(x->state) ? (int)x->state : FLEET_RANK_RUNNING;
	int y_state = fleet_rank_is_problem(y->state) ? (int)y->state : FLEET_RANK_RUNNING;
	int order = x_state - y_state;
	order = order ? order : descending(x->ratio, y->ratio);
	return order ? order : by_rank(a, b);
}

static int by_wait(const void *a, const void *b)
{
	int order = descending(((const struct fleet_row *)a)->wait_ratio, ((const struct fleet_row *)b)->wait_ratio);
	return order ? order : by_rank(a, b);
}

static int by_late(const void *a, const void *b)
{
	int order = descending(((const struct fleet_row *)a)->late_s, ((const struct fleet_row *)b)->late_s);
	return order ? order : by_rank(a, b);
}

static int by_memory(const void *a, const void *b)
{
	int order = descending(
		((const struct fleet_row *)a)->rank->resident_bytes, ((const struct fleet_row *)b)->rank->resident_bytes);
	return order ? order : by_rank(a, b);
}

static int by_lost(const void *a, const void *b)
{
	int order = descending(((const struct fleet_row *)a)->lost_s, ((const struct fleet_row *)b)->lost_s);
	return order ? order : by_rank(a, b);
}

static int by_gpu(const void *a, const void *b)
{
	int order = by_number(
		((const struct fleet_row *)a)->rank->gpu_busy_ratio, ((const struct fleet_row *)b)->rank->gpu_busy_ratio);
	return order ? order : by_rank(a, b);
}

bool fleet_view_fill(struct fleet_view *view, const struct fleet *fleet, enum fleet_sort sort, int64_t now_ns)
{
	static int (*const orders[])(const void *, const void *) = { [FLEET_SORT_SLOWEST] = by_slowness,
		[FLEET_SORT_RANK] = by_rank,
		[FLEET_SORT_HOST] = by_host,
		[FLEET_SORT_WAIT] = by_wait,
		[FLEET_SORT_LATE] = by_late,
		[FLEET_SORT_MEMORY] = by_memory,
		[FLEET_SORT_LOST] = by_lost,
		[FLEET_SORT_GPU] = by_gpu };
	struct fleet_host *const *hosts;
	size_t host_count = fleet_hosts(fleet, &hosts), count = 0;
	for (size_t i = 0; i < host_count; i++)
		count += hosts[i]->rank_count;
	view->count = view->problem_count = 0;
	view->clock_error_s = view->lost_ratio = NAN;
	memset(view->host_states, 0, sizeof view->host_states);
	if (!reserve(view, count))
		return false;
	for (size_t i = 0; i < host_count; i++) {
		view->host_states[hosts[i]->state]++;
		view->clock_error_s = fmax(view->clock_error_s, hosts[i]->offset.error_s);
		for (unsigned k = 0; k < hosts[i]->rank_count; k++)
			fill_row(&view->rows[view->count++], hosts[i], hosts[i]->ranks[k], now_ns);
	}
	drop_repeated(view);
	compare(view);
	measure_steps(view);
	for (size_t i = 0; i < view->count; i++)
		view->problem_count += fleet_rank_is_problem(view->rows[i].state);
	if (view->count)
		qsort(view->rows, view->count, sizeof *view->rows, orders[sort]);
	return true;
}

void fleet_view_release(struct fleet_view *view)
{
	free(view->rows);
	free(view->values);
	free(view->dues);
	*view = (struct fleet_view){ 0 };
}

/* -- the heat map -- */

static enum fleet_heat heat_of(double ratio)
{
	enum fleet_heat heat = FLEET_HEAT_USUAL;
	if (!isfinite(ratio))
		return FLEET_HEAT_NONE;
	while (heat + 1 < FLEET_HEAT_COUNT && ratio > heat_levels[heat + 1])
		heat++;
	return heat;
}

void fleet_view_column(struct fleet_view *view, int64_t column, size_t from, size_t count, enum fleet_heat *out)
{
	size_t known = 0;
	for (size_t i = 0; i < view->count; i++) {
		double value = fleet_rank_step_at(view->rows[i].rank, column, view->is_synchronous);
		if (isfinite(value))
			view->values[known++] = value;
	}
	double median_s = fleet_median(view->values, known);
	for (size_t i = 0; i < count; i++)
		out[i] = from + i < view->count
			? heat_of(fleet_rank_step_at(view->rows[from + i].rank, column, view->is_synchronous) / median_s)
			: FLEET_HEAT_NONE;
}
