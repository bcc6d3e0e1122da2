#include "src/export/scrape/scrape_rules.h"

#include <ctype.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "src/export/scrape/scrape_figures.h"
#include "src/rules/alerts_list.h"
#include "src/rules/rule.h"

/* -- expressions -- */

static const char *const operators[] = { [RULE_IS] = "==",
	[RULE_IS_NOT] = "!=",
	[RULE_AT_LEAST] = ">=",
	[RULE_AT_MOST] = "<=",
	[RULE_ABOVE] = ">",
	[RULE_BELOW] = "<",
	[RULE_KNOWN] = "" };

/* The labels that both sides have. */
static const char *labels_between(enum scrape_scope a, enum scrape_scope b)
{
	enum scrape_scope wider = a < b ? a : b;
	return wider == SCRAPE_MACHINE ? "instance" : wider == SCRAPE_JOB ? "instance, run_id" : "instance, run_id, rank";
}

/* "memory.limit is known" of a rule about memory.limit_in_s: who knows the one knows the other. */
static bool is_implied(const struct rule *rule, const struct rule_term *term)
{
	const char *name = term->figure.row->name;
	return term->op == RULE_KNOWN && strncmp(rule->figure.row->name, name, strlen(name)) == 0;
}

static bool is_expressible(const struct rule *rule, const struct rule_term *term)
{
	enum scrape_scope scope;
	char name[SCRAPE_NAME_SIZE];
	if (is_implied(rule, term))
		return true;
	return term->op != RULE_UNKNOWN && (term->op == RULE_KNOWN || !term->word) &&
		scrape_figure_find(term->figure.row, &scope, name);
}

/* NULL: all of it can be said in PromQL; else the first figure that cannot. */
static const struct figure_ref *inexpressible(const struct rule *rule)
{
	enum scrape_scope scope;
	char name[SCRAPE_NAME_SIZE];
	if (!scrape_figure_find(rule->figure.row, &scope, name))
		return &rule->figure;
	for (size_t i = 0; i < rule->terms.count; i++)
		if (!is_expressible(rule, &rule->terms.list[i]))
			return &rule->terms.list[i].figure;
	return NULL;
}

static void add_expression(struct buffer *out, const struct rule *rule)
{
	enum scrape_scope own = SCRAPE_RUN, other = SCRAPE_RUN;
	char name[SCRAPE_NAME_SIZE];
	scrape_figure_find(rule->figure.row, &own, name);
	buffer_printf(out, "pmtop_%s %s %.12g", name, rule->is_below ? "<" : ">", rule->level);
	for (size_t i = 0; i < rule->terms.count; i++) {
		const struct rule_term *term = &rule->terms.list[i];
		if (is_implied(rule, term))
			continue;
		scrape_figure_find(term->figure.row, &other, name);
		buffer_printf(out, " and on (%s) pmtop_%s", labels_between(own, other), name);
		if (term->op != RULE_KNOWN)
			buffer_printf(out, " %s %.12g", operators[term->op], term->number);
	}
	if (rule->min > 0 && rule->of != RULE_OF_MODEL)
		buffer_printf(out, " and on (%s) pmtop_run_steps >= %.12g", labels_between(own, SCRAPE_RUN), rule->min);
}

/* -- alerts -- */

/* "memory_growth" is MemoryGrowth. */
static void add_name(struct buffer *out, const char *rule)
{
	buffer_puts(out, "Pmtop");
	for (bool is_first = true; *rule; rule++) {
		char letter = (char)(is_first ? toupper((unsigned char)*rule) : *rule);
		is_first = *rule == '_';
		if (!is_first)
			buffer_add(out, &letter, 1);
	}
}

static void add_quoted(struct buffer *out, const char *text)
{
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			buffer_puts(out, "\\");
		buffer_add(out, text, 1);
	}
}

static bool is_literal(const struct rule_choice *choice)
{
	for (size_t i = 0; i < choice->say.count; i++)
		if (choice->say.parts[i].kind != PART_LITERAL)
			return false;
	return choice->terms.count == 0 && !choice->as_name;
}

/* What the warning means, if that has no figures in it. */
static void add_meaning(struct buffer *out, const struct rule *rule)
{
	for (size_t i = 0; i < rule->meaning.count; i++) {
		const struct rule_choice *choice = &rule->meaning.list[i];
		if (!is_literal(choice))
			continue;
		buffer_puts(out, "          description: \"");
		for (size_t k = 0; k < choice->say.count; k++)
			add_quoted(out, choice->say.parts[k].literal);
		buffer_puts(out, "\"\n");
		return;
	}
}

