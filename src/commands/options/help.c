#include "src/commands/options/help.h"

#include <stdio.h>
#include <string.h>

#include "src/commands/options/options_rows.h"

enum { LEFT = 26 };

static const struct {
	const char *command, *does;
} uses[] = {
	{ "pmtop", "choose a run from a list, then watch it" },
	{ "pmtop -p PID", "watch a process and its children; or docker:NAME" },
	{ "pmtop -s NAME", "watch an instrumented run by its name" },
	{ "pmtop -- COMMAND ...", "start COMMAND and watch it" },
	{ "pmtop -r FILE|-", "replay a recording or a stream" },
	{ "pmtop --demo[=FAULT]", "watch a synthetic run (--demo=list)" },
};

/* "-n, --iterations=N" */
static void option_words(const struct option_row *row, char out[64])
{
	int used =
		row->letter ? snprintf(out, 64, "-%c, --%s", row->letter, row->name) : snprintf(out, 64, "    --%s", row->name);
	if (!row->value)
		return;
	bool is_optional = row->value[0] == '[';
	snprintf(out + used, 64 - (size_t)used, is_optional ? "[=%s" : "=%s", row->value + is_optional);
}

static void print_option(const struct option_row *row)
{
	char words[64];
	option_words(row, words);
	printf("  %-*s %s\n", LEFT, words, row->help);
}

/* The list of uses already names it. */
static bool is_target(const struct option_row *row)
{
	return strchr("psrl", row->letter ? row->letter : ' ') || strcmp(row->name, "demo") == 0;
}

void help_print(void)
{
	puts("pmtop " PMTOP_VERSION ": htop for training runs. Manual: man pmtop; the screen's keys: ?");
	for (size_t i = 0; i < sizeof uses / sizeof *uses; i++)
		printf("  %-*s %s\n", LEFT, uses[i].command, uses[i].does);
	puts("\nCommands (pmtop COMMAND --help shows its options and an example)");
	for (enum command_id id = 0; id < COMMAND_COUNT; id++)
		if (command_has_word(id))
			printf("  %-*s %s\n", LEFT, commands[id]->name, commands[id]->summary);
	puts("\nOptions");
	for (const struct option_row *row = option_rows; row->name; row++)
		if (!row->commands && row->help && !is_target(row))
			print_option(row);
}

static bool applies_to(const struct option_row *row, enum command_id id) { return row->commands >> id & 1; }

void help_print_command(enum command_id id)
{
	const struct command *command = commands[id];
	printf("pmtop %s\n\n%c%s.\n%s\n", command->synopsis, command->summary[0] - 'a' + 'A', command->summary + 1,
		command->details ? command->details : "");
	for (const struct option_row *row = option_rows; row->name; row++)
		if (applies_to(row, id) || (!row->commands && strcmp(row->name, "format") == 0))
			print_option(row);
	printf("\nExample: %s\n", command->example);
}

void help_print_synopses(void)
{
	for (enum command_id id = 0; id < COMMAND_COUNT; id++) {
		printf("%s", commands[id]->synopsis);
		for (const struct option_row *row = option_rows; row->name; row++) {
			char words[64];
			snprintf(words, sizeof words, "--%s=", row->name);
			if (!applies_to(row, id) || strstr(commands[id]->synopsis, words))
				continue;
			if (row->letter)
				printf(" [-%c %s]", row->letter, row->value);
			else
				printf(" [%.*s%s]", (int)strlen(words) - !row->value, words, row->value ? row->value : "");
		}
		puts("");
	}
}
