#include "src/rules/rule.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "src/base/clock.h"
#include "src/base/text.h"
#include "src/rules/advice.h"
#include "src/rules/explain.h"

enum { NAME_SIZE = 28, FLAGGED_EXPLAINED = 8 };

/* -- telling -- */

void add_evidence(struct alert *alert, const char *key, double value)
{
	if (isfinite(value) && alert->evidence_count < ALERT_EVIDENCE_MAX)
		alert->evidence[alert->evidence_count++] = (struct alert_evidence){ key, value };
}

void explain_meaning(struct alert *alert, const char *text)
{
	snprintf(alert->meaning, sizeof alert->meaning, "%s", text);
}

/* Where several ranks are watched a message begins with its rank. */
__attribute__((format(printf, 3, 4)))
static void say(const struct look *look, struct alert *alert, const char *format, ...)
{
	char *out = alert->message;
	size_t size = sizeof alert->message;
	if (look->run && look->model->run_count > 1) {
		char whose[10];
		const char *rank = look->run->rank[0] ? look->run->rank : look->run->name;
		text_clean(whose, sizeof whose, rank, strlen(rank));
		int used = snprintf(out, size, "%s%s: ", look->run->rank[0] ? "rank " : "", whose);
		out += used;
		size -= (size_t)used;
	}
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(out, size, format, arguments);
	va_end(arguments);
}

/* Long names would push the figures off the line. */
static const char *shorten(char out[NAME_SIZE], const char *name)
{
	static const char mark[] = "…";
	size_t length = strlen(name);
	bool is_cut = length >= NAME_SIZE;
	size_t used = text_clean(out, is_cut ? NAME_SIZE + 1 - sizeof mark : NAME_SIZE, name, length);
	if (is_cut)
		memcpy(out + used, mark, sizeof mark);
	return out;
}

/* -- slow first batch: guide 000_92dc6d78458fd3fe, "First Batch is Slow" -- */

static double measure_first_batch(const struct look *look, const struct phase_row *phase)
{
	(void)phase;
	return look->track->slow_first_s / look->first_usual_s;
}

static void tell_first_batch(const struct look *look, const struct phase_row *phase, struct alert *alert)
{
	(void)phase;
	char first[NUMBER_SIZE], usual[NUMBER_SIZE];
	double first_s = look->track->slow_first_s, usual_s = look->first_usual_s;
	say(look, alert, "first batch took %s, %.1f× the usual %s: warm-up, left out", format_seconds(first, first_s),
	    first_s / usual_s, format_seconds(usual, usual_s));
	explain_meaning(alert, "The first batch pays once for what later ones find ready: workers that start, memory, compiled or chosen kernels. "
	                       "Medians, flags and variance leave it out.");
	add_evidence(alert, "first_s", first_s);
	add_evidence(alert, "usual_s", usual_s);
	add_evidence(alert, "ratio", first_s / usual_s);
	advise(alert, "where it matters: run a dummy batch through the model before the loop");
}

/* -- flagged batches -- */

static double measure_flagged(const struct look *look, const struct phase_row *phase)
{
	(void)phase;
	/* One slow batch is an incident; a warning is about a habit. */
	return look->flagged < 2 ? 0 : (double)look->flagged / (double)look->steps;
}

/* Of the newest flagged batches together: shares and ratios are means. */
struct common_cause { size_t explained; double slow_ratio; struct cause cause; };

static void add_share(struct cause *sums, size_t *count, const struct cause *cause)
{
	size_t at = 0;
	while (at < *count && strcmp(sums[at].what, cause->what) != 0)
		at++;
	double before = at < *count ? sums[at].share_ratio : 0;
	*count += at == *count;
	sums[at] = *cause;
	sums[at].share_ratio += before;
}

