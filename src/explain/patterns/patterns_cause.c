/* Describes a pattern: the phase that takes longer, the cause that the explanations of its batches share, and a
 * candidate reason for exactly this pattern. */
#include "src/explain/patterns/patterns_cause.h"
#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "src/base/text.h"
#include "src/explain/advice.h"
#include "src/explain/causes/causes_words.h"
#include "src/explain/explain.h"
#include "src/explain/patterns/patterns_private.h"
#include "src/explain/patterns/patterns_steps.h"
#include "src/model/run/figures/phases.h"
#include "src/model/run/known_names.h"
#include "src/model/run/steps/flagged.h"
#include "src/model/statistics/statistics.h"

enum {
	PHASES_COMPARED_MAX = 48,
	FLAGGED_EXPLAINED = 4,
	OWN_LINES_MIN = 2,
	ACCUMULATION_MAX = 64,
	ROUND_MIN = 10,
	MARKED_MIN = 3,
	REFRESHES_MAX = 4
};
/* A property belongs to a pattern if at least this share of members, and at most that share of others, has it. */
#define MEMBERS_RATIO 0.8
#define OTHERS_RATIO 0.1
#define MAIN_RATIO 0.5
#define BIGGER_RATIO 1.1
#define RARE_RATIO 0.25
#define ROUND_SECONDS_RATIO 0.01
#define SIZES_APART 0.9

/* -- phases -- */

struct phase_excess {
	uint32_t name, parent;
	double excess_s;
};

/* A line of the program's own that computes in these batches only, as an evaluation does. */
struct own_line {
	const char *file;
	unsigned line, count;
};

struct comparison {
	const struct steps *steps;
	const struct compared *others, *these;
	double excess_s;       /* of the whole step */
	enum cause_kind cause; /* from the explanations of its flagged batches */
	struct own_line own;   /* from them, too; count 0: none */
	unsigned evaluations;  /* of them, those whose cause is a phase of evaluations that other batches lack */
	size_t count;
	struct phase_excess phases[PHASES_COMPARED_MAX];
};

static const struct phase_time *find_phase(const struct batch *batch, uint32_t name, uint32_t parent)
{
	return phase_find(batch->phases, batch->phase_count, name, parent);
}

static double median_of_phase(const struct steps *steps, const struct compared *rows, uint32_t name, uint32_t parent)
{
	double values[COMPARED_MAX];
	for (size_t i = 0; i < rows->count; i++) {
		const struct phase_time *phase = find_phase(steps->batches[rows->rows[i]], name, parent);
		values[i] = phase ? (double)phase->seconds : 0;
	}
	return median_of(values, rows->count);
}

static double median_of_steps(const struct steps *steps, const struct compared *rows)
{
	double values[COMPARED_MAX];
	for (size_t i = 0; i < rows->count; i++)
		values[i] = steps->step_s[rows->rows[i]];
	return median_of(values, rows->count);
}

static bool has_row(const struct comparison *comparison, const struct phase_time *phase)
{
	for (size_t i = 0; i < comparison->count; i++)
		if (comparison->phases[i].name == phase->name && comparison->phases[i].parent == phase->parent)
			return true;
	return false;
}

static void compare(
	const struct steps *steps, const struct compared *others, const struct compared *these, struct comparison *out)
{
	*out = (struct comparison){ .steps = steps, .others = others, .these = these };
	out->excess_s = median_of_steps(steps, these) - median_of_steps(steps, others);
	for (size_t i = 0; i < these->count; i++) {
		const struct batch *batch = steps->batches[these->rows[i]];
		for (unsigned k = 0; k < batch->phase_count && out->count < PHASES_COMPARED_MAX; k++) {
			const struct phase_time *phase = &batch->phases[k];
			if (has_row(out, phase))
				continue;
			double excess_s = median_of_phase(steps, these, phase->name, phase->parent) -
				median_of_phase(steps, others, phase->name, phase->parent);
			out->phases[out->count++] = (struct phase_excess){ phase->name, phase->parent, excess_s };
		}
	}
}

