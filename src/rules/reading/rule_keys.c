/* The keys of a rule: a table with the function that reads each value. */
#include "src/rules/reading/rule_keys.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "src/rules/alerts_list.h"
#include "src/rules/reading/rule_read.h"
#include "src/rules/reading/rule_reading.h"
#include "src/rules/rule_book.h"
#include "src/settings/config_words.h"

enum { ADVICE_ITEMS_MAX = 16 };

static size_t line_of(const struct rule_reading *reading) { return config_line(reading->reader); }

enum status rule_no_memory(struct rule_reading *reading)
{
	return reason_set(reading->reader->why_not, STATUS_NO_MEMORY, NULL, "%s: out of memory", reading->reader->name);
}

static enum status need_word(struct rule_reading *reading, const char *key, const char *remedy)
{
	if (!config_is_word(reading->reader) || config_is_nothing(reading->reader))
		return REFUSE(remedy, "\"%s\" is not one value", key);
	return STATUS_OK;
}

static enum status refuse_word(struct rule_reading *reading, const char *key, const char *remedy)
{
	char word[CONFIG_WORD_SIZE];
	return REFUSE(remedy, "\"%s\" cannot be \"%s\"", key, config_word(reading->reader, word));
}

/* -- single values -- */

static enum status read_of(struct rule_reading *reading, const char *key)
{
	enum status status = need_word(reading, key, "write model, run or phase");
	for (unsigned i = 0; status == STATUS_OK && i < RULE_SCOPES; i++) {
		if (strcmp(config_scalar(reading->reader), rule_scope_name((enum rule_scope)i)) == 0) {
			reading->rule->of = (enum rule_scope)i;
			return STATUS_OK;
		}
	}
	return status == STATUS_OK ? refuse_word(reading, key, "write model, run or phase") : status;
}

static enum status read_severity_word(struct rule_reading *reading, const char *key, enum severity *out)
{
	enum status status = need_word(reading, key, "write info, warning or critical");
	for (unsigned i = SEVERITY_INFO; status == STATUS_OK && i <= SEVERITY_CRITICAL; i++) {
		if (strcmp(config_scalar(reading->reader), severity_name((enum severity)i)) == 0) {
			*out = (enum severity)i;
			return STATUS_OK;
		}
	}
	return status == STATUS_OK ? refuse_word(reading, key, "write info, warning or critical") : status;
}

static enum status read_severity(struct rule_reading *reading, const char *key)
{
	return read_severity_word(reading, key, &reading->rule->severity);
}

/* The key `off`: true disables the rule. */
static enum status read_off(struct rule_reading *reading, const char *key)
{
	enum status status = need_word(reading, key, "write true or false");
	if (status != STATUS_OK)
		return status;
	if (!config_truth(config_scalar(reading->reader), &reading->rule->is_off))
		return refuse_word(reading, key, "write true or false");
	return STATUS_OK;
}

/* The key `action`: what pmtop does when the warning is raised. */
static enum status read_action(struct rule_reading *reading, const char *key)
{
	static const char *const words[] = {
		[ALERT_ACTS_NOT] = "none", [ALERT_TAKES_TRACE] = "profile", [ALERT_TAKES_SNAPSHOT] = "snapshot"
	};
	static const char next[] = "write profile, snapshot or none";
	enum status status = need_word(reading, key, next);
	for (unsigned i = 0; status == STATUS_OK && i < sizeof words / sizeof *words; i++) {
		if (strcmp(config_scalar(reading->reader), words[i]) == 0) {
			reading->rule->action = (enum alert_action)i;
			return STATUS_OK;
		}
	}
	return status == STATUS_OK ? refuse_word(reading, key, next) : status;
}

static enum status read_guide(struct rule_reading *reading, const char *key)
{
	enum status status = need_word(reading, key, "write the guide and its heading on one line");
	if (status != STATUS_OK)
		return status;
	if (reading->reader->event.data.scalar.length >= sizeof((struct alert *)0)->guide)
		return REFUSE("write at most 63 bytes", "\"guide\" is too long");
	reading->rule->guide = rule_book_keep(reading->book, config_scalar(reading->reader));
	return reading->rule->guide ? STATUS_OK : rule_no_memory(reading);
}

