/* Parses rule files. Each entry changes a copy of its rule, which is checked at the end of the entry; a file with an
 * error changes nothing in the book. */
#include "src/rules/reading/rule_file.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "src/rules/reading/rule_keys.h"
#include "src/rules/reading/rule_reading.h"
#include "src/rules/rule_book.h"
#include "src/settings/config_words.h"

enum { NAME_CELLS_MAX = 32 };

static const char *next_key(const void *argument, size_t *at)
{
	(void)argument;
	return *at < rule_key_count ? rule_keys[(*at)++].name : NULL;
}

static size_t find_key(const char *name)
{
	size_t i = 0;
	while (i < rule_key_count && strcmp(rule_keys[i].name, name) != 0)
		i++;
	return i;
}

static size_t line_of_key(const struct rule_reading *reading, const char *name)
{
	size_t line = reading->key_lines[find_key(name)];
	return line ? line : reading->rule->line;
}

static enum status read_key(struct rule_reading *reading)
{
	char word[CONFIG_WORD_SIZE];
	if (!config_is_word(reading->reader))
		return REFUSE("write one \"key: value\" a line", "a key of rule \"%s\" is not a word", reading->rule->name);
	size_t row = find_key(config_scalar(reading->reader));
	if (row == rule_key_count) {
		struct buffer advice = BUFFER_INIT;
		config_word(reading->reader, word);
		config_advise(word, "keys are: ", next_key, NULL, &advice);
		enum status status = REFUSE(advice.data, "unknown key \"%s\" in rule \"%s\"", word, reading->rule->name);
		buffer_release(&advice);
		return status;
	}
	enum status status = config_note_line(reading->reader, &reading->key_lines[row], "key");
	if (status == STATUS_OK)
		status = config_next(reading->reader);
	return status == STATUS_OK ? rule_keys[row].read(reading, rule_keys[row].name) : status;
}

static const char *next_rule(const void *argument, size_t *at)
{
	const struct rule_book *book = argument;
	return *at < book->count ? book->list[(*at)++]->name : NULL;
}

static enum status refuse_part(struct rule_reading *reading, const char *key, const char *what, const char *remedy)
{
	const struct rule *rule = reading->rule;
	struct buffer next = BUFFER_INIT;
	/* An incomplete new rule is more likely a misspelled name of an existing one. */
	const char *closest =
		rule_find(reading->book, rule->name) ? NULL : config_closest(rule->name, next_rule, reading->book);
	if (closest)
		buffer_printf(&next, "did you mean the rule \"%s\"? A new one needs: ", closest);
	buffer_puts(&next, remedy);
	enum status status = config_refuse(
		reading->reader, line_of_key(reading, key), next.data ? next.data : remedy, "rule \"%s\" %s", rule->name, what);
	buffer_release(&next);
	return status;
}

static enum status check_scope(struct rule_reading *reading, const char *key, const struct figure_ref *figure)
{
	char what[96], remedy[48];
	const struct figure *row = figure->row;
	if (row->of <= reading->rule->of)
		return STATUS_OK;
	snprintf(what, sizeof what, "is of the %s, and %s is of a %s", rule_scope_name(reading->rule->of), row->name,
		rule_scope_name(row->of));
	snprintf(remedy, sizeof remedy, "write \"of: %s\"", rule_scope_name(row->of));
	return config_refuse(
		reading->reader, line_of_key(reading, key), remedy, "rule \"%s\" %s", reading->rule->name, what);
}

static enum status check_terms(struct rule_reading *reading, const char *key, const struct rule_terms *terms)
{
	enum status status = STATUS_OK;
	for (size_t i = 0; i < terms->count && status == STATUS_OK; i++)
		status = check_scope(reading, key, &terms->list[i].figure);
	return status;
}

static enum status check_choices(struct rule_reading *reading, const char *key, const struct rule_choices *choices)
{
	enum status status = STATUS_OK;
	for (size_t i = 0; i < choices->count && status == STATUS_OK; i++) {
		const struct rule_choice *choice = &choices->list[i];
		if (choice->as_name)
			return refuse_part(
				reading, key, "takes a text from another rule", "\"as\" works in advice only: write the text");
		status = check_terms(reading, key, &choice->terms);
		for (size_t k = 0; k < choice->say.count && status == STATUS_OK; k++)
			if (choice->say.parts[k].kind == PART_FIGURE)
				status = check_scope(reading, key, &choice->say.parts[k].figure);
	}
	return status;
}

/* Does not check the scope of advice, which rules of several scopes may share: lines with figures of another scope are
 * unknown and skipped. */
