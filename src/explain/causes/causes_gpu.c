/* Time that a batch lost to lower GPU or CPU clocks: from the drop of the clock and its duration. */
#include "src/explain/causes/causes_gpu.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "src/base/text.h"
#include "src/explain/causes/causes.h"
#include "src/explain/causes/causes_account.h"
#include "src/explain/causes/causes_claims.h"
#include "src/explain/causes/causes_seen.h"
#include "src/model/run/known_names.h"

/* Clocks are read a few times a second, so the loss is an estimate. */
#define SEEN_TOLERANCE 1.25
#define HZ_PER_MHZ 1e6

/* Seconds that work of `baseline_s` took longer: the smaller of two bounds, the ratio of the clocks, and the time that
 * the clock was low. */
static double lost_s(const struct case_file *file, const struct window_event *event, double baseline_s)
{
	bool is_sound = event->value > 0 && event->baseline > event->value && isfinite(event->baseline) && baseline_s > 0;
	if (!is_sound)
		return 0;
	double by_work_s = baseline_s * (event->baseline / event->value - 1),
		   part = event->part_ratio >= 0 && event->part_ratio <= 1 ? event->part_ratio : 1;
	double by_time_s = file->batch_window->seconds * part * (1 - event->value / event->baseline);
	return SEEN_TOLERANCE * fmin(by_work_s, by_time_s);
}

static unsigned megahertz(double hz)
{
	return hz > 0 && hz < UINT_MAX * HZ_PER_MHZ ? (unsigned)(hz / HZ_PER_MHZ + 0.5) : 0;
}

static void say_fall(const struct window_event *event, const char *whose, char who[WINDOW_TEXT_SIZE])
{
	char words[WINDOW_GPU_SIZE + 2 * WINDOW_TEXT_SIZE];
	snprintf(words, sizeof words, "%s clock fell from %u to %u MHz%s%s", whose, megahertz(event->baseline),
		megahertz(event->value), *event->text ? ", " : "", event->text);
	text_clean(who, WINDOW_TEXT_SIZE, words, strlen(words));
}

static enum cause_kind kind_of_fall(const struct window_event *event)
{
	return event->throttled & GPU_THROTTLED_BY_HEAT ? CAUSE_GPU_HEAT
		: event->throttled & GPU_THROTTLED_BY_POWER ? CAUSE_GPU_POWER
													: CAUSE_GPU_CLOCK;
}

/* The thread may wait for the GPU in any phase but data loading. */
static bool may_wait_for_gpu(const struct case_file *file, const struct explain_row *row)
{
	return row->depth == 0 && row->excess_s > 0 && phase_kind(file->run, row->name) != PHASE_DATA;
}

/* The share of one phase in what a slower GPU costs the whole step. */
static double part_of(const struct case_file *file, const struct pool *pool)
{
	double whole_s = 0;
	for (size_t i = 0; i < file->out->row_count; i++)
		whole_s += may_wait_for_gpu(file, &file->out->rows[i]) ? file->out->rows[i].excess_s : 0;
	return may_wait_for_gpu(file, pool->row) ? pool->row->excess_s / whole_s : 0;
}

/* A thread that waits for the GPU sleeps, or (CUDA's default) spins, which is CPU time. */
static double take_wait(struct pool *pool, double max_s)
{
	double taken_s = pool_take(&pool->away_s, max_s);
	taken_s += pool_take(&pool->cpu_s, max_s - taken_s);
	return taken_s + pool_take(&pool->left_s, max_s - taken_s);
}

static void claim_slower(struct case_file *file, struct pool *pool)
{
	const struct window_event *event = seen_event(file, WINDOW_GPU_SLOWED, 0);
	if (!event)
		return;
	double busy = event->busy_ratio >= 0 && event->busy_ratio <= 1 ? event->busy_ratio : 1;
	struct claim claim = { .kind = kind_of_fall(event),
		.seconds = take_wait(pool, lost_s(file, event, file->baseline->step_s * busy) * part_of(file, pool)) };
	say_fall(event, *event->gpu ? event->gpu : "GPU", claim.who);
	claim_evidence(&claim, "gpu_clock_hz", event->value, event->baseline);
	claim_evidence(&claim, "gpu_slowed_ratio", event->part_ratio, NAN);
	causes_add(file, pool->row, &claim);
}

/* Two programs take turns on a GPU. Claimed only if the other one certainly ran and its utilization is known. */
static void claim_shared(struct case_file *file, struct pool *pool)
{
	const struct window_event *event = seen_event(file, WINDOW_GPU_SHARED, 0);
	if (!event || event->time_ns > file->batch_window->to_ns || !(event->value > 0 && event->value < 1))
		return;
	double max_s = file->baseline->step_s * event->value / (1 - event->value);
	struct claim claim = { .kind = CAUSE_GPU_SHARED, .seconds = take_wait(pool, max_s * part_of(file, pool)) };
	snprintf(claim.who, sizeof claim.who, "%.*s", (int)strcspn(event->text, " "), event->text);
	claim_evidence(&claim, "gpu_newcomers", 1, 0);
	claim_evidence(&claim, "newcomer_busy_ratio", event->value, NAN);
	causes_add(file, pool->row, &claim);
}

/* `sync` is the span in which pmtop.torch and others measure how long the host waits for the device. */
static double waited_longer_s(const struct case_file *file, const struct explain_row *row)
{
	const struct explain_row *end = file->out->rows + file->out->row_count, *first = row;
	double seconds = 0;
	for (; row < end && (row == first || row->depth > first->depth); row++)
		if (row->excess_s > 0 && run_name_is(file->run, row->name, KNOWN_SYNC))
			seconds += row->excess_s;
	return seconds;
}

static void claim_waited(struct case_file *file, struct pool *pool)
{
	struct claim claim = { .kind = CAUSE_GPU_WAIT, .seconds = take_wait(pool, waited_longer_s(file, pool->row)) };
	claim_evidence(&claim, "waited_s", claim.seconds, NAN);
	causes_add(file, pool->row, &claim);
}

void claim_gpu(struct case_file *file, struct pool *pool)
{
	claim_slower(file, pool);
	claim_shared(file, pool);
	claim_waited(file, pool);
}

void claim_device(struct case_file *file, struct pool *pool)
{
	claim_bigger(file, pool);
	claim_slower(file, pool);
	claim_shared(file, pool);
	struct claim claim = { .kind = CAUSE_GPU_WORK, .seconds = pool_take(&pool->away_s, INFINITY) };
	claim_evidence(&claim, "gpu_s", pool->row->this_s, pool->row->baseline_s);
	causes_add(file, pool->row, &claim);
}

void claim_cpu_heat(struct case_file *file, struct pool *pool)
{
	const struct window_event *event = seen_event(file, WINDOW_CPU_SLOWED, 0);
	if (!event)
		return;
	double max_s = lost_s(file, event, file->baseline->evidence.cpu_s) * pool->row->excess_s / file->whole_s;
	struct claim claim = { .kind = CAUSE_CPU_HEAT, .seconds = pool_take(&pool->cpu_s, max_s) };
	say_fall(event, "CPU", claim.who);
	claim_evidence(&claim, "cpu_clock_hz", event->value, event->baseline);
	causes_add(file, pool->row, &claim);
}