static enum status read_figure(struct rule_reading *reading, const char *key)
{
	struct rule_fault fault = { 0 };
	enum status status = need_word(reading, key, "write the name of a figure");
	if (status != STATUS_OK)
		return status;
	if (!rule_read_figure(reading->book, config_scalar(reading->reader), &reading->rule->figure, &fault))
		return REFUSE(fault.next, "%s", fault.what);
	const struct figure *row = reading->rule->figure.row;
	if (row->form == FORM_TEXT && !row->number)
		return REFUSE("compare it under \"if\", and use a number as figure", "%s is a text, not a number", row->name);
	return STATUS_OK;
}

static enum status read_number(struct rule_reading *reading, const char *key, double *out, enum figure_form *form)
{
	enum status status = need_word(reading, key, "write a number, such as 0.3, 30 %, 100 MB, 2 s");
	if (status == STATUS_OK && !rule_read_number(config_scalar(reading->reader), out, form))
		status = refuse_word(reading, key, "write a number, such as 0.3, 30 %, 100 MB, 2 s");
	return status;
}

/* Compares the unit of the level with its figure's, if that is known: from a line before, or from the built-in rule. */
static enum status read_level(struct rule_reading *reading, const char *key, double *out)
{
	enum figure_form form;
	enum status status = read_number(reading, key, out, &form);
	const struct figure *row = reading->rule->figure.row;
	if (status == STATUS_OK && row && !rule_unit_fits(row->form, form) && row->form != FORM_TEXT) {
		char remedy[64];
		snprintf(remedy, sizeof remedy, "it is in %s", figure_form_name(row->form));
		return REFUSE(remedy, "\"%s\" has another unit than %s", key, row->name);
	}
	return status;
}

static enum status read_above(struct rule_reading *reading, const char *key)
{
	reading->rule->is_below = false;
	reading->rule->clear_level = NAN;
	return read_level(reading, key, &reading->rule->level);
}

static enum status read_below(struct rule_reading *reading, const char *key)
{
	reading->rule->is_below = true;
	reading->rule->clear_level = NAN;
	return read_level(reading, key, &reading->rule->level);
}

static enum status read_clear_at(struct rule_reading *reading, const char *key)
{
	return read_level(reading, key, &reading->rule->clear_level);
}

static enum status read_duration(struct rule_reading *reading, const char *key, double *out)
{
	enum figure_form form;
	enum status status = read_number(reading, key, out, &form);
	if (status == STATUS_OK && ((form != FORM_NUMBER && form != FORM_SECONDS) || *out < 0 || *out > 86400))
		status = refuse_word(reading, key, "write a time of at most a day, such as 10 s or 5 min");
	return status;
}

static enum status read_for(struct rule_reading *reading, const char *key)
{
	return read_duration(reading, key, &reading->rule->for_s);
}

static enum status read_clear_for(struct rule_reading *reading, const char *key)
{
	return read_duration(reading, key, &reading->rule->clear_s);
}

static enum status read_min(struct rule_reading *reading, const char *key)
{
	enum status status = need_word(reading, key, "write a whole number from 0 to 200");
	double value = NAN;
	if (status == STATUS_OK &&
		(!config_whole_number(config_scalar(reading->reader), &value) || value < 0 || value > RUN_RECENT))
		status = refuse_word(reading, key, "write a whole number from 0 to 200");
	if (status == STATUS_OK)
		reading->rule->min = value;
	return status;
}

static enum status read_condition(struct rule_reading *reading, const char *key, struct rule_terms *out)
{
	struct rule_fault fault = { 0 };
	enum status status = need_word(reading, key, "write \"figure > number\", joined by \"and\"");
	if (status == STATUS_OK && !rule_read_terms(reading->book, config_scalar(reading->reader), out, &fault))
		status = REFUSE(fault.next, "%s", fault.what);
	return status;
}

static enum status read_if(struct rule_reading *reading, const char *key)
{
	return read_condition(reading, key, &reading->rule->terms);
}

/* -- texts and choices -- */

static enum status read_say(struct rule_reading *reading, const char *key, struct rule_text *out)
{
	struct rule_fault fault = { 0 };
	enum status status = need_word(reading, key, "write a line of text");
	if (status == STATUS_OK && !rule_read_text(reading->book, config_scalar(reading->reader), out, &fault))
		status = REFUSE(fault.next, "%s", fault.what);
	return status;
}

static enum status read_choice_if(struct rule_reading *reading, const char *key, struct rule_choice *choice)
{
	return read_condition(reading, key, &choice->terms);
}