/* The phase below `parent` with more than half of the excess; NULL = none. */
static const struct phase_excess *main_part(const struct comparison *comparison, uint32_t parent, double excess_s)
{
	const struct phase_excess *max = NULL;
	for (size_t i = 0; i < comparison->count; i++)
		if (comparison->phases[i].parent == parent && comparison->phases[i].name != parent &&
			(!max || comparison->phases[i].excess_s > max->excess_s))
			max = &comparison->phases[i];
	return max && max->excess_s > MAIN_RATIO * excess_s ? max : NULL;
}

static void name_phase(const struct comparison *comparison, struct pattern *pattern)
{
	const struct phase_excess *part = main_part(comparison, NAME_NONE, comparison->excess_s);
	char path[256];
	snprintf(pattern->what, sizeof pattern->what, "unknown");
	pattern->phase = NAME_NONE;
	pattern->has_line = false;
	pattern->next[0] = '\0';
	if (!part || part->name == NAME_UNATTRIBUTED)
		return;
	pattern->phase = part->name;
	int used = snprintf(path, sizeof path, "%s", run_name(comparison->steps->run, part->name));
	for (unsigned depth = 1; depth < RUN_PHASES_MAX && (size_t)used < sizeof path &&
		 (part = main_part(comparison, part->name, part->excess_s));
		 depth++)
		used +=
			snprintf(path + used, sizeof path - (size_t)used, " › %s", run_name(comparison->steps->run, part->name));
	text_clean(pattern->what, sizeof pattern->what, path, strlen(path));
}

/* -- explanations of its flagged batches -- */

/* Causes of one kind in one phase, or one line of no phase, summed over batches. Whatever waits for the GIL: its holder
 * counts. */
struct common_cause {
	struct cause cause;
	double share;
	bool differs; /* in their words */
	bool has_other_line;
};

static bool are_of_one_kind(const struct cause *a, const struct cause *b)
{
	bool is_by_line = a->kind == CAUSE_LINE || a->kind == CAUSE_GIL;
	return a->kind == b->kind && strcmp(a->rank, b->rank) == 0 &&
		(is_by_line ? cause_is_at_same_line(a, b) : a->phase == b->phase);
}

static void add_cause(struct common_cause *list, size_t *count, const struct cause *cause)
{
	size_t at = 0;
	while (at < *count && !are_of_one_kind(&list[at].cause, cause))
		at++;
	if (at == *count)
		list[(*count)++] = (struct common_cause){ .cause = *cause };
	list[at].share += cause->share_ratio;
	list[at].differs |= strcmp(list[at].cause.what, cause->what) != 0;
	/* The line of another rank is known in some batches only: stacks are sampled. */
	bool is_line_missing = cause->kind == CAUSE_RANK && (!cause->file || !list[at].cause.file);
	list[at].has_other_line |= !is_line_missing && !cause_is_at_same_line(&list[at].cause, cause);
	if (is_line_missing && cause->file)
		list[at].cause = *cause;
}

static bool is_own_work(const struct cause *cause)
{
	bool is_work = cause->kind == CAUSE_MORE_WORK && cause->file;
	for (size_t i = 0; is_work && i < cause->evidence_count; i++)
		if (strcmp(cause->evidence[i].key, "line_samples") == 0)
			return cause->evidence[i].baseline_value < RARE_RATIO * cause->evidence[i].this_value;
	return false;
}

static void note_own_line(struct own_line *own, const struct explanation *why)
{
	const struct cause *cause = why->causes;
	if (why->cause_count == 0 || !is_own_work(cause))
		return;
	if (!own->file)
		*own = (struct own_line){ .file = cause->file, .line = cause->line };
	own->count += own->line == cause->line && strcmp(own->file, cause->file) == 0;
}

