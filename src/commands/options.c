#include "src/commands/options.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/sources/synthetic.h"

enum { OPTION_ONCE = 256, OPTION_FORMAT, OPTION_JSON, OPTION_COLOR, OPTION_ASCII, OPTION_CONFIG, OPTION_VIEW, OPTION_SIZE, OPTION_DEMO, OPTION_CHECK, OPTION_FIGURES, OPTION_VERSION };

static void list_synthetic(void)
{
	const char *help, *name;
	for (unsigned i = 0; (name = synthetic_scenario(i, &help)); i++)
		printf("%-16s %s\n", name, help);
}

static const struct option long_options[] = {
	{ "pid", required_argument, NULL, 'p' },       { "session", required_argument, NULL, 's' },
	{ "list", no_argument, NULL, 'l' },            { "batch", no_argument, NULL, 'b' },
	{ "iterations", required_argument, NULL, 'n' }, { "delay", required_argument, NULL, 'd' },
	{ "once", no_argument, NULL, OPTION_ONCE },    { "format", required_argument, NULL, OPTION_FORMAT },
	{ "json", no_argument, NULL, OPTION_JSON },    { "color", required_argument, NULL, OPTION_COLOR },
	{ "ascii", no_argument, NULL, OPTION_ASCII },  { "config", required_argument, NULL, OPTION_CONFIG },
	{ "view", required_argument, NULL, OPTION_VIEW }, { "size", required_argument, NULL, OPTION_SIZE },
	{ "demo", optional_argument, NULL, OPTION_DEMO },
	{ "check", required_argument, NULL, OPTION_CHECK }, { "figures", no_argument, NULL, OPTION_FIGURES },
	{ "help", no_argument, NULL, 'h' },            { "version", no_argument, NULL, OPTION_VERSION },
	{ 0 },
};

static const char help_text[] =
	"pmtop " PMTOP_VERSION ": htop for training runs\n"
	"\n"
	"  pmtop                      choose a run from a list, then watch it\n"
	"  pmtop -p PID               watch a process and its children\n"
	"  pmtop -s NAME              watch a published run by its name, or NAME.PID; also one that crashed\n"
	"  pmtop -- COMMAND ...       start COMMAND and watch it; its exit status is kept\n"
	"  pmtop --demo[=FAULT]       watch a synthetic run, in which FAULT happens (--demo=list names them; FAULT:SEED)\n"
	"  pmtop list, -l             what can be watched, as a table (--json)\n"
	"  pmtop report PID|NAME      the summary tables (--format=text|json|csv)\n"
	"  pmtop rules                what is warned of; with -p PID the figures of now (--json, --figures, --check=FILE)\n"
	"  pmtop doctor [-p PID]      each figure that is missing, why, and what brings it (--json)\n"
	"\n"
	"  -b, --batch                plain lines from now on instead of the screen (--format=text|json|csv)\n"
	"  -n, --iterations=N         with -b: end after N refreshes; with --once: draw after N\n"
	"  -d, --delay=SECONDS        time between refreshes (0.5)\n"
	"      --once                 one screen as text (--view=NAME, --size=120x40, --format=text|svg)\n"
	"      --color=WHEN           auto, always or never (NO_COLOR is heard)\n"
	"      --ascii                draw with ASCII only\n"
	"      --config=FILE          read FILE instead of pmtop.yaml in your configuration folder\n"
	"  -h, --help      --version\n"
	"\n"
	"On the screen, ? lists the keys. More: man pmtop. Exit status: 0 ok, 1 failure, 2 usage, 3 no such target, 4 no permission.\n";

static enum exit_code usage(const char *what, const char *value)
{
	fprintf(stderr, "pmtop: %s%s%s: see pmtop --help\n", what, value ? " " : "", value ? value : "");
	return EXIT_USAGE;
}

struct word { const char *text; int value; };

static bool find_word(const struct word *words, const char *text, int *value)
{
	for (; words->text; words++) {
		if (!strcmp(words->text, text)) {
			*value = words->value;
			return true;
		}
	}
	return false;
}

static const struct word formats[] = { { "text", FORMAT_TEXT }, { "json", FORMAT_JSON }, { "csv", FORMAT_CSV }, { "svg", FORMAT_SVG }, { 0 } };
static const struct word colors[] = { { "auto", COLOR_AUTO }, { "always", COLOR_ALWAYS }, { "never", COLOR_NEVER }, { 0 } };

