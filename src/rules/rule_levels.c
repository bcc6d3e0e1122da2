#include "src/rules/rule_levels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/rules/alerts_list.h"
#include "src/rules/rule.h"

static enum setting_level level_of(const struct rule *rule)
{
	return rule->is_off ? LEVEL_OFF : (enum setting_level)(LEVEL_INFO + (int)rule->severity);
}

static void set_level(struct rule *rule, enum setting_level level)
{
	if (!rule->has_level) {
		rule->own_off = rule->is_off;
		rule->own_severity = rule->severity;
	}
	rule->has_level = true;
	rule->is_off = level == LEVEL_OFF;
	if (level != LEVEL_OFF)
		rule->severity = (enum severity)((int)level - LEVEL_INFO);
}

static void reset_level(struct rule *rule)
{
	if (!rule->has_level)
		return;
	rule->is_off = rule->own_off;
	rule->severity = rule->own_severity;
	rule->has_level = false;
}

void rule_book_set_levels(struct rule_book *book, const struct setting_levels *levels)
{
	for (size_t i = 0; i < book->count; i++)
		reset_level(book->list[i]);
	for (unsigned i = 0; i < levels->count; i++) {
		size_t at = 0;
		while (at < book->count && strcmp(book->list[at]->name, levels->list[i].rule) != 0)
			at++;
		if (at < book->count)
			set_level(book->list[at], levels->list[i].level);
		else if (book->fault_count < RULE_FAULTS_MAX)
			reason_set(&book->faults[book->fault_count++], STATUS_INVALID, "pmtop rules lists the rules",
				"pmtop.yaml: section \"levels\": no rule \"%s\"", levels->list[i].rule);
	}
}

static int by_level(const void *left, const void *right)
{
	const struct rule_row *a = left, *b = right;
	return a->level != b->level ? (int)b->level - (int)a->level : strcmp(a->name, b->name);
}

static void write_condition(const struct rule *rule, char *out, size_t size)
{
	char level[FIGURE_TEXT_SIZE];
	figure_write(rule->figure.row->form, rule->level, level);
	snprintf(out, size, "%s %.28s%s: %.110s", rule->is_below ? "below" : "above", level,
		rule->figure.row->form == FORM_BYTES_PER_S ? "/s" : "", rule->figure.row->what);
}

size_t rule_book_rows(const struct rule_book *book, struct rule_row *rows, size_t max)
{
	size_t count = 0;
	for (size_t i = 0; i < book->count && count < max; i++) {
		const struct rule *rule = book->list[i];
		if (!rule->figure.row)
			continue;
		rows[count] = (struct rule_row){ .name = rule->name, .level = level_of(rule) };
		write_condition(rule, rows[count].condition, sizeof rows[count].condition);
		count++;
	}
	qsort(rows, count, sizeof *rows, by_level);
	return count;
}

void alerts_follow_levels(struct alerts *alerts, int64_t now_ns, const struct settings *settings)
{
	for (size_t i = 0; settings->rules && i < alerts->count; i++) {
		const struct rule *rule = rule_find(settings->rules, alerts->list[i].rule);
		if (!rule || !rule->figure.row)
			continue;
		if (rule->is_off && alerts->list[i].is_raised)
			alert_clear(&alerts->list[i], now_ns);
		alerts->list[i].severity = rule->severity;
	}
	alerts_sort(alerts);
}
