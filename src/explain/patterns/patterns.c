#include "src/explain/patterns/patterns.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/clock.h"
#include "src/base/text.h"
#include "src/explain/advice.h"
#include "src/explain/patterns/patterns_cause.h"
#include "src/explain/patterns/patterns_drift.h"
#include "src/explain/patterns/patterns_kinds.h"
#include "src/explain/patterns/patterns_mild.h"
#include "src/explain/patterns/patterns_periods.h"
#include "src/explain/patterns/patterns_private.h"
#include "src/explain/patterns/patterns_steps.h"
#include "src/explain/patterns/patterns_times.h"
#include "src/model/run/steps/tracks.h"

#define CHANCE_DRIFT_MAX 1.25
enum { ROUNDS_MAX = 6 };
/* The search costs more with more steps, and a few new ones change little: it waits for one new step per STEPS_A_READ
 * steps, and a second per STEPS_A_SECOND. */
enum { STEPS_A_READ = 512, STEPS_A_SECOND = 512 };

const char *pattern_kind_name(enum pattern_kind kind)
{
	static const char *const names[] = {
		[PATTERN_PERIOD] = "period", [PATTERN_DRIFT] = "drift", [PATTERN_KINDS] = "kinds"
	};
	return names[kind];
}

const char *pattern_unit_name(enum pattern_unit unit)
{
	static const char *const names[] = { [PATTERN_BATCHES] = "batches", [PATTERN_SECONDS] = "seconds" };
	return names[unit];
}

/* -- search -- */

/* Mean cost of the pattern, in seconds per step. */
static double cost_per_step(const struct pattern *pattern, double step_s)
{
	double excess_s = pattern->after_s - pattern->before_s;
	switch (pattern->kind) {
	case PATTERN_PERIOD:
		return pattern->unit == PATTERN_BATCHES ? excess_s / pattern->period : excess_s * step_s / pattern->period;
	case PATTERN_KINDS: return excess_s * (double)pattern->count / (double)pattern->of;
	default: return excess_s;
	}
}

static void add_pattern(struct patterns *patterns, const struct pattern *pattern, double step_s)
{
	size_t at = patterns->count;
	while (at > 0 && cost_per_step(&patterns->list[at - 1], step_s) < cost_per_step(pattern, step_s))
		at--;
	if (at == PATTERNS_MAX)
		return;
	size_t retained = patterns->count < PATTERNS_MAX ? patterns->count : PATTERNS_MAX - 1;
	memmove(&patterns->list[at + 1], &patterns->list[at], (retained - at) * sizeof *pattern);
	patterns->list[at] = *pattern;
	patterns->count = retained + 1;
}

/* Whether the list has a pattern of the same period already. */
static bool is_described(const struct patterns *patterns, const struct pattern *pattern)
{
	for (size_t i = 0; i < patterns->count; i++) {
		const struct pattern *other = &patterns->list[i];
		if (other->kind == pattern->kind && other->unit == pattern->unit &&
			fabs(other->period - pattern->period) <= 0.02 * pattern->period)
			return true;
	}
	return false;
}

/* Published gradient accumulation is intended, so its period is no pattern. */
static bool is_accumulation(const struct steps *steps, const struct pattern *pattern)
{
	unsigned accumulation = run_accumulation(steps->run);
	return accumulation && pattern->unit == PATTERN_BATCHES && pattern->period == accumulation;
}

/* A period with its members, which are marked in `steps` only if it is chosen. */
struct found_period {
	bool is_found;
	struct pattern pattern;
	bool members[STEPS_MAX];
};

static void try_period(
	struct steps *steps, bool (*find)(struct steps *steps, struct pattern *out), struct found_period *out)
{
	size_t size = steps->count * sizeof *steps->is_member;
	out->is_found = find(steps, &out->pattern);
	memcpy(out->members, steps->is_member, size);
	memset(steps->is_member, 0, size);
}

static double explained_s(const struct found_period *period)
{
	return period->is_found ? (double)period->pattern.count * (period->pattern.after_s - period->pattern.before_s) : 0;
}

static double slow_members_since(const struct steps *steps, const struct found_period *period, uint64_t ordinal)
{
	double slow = 0;
	for (size_t row = 0; row < steps->count; row++)
		slow += period->members[row] && steps->is_slow[row] && steps->batches[row]->ordinal >= ordinal;
	return slow;
}

/* Tries the more certain kinds first; a later one replaces them only if it explains noticeably more. find_beat may
 * replace find_comb: a period in batches is exact, so slow batches that deviate from it indicate a period in seconds.
 * find_mild is tried last: of slightly slower batches a few stand out, which look like a longer period. */