static bool whole_number(const char *text, long long least, long long most, long long *out)
{
	char *end;
	errno = 0;
	long long value = strtoll(text, &end, 10);
	if (errno || end == text || *end || value < least || value > most)
		return false;
	*out = value;
	return true;
}

static bool seconds_number(const char *text, double *out)
{
	char *end;
	double value = strtod(text, &end);
	if (end == text || *end || !(value >= 0.05 && value <= 60))
		return false;
	*out = value;
	return true;
}

static bool size_number(const char *text, int *width, int *height)
{
	char rest;
	return sscanf(text, "%4dx%4d%c", width, height, &rest) == 2 && *width > 0 && *height > 0;
}

/* A target given as a word: a number is a pid, the rest a run's name. */
static bool set_target(struct options *options, const char *text)
{
	long long pid;
	if (options->pid || options->run_name)
		return false;
	if (whole_number(text, 1, INT_MAX, &pid))
		options->pid = (pid_t)pid;
	else
		options->run_name = text;
	return true;
}

/* What stands on the command line beside the configuration file: kept until that is read, for it wins over it. */
struct given {
	const char *config;
	double period_s;
	int color;
	bool has_color, ascii, batch, once, list;
};

static enum exit_code take_option(int option, struct options *options, struct given *given)
{
	long long number;
	int value;
	switch (option) {
	case 'p':
		if (!whole_number(optarg, 1, INT_MAX, &number))
			return usage("a process id is a whole number above 0, not", optarg);
		options->pid = (pid_t)number;
		return EXIT_OK;
	case 's': options->run_name = optarg; return EXIT_OK;
	case 'l': given->list = true; return EXIT_OK;
	case 'b': given->batch = true; return EXIT_OK;
	case 'n':
		if (!whole_number(optarg, 1, LLONG_MAX, &number))
			return usage("-n takes a whole number above 0, not", optarg);
		options->count = number;
		return EXIT_OK;
	case 'd':
		if (!seconds_number(optarg, &given->period_s))
			return usage("-d takes seconds from 0.05 to 60, not", optarg);
		return EXIT_OK;
	case OPTION_ONCE: given->once = true; return EXIT_OK;
	case OPTION_FORMAT:
		if (!find_word(formats, optarg, &value))
			return usage("--format takes text, json, csv or (with --once) svg, not", optarg);
		options->format = (enum output_format)value;
		return EXIT_OK;
	case OPTION_JSON: options->format = FORMAT_JSON; return EXIT_OK;
	case OPTION_COLOR:
		if (!find_word(colors, optarg, &given->color))
			return usage("--color takes auto, always or never, not", optarg);
		given->has_color = true;
		return EXIT_OK;
	case OPTION_ASCII: given->ascii = true; return EXIT_OK;
	case OPTION_CONFIG: given->config = options->config = optarg; return EXIT_OK;
	case OPTION_VIEW: options->view = optarg; return EXIT_OK;
	case OPTION_DEMO: options->demo = optarg ? optarg : ""; return EXIT_OK;
	case OPTION_SIZE:
		if (!size_number(optarg, &options->width, &options->height))
			return usage("--size takes COLUMNSxROWS, such as 120x40, not", optarg);
		return EXIT_OK;
	case OPTION_CHECK: options->check = optarg; return EXIT_OK;
	case OPTION_FIGURES: options->figures = true; return EXIT_OK;
	default: return EXIT_USAGE;
	}
}

static enum exit_code read_settings(const struct options *options, const struct given *given, struct settings *settings)
{
	char path[4096];
	struct reason reason = { 0 };
	enum status status = STATUS_NOT_FOUND;
	settings_default(settings);
	/* The doctor says itself what is wrong with it. */
	if (options->command == &doctor_command)
		status = STATUS_OK;
	else if (given->config)
		status = settings_load(settings, given->config, &reason);
	else if (settings_path(path, sizeof path) == STATUS_OK && (status = settings_load(settings, path, &reason)) == STATUS_NOT_FOUND)
		status = STATUS_OK;
	if (given->config && status == STATUS_NOT_FOUND)
		return usage("--config names a file that is not there:", given->config);
	if (status != STATUS_OK && (given->config || status != STATUS_NOT_FOUND)) {
		fail(status, &reason);
		return EXIT_USAGE;
	}
	if (given->period_s > 0)
		settings->refresh_s = given->period_s;
	if (given->has_color)
		settings->color = (enum color_choice)given->color;
	if (given->ascii)
		settings->ascii = true;
	return EXIT_OK;
}

