#include "src/rules/alerts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/clock.h"
#include "src/model/ranks.h"
#include "src/model/statistics.h"
#include "src/rules/rule.h"

#define CLEAR_RATIO 0.9
#define CLEAR_AFTER_NS (10 * NS_PER_S)

const char *severity_name(enum severity severity)
{
	static const char *const names[] = { [SEVERITY_INFO] = "info", [SEVERITY_WARNING] = "warning", [SEVERITY_CRITICAL] = "critical" };
	return names[severity];
}

/* -- what is judged -- */

/* The steps of one kind. */
struct of_kind { size_t count; double fastest_s, slowest_s, steps[RUN_RECENT]; };

static void add_step(struct of_kind *of, double step_s)
{
	of->fastest_s = of->count && of->fastest_s < step_s ? of->fastest_s : step_s;
	of->slowest_s = of->count && of->slowest_s > step_s ? of->slowest_s : step_s;
	of->steps[of->count++] = step_s;
}

/* Kinds differ in what they do: a spread is one within a kind, and the first step is held against its own. */
static void compare_kinds(struct look *look, struct of_kind kinds[RUN_KINDS_MAX])
{
	const struct track *track = look->track;
	bool is_first_known = track->slow_first_kind != NAME_BETWEEN;
	for (unsigned i = 0; i < RUN_KINDS_MAX; i++) {
		struct of_kind *of = &kinds[i];
		if (of->count == 0)
			continue;
		if (look->slowest_s * of->fastest_s <= of->slowest_s * look->fastest_s) {
			look->fastest_s = of->fastest_s;
			look->slowest_s = of->slowest_s;
			look->spread_kind = i < track->kind_count ? track->kinds[i].kind : NAME_NONE;
		}
		if (is_first_known && track_kind(track, track->slow_first_kind) != i)
			continue;
		double median_s = of->count == look->steps ? look->median_s : median_of(of->steps, of->count);
		look->first_usual_s = isnan(look->first_usual_s) || median_s > look->first_usual_s ? median_s : look->first_usual_s;
	}
}

/* From the newest back. The newest may have no step yet, and lost events leave holes, so a few more are looked at. */
static void gather_steps(struct look *look)
{
	double steps[RUN_RECENT], sum = 0;
	struct of_kind kinds[RUN_KINDS_MAX];
	for (unsigned i = 0; i < RUN_KINDS_MAX; i++)
		kinds[i].count = 0;
	uint64_t count = look->track->count;
	for (uint64_t back = 1; back <= count && back <= 2 * RUN_RECENT && look->steps < RUN_RECENT; back++) {
		const struct batch *batch = track_batch(look->track, count - back);
		if (!batch || batch->is_warmup || !(batch->step_s > 0))
			continue;
		look->oldest = batch->ordinal;
		look->flagged += batch->is_flagged;
		sum += batch->step_s;
		add_step(&kinds[track_kind(look->track, batch->kind)], batch->step_s);
		steps[look->steps++] = batch->step_s;
	}
	if (look->steps) {
		look->mean_s = sum / (double)look->steps;
		look->median_s = median_of(steps, look->steps);
		look->first_usual_s = NAN;
		compare_kinds(look, kinds);
	}
}

static void gather_phases(struct look *look)
{
	size_t batches, kept = 0, count = track_phases(look->track, RUN_RECENT, look->phases, LOOK_PHASES_MAX, &batches);
	for (size_t i = 0; i < count; i++)
		if (look->phases[i].depth == 0)
			look->phases[kept++] = look->phases[i];
	look->phase_count = kept;
}

/* -- the list: raised first, most severe first, then newest -- */

static int compare(int64_t a, int64_t b)
{
	return (a > b) - (a < b);
}

static int compare_alerts(const void *left, const void *right)
{
	const struct alert *a = left, *b = right;
	const int64_t order[][2] = {
		{ b->is_raised, a->is_raised }, { b->severity, a->severity }, { b->since_ns, a->since_ns }, { a->run, b->run }, { a->subject, b->subject },
	};
	for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
		int way = compare(order[i][0], order[i][1]);
		if (way)
			return way;
	}
	return strcmp(a->rule, b->rule);
}