#define OF_RUN "{{ with $labels.run_id }} run {{ . }}{{ end }}{{ with $labels.rank }} rank {{ . }}{{ end }}"

static void add_alert(struct buffer *out, const struct rule *rule)
{
	char level[FIGURE_TEXT_SIZE];
	buffer_puts(out, "      - alert: ");
	add_name(out, rule->name);
	buffer_puts(out, "\n        expr: ");
	add_expression(out, rule);
	if (rule->for_s > 0)
		buffer_printf(out, "\n        for: %.0fs", ceil(rule->for_s));
	buffer_printf(out, "\n        labels: {severity: %s, rule: %s}\n        annotations:\n          summary: \"",
		severity_name(rule->severity), rule->name);
	figure_write(rule->figure.row->form, rule->level, level);
	add_quoted(out, rule->figure.row->what);
	buffer_printf(out, ": {{ $value | humanize }} (%s %s%s)" OF_RUN "\"\n", rule->is_below ? "below" : "above", level,
		rule->figure.row->form == FORM_BYTES_PER_S ? "/s" : "");
	add_meaning(out, rule);
}

/* Across hosts, where no pmtop sees all ranks: the level of the rule slowest_rank. */
static void add_across_hosts(struct buffer *out, const struct rule_book *book)
{
	double level = rule_book_level(book, "slowest_rank");
	if (isnan(level))
		return;
	buffer_printf(out,
		"      - alert: PmtopSlowestRankOfAll\n"
		"        expr: pmtop_rank_own_step_seconds / on (run_id) group_left () quantile by (run_id) (0.5, "
		"pmtop_rank_own_step_seconds) > %.12g\n"
		"        for: 30s\n"
		"        labels: {severity: warning, rule: slowest_rank}\n"
		"        annotations:\n"
		"          summary: \"rank {{ $labels.rank }} of run {{ $labels.run_id }} takes {{ $value | humanize }} times "
		"the median rank's own time a step\"\n"
		"          description: \"Ranks that train together run at the pace of the slowest.\"\n",
		1 + level);
}

/* For rules that only pmtop can evaluate. */
static void add_rest(struct buffer *out, const struct rule_book *book)
{
	const char *between = "";
	buffer_puts(out, "      - alert: PmtopWarning\n        expr: pmtop_warning{rule!~\"");
	for (size_t i = 0; i < book->count; i++) {
		if (!rule_judges(book->list[i]) || inexpressible(book->list[i]))
			continue;
		buffer_printf(out, "%s%s", between, book->list[i]->name);
		between = "|";
	}
	buffer_puts(out,
		"\"} > 0\n        labels: {severity: '{{ with $labels.severity }}{{ . }}{{ else }}warning{{ end }}'}\n"
		"        annotations:\n          summary: \"pmtop warns: {{ $labels.rule }}" OF_RUN "\"\n"
		"          description: \"pmtop -p PID shows the figures behind it, and what to do.\"\n");
}

static void list_left_out(struct buffer *out, const struct rule_book *book)
{
	buffer_puts(
		out, "# Left out, because a figure of theirs is no metric. pmtop evaluates them: alert PmtopWarning.\n");
	for (size_t i = 0; i < book->count; i++) {
		const struct rule *rule = book->list[i];
		const struct figure_ref *figure = rule_judges(rule) ? inexpressible(rule) : NULL;
		char name[FIGURE_TEXT_SIZE];
		if (!figure)
			continue;
		figure_name(figure, name, sizeof name);
		buffer_printf(out, "#   %-24s %s\n", rule->name, name);
	}
}

void scrape_rules_write(struct buffer *out, const struct rule_book *book)
{
	buffer_puts(out, "# Alert rules for Prometheus, from pmtop's rules: pmtop exporter --print-rules\n");
	list_left_out(out, book);
	buffer_puts(out, "groups:\n  - name: pmtop\n    rules:\n");
	for (size_t i = 0; i < book->count; i++)
		if (rule_judges(book->list[i]) && !inexpressible(book->list[i]))
			add_alert(out, book->list[i]);
	add_across_hosts(out, book);
	add_rest(out, book);
}
