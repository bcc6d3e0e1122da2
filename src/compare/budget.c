#include "src/compare/budget.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
};

static const struct {
	const char *word;
	enum budget_unit unit;
} known[] = {
#define BUDGET_WORD(name, word, unit) [BUDGET_##name] = { word, LIMIT_##unit },
	BUDGETS(BUDGET_WORD)
#undef BUDGET_WORD
};

static bool read_limit(const char *text, struct budget *out)
{
	char *end;
	double value = strtod(text, &end);
	if (end == text || !isfinite(value) || value < 0)
		return false;
	for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
		if (strcmp(end, units[i].word) == 0) {
			out->unit = units[i].unit;
			out->limit = value * units[i].scale;
			return true;
		}
	}
	return false;
}

static enum budget_what what_of(const char *name)
{
	for (unsigned i = 0; i < BUDGET_PHASE; i++)
		if (strcmp(name, known[i].word) == 0)
			return (enum budget_what)i;
	return BUDGET_PHASE;
}

static enum status parse_one(const char *part, struct budget *out, struct reason *why_not)
{
	/* Split at the last colon, because the name of a phase may have one. */
	const char *colon = strrchr(part, ':');
	static const char remedy[] = "such as data:20%, step:0.3s, forward:80ms, p95:0.5s or memory:4GB";
	if (!colon || colon == part || (size_t)(colon - part) >= sizeof out->name)
		return reason_set(why_not, STATUS_INVALID, remedy, "--budget takes NAME:LIMIT, not \"%.60s\"", part);
	*out = (struct budget){ .limit = 0 };
	snprintf(out->name, sizeof out->name, "%.*s", (int)(colon - part), part);
	out->what = what_of(out->name);
	if (!read_limit(colon + 1, out))
		return reason_set(why_not, STATUS_INVALID, remedy,
			"--budget: \"%.60s\" is not a limit: write a number with %%, s, ms, us, kB, MB or GB", colon + 1);
	if (out->what == BUDGET_PHASE ? out->unit == LIMIT_BYTES : out->unit != known[out->what].unit)
		return reason_set(why_not, STATUS_INVALID, remedy, "--budget: the unit of %s is %s", out->name,
			out->what == BUDGET_PHASE                  ? "% of a step, or seconds"
				: known[out->what].unit == LIMIT_BYTES ? "bytes"
													   : "seconds");
	return STATUS_OK;
}

enum status budget_parse(const char *text, struct budget_list *out, struct reason *why_not)
{
	*out = (struct budget_list){ 0 };
	if (text && !*text)
		return reason_set(why_not, STATUS_INVALID, "such as data:20%, step:0.3s, forward:80ms, p95:0.5s or memory:4GB",
			"--budget has no limit");
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

enum status budget_check_names(const struct budget_list *list, const struct summary *summary, struct reason *why_not)
{
	for (size_t i = 0; i < list->count; i++) {
		const struct budget *budget = &list->budgets[i];
		if (budget->what != BUDGET_PHASE || summary_phase(summary, budget->name))
			continue;
		char names[sizeof why_not->remedy];
		size_t used = (size_t)snprintf(names, sizeof names, "its phases are");
		for (unsigned k = 0; k < summary->phase_count && used + SUMMARY_NAME + 4 < sizeof names; k++)
			used += (size_t)snprintf(names + used, sizeof names - used, "%s %s", k ? "," : "", summary->phases[k].name);
		if (!summary->phase_count)
			snprintf(names, sizeof names, "it has no phases");
		return reason_set(why_not, STATUS_INVALID, names, "--budget: the run has no phase \"%.60s\"", budget->name);
	}
	return STATUS_OK;
}