/* -- raising and clearing -- */

static struct alert *find_alert(struct alerts *alerts, const struct rule *rule, unsigned run, uint32_t subject)
{
	for (size_t i = 0; i < alerts->count; i++) {
		struct alert *alert = &alerts->list[i];
		if (alert->run == run && alert->subject == subject && strcmp(alert->rule, rule->name) == 0)
			return alert;
	}
	return NULL;
}

/* Room for one more: the last in the list's order makes way if it is cleared or matters less. NULL where nothing does. */
static struct alert *claim_alert(struct alerts *alerts, enum severity severity)
{
	if (alerts->count < ALERTS_MAX)
		return &alerts->list[alerts->count++];
	struct alert *last = &alerts->list[0];
	for (size_t i = 1; i < alerts->count; i++)
		if (compare_alerts(&alerts->list[i], last) > 0)
			last = &alerts->list[i];
	return last->is_raised && last->severity >= severity ? NULL : last;
}

static struct alert *raise_alert(struct alerts *alerts, struct alert *alert, const struct look *look, const struct rule *rule, uint32_t subject)
{
	if (!alert && !(alert = claim_alert(alerts, rule->severity)))
		return NULL;
	*alert = (struct alert){
		.rule = rule->name, .run = look->index, .subject = subject, .severity = rule->severity, .is_raised = true, .since_ns = look->model->now_ns,
	};
	return alert;
}

static void clear_alert(struct alert *alert, int64_t now_ns)
{
	if (!alert || !alert->is_raised)
		return;
	alert->is_raised = false;
	alert->cleared_ns = now_ns;
}

/* The figure is low enough to clear the warning: since when, and is that long enough? */
static void calm_alert(struct alert *alert, int64_t now_ns)
{
	if (!alert->calm_since_ns)
		alert->calm_since_ns = now_ns;
	if (now_ns - alert->calm_since_ns >= CLEAR_AFTER_NS)
		clear_alert(alert, now_ns);
}

static double level_of(const struct rule *rule, const struct settings *settings)
{
	return *(const double *)(const void *)((const char *)settings + rule->level);
}

/* Holds one figure against its rule. Returns whether the warning stands. */
static bool judge(struct alerts *alerts, const struct look *look, const struct rule *rule, const struct phase_row *phase)
{
	uint32_t subject = phase ? phase->name : NAME_NONE;
	struct alert *alert = find_alert(alerts, rule, look->index, subject);
	bool is_raised = alert && alert->is_raised;
	double value = look->steps >= rule->steps_least ? rule->measure(look, phase) : NAN, level = level_of(rule, look->settings);
	if (isnan(value) || (!is_raised && !(value > level)))
		return is_raised;
	if (is_raised && value < CLEAR_RATIO * level) {
		calm_alert(alert, look->model->now_ns);
		return alert->is_raised;
	}
	if (!is_raised && !(alert = raise_alert(alerts, alert, look, rule, subject)))
		return false;
	alert->calm_since_ns = 0;
	alert->evidence_count = alert->advice_count = 0;
	rule->tell(look, phase, alert);
	return true;
}

static void judge_phase(struct alerts *alerts, const struct look *look, const struct phase_row *phase)
{
	bool is_told = false;
	for (const struct rule *rule = rules; rule < rules + RULE_COUNT; rule++) {
		if (rule->scope != RULE_OF_PHASE)
			continue;
		if (is_told)
			clear_alert(find_alert(alerts, rule, look->index, phase->name), look->model->now_ns);
		else
			is_told = judge(alerts, look, rule, phase);
	}
}

static bool has_phase(const struct look *look, uint32_t name)
{
	for (size_t i = 0; i < look->phase_count; i++)
		if (look->phases[i].name == name)
			return true;
	return false;
}

/* An operation that no recent step has any more takes no time. */
static void calm_absent_phases(struct alerts *alerts, const struct look *look)
{
	for (size_t i = 0; i < alerts->count; i++) {
		struct alert *alert = &alerts->list[i];
		if (alert->is_raised && alert->run == look->index && alert->subject != NAME_NONE && !has_phase(look, alert->subject))
			calm_alert(alert, look->model->now_ns);
	}
}