static void take_cause(const struct run *run, const struct common_cause *common, struct pattern *pattern)
{
	const struct cause *cause = &common->cause;
	const char *words = cause_kind_name(cause->kind);
	char whole[sizeof pattern->what] = "", brief[CAUSE_BRIEF_SIZE];
	pattern->phase = cause->phase;
	pattern->has_line = cause->file && !common->has_other_line;
	snprintf(pattern->next, sizeof pattern->next, "%s", cause->next);
	if (pattern->has_line)
		snprintf(whole, sizeof whole, "%s",
			common->differs ? cause_brief(run, cause, brief) : cause_short(run, cause, brief));
	else if (cause_has_figures(cause) && cause->kind == CAUSE_PHASE)
		snprintf(whole, sizeof whole, "%s", run_name(run, cause->phase));
	else if (common->differs && cause->rank[0])
		snprintf(whole, sizeof whole, "%.34s: waited for %s", run_name(run, cause->phase), cause->rank);
	else if (common->differs && words[0])
		snprintf(whole, sizeof whole, "%.40s: %s", run_name(run, cause->phase), words);
	else if (!common->differs)
		snprintf(whole, sizeof whole, "%.*s", (int)sizeof whole - 1, cause->what);
	/* snprintf may have cut within a UTF-8 character. */
	if (whole[0])
		text_clean(pattern->what, sizeof pattern->what, whole, strlen(whole));
}

/* By stack samples: the baseline has none, or few, of the phase. */
static bool is_evaluation(const struct run *run, const struct explanation *why)
{
	const struct cause *cause = why->causes;
	if (why->cause_count == 0 || cause->kind != CAUSE_PHASE || !name_is_sampled(cause->phase))
		return false;
	bool is_rare = false;
	for (size_t i = 0; i < why->row_count; i++)
		is_rare |= why->rows[i].name == cause->phase && !(why->rows[i].baseline_s > RARE_RATIO * why->rows[i].this_s);
	return is_rare &&
		(phase_kind(run, cause->phase) == PHASE_INFERENCE || strcmp(run_name(run, cause->phase), "validation") == 0);
}

/* Sets cause, own and evaluations; the cause is CAUSE_UNKNOWN if there is none. */
static void take_explanations(struct comparison *comparison, struct pattern *pattern)
{
	const struct steps *steps = comparison->steps;
	struct common_cause list[FLAGGED_EXPLAINED * EXPLAIN_CAUSES_MAX];
	const struct run *run = steps->run;
	size_t count = 0, explained = 0;
	for (size_t i = run->flagged_count; i-- > 0 && explained < FLAGGED_EXPLAINED;) {
		const struct flagged *flagged = &run->flagged[i];
		size_t row = flagged->mode == steps->track->mode ? steps_row(steps, flagged->batch.ordinal) : steps->count;
		if (row == steps->count || !steps->is_member[row])
			continue;
		const struct explanation *why = flagged_explanation(flagged);
		explained += why->cause_count > 0;
		note_own_line(&comparison->own, why);
		comparison->evaluations += is_evaluation(run, why);
		for (size_t k = 0; k < why->cause_count; k++)
			add_cause(list, &count, &why->causes[k]);
	}
	const struct common_cause *max = NULL;
	for (size_t i = 0; i < count; i++)
		if (!max || list[i].share > max->share)
			max = &list[i];
	comparison->cause = CAUSE_UNKNOWN;
	if (!max || max->cause.kind == CAUSE_UNKNOWN || max->share < MAIN_RATIO / 2 * (double)explained)
		return;
	take_cause(run, max, pattern);
	comparison->cause = max->cause.kind;
}

/* -- candidates -- */

/* 0 = not known. */
static unsigned long published_count(const struct run *run, const char *key)
{
	long count;
	return loader_count(run, key, &count) ? (unsigned long)count : 0;
}

/* Always true, so that tests can return it. */
__attribute__((format(printf, 2, 3))) static bool set_candidate(struct pattern *pattern, const char *format, ...)
{
	char text[256];
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	text_clean(pattern->candidate, sizeof pattern->candidate, text, strlen(text));
	return true;
}

static bool is_in_data(const struct comparison *comparison, const struct pattern *pattern)
{
	enum phase_kind kind =
		pattern->phase == NAME_NONE ? PHASE_DATA : phase_kind(comparison->steps->run, pattern->phase);
	return kind == PHASE_DATA || kind == PHASE_BETWEEN;
}