static struct common_cause find_common_cause(const struct look *look)
{
	struct common_cause common = { 0 };
	struct cause sums[FLAGGED_EXPLAINED * EXPLAIN_CAUSES_MAX];
	size_t count = 0;
	for (size_t i = look->run->flagged_count; i-- > 0 && common.explained < FLAGGED_EXPLAINED;) {
		const struct flagged *flagged = &look->run->flagged[i];
		struct explanation why;
		if (flagged->mode != look->track->mode || flagged->batch.ordinal < look->oldest)
			continue;
		explain_batch(look->run, &flagged->batch, &flagged->usual, flagged->around, &why);
		for (size_t k = 0; k < why.cause_count; k++)
			add_share(sums, &count, &why.causes[k]);
		common.explained += why.cause_count > 0;
		common.slow_ratio += why.cause_count > 0 ? why.ratio : 0;
	}
	for (size_t i = 0; i < count; i++)
		if (sums[i].share_ratio > common.cause.share_ratio)
			common.cause = sums[i];
	common.slow_ratio /= (double)common.explained;
	common.cause.share_ratio /= (double)common.explained;
	return common;
}

static void say_flagged(const struct look *look, const struct common_cause *common, struct alert *alert)
{
	char percent[NUMBER_SIZE], what[NAME_SIZE];
	if (!common->explained) {
		say(look, alert, "%zu of the last %zu batches are flagged", look->flagged, look->steps);
	} else if (common->cause.phase == NAME_NONE) {
		say(look, alert, "%zu of the last %zu batches were slow (%.1f× the usual), cause unknown", look->flagged, look->steps, common->slow_ratio);
	} else {
		say(look, alert, "%zu of the last %zu batches were slow (%.1f× the usual): %s explains %s", look->flagged, look->steps,
		    common->slow_ratio, shorten(what, common->cause.what), format_percent(percent, common->cause.share_ratio));
	}
}

static void tell_flagged(const struct look *look, const struct phase_row *phase, struct alert *alert)
{
	(void)phase;
	const struct common_cause common = find_common_cause(look);
	bool has_phase = common.cause.phase != NAME_NONE;
	say_flagged(look, &common, alert);
	add_evidence(alert, "flagged_count", (double)look->flagged);
	add_evidence(alert, "batches", (double)look->steps);
	add_evidence(alert, "share_ratio", (double)look->flagged / (double)look->steps);
	add_evidence(alert, "slow_ratio", common.slow_ratio);
	add_evidence(alert, "cause_share_ratio", common.cause.share_ratio);
	explain_meaning(alert, has_phase ? "These batches took far longer than those around them, and most of their excess lies in one phase."
	                                 : "These batches took far longer than those around them, and no published phase explains it.");
	advise(alert, "look at one: n, then Enter, shows each phase against its usual time");
	if (has_phase)
		advise_phase(look->model, look->run, phase_kind(look->run, common.cause.phase), true, alert);
	else
		advise(alert, "publish spans for what the batch does outside the phases that are there");
}

/* -- variance: guide 000_92dc6d78458fd3fe, "Analyze Batch Timing Variance" and "High Variance Between Batches" -- */

static double measure_variance(const struct look *look, const struct phase_row *phase)
{
	(void)phase;
	return look->slowest_s / look->fastest_s;
}

static void tell_variance(const struct look *look, const struct phase_row *phase, struct alert *alert)
{
	(void)phase;
	char slowest[NUMBER_SIZE], fastest[NUMBER_SIZE], name[NAME_SIZE], of[NAME_SIZE + 4] = "";
	double ratio = look->slowest_s / look->fastest_s;
	const char *kind = track_kind_name(look->run, look->track, look->spread_kind);
	if (kind)
		snprintf(of, sizeof of, " (%s)", shorten(name, kind));
	say(look, alert, "slowest step%s %s is %.1f× the fastest %s (last %zu, warm-up left out)", of, format_seconds(slowest, look->slowest_s), ratio,
	    format_seconds(fastest, look->fastest_s), look->steps);
	explain_meaning(alert, "Steps of one run should take about the same time. A wide spread comes from inputs of differing size, costly "
	                       "augmentation, caches, or other work on the machine.");
	add_evidence(alert, "max_s", look->slowest_s);
	add_evidence(alert, "min_s", look->fastest_s);
	add_evidence(alert, "ratio", ratio);
	add_evidence(alert, "batches", (double)look->steps);
	advise(alert, "look at the flagged ones: n, then Enter, shows which phase was slow");
	advise(alert, "pad inputs to one size, or sort batches by size");
	advise(alert, "prepare expensive augmentations beforehand");
}

