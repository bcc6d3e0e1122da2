#include "src/commands/options/options.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/base/text.h"
#include "src/commands/completion/completion.h"
#include "src/commands/options/help.h"
#include "src/commands/options/options_rows.h"
#include "src/commands/options/version.h"
#include "src/session/runs/container_run.h"
#include "src/sources/containers/container.h"
#include "src/sources/synthetic/synthetic.h"
#include "ui/themes/theme_book.h"

enum { ROWS_MAX = 80, LONG_ONLY = 256 };

static enum exit_code usage(const char *what, const char *value)
{
	char shown[160] = "";
	if (value)
		text_clean(shown, sizeof shown, value, strlen(value));
	fprintf(stderr, "pmtop: %s%s%s: see pmtop --help\n", what, value ? " " : "", shown);
	return EXIT_USAGE;
}

static void list_synthetic(void)
{
	const char *help, *name;
	for (unsigned i = 0; (name = synthetic_scenario(i, &help)); i++)
		printf("%-18s %s\n", name, help);
}

/* -- words -- */

static enum command_id id_of(const struct command *command)
{
	enum command_id id = 0;
	while (commands[id] != command)
		id++;
	return id;
}

static const struct command *command_named(const char *word)
{
	for (enum command_id id = 0; id < COMMAND_COUNT; id++)
		if (command_has_word(id) && strcmp(word, commands[id]->name) == 0)
			return commands[id];
	return NULL;
}

static bool is_pid(const char *text, pid_t *pid)
{
	char *end;
	errno = 0;
	long value = strtol(text, &end, 10);
	if (errno || end == text || *end || value < 1 || value > INT_MAX)
		return false;
	*pid = (pid_t)value;
	return true;
}

bool options_target(const char *text, struct options *options)
{
	struct stat file;
	size_t length = strlen(text);
	if (options->pid || options->run_name || options->replay)
		return false;
	if (is_pid(text, &options->pid))
		return true;
	if (strchr(text, '/') || (length > 6 && !strcmp(text + length - 6, ".pmtop")) ||
		(stat(text, &file) == 0 && S_ISREG(file.st_mode)))
		options->replay = text;
	else
		options->run_name = text;
	return true;
}

/* FILE:LINE */
static bool is_loop(const char *text)
{
	const char *colon = strrchr(text, ':');
	return colon && colon > text && colon[1] && strspn(colon + 1, "0123456789") == strlen(colon + 1);
}

static enum exit_code refuse_argument(const char *command, const char *argument)
{
	char what[160];
	snprintf(what, sizeof what, "%.100s does not take the argument", command);
	return usage(what, argument);
}

/* -p docker:NAME, podman:NAME, pod/NAME, NAMESPACE/NAME */
static enum exit_code take_container(const char *text, struct options *options)
{
	struct reason reason = { 0 };
	if (!container_is_name(text) && !strchr(text, '/'))
		return usage("-p takes a process id (a whole number above 0), docker:NAME, podman:NAME or pod/NAME, not", text);
	enum status status = container_run_find(text, &options->pid, &reason);
	return status == STATUS_OK ? EXIT_OK : command_fail(status, &reason);
}

static enum exit_code take_words(char **word, char **end, struct options *options)
{
	if (word == end)
		return EXIT_OK;
	const struct command *command = command_named(word[0]);
	if (!command)
		return usage("unknown command", word[0]);
	options->command = command;
	options->words = word + 1;
	options->word_count = (int)(end - word) - 1;
	if (command->words == COMMAND_TAKES_WORDS || !options->word_count)
		return EXIT_OK;
	if (command->words == COMMAND_TAKES_NOTHING || options->word_count > 1)
		return refuse_argument(word[0], word[command->words == COMMAND_TAKES_NOTHING ? 1 : 2]);
	if (container_is_name(word[1]) && access(word[1], F_OK) != 0 && !options->pid && !options->run_name &&
		!options->replay)
		return take_container(word[1], options);
	return options_target(word[1], options) ? EXIT_OK : refuse_argument(word[0], word[1]);
}