static bool goes_with(const struct comparison *comparison,
	bool (*has)(const struct steps *steps, size_t row, const void *what), const void *what)
{
	size_t these = 0, others = 0;
	for (size_t i = 0; i < comparison->these->count; i++)
		these += has(comparison->steps, comparison->these->rows[i], what);
	for (size_t i = 0; i < comparison->others->count; i++)
		others += has(comparison->steps, comparison->others->rows[i], what);
	return these > 0 && (double)these >= MEMBERS_RATIO * (double)comparison->these->count &&
		(double)others <= OTHERS_RATIO * (double)comparison->others->count;
}

static bool is_epoch_begin(const struct comparison *comparison, struct pattern *pattern)
{
	const char *persistent = loader_setting(comparison->steps->run, "persistent_workers");
	bool is_off = persistent && value_is_off(persistent);
	return pattern->is_epoch_first &&
		set_candidate(pattern, "epoch length %.0f%s", pattern->period, is_off ? "; persistent_workers=False" : "");
}

static bool has_span(const struct steps *steps, size_t row, const void *what)
{
	const struct phase_excess *phase = what;
	return find_phase(steps->batches[row], phase->name, phase->parent) != NULL;
}

static bool is_span(const struct comparison *comparison, struct pattern *pattern)
{
	for (size_t i = 0; i < comparison->count; i++) {
		const struct phase_excess *phase = &comparison->phases[i];
		bool is_published = phase->name != NAME_UNATTRIBUTED && phase->name != NAME_BETWEEN;
		if (is_published && phase->excess_s > MAIN_RATIO * comparison->excess_s &&
			goes_with(comparison, has_span, phase)) {
			pattern->is_planned = run_name_is(comparison->steps->run, phase->name, KNOWN_INFERENCE);
			return set_candidate(
				pattern, "only these batches have the span “%.60s”", run_name(comparison->steps->run, phase->name));
		}
	}
	return false;
}

static bool is_sampled_phase(const struct comparison *comparison, struct pattern *pattern)
{
	if (comparison->evaluations < OWN_LINES_MIN || !name_is_sampled(pattern->phase))
		return false;
	pattern->is_planned = true;
	return set_candidate(
		pattern, "only these batches have the phase “%.60s”", run_name(comparison->steps->run, pattern->phase));
}

static bool is_own_line(const struct comparison *comparison, struct pattern *pattern)
{
	const char *file = comparison->own.file, *slash = file ? strrchr(file, '/') : NULL;
	pattern->is_planned = comparison->own.count >= OWN_LINES_MIN;
	return pattern->is_planned &&
		set_candidate(pattern, "only these batches run %.60s:%u", slash ? slash + 1 : file, comparison->own.line);
}

static bool follows_other_mode(const struct steps *steps, size_t row, const void *what)
{
	(void)what;
	const struct batch *batch = steps->batches[row], *before = row > 0 ? steps->batches[row - 1] : NULL;
	return before && before->ordinal + 1 == batch->ordinal && batch->number > before->number + 1;
}

static bool precedes_other_mode(const struct steps *steps, size_t row, const void *what)
{
	return row + 1 < steps->count && follows_other_mode(steps, row + 1, what);
}

static const char *other_mode(const struct steps *steps)
{
	for (unsigned i = 0; i < steps->run->track_count; i++)
		if (&steps->run->tracks[i] != steps->track && steps->run->tracks[i].count > 0)
			return run_name(steps->run, steps->run->tracks[i].mode);
	return "batches of another mode";
}

static bool is_other_mode(const struct comparison *comparison, struct pattern *pattern)
{
	if (comparison->steps->run->track_count < 2)
		return false;
	if (goes_with(comparison, follows_other_mode, NULL))
		return set_candidate(pattern, "%.60s runs before each", other_mode(comparison->steps));
	return goes_with(comparison, precedes_other_mode, NULL) &&
		set_candidate(pattern, "%.60s runs after each", other_mode(comparison->steps));
}

static bool has_mark(const struct steps *steps, size_t row, const void *what)
{
	const struct batch *batch = steps->batches[row];
	(void)what;
	for (size_t i = 0; i < steps->run->mark_count; i++) {
		int64_t since_ns = steps->run->marks[i].time_ns - batch->begin_ns;
		if (since_ns >= 0 && (double)since_ns * 1e-9 <= batch->step_s)
			return true;
	}
	return false;
}