/* What stands as a word: `list`, `report TARGET`. */
static const struct { const char *word; const struct command *command; bool takes_target; } words_of[] = {
	{ "list", &list_command, false }, { "report", &report_command, true }, { "rules", &rules_command, false }, { "doctor", &doctor_command, false },
};

static enum exit_code not_understood(const char *word, const char *more)
{
	char both[256];
	snprintf(both, sizeof both, "%.100s %.100s", word, more);
	return usage("not understood:", both);
}

static enum exit_code take_words(int argc, char **argv, struct options *options)
{
	bool after_dashes = optind > 1 && !strcmp(argv[optind - 1], "--");
	if (after_dashes) {
		if (optind == argc)
			return usage("after -- comes the command to start", NULL);
		options->child = argv + optind;
		return EXIT_OK;
	}
	if (optind == argc)
		return EXIT_OK;
	const char *word = argv[optind], *target = optind + 1 < argc ? argv[optind + 1] : NULL;
	for (size_t i = 0; i < sizeof words_of / sizeof *words_of; i++) {
		if (strcmp(word, words_of[i].word) != 0)
			continue;
		if (target && (!words_of[i].takes_target || optind + 2 < argc))
			return not_understood(word, words_of[i].takes_target ? argv[optind + 2] : target);
		options->command = words_of[i].command;
		if (target && !set_target(options, target))
			return usage("report takes one target, and has another in", target);
		return EXIT_OK;
	}
	return usage("not understood:", word);
}

static enum exit_code choose_command(struct options *options, const struct given *given)
{
	bool is_report = options->command == &report_command, is_rules = options->command == &rules_command, is_doctor = options->command == &doctor_command;
	if (given->batch + given->once + given->list + (options->command != NULL) > 1)
		return usage("-b, --once, list, report, rules and doctor exclude one another", NULL);
	if (!is_rules && (options->check || options->figures))
		return usage(options->check ? "--check goes with rules: pmtop rules --check=" : "--figures goes with rules: pmtop rules --figures", options->check);
	if ((options->pid != 0) + (options->run_name != NULL) + (options->child != NULL) + (options->demo != NULL) > 1)
		return usage("-p, -s, --demo and -- COMMAND exclude one another", NULL);
	if (!options->command)
		options->command = given->list ? &list_command : given->batch ? &stream_command : given->once ? &once_command : &watch_command;
	bool has_target = options->pid || options->run_name || options->child || options->demo;
	if (!has_target && (is_report || given->batch || given->once))
		return usage(is_report ? "report needs a target: pmtop report PID" : given->batch ? "-b needs a target: -p PID or -s NAME" : "--once needs a target: -p PID or -s NAME", NULL);
	if (is_doctor && options->format > FORMAT_JSON)
		return usage("doctor speaks text and json", NULL);
	if (options->format == FORMAT_SVG && !given->once)
		return usage("--format=svg goes with --once", NULL);
	return EXIT_OK;
}

enum exit_code options_parse(int argc, char **argv, struct options *options, struct settings *settings)
{
	struct given given = { 0 };
	*options = (struct options){ 0 };
	int option;
	opterr = 0;
	while ((option = getopt_long(argc, argv, "p:s:lbn:d:h", long_options, NULL)) != -1) {
		if (option == 'h' || option == OPTION_VERSION) {
			fputs(option == 'h' ? help_text : "pmtop " PMTOP_VERSION "\n", stdout);
			return EXIT_OK;
		}
		if (option == OPTION_DEMO && optarg && !strcmp(optarg, "list")) {
			list_synthetic();
			return EXIT_OK;
		}
		enum exit_code code = take_option(option, options, &given);
		if (option == '?')
			return usage("not understood, or without its value:", argv[optind - 1]);
		if (code != EXIT_OK)
			return code;
	}
	enum exit_code code = take_words(argc, argv, options);
	if (code == EXIT_OK)
		code = choose_command(options, &given);
	return code == EXIT_OK ? read_settings(options, &given, settings) : code;
}