static enum status read_choice_say(struct rule_reading *reading, const char *key, struct rule_choice *choice)
{
	return read_say(reading, key, &choice->say);
}

static enum status read_choice_as(struct rule_reading *reading, const char *key, struct rule_choice *choice)
{
	enum status status = need_word(reading, key, "write the name of a rule that advises");
	if (status == STATUS_OK && !(choice->as_name = rule_book_keep(reading->book, config_scalar(reading->reader))))
		status = rule_no_memory(reading);
	return status;
}

static enum status read_choice_severity(struct rule_reading *reading, const char *key, struct rule_choice *choice)
{
	return read_severity_word(reading, key, &choice->severity);
}

static const struct choice_key {
	const char *name;
	enum status (*read)(struct rule_reading *reading, const char *key, struct rule_choice *choice);
} choice_keys[] = {
	{ "if", read_choice_if },
	{ "say", read_choice_say },
	{ "as", read_choice_as },
	{ "severity", read_choice_severity },
};
enum { CHOICE_KEYS = sizeof choice_keys / sizeof *choice_keys };

static const char *next_choice_key(const void *argument, size_t *at)
{
	(void)argument;
	return *at < CHOICE_KEYS ? choice_keys[(*at)++].name : NULL;
}

static enum status read_choice_key(struct rule_reading *reading, struct rule_choice *choice)
{
	char key[CONFIG_WORD_SIZE];
	config_word(reading->reader, key);
	size_t line = line_of(reading);
	enum status status = config_next(reading->reader);
	for (size_t i = 0; i < CHOICE_KEYS && status == STATUS_OK; i++)
		if (strcmp(key, choice_keys[i].name) == 0)
			return choice_keys[i].read(reading, key, choice);
	if (status != STATUS_OK)
		return status;
	struct buffer advice = BUFFER_INIT;
	config_advise(key, "keys are: ", next_choice_key, NULL, &advice);
	status = config_refuse(reading->reader, line, advice.data, "unknown key \"%s\"", key);
	buffer_release(&advice);
	return status;
}

/* A line of text, or {if: …, say: …}, or {as: RULE}. */
static enum status read_choice(struct rule_reading *reading, const char *key, struct rule_choice *choice)
{
	*choice = (struct rule_choice){ 0 };
	if (reading->reader->event.type != YAML_MAPPING_START_EVENT)
		return read_say(reading, key, &choice->say);
	size_t line = line_of(reading);
	enum status status;
	while (
		(status = config_next(reading->reader)) == STATUS_OK && reading->reader->event.type != YAML_MAPPING_END_EVENT)
		if ((status = read_choice_key(reading, choice)) != STATUS_OK)
			return status;
	if (status == STATUS_OK && !choice->say.parts == !choice->as_name)
		return config_refuse(reading->reader, line, "write {if: …, say: …} or {as: RULE}",
			"an item of \"%s\" has neither \"say\" nor \"as\", or both", key);
	return status;
}

static enum status keep_choices(
	struct rule_reading *reading, const struct rule_choice *choices, size_t count, struct rule_choices *out)
{
	struct rule_choice *retained = rule_book_take(reading->book, (count + 1) * sizeof *retained);
	if (!retained)
		return rule_no_memory(reading);
	memcpy(retained, choices, count * sizeof *retained);
	*out = (struct rule_choices){ count, retained };
	return STATUS_OK;
}

/* One choice, or a list; the first that applies is used. */
static enum status read_choices(struct rule_reading *reading, const char *key, struct rule_choices *out)
{
	struct rule_choice choices[RULE_CHOICES_MAX];
	size_t count = 0;
	enum status status;
	if (reading->reader->event.type != YAML_SEQUENCE_START_EVENT) {
		status = read_choice(reading, key, &choices[count++]);
		return status == STATUS_OK ? keep_choices(reading, choices, count, out) : status;
	}
	while ((status = config_next(reading->reader)) == STATUS_OK &&
		reading->reader->event.type != YAML_SEQUENCE_END_EVENT) {
		if (count == RULE_CHOICES_MAX)
			return REFUSE("write at most 12", "too many texts to choose from");
		if ((status = read_choice(reading, key, &choices[count++])) != STATUS_OK)
			return status;
	}
	return status == STATUS_OK ? keep_choices(reading, choices, count, out) : status;
}

static enum status read_message(struct rule_reading *reading, const char *key)
{
	return read_choices(reading, key, &reading->rule->message);
}