/* Old marks are dropped, so only members newer than the oldest mark count. */
static bool is_mark(const struct comparison *comparison, struct pattern *pattern)
{
	const struct run *run = comparison->steps->run;
	struct compared newest = { .count = 0 };
	if (run->mark_count < MARKED_MIN)
		return false;
	for (size_t i = 0; i < comparison->these->count; i++)
		if (comparison->steps->batches[comparison->these->rows[i]]->begin_ns >=
			run->marks[0].time_ns - (int64_t)(comparison->excess_s * 2e9))
			newest.rows[newest.count++] = comparison->these->rows[i];
	struct comparison shorter = { .steps = comparison->steps, .these = &newest, .others = comparison->others };
	return newest.count >= MARKED_MIN && goes_with(&shorter, has_mark, NULL) &&
		set_candidate(pattern, "each has the mark “%.60s”", run->marks[run->mark_count - 1].text);
}

static double median_samples(const struct steps *steps, const struct compared *rows)
{
	double values[COMPARED_MAX];
	size_t count = 0;
	for (size_t i = 0; i < rows->count; i++)
		if (isfinite(steps->batches[rows->rows[i]]->samples))
			values[count++] = steps->batches[rows->rows[i]]->samples;
	return median_of(values, count);
}

static bool is_bigger(const struct comparison *comparison, struct pattern *pattern)
{
	double these = median_samples(comparison->steps, comparison->these),
		   others = median_samples(comparison->steps, comparison->others);
	return these >= BIGGER_RATIO * others &&
		set_candidate(pattern, "larger batches: %.0f samples, others %.0f", these, others);
}

/* With gradient accumulation, only every k-th batch calls the optimizer. */
static bool is_accumulation(const struct comparison *comparison, struct pattern *pattern)
{
	const struct run *run = comparison->steps->run;
	bool is_known = run_accumulation(run) || comparison->steps->track->kind_count > 1;
	return !is_known && pattern->period <= ACCUMULATION_MAX && pattern->phase != NAME_NONE &&
		phase_kind(run, pattern->phase) == PHASE_OPTIMIZER &&
		set_candidate(pattern, "probably gradient accumulation over %.0f batches", pattern->period);
}

static bool is_epoch_length(const struct comparison *comparison, struct pattern *pattern)
{
	const struct steps *steps = comparison->steps;
	double length = (double)steps->run->epoch_length;
	if (length <= 0 && steps->epoch_count > 2)
		length =
			steps->epochs[steps->epoch_count - 1].first_position - steps->epochs[steps->epoch_count - 2].first_position;
	return length > 0 && pattern->period == length && set_candidate(pattern, "epoch length %.0f", length);
}

static bool is_loader(const struct comparison *comparison, struct pattern *pattern)
{
	const struct run *run = comparison->steps->run;
	unsigned long workers = published_count(run, "num_workers"), factor = published_count(run, "prefetch_factor");
	if (!workers || !is_in_data(comparison, pattern))
		return false;
	if (factor > 1 && pattern->period == (double)(workers * factor))
		return set_candidate(pattern, "prefetch_factor %lu × %lu workers", factor, workers);
	return workers > 1 && pattern->period == (double)workers &&
		set_candidate(pattern, "%lu workers, one of them slower", workers);
}

static bool is_round(const struct comparison *comparison, struct pattern *pattern)
{
	bool is_in_loader = pattern->phase != NAME_NONE && phase_kind(comparison->steps->run, pattern->phase) == PHASE_DATA;
	return !is_in_loader && !pattern->has_line && comparison->cause != CAUSE_GPU_WORK &&
		fmod(pattern->period, ROUND_MIN) == 0 &&
		set_candidate(pattern, "logging or checkpointing every %.0f batches?", pattern->period);
}

static bool is_round_time(const struct comparison *comparison, struct pattern *pattern)
{
	double whole = round(pattern->period);
	(void)comparison;
	return !pattern->has_line && whole >= 2 && fabs(pattern->period - whole) <= ROUND_SECONDS_RATIO * whole &&
		set_candidate(pattern, "a periodic task every %.0f s?", whole);
}

