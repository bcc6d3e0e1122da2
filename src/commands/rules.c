/* pmtop rules: lists the rules with their levels; with a target, also each rule's state and value now, or the figures
 * that it lacks. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "src/base/clock.h"
#include "src/base/formats/json.h"
#include "src/base/text.h"
#include "src/commands/commands.h"
#include "src/rules/alerts_list.h"
#include "src/rules/rule_book.h"
#include "src/rules/rule_levels.h"
#include "src/rules/rule_now.h"
#include "src/session/output.h"
#include "src/session/session.h"

/* Rates need two readings; a third shows whether conditions with "for" persist. */
enum { READINGS = 3 };

/* Writes levels as rule files do: "10 s", not "10.0 s". */
static void write_time(enum figure_form form, double value, char out[FIGURE_TEXT_SIZE])
{
	if (form == FORM_SECONDS && value < 60)
		snprintf(out, FIGURE_TEXT_SIZE, "%.10g s", value);
	else
		figure_write(form, value, out);
}

static const char *level_of(const struct rule *rule, char out[FIGURE_TEXT_SIZE])
{
	char number[FIGURE_TEXT_SIZE];
	if (rule->figure.row->form == FORM_FACTOR)
		snprintf(number, sizeof number, "%.10g", rule->level);
	else
		write_time(rule->figure.row->form, rule->level, number);
	snprintf(out, FIGURE_TEXT_SIZE, "%s %.60s%s", rule->is_below ? "below" : "above", number,
		rule->figure.row->form == FORM_BYTES_PER_S ? "/s" : "");
	return out;
}

static void fill_up(struct buffer *out, const char *text, size_t width)
{
	size_t cells = text_cells(text);
	buffer_printf(out, "%*s", (int)(cells < width ? width - cells : 1), "");
}

/* "phase.share_ratio above 30 %, if phase.kind = data, for 10 s" */
static void add_condition(struct buffer *out, const struct rule *rule)
{
	char name[FIGURE_TEXT_SIZE], text[FIGURE_TEXT_SIZE];
	figure_name(&rule->figure, name, sizeof name);
	buffer_printf(out, "%s %s", name, level_of(rule, text));
	if (rule->for_s > 0) {
		write_time(FORM_SECONDS, rule->for_s, text);
		buffer_printf(out, " for %s", text);
	}
	if (rule->terms.count)
		buffer_printf(out, ", if %s", rule->terms.text);
}

static void add_row(struct buffer *out, const struct session *session, const struct rule *rule)
{
	char value[FIGURE_TEXT_SIZE];
	struct rule_now now = { .state = rule->is_off ? RULE_OFF : RULE_LACKS, .value = NAN };
	buffer_printf(out, "%-9s %-22s ", rule->is_off ? "off" : severity_name(rule->severity), rule->name);
	if (session) {
		rule_now(&session->alerts, session->model, rule, &now);
		figure_write(rule->figure.row->form, now.value, value);
		buffer_printf(out, "%-7s %s", rule_state_name(now.state), value);
		fill_up(out, value, 11);
	}
	add_condition(out, rule);
	buffer_puts(out, "\n");
	if (session && now.lacks[0])
		buffer_printf(out, "%-32s missing: %s\n", "", now.lacks);
	else if (session && now.subject[0])
		buffer_printf(out, "%-32s in %s\n", "", now.subject);
}

static void list_as_table(struct buffer *out, const struct session *session, const struct rule_book *book)
{
	buffer_printf(out, "%-9s %-22s %s%s\n", "SEVERITY", "RULE", session ? "NOW                " : "", "WARNS IF");
	for (enum severity severity = SEVERITY_CRITICAL + 1; severity-- > SEVERITY_INFO;)
		for (size_t i = 0; i < book->count; i++)
			if (book->list[i]->figure.row && book->list[i]->severity == severity)
				add_row(out, session, book->list[i]);
}

static void add_object(struct json *json, const struct session *session, const struct rule *rule)
{
	char figure[FIGURE_TEXT_SIZE];
	json_open_object(json, NULL);
	json_text(json, "rule", rule->name);
	json_text(json, "severity", severity_name(rule->severity));
	json_text(json, "of", rule_scope_name(rule->of));
	figure_name(&rule->figure, figure, sizeof figure);
	json_text(json, "figure", figure);
	json_text(json, "unit", figure_form_name(rule->figure.row->form));
	json_number(json, rule->is_below ? "below" : "above", rule->level);
	json_text(json, "if", rule->terms.count ? rule->terms.text : NULL);
	json_number(json, "for_s", rule->for_s);
	json_text(json, "guide", rule->guide[0] ? rule->guide : NULL);
	json_text(json, "file", rule->file);
	json_unsigned(json, "line", rule->line);
	if (session) {
		struct rule_now now;
		rule_now(&session->alerts, session->model, rule, &now);
		json_text(json, "state", rule_state_name(now.state));
		json_number(json, "value", now.value);
		json_text(json, "in", now.subject[0] ? now.subject : NULL);
		json_text(json, "lacks", now.lacks[0] ? now.lacks : NULL);
		if (now.since_ns)
			json_number(json, "since_s", seconds_between(now.since_ns, session->model->now_ns));
	} else {
		json_text(json, "state", rule->is_off ? "off" : NULL);
	}
	json_close_object(json);
}

