#include "src/session/slow_profile.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "src/base/clock.h"
#include "src/explain/patterns/patterns_next.h"

#define LIMIT_NS (120 * NS_PER_S)

static void ask_for_next(const struct run *run, struct slow_profile_wish *out)
{
	out->pid = run->pid;
	out->order = (struct profiling_order){ .steps = SLOW_PROFILE_STEPS, .limit_ns = LIMIT_NS };
}

/* The next batch of the pattern in the middle of the trace. */
static void ask_for_pattern(
	const struct run *run, const struct pattern_next *next, int64_t offset_ns, struct slow_profile_wish *out)
{
	uint64_t spread_max = (SLOW_PROFILE_STEPS_MAX - SLOW_PROFILE_STEPS) / 2;
	uint64_t spread = next->spread < spread_max ? next->spread : spread_max, before = spread + 1;
	double wait_s = (double)next->ahead * next->step_s;
	ask_for_next(run, out);
	out->order.steps += 2 * (unsigned)spread;
	out->order.limit_ns += (int64_t)(fmin(2 * (double)next->every * next->step_s + wait_s, 1e6) * 1e9);
	out->order.start = (struct profiling_start){ .is_batch = true,
		.batch = next->number > before ? next->number - before : 0,
		.every = next->every,
		.realtime_ms =
			(next->from_ns + offset_ns + (int64_t)((wait_s - (double)before * next->step_s) * 1e9)) / NS_PER_MS,
		.step_s = next->step_s,
		.estimated_ms = (next->from_ns + offset_ns) / NS_PER_MS };
}

static const struct pattern *pattern_of(
	const struct alerts *alerts, unsigned index, const struct run *run, const struct batch *batch)
{
	const struct patterns *patterns = alerts_patterns(alerts, index);
	for (size_t i = 0; patterns && i < patterns->count; i++)
		if (pattern_has(&patterns->list[i], run, batch))
			return &patterns->list[i];
	return NULL;
}

static bool wants_flagged(const struct slow_profile *slow, const struct model *model, const struct alerts *alerts,
	unsigned index, int64_t offset_ns, struct slow_profile_wish *out)
{
	const struct run *run = &model->runs[index];
	struct pattern_next next;
	for (size_t i = run->flagged_count; i > 0 && run->flagged[i - 1].batch.begin_ns > slow->since_ns; i--) {
		const struct flagged *flagged = &run->flagged[i - 1];
		if (flagged->mode != run_main(run)->mode)
			continue;
		const struct pattern *pattern = pattern_of(alerts, index, run, &flagged->batch);
		if (!pattern && model->now_ns - flagged->batch.begin_ns < SLOW_PROFILE_WAIT_S * NS_PER_S)
			continue;
		snprintf(out->why, sizeof out->why, "batch %" PRIu64 " was slow", flagged->batch.number);
		if (pattern)
			pattern_label(pattern, run, out->why, sizeof out->why);
		if (pattern && pattern_find_next(pattern, run, &next))
			ask_for_pattern(run, &next, offset_ns, out);
		else
			ask_for_next(run, out);
		return true;
	}
	return false;
}

static bool is_askable(const struct run *run) { return run->is_used && run->is_live && run->pid > 0; }

static bool wants_alert(const struct slow_profile *slow, const struct model *model, const struct alerts *alerts,
	struct slow_profile_wish *out)
{
	for (size_t i = 0; i < alerts->count; i++) {
		const struct alert *alert = &alerts->list[i];
		if (!alert->is_raised || alert->action != ALERT_TAKES_TRACE || alert->since_ns <= slow->since_ns ||
			alert->run >= model->run_count || !is_askable(&model->runs[alert->run]))
			continue;
		snprintf(out->why, sizeof out->why, "%.119s", alert->message);
		ask_for_next(&model->runs[alert->run], out);
		return true;
	}
	return false;
}

bool slow_profile_wish(struct slow_profile *slow, const struct model *model, const struct alerts *alerts,
	int64_t offset_ns, struct slow_profile_wish *out)
{
	if (!slow->since_ns)
		slow->since_ns = model->now_ns;
	if (slow->traces >= slow->limit || model->target_ended)
		return false;
	bool is_wanted = wants_alert(slow, model, alerts, out);
	for (unsigned i = 0; i < model->run_count && slow->after_flagged && !is_wanted; i++)
		is_wanted = is_askable(&model->runs[i]) && wants_flagged(slow, model, alerts, i, offset_ns, out);
	if (is_wanted) {
		slow->since_ns = model->now_ns;
		slow->traces++;
	}
	return is_wanted;
}