/* -- options -- */

static bool size_number(const char *text, int *width, int *height)
{
	char rest;
	return sscanf(text, "%4dx%4d%c", width, height, &rest) == 2 && *width > 0 && *height > 0;
}

static enum exit_code take_other(const char *name, struct options *options)
{
	bool is_json = !strcmp(name, "json");
	options->has_format |= is_json;
	if (is_json)
		options->format = FORMAT_JSON;
	else if (!strcmp(name, "demo"))
		options->demo = optarg ? optarg : "";
	else if (!strcmp(name, "pid") && !is_pid(optarg, &options->pid))
		return take_container(optarg, options);
	else if (!strcmp(name, "size") && !size_number(optarg, &options->width, &options->height))
		return usage("--size takes COLUMNSxROWS, such as 120x40, not", optarg);
	return EXIT_OK;
}

static enum exit_code take_row(const struct option_row *row, struct options *options)
{
	char what[160];
	if (row->kind == OPTION_OTHER)
		return take_other(row->name, options);
	if (option_take(row, optarg, options)) {
		options->has_format |= row->offset == offsetof(struct options, format);
		return EXIT_OK;
	}
	if (row->letter)
		snprintf(what, sizeof what, "-%c takes %s, not", row->letter, option_takes(row));
	else
		snprintf(what, sizeof what, "--%s takes %s, not", row->name, option_takes(row));
	return usage(what, optarg);
}

/* "-w is an option of the screen, -b" */
static enum exit_code refuse_option(const struct option_row *row)
{
	char what[200];
	int used = row->letter ? snprintf(what, sizeof what, "-%c is an option of", row->letter)
						   : snprintf(what, sizeof what, "--%s is an option of", row->name);
	const char *between = " ";
	for (unsigned i = 0; i < COMMAND_COUNT; i++) {
		if (!(row->commands >> i & 1))
			continue;
		used += snprintf(what + used, sizeof what - (size_t)used, "%s%s", between, commands[i]->name);
		between = ", ";
	}
	return usage(what, NULL);
}

static enum exit_code choose_command(struct options *options)
{
	bool takes_batch = options->command && options->command->traits & COMMAND_HAS_SCREEN;
	if (options->loop && !is_loop(options->loop))
		return usage("--loop takes FILE:LINE, such as train.py:214, not", options->loop);
	if ((options->is_batch && !takes_batch) + options->is_once + options->is_list + (options->command != NULL) > 1)
		return usage("-b, --once, --list and a command exclude one another", NULL);
	if ((options->pid != 0) + (options->run_name != NULL) + (options->child != NULL) + (options->demo != NULL) +
			(options->replay != NULL) >
		1)
		return usage("-p, -s, -r, --demo and -- COMMAND exclude one another", NULL);
	if (!options->command)
		options->command = options->is_list ? &list_command
			: options->is_batch             ? &stream_command
			: options->is_once              ? &once_command
											: &watch_command;
	return EXIT_OK;
}

/* "json, csv or svg" */
static void list_formats(unsigned formats, char *out, size_t size)
{
	size_t used = 0;
	for (const struct option_word *word = option_formats; word->text; word++) {
		unsigned later = formats >> word->value >> 1;
		if (formats >> word->value & 1 && used < size)
			used += (size_t)snprintf(out + used, size - used, "%s%s", word->text,
				!later                    ? ""
					: later & (later - 1) ? ", "
										  : " or ");
	}
}