static void list_as_json(struct buffer *out, const struct session *session, const struct rule_book *book)
{
	struct json json = { .out = out };
	json_open_array(&json, NULL);
	for (size_t i = 0; i < book->count; i++)
		if (book->list[i]->figure.row)
			add_object(&json, session, book->list[i]);
	json_close_array(&json);
	buffer_puts(out, "\n");
}

static void list_figures(struct buffer *out, const struct session *session, bool is_json)
{
	const struct figure *row;
	struct json json = { .out = out };
	char now[FIGURE_TEXT_SIZE] = "";
	if (is_json)
		json_open_array(&json, NULL);
	for (size_t i = 0; (row = figure_at(i)); i++) {
		bool is_word = row->name[strlen(row->name) - 1] == '.';
		bool is_known = session && !is_word && figure_now(&session->alerts, session->model, row, now);
		if (is_json) {
			json_open_object(&json, NULL);
			json_text(&json, "figure", row->name);
			json_text(&json, "unit", figure_form_name(row->form));
			json_text(&json, "of", rule_scope_name(row->of));
			json_text(&json, "what", row->what);
			json_text(&json, "now", is_known ? now : NULL);
			json_text(&json, "lacks", session && !is_word && !is_known ? now : row->lacks);
			json_close_object(&json);
			continue;
		}
		buffer_printf(out, "%-30s %-10s %-6s ", row->name, figure_form_name(row->form), rule_scope_name(row->of));
		if (session) {
			const char *text = is_known ? now : "–";
			buffer_puts(out, text);
			fill_up(out, text, 12);
		}
		buffer_printf(out, "%s\n", row->what);
	}
	if (is_json) {
		json_close_array(&json);
		buffer_puts(out, "\n");
	}
}

/* Reads the built-in rules and the user's files, and prints the faults of those files. */
static enum exit_code read_book(const struct settings *settings, struct rule_book **book)
{
	char folder[4096];
	const struct reason *faults;
	enum exit_code code = EXIT_OK;
	*book = rule_book_new();
	if (!*book)
		return command_fail(STATUS_NO_MEMORY, &(struct reason){ "out of memory", "" });
	if (rule_book_path(folder, sizeof folder) == STATUS_OK)
		rule_book_load_folder(*book, folder);
	rule_book_set_levels(*book, &settings->levels);
	size_t count = rule_book_faults(*book, &faults);
	for (size_t i = 0; i < count; i++)
		code = command_fail(STATUS_INVALID, &faults[i]);
	return code;
}

static enum exit_code check_file(const struct settings *settings, const char *path)
{
	struct reason reason = { 0 };
	struct rule_book *book;
	enum exit_code code = read_book(settings, &book);
	if (!book)
		return code;
	enum status status = rule_book_load(book, path, &reason);
	if (status != STATUS_OK) {
		command_fail(status, &reason);
		code = EXIT_USAGE;
	} else if (code == EXIT_OK) {
		printf("%s: no errors\n", path);
	}
	rule_book_free(book);
	return code;
}

static void print(struct buffer *out, const struct options *options, const struct session *session,
	const struct rule_book *book, int *code)
{
	bool is_json = options->format == FORMAT_JSON;
	if (options->figures)
		list_figures(out, session, is_json);
	else if (is_json)
		list_as_json(out, session, book);
	else
		list_as_table(out, session, book);
	if (!is_json)
		output_fit_locale(out);
	output_flush(out, code);
	buffer_release(out);
}

static enum exit_code run_rules(const struct options *options, const struct settings *settings)
{
	struct buffer out = BUFFER_INIT;
	struct session session;
	int output_code = 0;
	if (options->check)
		return check_file(settings, options->check);
	if (!options->pid && !options->run_name && !options->child) {
		struct rule_book *book;
		enum exit_code code = read_book(settings, &book);
		if (book)
			print(&out, options, NULL, book, &output_code);
		rule_book_free(book);
		return output_code ? EXIT_RUNTIME : code;
	}
	enum exit_code code = session_open(&session, options, settings);
	if (code != EXIT_OK)
		return code;
	for (int readings = 1; readings < READINGS && !session_has_ended(&session);)
		readings += session_wait(&session, -1) && session_step(&session);
	if (session.rules)
		print(&out, options, &session, session.rules, &output_code);
	code = session_close(&session);
	return output_code ? EXIT_RUNTIME : code;
}

const struct command rules_command = {
	.name = "rules",
	.synopsis = "rules [-p PID|-s NAME]",
	.summary = "list the rules; with a target, their figures now",
	.example = "pmtop rules --figures -p 48213",
	.formats = FORMATS_ALL_BUT_SVG,
	.run = run_rules,
};
