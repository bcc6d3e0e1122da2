#include "src/commands/completion/completion.h"

#include <stdlib.h>
#include <string.h>

#include "src/commands/commands.h"
#include "src/commands/options/options_rows.h"
#include "src/compare/wholes.h"
#include "src/export/exporter.h"
#include "src/session/runs/runs.h"
#include "src/sources/source.h"
#include "src/sources/synthetic/synthetic.h"

struct offers {
	FILE *out;
	enum command_id id; /* of the command on the line; watch without one */
	const char *lead;   /* what stands before the typed value: "--by=" */
	int lead_length;
	const char *typed;
};

static void offer(const struct offers *offers, const char *text, const char *help)
{
	if (strncmp(text, offers->typed, strlen(offers->typed)) != 0)
		return;
	fprintf(offers->out, "%.*s%s%s%s\n", offers->lead_length, offers->lead, text, help ? "\t" : "", help ? help : "");
}

/* -- values -- */

static void offer_runs(const struct offers *offers, bool has_pids, bool has_names)
{
	struct run_row *rows;
	size_t count = runs_find(NULL, &rows);
	for (size_t i = 0; i < count; i++) {
		const struct run_row *row = &rows[i];
		char pid[16];
		snprintf(pid, sizeof pid, "%d", (int)row->pid);
		if (has_pids && row->is_live && !row->is_elsewhere)
			offer(offers, pid, row->run[0] ? row->run : row->command);
		if (has_names && row->run[0] && (i == 0 || strcmp(row->run, rows[i - 1].run) != 0))
			offer(offers, row->run, row->state);
	}
	free(rows);
}

static void offer_pids(const struct offers *offers) { offer_runs(offers, true, false); }
static void offer_names(const struct offers *offers) { offer_runs(offers, false, true); }

static void offer_synthetic(const struct offers *offers)
{
	const char *help, *name;
	for (unsigned i = 0; (name = synthetic_scenario(i, &help)); i++)
		offer(offers, name, help);
}

static void offer_views(const struct offers *offers)
{
	char *list = NULL, *rest = NULL;
	size_t size;
	FILE *lines = open_memstream(&list, &size);
	if (!lines)
		return;
	view_list(lines);
	fclose(lines);
	for (char *view = strtok_r(list, "\n", &rest); view; view = strtok_r(NULL, "\n", &rest))
		offer(offers, view, NULL);
	free(list);
}

static void offer_formats(const struct offers *offers)
{
	const struct exporter *exporter;
	for (unsigned i = 0; (exporter = exporter_at(i)); i++)
		offer(offers, exporter->name, exporter->help);
}

/* After the last comma of a list. */
static void offer_sources(const struct offers *offers)
{
#define SOURCE_ROW(name) &name##_source,
	static const struct source *const sources[] = { SOURCES(SOURCE_ROW) };
#undef SOURCE_ROW
	struct offers last = *offers;
	const char *comma = strrchr(offers->typed, ',');
	char lead[256];
	if (comma) {
		snprintf(lead, sizeof lead, "%.*s%.*s", offers->lead_length, offers->lead, (int)(comma + 1 - offers->typed),
			offers->typed);
		last.lead = lead;
		last.lead_length = (int)strlen(lead);
		last.typed = comma + 1;
	}
	for (size_t i = 0; i < sizeof sources / sizeof *sources; i++)
		offer(&last, sources[i]->name, NULL);
}

static void offer_keys(const struct offers *offers)
{
	static const char *const groups[] = { "name", "shape", "stack", "module" };
	for (size_t i = 0; offers->id == COMMAND_trace && i < sizeof groups / sizeof *groups; i++)
		offer(offers, groups[i], NULL);
	for (size_t i = 0; offers->id == COMMAND_diff && i < whole_figure_count; i++)
		offer(offers, whole_figures[i].word, NULL);
}

static void offer_moments(const struct offers *offers) { offer(offers, "end", "the end of the recording"); }
static void offer_help(const struct offers *offers) { offer(offers, "commands", "all commands, a line each"); }

static const struct {
	const char *option;
	void (*offer)(const struct offers *offers);
} values[] = {
	{ "pid", offer_pids },
	{ "session", offer_names },
	{ "demo", offer_synthetic },
	{ "view", offer_views },
	{ "to", offer_formats },
	{ "only", offer_sources },
	{ "by", offer_keys },
	{ "at", offer_moments },
	{ "help", offer_help },
};