/* -- shares of the step: guide 000_92dc6d78458fd3fe, "Compare Operation Times" and "Data Loading is Slow" -- */

static double measure_operation(const struct look *look, const struct phase_row *phase)
{
	/* Time that no span covers is no operation, and what waits for a slower rank is not made faster here. */
	return phase->name == NAME_UNATTRIBUTED || rank_only_waits(look, phase) ? NAN : phase->share_ratio;
}

static double measure_data(const struct look *look, const struct phase_row *phase)
{
	return phase_kind(look->run, phase->name) == PHASE_DATA ? phase->share_ratio : NAN;
}

/* A part and its whole in one unit, so that they can be compared at sight. */
static const char *format_part(char out[NUMBER_SIZE], double part_s, double whole_s)
{
	return whole_s >= 0.1 && whole_s < 10 ? format_fixed_seconds(out, part_s) : format_seconds(out, part_s);
}

static void tell_share(const struct look *look, const struct phase_row *phase, const char *what, struct alert *alert)
{
	char percent[NUMBER_SIZE], part[NUMBER_SIZE], step[NUMBER_SIZE];
	/* Means, so that the parts make the share; a median of each would not, where a phase is slow now and then. */
	double part_s = phase->share_ratio * look->mean_s;
	say(look, alert, "%s takes %s of each step (%s of %s)", what, format_percent(percent, phase->share_ratio), format_part(part, part_s, look->mean_s),
	    format_part(step, look->mean_s, look->mean_s));
	add_evidence(alert, "share_ratio", phase->share_ratio);
	add_evidence(alert, "operation_mean_s", part_s);
	add_evidence(alert, "step_mean_s", look->mean_s);
	add_evidence(alert, "batches", (double)look->steps);
	advise_phase(look->model, look->run, phase_kind(look->run, phase->name), false, alert);
}

static void tell_operation(const struct look *look, const struct phase_row *phase, const char *meaning, struct alert *alert)
{
	char name[NAME_SIZE];
	const char *what = phase_kind(look->run, phase->name) == PHASE_BETWEEN ? "what runs between batches" : shorten(name, run_name(look->run, phase->name));
	explain_meaning(alert, meaning);
	tell_share(look, phase, what, alert);
}

static void tell_bottleneck(const struct look *look, const struct phase_row *phase, struct alert *alert)
{
	tell_operation(look, phase, "The largest part of the step goes here: a change pays here first.", alert);
}

static void tell_consider(const struct look *look, const struct phase_row *phase, struct alert *alert)
{
	tell_operation(look, phase, "A good part of the step goes here: worth a look once nothing larger is left.", alert);
}

static void tell_data(const struct look *look, const struct phase_row *phase, struct alert *alert)
{
	char name[NAME_SIZE], what[NAME_SIZE + 20];
	shorten(name, run_name(look->run, phase->name));
	if (strcmp(name, "data") == 0)
		snprintf(what, sizeof what, "data loading");
	else
		snprintf(what, sizeof what, "data loading (%s)", name);
	explain_meaning(alert, "The step waits for its data: while a batch is being loaded nothing is learnt.");
	tell_share(look, phase, what, alert);
}

/* -- memory growth: guide 001_5f69f59825f81c53, "Memory Leak Detection" -- */