static enum status read_meaning(struct rule_reading *reading, const char *key)
{
	return read_choices(reading, key, &reading->rule->meaning);
}

static enum status read_advice(struct rule_reading *reading, const char *key)
{
	struct rule_choices items[ADVICE_ITEMS_MAX];
	size_t count = 0;
	enum status status;
	if (reading->reader->event.type != YAML_SEQUENCE_START_EVENT)
		return REFUSE("write \"- \" before each item", "\"advice\" is not a list");
	while ((status = config_next(reading->reader)) == STATUS_OK &&
		reading->reader->event.type != YAML_SEQUENCE_END_EVENT) {
		if (count == ADVICE_ITEMS_MAX)
			return REFUSE("write at most 16 items", "too much advice");
		if ((status = read_choices(reading, key, &items[count++])) != STATUS_OK)
			return status;
	}
	struct rule_choices *retained =
		status == STATUS_OK ? rule_book_take(reading->book, (count + 1) * sizeof *retained) : NULL;
	if (!retained)
		return status == STATUS_OK ? rule_no_memory(reading) : status;
	memcpy(retained, items, count * sizeof *retained);
	reading->rule->advice = retained;
	reading->rule->advice_count = count;
	return STATUS_OK;
}

/* -- evidence: a name for people and JSON, and its figure -- */

static enum status read_evidence(struct rule_reading *reading, const char *key)
{
	struct rule *rule = reading->rule;
	struct rule_fault fault = { 0 };
	enum status status;
	if (reading->reader->event.type != YAML_MAPPING_START_EVENT)
		return REFUSE("write \"{share_ratio: phase.share_ratio}\"", "\"%s\" is not a list of \"name: figure\"", key);
	rule->evidence_count = 0;
	while (
		(status = config_next(reading->reader)) == STATUS_OK && reading->reader->event.type != YAML_MAPPING_END_EVENT) {
		if (rule->evidence_count == ALERT_EVIDENCE_MAX)
			return REFUSE("write at most 6", "too much evidence");
		struct rule_evidence *evidence = &rule->evidence[rule->evidence_count];
		if ((status = need_word(reading, key, "write \"name: figure\"")) != STATUS_OK)
			return status;
		if (!(evidence->key = rule_book_keep(reading->book, config_scalar(reading->reader))))
			return rule_no_memory(reading);
		if ((status = config_next(reading->reader)) != STATUS_OK ||
			(status = need_word(reading, evidence->key, "write the name of a figure")) != STATUS_OK)
			return status;
		if (!rule_read_figure(reading->book, config_scalar(reading->reader), &evidence->figure, &fault))
			return REFUSE(fault.next, "%s", fault.what);
		rule->evidence_count++;
	}
	return status;
}

static enum status read_quiets(struct rule_reading *reading, const char *key)
{
	struct rule *rule = reading->rule;
	enum status status;
	if (reading->reader->event.type != YAML_SEQUENCE_START_EVENT)
		return REFUSE("write \"[rule, rule]\"", "\"%s\" is not a list", key);
	rule->quiets_count = 0;
	while ((status = config_next(reading->reader)) == STATUS_OK &&
		reading->reader->event.type != YAML_SEQUENCE_END_EVENT) {
		if (rule->quiets_count == RULE_QUIETS_MAX)
			return REFUSE("write at most 8", "\"quiets\" names too many rules");
		if ((status = need_word(reading, key, "write the names of rules")) != STATUS_OK)
			return status;
		if (!(rule->quiets[rule->quiets_count] = rule_book_keep(reading->book, config_scalar(reading->reader))))
			return rule_no_memory(reading);
		rule->quiets_count++;
	}
	return status;
}

const struct rule_key rule_keys[] = {
	{ "of", read_of },
	{ "guide", read_guide },
	{ "if", read_if },
	{ "figure", read_figure },
	{ "above", read_above },
	{ "below", read_below },
	{ "for", read_for },
	{ "clear_at", read_clear_at },
	{ "clear_for", read_clear_for },
	{ "least", read_min },
	{ "severity", read_severity },
	{ "message", read_message },
	{ "meaning", read_meaning },
	{ "evidence", read_evidence },
	{ "advice", read_advice },
	{ "quiets", read_quiets },
	{ "action", read_action },
	{ "off", read_off },
};

const size_t rule_key_count = sizeof rule_keys / sizeof *rule_keys;