/* If all CPUs are busy, pmtop's own sampling delays the run. */
static bool is_own_refresh(const struct comparison *comparison, struct pattern *pattern)
{
	double times = round(pattern->period / comparison->steps->model->refresh_s);
	char refresh[NUMBER_SIZE];
	return comparison->cause == CAUSE_CPU_WAIT && times >= 1 && times <= REFRESHES_MAX &&
		fabs(pattern->period - times * comparison->steps->model->refresh_s) <= ROUND_SECONDS_RATIO * pattern->period &&
		set_candidate(pattern, "pmtop's own refresh, every %s: -d 2 reduces its load",
			format_seconds(refresh, comparison->steps->model->refresh_s));
}

typedef bool candidate_test(const struct comparison *comparison, struct pattern *pattern);

/* The most specific first. */
static candidate_test *const of_batches[] = { is_epoch_begin, is_accumulation, is_span, is_sampled_phase, is_own_line,
	is_other_mode, is_mark, is_bigger, is_epoch_length, is_loader, is_round, NULL };
static candidate_test *const of_seconds[] = { is_own_refresh, is_span, is_sampled_phase, is_own_line, is_other_mode,
	is_mark, is_bigger, is_round_time, NULL };

/* -- description of each kind of pattern -- */

/* Chooses the newest members, and their neighbours of the same kind. */
static void choose_rows(const struct steps *steps, struct compared *others, struct compared *these)
{
	others->count = these->count = 0;
	for (size_t row = steps->count; row-- > 0 && these->count < COMPARED_MAX;) {
		if (!steps->is_member[row])
			continue;
		these->rows[these->count++] = row;
		const size_t beside[] = { row + 1, row - 1 };
		for (size_t i = 0; i < 2 && others->count < COMPARED_MAX; i++)
			if (beside[i] < steps->count && !steps->is_member[beside[i]] && steps->kind[beside[i]] == steps->kind[row])
				others->rows[others->count++] = beside[i];
	}
}

void describe_period(const struct steps *steps, struct pattern *pattern)
{
	struct compared others, these;
	struct comparison comparison;
	choose_rows(steps, &others, &these);
	compare(steps, &others, &these, &comparison);
	name_phase(&comparison, pattern);
	take_explanations(&comparison, pattern);
	for (candidate_test *const *test = pattern->unit == PATTERN_BATCHES ? of_batches : of_seconds;
		 *test && !(*test)(&comparison, pattern);)
		test++;
}

void describe_drift(
	const struct steps *steps, const struct compared *before, const struct compared *after, struct pattern *pattern)
{
	struct comparison comparison;
	size_t first = steps_row(steps, pattern->first);
	compare(steps, before, after, &comparison);
	name_phase(&comparison, pattern);
	const struct batch *batch = first < steps->count ? steps->batches[first] : NULL;
	bool is_begin = batch && !pattern->is_creeping && batch->epoch_ordinal > 1 && batch->index <= 1;
	if (is_begin && batch->epoch == EPOCH_UNKNOWN)
		set_candidate(pattern, "an epoch begins there");
	else if (is_begin)
		set_candidate(pattern, "epoch %u begins there", (unsigned)batch->epoch);
}

static bool has_fewer(const struct steps *steps, size_t row, const void *samples)
{
	return steps->batches[row]->samples < *(const double *)samples;
}

void describe_kinds(
	const struct steps *steps, const struct compared *fast, const struct compared *slow, struct pattern *pattern)
{
	struct comparison comparison;
	compare(steps, fast, slow, &comparison);
	name_phase(&comparison, pattern);
	double few = median_samples(steps, fast), many = median_samples(steps, slow), border = (few + many) / 2;
	size_t right = 0;
	for (size_t i = 0; i < fast->count; i++)
		right += has_fewer(steps, fast->rows[i], &border);
	for (size_t i = 0; i < slow->count; i++)
		right += !has_fewer(steps, slow->rows[i], &border);
	if (many > few && (double)right >= SIZES_APART * (double)(fast->count + slow->count))
		set_candidate(pattern, "by batch size: %.0f and %.0f samples", few, many);
}
