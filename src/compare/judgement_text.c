#include "src/compare/judgement_text.h"

#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "src/base/text.h"
#include "src/compare/compare_json.h"
#include "src/compare/comparison_json.h"
#include "src/compare/judgement.h"
#include "src/compare/page.h"

static const char *const words[] = {
	[OUTCOME_PASSED] = "ok", [OUTCOME_FAILED] = "FAILED", [OUTCOME_INCONCLUSIVE] = "inconclusive"
};

static const char *name_of(const struct judgement *judgement)
{
	const struct summary *now = judgement->now;
	return now->run[0] ? now->run : now->command[0] ? now->command : "run";
}

/* Names the phases that explain a failed step. */
static void explain(const struct judgement *judgement, char *out, size_t size)
{
	size_t used = 0;
	out[0] = '\0';
	if (!judgement->baseline || !judgement->count || judgement->figures[0].outcome != OUTCOME_FAILED)
		return;
	for (unsigned i = 0; i < 3 && judgement->comparison.explains[i] && used < size; i++) {
		const struct comparison_row *row = judgement->comparison.explains[i];
		char part[PAGE_VALUE], whole[PAGE_VALUE];
		used += i ? (size_t)snprintf(out + used, size - used, ", %s %s", row->what, page_change(part, row->change))
				  : (size_t)snprintf(out, size, "%s has %s of %s", row->what, page_change(part, row->change),
						page_change(whole, judgement->comparison.difference_s));
	}
}

void judgement_as_text(struct buffer *out, const struct judgement *judgement, bool has_color)
{
	static const char *const colors[] = {
		[OUTCOME_PASSED] = "\033[32m", [OUTCOME_FAILED] = "\033[31m", [OUTCOME_INCONCLUSIVE] = "\033[33m"
	};
	char line[400];
	for (size_t i = 0; i < judgement->warning_count; i++)
		buffer_printf(out, "warning: %s\n", judgement->warnings[i]);
	for (size_t i = 0; i < judgement->count; i++) {
		const struct judged_figure *figure = &judgement->figures[i];
		const char *begin = has_color ? colors[figure->outcome] : "", *end = has_color ? "\033[0m" : "";
		buffer_printf(out, "%s: %s%s%s: %s\n", figure->name, begin, words[figure->outcome], end, figure->text);
	}
	explain(judgement, line, sizeof line);
	if (line[0])
		buffer_printf(out, "%s\n", line);
	if (judgement->now->batches)
		snprintf(line, sizeof line, ", %llu batches", (unsigned long long)judgement->now->batches);
	buffer_printf(out, "%s%s: %s\n", name_of(judgement), judgement->now->batches ? line : "",
		judgement->outcome == OUTCOME_PASSED       ? "ok"
			: judgement->outcome == OUTCOME_FAILED ? "a regression"
												   : "inconclusive");
}

void judgement_as_json(struct buffer *out, const struct judgement *judgement)
{
	static const char *const outcomes[] = {
		[OUTCOME_PASSED] = "passed", [OUTCOME_FAILED] = "failed", [OUTCOME_INCONCLUSIVE] = "untold"
	};
	static const char *const units[] = { [LIMIT_SECONDS] = "s",
		[LIMIT_BYTES] = "bytes",
		[LIMIT_RATIO] = "ratio",
		[LIMIT_NUMBER] = "1",
		[LIMIT_JOULES] = "J",
		[LIMIT_TIMES] = "baseline" };
	struct json json = { .out = out };
	char why[400];
	json_open_object(&json, NULL);
	json_text(&json, "outcome", outcomes[judgement->outcome]);
	if (judgement->baseline)
		json_number(&json, "threshold", judgement->threshold);
	json_open_array(&json, "figures");
	for (size_t i = 0; i < judgement->count; i++) {
		const struct judged_figure *figure = &judgement->figures[i];
		json_open_object(&json, NULL);
		json_text(&json, "name", figure->name);
		json_text(&json, "outcome", outcomes[figure->outcome]);
		json_text(&json, "kind", figure->is_budget ? "budget" : "baseline");
		if (figure->is_budget)
			json_text(&json, "unit", units[figure->unit]);
		if (figure->is_budget)
			json_text(&json, "bound", figure->is_min ? "min" : "max");
		json_number(&json, "now", figure->now);
		json_number(&json, "baseline", figure->baseline);
		json_number(&json, "limit", figure->limit);
		if (!figure->is_budget || figure->unit == LIMIT_TIMES)
			json_number(&json, "ratio", figure->change.value);
		json_number(&json, "low", figure->change.low);
		json_number(&json, "high", figure->change.high);
		json_text(&json, "text", figure->text);
		json_close_object(&json);
	}
	json_close_array(&json);
	explain(judgement, why, sizeof why);
	json_text(&json, "explained", why[0] ? why : NULL);
	json_open_array(&json, "warnings");
	for (size_t i = 0; i < judgement->warning_count; i++)
		json_text(&json, NULL, judgement->warnings[i]);
	json_close_array(&json);
	json_open_object(&json, "run");
	summary_as_json(&json, judgement->now);
	json_close_object(&json);
	if (judgement->baseline) {
		json_open_object(&json, "baseline");
		summary_as_json(&json, judgement->baseline);
		json_close_object(&json);
	}
	json_close_object(&json);
	buffer_puts(out, "\n");
}