static double measure_memory(const struct look *look, const struct phase_row *phase)
{
	(void)phase;
	const struct memory *memory = &look->model->memory;
	if (isnan(memory->growth_bytes) || memory->slope.points == 0)
		return NAN;
	return memory->slope.low_per_s > 0 ? memory->growth_bytes / 1e6 : 0;
}

static void tell_memory(const struct look *look, const struct phase_row *phase, struct alert *alert)
{
	(void)phase;
	const struct memory *memory = &look->model->memory;
	char grown[NUMBER_SIZE], time[NUMBER_SIZE], mean[NUMBER_SIZE], low[NUMBER_SIZE], high[NUMBER_SIZE], batch[NUMBER_SIZE], each[NUMBER_SIZE + 16] = "";
	if (!isnan(memory->slope_per_batch))
		snprintf(each, sizeof each, ", %s a batch", format_bytes(batch, memory->slope_per_batch));
	say(look, alert, "memory grew by %s in %s and goes on: %s/s (%s to %s)%s", format_bytes(grown, memory->growth_bytes),
	    format_seconds(time, seconds_between(memory->growth_since_ns, look->model->now_ns)), format_bytes(mean, memory->slope.per_s),
	    format_bytes(low, memory->slope.low_per_s), format_bytes(high, memory->slope.high_per_s), each);
	explain_meaning(alert, "The resident memory of the process and its children has been growing since the warm-up. If it goes on, the machine or "
	                       "the container runs out. A cache that fills looks the same until it is full.");
	add_evidence(alert, "growth_bytes", memory->growth_bytes);
	add_evidence(alert, "slope_bytes_per_s", memory->slope.per_s);
	add_evidence(alert, "slope_low_bytes_per_s", memory->slope.low_per_s);
	add_evidence(alert, "slope_high_bytes_per_s", memory->slope.high_per_s);
	add_evidence(alert, "slope_bytes_per_batch", memory->slope_per_batch);
	add_evidence(alert, "tree_rss_bytes", memory->tree_rss_bytes);
	advise(alert, "look for what is kept from batch to batch: lists of losses or outputs that still hold their graph");
	advise(alert, "keep numbers, not tensors: loss.item() or .detach() before appending");
	advise(alert, "the memory view shows which process and which kind of memory grows");
}

#define LEVEL(member) offsetof(struct settings, member)

const struct rule rules[RULE_COUNT] = {
	{ "memory_growth", SEVERITY_WARNING, RULE_OF_MODEL, LEVEL(rule_memory_growth_mb), 0, measure_memory, tell_memory },
	{ "still_rank", SEVERITY_CRITICAL, RULE_OF_MODEL, LEVEL(rule_still_rank_s), 0, measure_still_rank, tell_still_rank },
	{ "slowest_rank", SEVERITY_WARNING, RULE_OF_MODEL, LEVEL(rule_slowest_rank), 0, measure_slowest_rank, tell_slowest_rank },
	{ "slow_first_batch", SEVERITY_INFO, RULE_OF_RUN, LEVEL(rule_first_batch), 5, measure_first_batch, tell_first_batch },
	{ "flagged_batches", SEVERITY_WARNING, RULE_OF_RUN, LEVEL(rule_flagged), 20, measure_flagged, tell_flagged },
	{ "variance", SEVERITY_WARNING, RULE_OF_RUN, LEVEL(rule_variance), 20, measure_variance, tell_variance },
	{ "data_loading", SEVERITY_WARNING, RULE_OF_PHASE, LEVEL(rule_data), 20, measure_data, tell_data },
	{ "bottleneck", SEVERITY_WARNING, RULE_OF_PHASE, LEVEL(rule_bottleneck), 20, measure_operation, tell_bottleneck },
	{ "consider_optimizing", SEVERITY_INFO, RULE_OF_PHASE, LEVEL(rule_consider), 20, measure_operation, tell_consider },
};