static bool find_period(struct steps *steps, bool has_epoch_first, struct pattern *out)
{
	static const double more = 1.3, more_in_time = 1.08, clearly_slower = 1.5;
	struct found_period *tried = calloc(4, sizeof *tried), *best = tried;
	if (!tried)
		return false;
	struct found_period *first = &tried[0], *comb = &tried[1], *beat = &tried[2], *mild = &tried[3];
	if (!has_epoch_first)
		try_period(steps, find_epoch_first, first);
	try_period(steps, find_comb, comb);
	if (explained_s(comb) > (first->is_found ? more : 1) * explained_s(first))
		best = comb;
	try_period(steps, find_beat, beat);
	if (beat->is_found &&
		(!best->is_found ||
			(double)beat->pattern.count > more_in_time * slow_members_since(steps, best, beat->pattern.first) + 1))
		best = beat;
	if (!best->is_found || best->pattern.after_s < clearly_slower * best->pattern.before_s)
		try_period(steps, find_mild, mild);
	if (explained_s(mild) > more * explained_s(best))
		best = mild;
	bool is_found = best->is_found;
	*out = best->pattern;
	memcpy(steps->is_member, best->members, steps->count * sizeof *steps->is_member);
	free(tried);
	return is_found;
}

/* If every 50th batch of each epoch is slow, each epoch's first batch is one of them and no pattern of its own. */
static void leave_out_epoch_first(struct patterns *found, const struct steps *steps, const struct pattern *pattern)
{
	const struct batch *last = track_batch(steps->track, pattern->last);
	if (!pattern->is_by_index || !last || last->index % (uint64_t)pattern->period != 0)
		return;
	for (size_t i = 0; i < found->count; i++) {
		if (!found->list[i].is_epoch_first)
			continue;
		memmove(&found->list[i], &found->list[i + 1], (found->count - i - 1) * sizeof found->list[0]);
		found->count--;
	}
}

static void find_periods(struct steps *steps, struct patterns *found, double step_s)
{
	struct pattern pattern;
	bool has_epoch_first = false;
	for (unsigned round = 0; round < ROUNDS_MAX && find_period(steps, has_epoch_first, &pattern); round++) {
		has_epoch_first |= pattern.is_epoch_first;
		if (!is_accumulation(steps, &pattern) && !is_described(found, &pattern)) {
			leave_out_epoch_first(found, steps, &pattern);
			describe_period(steps, &pattern);
			add_pattern(found, &pattern, step_s);
		}
		steps_take_members(steps);
	}
}

static bool is_same(const struct pattern *pattern, const struct pattern *before)
{
	if (pattern->kind != before->kind || pattern->unit != before->unit)
		return false;
	if (pattern->kind != PATTERN_PERIOD)
		return pattern->is_creeping == before->is_creeping;
	return fabs(pattern->period - before->period) <= 0.02 * before->period;
}

static void copy_since(struct patterns *found, const struct patterns *before, int64_t now_ns)
{
	for (size_t i = 0; i < found->count; i++) {
		struct pattern *pattern = &found->list[i];
		pattern->since_ns = now_ns;
		for (size_t k = 0; k < before->count; k++)
			if (is_same(pattern, &before->list[k]))
				pattern->since_ns = before->list[k].since_ns;
	}
}

static void search_patterns(struct patterns *patterns, const struct model *model, const struct run *run)
{
	struct patterns found = {
		.renewed_ns = patterns->renewed_ns, .seen = patterns->seen, .searches = patterns->searches + 1
	};
	struct pattern pattern;
	struct steps *steps = malloc(sizeof *steps);
	if (!steps)
		return;
	if (steps_gather(steps, model, run, patterns)) {
		double step_s = run_main(run)->recent.p50_s;
		find_periods(steps, &found, step_s);
		if (find_drift(steps, &pattern))
			add_pattern(&found, &pattern, step_s);
		else if (find_kinds(steps, &pattern))
			add_pattern(&found, &pattern, step_s);
	}
	free(steps);
	copy_since(&found, patterns, model->now_ns);
	*patterns = found;
}

void patterns_update(struct patterns *patterns, const struct model *model, const struct run *run)
{
	const struct track *track = run_main(run);
	uint64_t retained = track->end - track->first < STEPS_MAX ? track->end - track->first : STEPS_MAX,
			 min = 1 + retained / STEPS_A_READ;
	int64_t pause_ns = (int64_t)(1 + retained / STEPS_A_SECOND) * NS_PER_S;
	if (patterns->renewed_ns && model->now_ns - patterns->renewed_ns < pause_ns && run->is_live)
		return;
	if (track->end == patterns->seen ||
		(track->end > patterns->seen && track->end - patterns->seen < min && run->is_live))
		return;
	patterns->renewed_ns = model->now_ns;
	patterns->seen = track->end;
	search_patterns(patterns, model, run);
}

/* -- words -- */

static const char *ordinal_ending(uint64_t number)
{
	static const char *const endings[] = { "th", "st", "nd", "rd" };
	bool is_teen = number % 100 >= 11 && number % 100 <= 13;
	return endings[!is_teen && number % 10 <= 3 ? number % 10 : 0];
}

/* "data › decode: reading from disk" */
static bool has_cause(const struct pattern *pattern) { return strstr(pattern->what, ": ") != NULL; }