/* -- JUnit -- */

/* Texts have no control characters, which XML 1.0 forbids: text_clean removed them when they were read. */
static void add_xml(struct buffer *out, const char *text)
{
	size_t length = strlen(text);
	for (size_t at = 0; at < length;) {
		uint32_t code;
		char bytes[4];
		at += utf8_decode(text + at, length - at, &code);
		const char *entity = code == '&' ? "&amp;"
			: code == '<'                ? "&lt;"
			: code == '>'                ? "&gt;"
			: code == '"'                ? "&quot;"
										 : NULL;
		if (entity)
			buffer_puts(out, entity);
		else if (code >= ' ' && code != 0xfffe && code != 0xffff)
			buffer_add(out, bytes, utf8_encode(code, bytes));
	}
}

static void add_case(struct buffer *out, const struct judgement *judgement, const struct judged_figure *figure)
{
	char why[400];
	explain(judgement, why, sizeof why);
	buffer_puts(out, "    <testcase classname=\"pmtop.");
	add_xml(out, name_of(judgement));
	buffer_puts(out, "\" name=\"");
	add_xml(out, figure->name);
	buffer_puts(out, figure->is_budget ? " within its budget" : " against the baseline");
	buffer_printf(
		out, "\" time=\"%.6f\">\n", isfinite(figure->now) && figure->unit == LIMIT_SECONDS ? figure->now : 0.0);
	if (figure->outcome != OUTCOME_PASSED) {
		const char *element = figure->outcome == OUTCOME_FAILED ? "failure" : "error";
		buffer_printf(out, "      <%s type=\"%s\" message=\"", element,
			figure->outcome == OUTCOME_FAILED ? "regression" : "undecided");
		add_xml(out, figure->text);
		buffer_puts(out, "\">");
		add_xml(out, figure->text);
		if (!figure->is_budget && why[0]) {
			buffer_puts(out, "\n");
			add_xml(out, why);
		}
		buffer_printf(out, "</%s>\n", element);
	} else {
		buffer_puts(out, "      <system-out>");
		add_xml(out, figure->text);
		buffer_puts(out, "</system-out>\n");
	}
	buffer_puts(out, "    </testcase>\n");
}

void judgement_as_junit(struct buffer *out, const struct judgement *judgement, double elapsed_s)
{
	size_t of[3] = { 0 };
	char date[32] = "1970-01-01T00:00:00";
	time_t when = (time_t)(judgement->now->made_ns / INT64_C(1000000000));
	struct tm day;
	for (size_t i = 0; i < judgement->count; i++)
		of[judgement->figures[i].outcome]++;
	if (gmtime_r(&when, &day))
		strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S", &day);
	buffer_puts(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
	buffer_printf(out,
		"<testsuites name=\"pmtop check\" tests=\"%zu\" failures=\"%zu\" errors=\"%zu\" time=\"%.3f\">\n",
		judgement->count, of[OUTCOME_FAILED], of[OUTCOME_INCONCLUSIVE], elapsed_s);
	buffer_printf(out,
		"  <testsuite name=\"pmtop check\" tests=\"%zu\" failures=\"%zu\" errors=\"%zu\" skipped=\"0\" time=\"%.3f\" "
		"timestamp=\"%s\"",
		judgement->count, of[OUTCOME_FAILED], of[OUTCOME_INCONCLUSIVE], elapsed_s, date);
	if (judgement->now->host[0]) {
		buffer_puts(out, " hostname=\"");
		add_xml(out, judgement->now->host);
		buffer_puts(out, "\"");
	}
	buffer_puts(out, ">\n");
	for (size_t i = 0; i < judgement->count; i++)
		add_case(out, judgement, &judgement->figures[i]);
	if (judgement->warning_count) {
		buffer_puts(out, "    <system-out>");
		for (size_t i = 0; i < judgement->warning_count; i++) {
			buffer_puts(out, "warning: ");
			add_xml(out, judgement->warnings[i]);
			buffer_puts(out, "\n");
		}
		buffer_puts(out, "</system-out>\n");
	}
	buffer_puts(out, "  </testsuite>\n</testsuites>\n");
}