static enum exit_code check_needs(const struct options *options)
{
	const struct command *command = options->command;
	char what[240], formats[40];
	bool is_list = command == &export_command && options->to && !strcmp(options->to, "list");
	bool has_target =
		options->pid || options->run_name || options->child || options->demo || options->replay || is_list;
	if (command->needs_target && !has_target && !options->fleet && !options->relay) {
		snprintf(what, sizeof what, "%s needs a target: pmtop %s", command->name, command->synopsis);
		return usage(what, NULL);
	}
	if (options->replay && (command->traits & COMMAND_NEEDS_PROCESS))
		return usage("this needs a running process, not a recording:", options->replay);
	if (options->replay && options->write && (command->traits & COMMAND_MONITORS))
		return usage(
			"-w records a running process: copy a recording with cp, save a stream with tee before pmtop -r -", NULL);
	if ((options->child || options->demo) && (command->traits & COMMAND_NEEDS_RUNNING)) {
		snprintf(what, sizeof what, "%s needs a process that is already running: %s", command->name, command->example);
		return usage(what, NULL);
	}
	if (!(command->formats >> options->format & 1)) {
		list_formats(command->formats, formats, sizeof formats);
		snprintf(what, sizeof what, "--format: %s takes %s", command->name, formats);
		return usage(what, NULL);
	}
	return EXIT_OK;
}

/* An unreadable home, as in many containers, must not keep a training from starting: pmtop then uses the defaults. */
static enum status read_own_settings(struct settings *settings)
{
	char path[4096];
	struct reason reason = { 0 };
	if (settings_path(path, sizeof path) != STATUS_OK)
		return STATUS_OK;
	enum status status = settings_load(settings, path, &reason);
	if (status == STATUS_INVALID)
		command_fail(status, &reason);
	else if (status != STATUS_OK && status != STATUS_NOT_FOUND)
		fprintf(stderr, "pmtop: %s: using the default settings\n", reason.text);
	return status == STATUS_INVALID ? status : STATUS_OK;
}

/* The default theme is always there, so its name costs no file. */
static enum exit_code check_theme(const struct settings *settings)
{
	struct theme theme;
	struct settings defaults;
	struct reason reason = { 0 };
	settings_default(&defaults);
	if (strcmp(settings->theme, defaults.theme) == 0)
		return EXIT_OK;
	enum status status = theme_load(settings->theme, &theme, &reason);
	if (status != STATUS_OK)
		command_fail(status, &reason);
	return status == STATUS_OK ? EXIT_OK : EXIT_USAGE;
}

static enum exit_code read_settings(const struct options *options, struct settings *settings)
{
	struct reason reason = { 0 };
	enum status status = STATUS_OK;
	settings_default(settings);
	/* The doctor reports faults of the file itself. */
	if (options->command != &doctor_command && options->config)
		status = settings_load(settings, options->config, &reason);
	else if (options->command != &doctor_command && read_own_settings(settings) != STATUS_OK)
		return EXIT_USAGE;
	if (status == STATUS_NOT_FOUND)
		return usage("--config: no such file:", options->config);
	if (status != STATUS_OK) {
		command_fail(status, &reason);
		return EXIT_USAGE;
	}
	if (options->period_s > 0)
		settings->refresh_s = options->period_s;
	if (options->color >= 0)
		settings->color = (enum color_choice)options->color;
	if (options->marks >= 0)
		settings->marks = (enum marks_choice)options->marks;
	if (options->ascii)
		settings->ascii = true;
	if (options->theme)
		snprintf(settings->theme, sizeof settings->theme, "%s", options->theme);
	if (options->no_nvml)
		settings->nvml = false;
	if (options->counters)
		settings->counters_always = true;
	return check_theme(settings);
}

/* The help of one command: "pmtop export --help", "pmtop -b --help", "pmtop -p PID --help" (the screen); else that of
 * pmtop. */
static enum exit_code print_help(const char *word, struct options *options)
{
	bool has_target = options->pid || options->run_name || options->replay || options->demo || options->child;
	const struct command *command = word ? command_named(word)
		: options->is_batch              ? &stream_command
		: options->is_once               ? &once_command
		: options->is_list               ? &list_command
		: has_target                     ? &watch_command
										 : NULL;
	options->command = NULL;
	if (word && !command)
		return usage("unknown command", word);
	if (command)
		help_print_command(id_of(command));
	else
		help_print();
	return EXIT_OK;
}