static enum status check_rule(struct rule_reading *reading)
{
	const struct rule *rule = reading->rule;
	if (!rule->figure.row && rule->message.count && isnan(rule->level))
		return check_choices(reading, "message", &rule->message);
	if (!rule->figure.row)
		return rule->advice_count
			? STATUS_OK
			: refuse_part(reading, "figure", "has no figure", "figure, above (or below) and message");
	if (reading->key_lines[find_key("above")] && reading->key_lines[find_key("below")])
		return refuse_part(reading, "below", "has both \"above\" and \"below\"", "keep one of the two");
	if (isnan(rule->level))
		return refuse_part(reading, "figure", "has no level", "write \"above: NUMBER\" or \"below: NUMBER\"");
	if (rule->message.count == 0)
		return refuse_part(reading, "message", "has no message", "write \"message: …\", with figures in braces");
	if (!isnan(rule->clear_level) &&
		(rule->is_below ? rule->clear_level < rule->level : rule->clear_level > rule->level))
		return refuse_part(reading, "clear_at", "clears beyond its own level",
			rule->is_below ? "write a \"clear_at\" above it" : "write a \"clear_at\" below it");
	enum status status = check_scope(reading, "figure", &rule->figure);
	if (status == STATUS_OK)
		status = check_terms(reading, "if", &rule->terms);
	if (status == STATUS_OK)
		status = check_choices(reading, "message", &rule->message);
	if (status == STATUS_OK)
		status = check_choices(reading, "meaning", &rule->meaning);
	for (size_t i = 0; i < rule->evidence_count && status == STATUS_OK; i++)
		status = check_scope(reading, "evidence", &rule->evidence[i].figure);
	return status;
}

/* -- the file -- */

static bool is_rule_name(const char *name)
{
	size_t length = strlen(name);
	for (size_t i = 0; i < length; i++)
		if (!islower((unsigned char)name[i]) && name[i] != '_' && (i == 0 || !isdigit((unsigned char)name[i])))
			return false;
	return length > 0 && length <= NAME_CELLS_MAX;
}

/* Starts an entry: a copy of the rule with this name, or a new rule. */
static enum status open_rule(struct rule_reading *reading, const char *name)
{
	struct rule_book *book = reading->book;
	size_t at = 0;
	while (at < book->count && strcmp(book->list[at]->name, name) != 0)
		at++;
	if (at == RULES_MAX)
		return REFUSE("remove some", "more than %d rules", RULES_MAX);
	struct rule *rule = rule_book_take(book, sizeof *rule);
	const char *file = rule ? rule_book_keep(book, reading->reader->name) : NULL,
			   *retained = file ? rule_book_keep(book, name) : NULL;
	if (!retained)
		return rule_no_memory(reading);
	if (at < book->count)
		*rule = *book->list[at];
	else
		*rule = (struct rule){ .of = RULE_OF_RUN,
			.severity = SEVERITY_WARNING,
			.level = NAN,
			.clear_level = NAN,
			.clear_s = 10,
			.guide = "" };
	rule->name = retained;
	rule->file = file;
	rule->line = config_line(reading->reader);
	reading->rule = rule;
	memset(reading->key_lines, 0, sizeof reading->key_lines);
	return STATUS_OK;
}

static void put_rule(struct rule_book *book, struct rule *rule)
{
	size_t at = 0;
	while (at < book->count && strcmp(book->list[at]->name, rule->name) != 0)
		at++;
	book->list[at] = rule;
	book->count += at == book->count;
}

static enum status note_entry(struct rule_reading *reading)
{
	char word[CONFIG_WORD_SIZE];
	const char *name = config_scalar(reading->reader);
	for (size_t i = 0; i < reading->entry_count; i++)
		if (strcmp(reading->entries[i].name, name) == 0)
			return REFUSE("keep one of the two", "rule \"%s\" is already defined in line %zu",
				config_word(reading->reader, word), reading->entries[i].line);
	return STATUS_OK;
}