static bool is_of_model(const struct alert *alert)
{
	for (const struct rule *rule = rules; rule < rules + RULE_COUNT; rule++)
		if (rule->scope == RULE_OF_MODEL && strcmp(rule->name, alert->rule) == 0)
			return true;
	return false;
}

static void judge_scope(struct alerts *alerts, const struct look *look, enum rule_scope scope)
{
	for (const struct rule *rule = rules; rule < rules + RULE_COUNT; rule++)
		if (rule->scope == scope)
			judge(alerts, look, rule, NULL);
}

static void judge_run(struct alerts *alerts, const struct model *model, const struct settings *settings, unsigned index)
{
	const struct run *run = &model->runs[index];
	struct look look = { .model = model, .settings = settings, .index = index, .run = run, .track = run_main(run) };
	gather_steps(&look);
	if (look.steps == 0)
		return;
	gather_phases(&look);
	judge_scope(alerts, &look, RULE_OF_RUN);
	for (size_t i = 0; i < look.phase_count; i++)
		judge_phase(alerts, &look, &look.phases[i]);
	calm_absent_phases(alerts, &look);
}

/* The ranks of a run do the same: the one that is shown first and the slowest speak for all. */
static bool speaks_for_others(const struct model *model, const struct ranks *ranks, int first, unsigned index)
{
	if (first < 0 || (int)index == first || !ranks_are_of_one_run(&model->runs[first], &model->runs[index]))
		return true;
	return ranks->slowest >= 0 && ranks->list[ranks->slowest].run == index;
}

static void calm_run(struct alerts *alerts, unsigned index, int64_t now_ns)
{
	for (size_t i = 0; i < alerts->count; i++)
		if (alerts->list[i].run == index && alerts->list[i].is_raised && !is_of_model(&alerts->list[i]))
			calm_alert(&alerts->list[i], now_ns);
}

void alerts_release(struct alerts *alerts)
{
	for (size_t i = 0; i < alerts->count; i++)
		series_free(alerts->list[i].history);
	free(alerts->patterns);
	*alerts = (struct alerts){ 0 };
}

const struct patterns *alerts_patterns(const struct alerts *alerts, unsigned run)
{
	return run < alerts->pattern_room ? &alerts->patterns[run] : NULL;
}

static void update_patterns(struct alerts *alerts, const struct model *model)
{
	if (alerts->pattern_room < model->run_count) {
		struct patterns *patterns = realloc(alerts->patterns, model->run_count * sizeof *patterns);
		if (!patterns)
			return;
		for (; alerts->pattern_room < model->run_count; alerts->pattern_room++)
			patterns[alerts->pattern_room] = (struct patterns){ 0 };
		alerts->patterns = patterns;
	}
	for (unsigned i = 0; i < model->run_count; i++)
		patterns_update(&alerts->patterns[i], model, &model->runs[i]);
}

void alerts_update(struct alerts *alerts, const struct model *model, const struct settings *settings)
{
	update_patterns(alerts, model);
	struct look look = { .model = model, .settings = settings };
	struct ranks ranks;
	int first = ranks_first(model, NULL, NULL);
	ranks_compare(model, first < 0 ? model->run_count : (unsigned)first, &ranks);
	judge_scope(alerts, &look, RULE_OF_MODEL);
	for (unsigned i = 0; i < model->run_count; i++) {
		if (!model->runs[i].is_used)
			continue;
		if (speaks_for_others(model, &ranks, first, i))
			judge_run(alerts, model, settings, i);
		else
			calm_run(alerts, i, model->now_ns);
	}
	qsort(alerts->list, alerts->count, sizeof alerts->list[0], compare_alerts);
}

size_t alerts_raised(const struct alerts *alerts)
{
	size_t raised = 0;
	for (size_t i = 0; i < alerts->count; i++)
		raised += alerts->list[i].is_raised;
	return raised;
}