static enum exit_code print_synopses(struct options *options)
{
	options->command = NULL;
	help_print_synopses();
	return EXIT_OK;
}

/* Fills getopt's tables from option_rows; getopt returns LONG_ONLY + the row for a long option. */
static int make_tables(struct option *longs, char *letters)
{
	int count = 0;
	for (const struct option_row *row = option_rows; row->name && count < ROWS_MAX; row++, count++) {
		int takes = !row->value ? no_argument : row->value[0] == '[' ? optional_argument : required_argument;
		longs[count] = (struct option){ row->name, takes, NULL, LONG_ONLY + count };
		if (row->letter) {
			*letters++ = row->letter;
			if (takes == required_argument)
				*letters++ = ':';
		}
	}
	longs[count] = (struct option){ 0 };
	*letters = '\0';
	return count;
}

static int row_of(int option, int count)
{
	if (option >= LONG_ONLY)
		return option - LONG_ONLY;
	for (int i = 0; i < count; i++)
		if (option_rows[i].letter == option)
			return i;
	return -1;
}

/* pmtop starts what follows --, and does not parse its options. False: nothing follows. */
static bool take_child(int *argc, char **argv, struct options *options)
{
	for (int i = 1; i < *argc; i++) {
		if (strcmp(argv[i], "--") != 0)
			continue;
		options->child = argv + i + 1;
		bool has_words = i + 1 < *argc;
		*argc = i;
		return has_words;
	}
	return true;
}

enum exit_code options_parse(int argc, char **argv, struct options *options, struct settings *settings)
{
	struct option longs[ROWS_MAX + 1];
	char letters[2 * ROWS_MAX + 1];
	bool is_given[ROWS_MAX] = { false }, is_help = false, is_synopses = false;
	int count = make_tables(longs, letters), option;
	*options = (struct options){ .color = -1, .marks = -1 };
	if (argc > 1 && !strcmp(argv[1], "--help=complete")) {
		completion_print(argc - 2, argv + 2, stdout);
		return EXIT_OK;
	}
	if (!take_child(&argc, argv, options))
		return usage("-- must be followed by the command to start", NULL);
	opterr = 0;
	while ((option = getopt_long(argc, argv, letters, longs, NULL)) != -1) {
		int row = row_of(option, count);
		if (row < 0)
			return usage("unknown option, or an option without its value:", argv[optind - 1]);
		const char *name = option_rows[row].name;
		if (!strcmp(name, "version")) {
			version_print();
			return EXIT_OK;
		}
		if (!strcmp(name, "help")) {
			is_help = true;
			is_synopses = optarg && strcmp(optarg, "commands") == 0;
			if (optarg && !is_synopses)
				return usage("--help takes no value (write pmtop COMMAND --help), not", optarg);
			continue;
		}
		if (!strcmp(name, "view") && optarg && !strcmp(optarg, "list")) {
			view_list(stdout);
			return EXIT_OK;
		}
		if (!strcmp(name, "demo") && optarg && !strcmp(optarg, "list")) {
			list_synthetic();
			return EXIT_OK;
		}
		enum exit_code code = take_row(&option_rows[row], options);
		if (code != EXIT_OK)
			return code;
		is_given[row] = true;
	}
	if (is_synopses)
		return print_synopses(options);
	if (optind < argc && !strcmp(argv[optind], "help"))
		is_help = ++optind;
	if (is_help)
		return print_help(optind < argc ? argv[optind] : NULL, options);
	enum exit_code code = take_words(argv + optind, argv + argc, options);
	if (code == EXIT_OK)
		code = choose_command(options);
	for (int i = 0; i < count && code == EXIT_OK; i++)
		if (is_given[i] && option_rows[i].commands && !(option_rows[i].commands >> id_of(options->command) & 1))
			code = refuse_option(&option_rows[i]);
	if (code == EXIT_OK)
		code = check_needs(options);
	return code == EXIT_OK ? read_settings(options, settings) : code;
}
