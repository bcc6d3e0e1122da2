#include "src/compare/budget.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/compare/check/measure.h"
#include "src/compare/wholes.h"

struct unit_word {
	const char *word;
	enum budget_unit unit;
	double scale;
};

static const struct unit_word units[] = {
	{ "%", LIMIT_RATIO, 0.01 },
	{ "s", LIMIT_SECONDS, 1 },
	{ "ms", LIMIT_SECONDS, 1e-3 },
	{ "us", LIMIT_SECONDS, 1e-6 },
	{ "µs", LIMIT_SECONDS, 1e-6 },
	{ "B", LIMIT_BYTES, 1 },
	{ "k", LIMIT_BYTES, 1e3 },
	{ "kB", LIMIT_BYTES, 1e3 },
	{ "KB", LIMIT_BYTES, 1e3 },
	{ "M", LIMIT_BYTES, 1e6 },
	{ "MB", LIMIT_BYTES, 1e6 },
	{ "G", LIMIT_BYTES, 1e9 },
	{ "GB", LIMIT_BYTES, 1e9 },
	{ "T", LIMIT_BYTES, 1e12 },
	{ "TB", LIMIT_BYTES, 1e12 },
	{ "", LIMIT_NUMBER, 1 },
	{ "J", LIMIT_JOULES, 1 },
	{ "kJ", LIMIT_JOULES, 1e3 },
	{ "MJ", LIMIT_JOULES, 1e6 },
	{ "Wh", LIMIT_JOULES, 3600 },
	{ "kWh", LIMIT_JOULES, 3.6e6 },
	{ "x", LIMIT_TIMES, 1 },
};

static const char *const words[] = {
#define BUDGET_WORD(name, word) [BUDGET_##name] = word,
	BUDGETS(BUDGET_WORD)
#undef BUDGET_WORD
};

static const enum budget_unit whole_units[] = { [ROW_SECONDS] = LIMIT_SECONDS,
	[ROW_PER_SECOND] = LIMIT_NUMBER,
	[ROW_BYTES] = LIMIT_BYTES,
	[ROW_NUMBER] = LIMIT_NUMBER,
	[ROW_RATIO] = LIMIT_RATIO,
	[ROW_JOULES] = LIMIT_JOULES,
	[ROW_FLOPS] = LIMIT_NUMBER };

static const char *const unit_names[] = { [LIMIT_SECONDS] = "seconds",
	[LIMIT_BYTES] = "bytes",
	[LIMIT_RATIO] = "%",
	[LIMIT_NUMBER] = "none: write min=NUMBER or max=NUMBER",
	[LIMIT_JOULES] = "J" };

static const char remedy[] =
	"such as data:20%, step:0.3s, forward:80ms, p95:0.5s, memory:4GB, accuracy:min=0.9 or evaluate:1.2x";

static bool read_limit(const char *text, struct budget *out)
{
	char *end;
	double value = strtod(text, &end);
	if (end == text || !isfinite(value))
		return false;
	for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
		if (strcmp(end, units[i].word) == 0) {
			out->unit = units[i].unit;
			out->limit = value * units[i].scale;
			return value >= 0 || out->unit == LIMIT_NUMBER;
		}
	}
	return false;
}

static void find_what(struct budget *out)
{
	out->what = BUDGET_NAMED;
	for (unsigned i = 0; i < sizeof words / sizeof *words; i++)
		if (strcmp(out->name, words[i]) == 0)
			out->what = (enum budget_what)i;
	out->whole = out->what == BUDGET_NAMED ? whole_find(out->name) : NULL;
	/* A phase may be named "loss". */
	bool is_phase =
		out->whole && out->whole->unit == ROW_NUMBER && (out->unit == LIMIT_RATIO || out->unit == LIMIT_SECONDS);
	if (out->whole && !is_phase)
		out->what = BUDGET_WHOLE;
}

/* The unit it must have; of a name any that suits. Numbers and bytes need min= or max=, which show that a gauge is
 * meant. */
static enum budget_unit wanted_unit(const struct budget *budget, bool is_explicit)
{
	if (budget->unit == LIMIT_TIMES)
		return LIMIT_TIMES;
	if (budget->what == BUDGET_WHOLE)
		return whole_units[budget->whole->unit];
	if (budget->what != BUDGET_NAMED)
		return LIMIT_SECONDS;
	return budget->unit == LIMIT_RATIO || is_explicit ? budget->unit : LIMIT_SECONDS;
}