bool pattern_has_lead(const struct pattern *pattern, const struct run *run)
{
	enum phase_kind kind = pattern->phase == NAME_NONE ? PHASE_FORWARD : phase_kind(run, pattern->phase);
	/* Small drifts come and go with the machine, and some begin near an epoch's begin by chance. */
	bool is_chance = pattern->kind == PATTERN_DRIFT && pattern->after_s < CHANCE_DRIFT_MAX * pattern->before_s;
	return (pattern->candidate[0] && !is_chance) || pattern->has_line || has_cause(pattern) ||
		(kind != PHASE_FORWARD && kind != PHASE_BACKWARD);
}

static bool expects(const struct pattern *pattern, const struct run *run, const struct batch *batch)
{
	const struct batch *last = track_batch(run_main(run), pattern->last);
	uint64_t period = (uint64_t)pattern->period;
	if (pattern->kind != PATTERN_PERIOD || pattern->unit != PATTERN_BATCHES || period == 0)
		return false;
	if (pattern->is_epoch_first)
		return batch->index == 0;
	return pattern->is_by_index ? last && batch->index % period == last->index % period
								: batch->ordinal % period == pattern->last % period;
}

bool patterns_plan(const struct patterns *patterns, const struct run *run, const struct batch *batch)
{
	for (size_t i = 0; patterns && i < patterns->count; i++)
		if ((patterns->list[i].is_planned || patterns->list[i].is_epoch_first) &&
			expects(&patterns->list[i], run, batch))
			return true;
	return false;
}

static void add_where(const struct pattern *pattern, char *out, size_t size)
{
	if (strcmp(pattern->what, "unknown") == 0)
		snprintf(out, size, ", cause unknown");
	else if (pattern->has_line)
		snprintf(out, size, ": %s", pattern->what);
	else
		snprintf(out, size, "%s%s", has_cause(pattern) ? ", " : ", in ", pattern->what);
}

static void name_batch(const struct run *run, uint64_t ordinal, char out[NUMBER_SIZE * 2])
{
	const struct batch *batch = track_batch(run_main(run), ordinal);
	if (batch && batch->epoch_ordinal && batch->epoch != EPOCH_UNKNOWN)
		snprintf(out, NUMBER_SIZE * 2, "batch %llu of epoch %u", (unsigned long long)batch->index,
			(unsigned)run_epoch_number(run, batch->epoch_ordinal));
	else
		snprintf(out, NUMBER_SIZE * 2, "batch %llu", (unsigned long long)(batch ? batch->index : ordinal));
}

/* "every 40th batch" */
static const char *period_name(const struct pattern *pattern, char out[64])
{
	unsigned long long period = (unsigned long long)pattern->period;
	char seconds[NUMBER_SIZE];
	if (pattern->is_epoch_first)
		snprintf(out, 64, "each epoch's first batch");
	else if (pattern->is_once)
		snprintf(out, 64, "batch %llu of each epoch", (unsigned long long)pattern->once_index);
	else if (pattern->unit == PATTERN_SECONDS)
		snprintf(out, 64, "every %s a batch", format_seconds(seconds, pattern->period));
	else
		snprintf(out, 64, "every %llu%s batch%s", period, ordinal_ending(period),
			pattern->is_by_index ? " of an epoch" : "");
	return out;
}

static void period_words(const struct pattern *pattern, const char *where, char *out, size_t size)
{
	char name[64];
	snprintf(out, size, "%s takes %.1f× as long%s (%llu of %llu)", period_name(pattern, name),
		pattern->after_s / pattern->before_s, where, (unsigned long long)pattern->count,
		(unsigned long long)pattern->of);
}

const char *pattern_label(const struct pattern *pattern, const struct run *run, char *out, size_t size)
{
	char name[64], first[NUMBER_SIZE * 2];
	if (pattern->kind != PATTERN_PERIOD)
		return pattern_words(pattern, run, out, size);
	name_batch(run, pattern->first, first);
	snprintf(out, size, "%s (%llu of %llu, from %s)", period_name(pattern, name), (unsigned long long)pattern->count,
		(unsigned long long)pattern->of, first);
	return out;
}

const char *pattern_words(const struct pattern *pattern, const struct run *run, char *out, size_t size)
{
	char where[sizeof pattern->what + 8], before[NUMBER_SIZE], after[NUMBER_SIZE], first[NUMBER_SIZE * 2],
		share[NUMBER_SIZE];
	if (size == 0)
		return out;
	add_where(pattern, where, sizeof where);
	format_seconds(before, pattern->before_s);
	format_seconds(after, pattern->after_s);
	name_batch(run, pattern->first, first);
	switch (pattern->kind) {
	case PATTERN_PERIOD: period_words(pattern, where, out, size); break;
	case PATTERN_DRIFT:
		snprintf(out, size,
			pattern->is_creeping ? "steps get steadily slower since %s: %s before, %s now%s"
								 : "steps are slower since %s: %s before, %s now%s",
			first, before, after, where);
		break;
	case PATTERN_KINDS:
		format_percent(share, (double)pattern->count / (double)pattern->of);
		snprintf(out, size, "two kinds of batches: %s, and %s for %s of them%s", before, after, share, where);
		break;
	}
	return out;
}