static enum status read_entry(struct config_reader *reader, void *argument)
{
	struct rule_reading *reading = argument;
	char word[CONFIG_WORD_SIZE];
	enum status status;
	if (!config_is_word(reader) || !is_rule_name(config_scalar(reader)))
		return REFUSE("write a name of at most 32 lowercase letters, digits and _", "\"%s\" is not a valid rule name",
			config_word(reader, word));
	if ((status = note_entry(reading)) != STATUS_OK ||
		(status = open_rule(reading, config_scalar(reader))) != STATUS_OK)
		return status;
	if (reading->entry_count < RULES_MAX) {
		reading->entries[reading->entry_count].name = reading->rule->name;
		reading->entries[reading->entry_count++].line = reading->rule->line;
	}
	if ((status = config_next(reader)) != STATUS_OK)
		return status;
	if (reader->event.type != YAML_MAPPING_START_EVENT)
		return REFUSE(
			"write its keys below it, indented", "rule \"%s\" has no \"key: value\" lines", reading->rule->name);
	while ((status = config_next(reader)) == STATUS_OK && reader->event.type != YAML_MAPPING_END_EVENT)
		if ((status = read_key(reading)) != STATUS_OK)
			return status;
	if (status == STATUS_OK && (status = check_rule(reading)) == STATUS_OK)
		put_rule(reading->book, reading->rule);
	return status;
}

/* -- references between rules -- */

static enum status check_names(struct rule_reading *reading, const struct rule *rule)
{
	reading->rule = (struct rule *)(uintptr_t)rule;
	memset(reading->key_lines, 0, sizeof reading->key_lines);
	for (size_t i = 0; i < rule->quiets_count; i++)
		if (!rule_find(reading->book, rule->quiets[i]))
			return refuse_part(reading, "quiets", "quiets an unknown rule", "see `pmtop rules` for their names");
	for (size_t i = 0; i < rule->advice_count; i++)
		for (size_t k = 0; k < rule->advice[i].count; k++)
			if (rule->advice[i].list[k].as_name && !rule_find(reading->book, rule->advice[i].list[k].as_name))
				return refuse_part(
					reading, "advice", "takes advice from an unknown rule", "see `pmtop rules` for their names");
	return STATUS_OK;
}

static bool quiets(const struct rule *rule, const struct rule *other)
{
	for (size_t i = 0; i < rule->quiets_count; i++)
		if (strcmp(rule->quiets[i], other->name) == 0)
			return true;
	return false;
}

/* Sorts the rules: a rule comes before those that it quiets, else in the order of reading. Returns NULL, or a rule in a
 * cycle. */
static const struct rule *put_in_order(struct rule_book *book)
{
	for (size_t at = 0; at < book->count; at++) {
		size_t next = at;
		for (; next < book->count; next++) {
			bool is_free = true;
			for (size_t i = at; i < book->count && is_free; i++)
				is_free = !quiets(book->list[i], book->list[next]);
			if (is_free)
				break;
		}
		if (next == book->count)
			return book->list[at];
		struct rule *rule = book->list[next];
		memmove(&book->list[at + 1], &book->list[at], (next - at) * sizeof rule);
		book->list[at] = rule;
	}
	return NULL;
}

/* Of every rule, for one that is changed may have been named by others. */
static enum status check_book(struct rule_reading *reading)
{
	enum status status = STATUS_OK;
	for (size_t i = 0; i < reading->book->count && status == STATUS_OK; i++)
		status = check_names(reading, reading->book->list[i]);
	const struct rule *ringed = status == STATUS_OK ? put_in_order(reading->book) : NULL;
	/* Those of other files were well before this one came. */
	for (size_t i = 0; ringed && i < reading->entry_count; i++) {
		const struct rule *rule = rule_find(reading->book, reading->entries[i].name);
		ringed = rule->quiets_count ? rule : ringed;
	}
	if (ringed)
		return reason_set(reading->reader->why_not, STATUS_INVALID, "remove one of them from \"quiets\"",
			"%s:%zu: rule \"%s\" and another quiet each other", ringed->file, ringed->line, ringed->name);
	return status;
}

enum status rule_files_read(
	struct rule_book *book, const struct rule_source *sources, size_t count, struct reason *why_not)
{
	struct rule *before[RULES_MAX];
	size_t count_before = book->count;
	memcpy(before, book->list, sizeof before);
	enum status status = STATUS_OK;
	for (size_t i = 0; i < count && status == STATUS_OK; i++) {
		struct config_reader reader = {
			.name = sources[i].name,
			.content = sources[i].text,
			.length = sources[i].length,
			.why_not = why_not,
			.begin_what = "no rule here",
			.begin_hint = "begin with a rule's name, such as \"data_loading:\"; see pmtop.yaml(5)",
		};
		struct rule_reading reading = { .reader = &reader, .book = book };
		status = config_read(&reader, read_entry, &reading);
		if (status == STATUS_OK && i + 1 == count)
			status = check_book(&reading);
	}
	if (status != STATUS_OK) {
		memcpy(book->list, before, sizeof before);
		book->count = count_before;
	}
	return status;
}