static enum status parse_one(const char *part, struct budget *out, struct reason *why_not)
{
	/* Split at the last colon, because the name of a phase may have one. */
	const char *colon = strrchr(part, ':');
	if (!colon || colon == part || (size_t)(colon - part) >= sizeof out->name)
		return reason_set(why_not, STATUS_INVALID, remedy, "--budget takes NAME:LIMIT, not \"%.60s\"", part);
	*out = (struct budget){ .is_min = strncmp(colon + 1, "min=", 4) == 0 };
	bool is_explicit = out->is_min || strncmp(colon + 1, "max=", 4) == 0;
	snprintf(out->name, sizeof out->name, "%.*s", (int)(colon - part), part);
	if (!read_limit(colon + (is_explicit ? 5 : 1), out))
		return reason_set(why_not, STATUS_INVALID, remedy,
			"--budget: \"%.60s\" is not a limit: write a number with %%, s, ms, us, kB, MB, GB, J or x", colon + 1);
	find_what(out);
	enum budget_unit wanted = wanted_unit(out, is_explicit);
	if (out->unit != wanted || (wanted == LIMIT_NUMBER && !is_explicit))
		return reason_set(why_not, STATUS_INVALID, remedy, "--budget: the unit of %s is %s", out->name,
			out->what == BUDGET_NAMED ? "% of a step, or seconds; of a gauge write min= or max=" : unit_names[wanted]);
	return STATUS_OK;
}

enum status budget_parse(const char *text, struct budget_list *out, struct reason *why_not)
{
	*out = (struct budget_list){ 0 };
	if (text && !*text)
		return reason_set(why_not, STATUS_INVALID, remedy, "--budget has no limit");
	for (const char *part = text; part && *part;) {
		char one[160];
		size_t length = strcspn(part, ",");
		snprintf(one, sizeof one, "%.*s", (int)(length < sizeof one ? length : sizeof one - 1), part);
		if (out->count == BUDGETS_MAX)
			return reason_set(why_not, STATUS_INVALID, NULL, "--budget takes at most %d limits", BUDGETS_MAX);
		enum status status = parse_one(one, &out->budgets[out->count], why_not);
		if (status != STATUS_OK)
			return status;
		out->count++;
		part += length + (part[length] == ',');
	}
	return STATUS_OK;
}

/* -- names -- */

static void add_name(char *names, size_t size, const char *title, const char *name)
{
	size_t used = strlen(names);
	if (used + SUMMARY_NAME + 4 < size)
		snprintf(names + used, size - used, "%s%s", used ? ", " : title, name);
}

/* What a budget with this unit could name. */
static void list_names(const struct budget *budget, const struct summary *summary, char *names, size_t size)
{
	bool is_share = budget->unit == LIMIT_RATIO, is_time = budget->unit == LIMIT_SECONDS || budget->unit == LIMIT_TIMES;
	names[0] = '\0';
	for (unsigned i = 0; i < summary->phase_count && (is_share || is_time); i++)
		add_name(names, size, "its phases are ", summary->phases[i].name);
	for (size_t i = 0; i < summary->operation_count && is_time; i++)
		if (!summary_phase(summary, summary->operations[i].name))
			add_name(names, size, "its operations are ", summary->operations[i].name);
	for (size_t i = 0; i < summary->gauge_count && !is_share && !is_time; i++)
		add_name(names, size, "its gauges are ", summary->gauges[i].name);
	if (!names[0])
		snprintf(names, size, "it has no %s", is_share ? "phases" : is_time ? "phases or operations" : "gauges");
}

enum status budget_check_names(
	const struct budget_list *list, const struct summary *summary, bool has_baseline, struct reason *why_not)
{
	for (size_t i = 0; i < list->count; i++) {
		const struct budget *budget = &list->budgets[i];
		char names[sizeof why_not->remedy];
		if (budget->unit == LIMIT_TIMES && !has_baseline)
			return reason_set(why_not, STATUS_INVALID, "name it with --baseline=FILE",
				"--budget: %.60s:%gx is relative to a baseline", budget->name, budget->limit);
		struct named named = measure_named(budget, summary);
		if (budget->what != BUDGET_NAMED || named.phase || named.operation || isfinite(named.gauge))
			continue;
		list_names(budget, summary, names, sizeof names);
		return reason_set(why_not, STATUS_INVALID, names, "--budget: the run has no %s \"%.60s\"",
			budget->unit == LIMIT_RATIO                                        ? "phase"
				: budget->unit == LIMIT_SECONDS || budget->unit == LIMIT_TIMES ? "phase or operation"
																			   : "gauge",
			budget->name);
	}
	return STATUS_OK;
}