static void offer_values(const struct offers *offers, const struct option_row *row)
{
	for (size_t i = 0; i < sizeof values / sizeof *values; i++)
		if (strcmp(values[i].option, row->name) == 0)
			values[i].offer(offers);
	for (const struct option_word *word = row->words; word && word->text; word++)
		offer(offers, word->text, NULL);
	if (strncmp(row->value, "FILE", 4) == 0)
		fputs(":files\n", offers->out);
}

/* -- options and words -- */

static const struct option_row *row_named(const char *word, size_t length)
{
	for (const struct option_row *row = option_rows; row->name; row++)
		if (strlen(row->name) == length && strncmp(row->name, word, length) == 0)
			return row;
	return NULL;
}

static const struct option_row *row_lettered(char letter)
{
	for (const struct option_row *row = option_rows; row->name; row++)
		if (letter && row->letter == letter)
			return row;
	return NULL;
}

/* -b, --once and --list are commands themselves. */
static bool applies(const struct option_row *row, enum command_id id)
{
	bool chooses = row->kind == OPTION_FLAG &&
		(row->offset == offsetof(struct options, is_batch) || row->offset == offsetof(struct options, is_once) ||
			row->offset == offsetof(struct options, is_list));
	return row->commands ? row->commands >> id & 1 : !(chooses && id != COMMAND_watch);
}

static void offer_options(const struct offers *offers)
{
	for (const struct option_row *row = option_rows; row->name; row++) {
		char text[64];
		if (!applies(row, offers->id))
			continue;
		snprintf(text, sizeof text, "--%s%s", row->name, row->value && row->value[0] != '[' ? "=" : "");
		offer(offers, text, row->help);
		snprintf(text, sizeof text, "-%c", row->letter);
		if (row->letter && strcmp(offers->typed, "-") == 0)
			offer(offers, text, row->help);
	}
}

static void offer_words(const struct offers *offers)
{
	const struct command *command = commands[offers->id];
	for (enum command_id id = 0; offers->id == COMMAND_watch && id < COMMAND_COUNT; id++)
		if (command_has_word(id))
			offer(offers, commands[id]->name, commands[id]->summary);
	if (!command_has_word(offers->id) || command->words == COMMAND_TAKES_NOTHING)
		return;
	if (command->words == COMMAND_TAKES_TARGET)
		offer_runs(offers, true, strstr(command->synopsis, "NAME"));
	if (command->words == COMMAND_TAKES_WORDS || strstr(command->synopsis, "|FILE"))
		fputs(":files\n", offers->out);
}

/* The option whose value the next word is; NULL: none. */
static const struct option_row *read_option(const char *word)
{
	bool is_long = word[1] == '-';
	const struct option_row *row =
		is_long ? row_named(word + 2, strcspn(word + 2, "=")) : row_lettered(word[strlen(word) - 1]);
	if (is_long && strchr(word, '='))
		return NULL;
	return row && row->value && row->value[0] != '[' ? row : NULL;
}

static enum command_id read_command(const char *word, enum command_id before)
{
	if (strcmp(word, "-b") == 0 || strcmp(word, "--batch") == 0)
		return before == COMMAND_watch ? COMMAND_stream : before;
	if (strcmp(word, "--once") == 0)
		return COMMAND_once;
	for (enum command_id id = 0; id < COMMAND_COUNT && !command_has_word(before); id++)
		if (command_has_word(id) && strcmp(word, commands[id]->name) == 0)
			return id;
	return before;
}

void completion_print(int count, char *const *words, FILE *out)
{
	struct offers offers = { .out = out, .id = COMMAND_watch, .lead = "", .typed = count > 0 ? words[count - 1] : "" };
	const struct option_row *awaited = NULL;
	for (int i = 0; i + 1 < count; i++) {
		if (!awaited && strcmp(words[i], "--") == 0) {
			fputs(":command\n", out);
			return;
		}
		if (!awaited)
			offers.id = read_command(words[i], offers.id);
		awaited = !awaited && words[i][0] == '-' && words[i][1] ? read_option(words[i]) : NULL;
	}
	const char *equals = strchr(offers.typed, '=');
	if (!awaited && strncmp(offers.typed, "--", 2) == 0 && equals) {
		awaited = row_named(offers.typed + 2, (size_t)(equals - offers.typed - 2));
		offers.lead = offers.typed;
		offers.lead_length = (int)(equals + 1 - offers.typed);
		offers.typed = equals + 1;
		if (!awaited || !awaited->value)
			return;
	}
	if (awaited)
		offer_values(&offers, awaited);
	else if (offers.typed[0] == '-')
		offer_options(&offers);
	else
		offer_words(&offers);
}
