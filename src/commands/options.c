#include "src/commands/options.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/commands/options_rows.h"
#include "src/sources/synthetic/synthetic.h"

enum { ROWS_MOST = 64, LONG_ONLY = 256 };

static const char help_text[] =
	"pmtop " PMTOP_VERSION ": htop for training runs\n"
	"\n"
	"  pmtop                      choose a run from a list, then watch it\n"
	"  pmtop -p PID               watch a process and its children\n"
	"  pmtop -s NAME              watch a published run by its name, or NAME.PID; also one that crashed\n"
	"  pmtop -- COMMAND ...       start COMMAND and watch it; its exit status is kept\n"
	"  pmtop --demo[=FAULT]       watch a synthetic run, in which FAULT happens (--demo=list names them; FAULT:SEED)\n"
	"  pmtop -r FILE|-            show a recording again, or what comes from pmtop collect (--speed=2, --at=14:02:30|5m|50%|#624|end)\n"
	"  pmtop list, -l             what can be watched, as a table (--json)\n"
	"  pmtop report PID|NAME|FILE the summary tables (--format=text|json|csv)\n"
	"  pmtop rules                what is warned of; with -p PID the figures of now (--json, --figures, --check=FILE)\n"
	"  pmtop stack PID            where its Python code stands now, thread by thread, without stopping it (--json)\n"
	"  pmtop record -p PID -o FILE    a recording without a screen; rules and hooks go on (--for=2h, --max-size=2G, --rotate=500M); also -- COMMAND\n"
	"  pmtop collect -p PID       samples as a stream: ssh HOST pmtop collect -p PID | pmtop -r - (--only=SOURCE,SOURCE, --for=2h)\n"
	"  pmtop export --to=FORMAT PID|FILE   for other programs: csv, jsonl, perfetto, chrome-trace, tensorboard ... (--to=list; -o FILE, --since, --until)\n"
	"  pmtop diff A B ...         runs side by side, with 95 % intervals: pids, names, recordings, saved summaries or reports; of several, the best first (--json)\n"
	"  pmtop check --baseline=FILE PID|FILE|-- COMMAND   exit 5 where it got slower (--threshold=0.2, --budget=data:20%,step:0.3s, --for=60s, --junit=FILE, --json)\n"
	"  pmtop check --save=FILE PID|FILE|-- COMMAND       makes the baseline\n"
	"  pmtop repair FILE -o OUT   what is whole of a damaged recording, as another file\n"
	"  pmtop doctor [-p PID]      each figure that is missing, why, and what brings it (--json)\n"
	"\n"
	"  -b, --batch                plain lines from now on instead of the screen (--format=text|json|csv)\n"
	"  -w, --write=FILE           record while showing (--max-size, --rotate); on the screen r records as well\n"
	"      --all                  with -b --format=json: every object has all flagged batches, epochs and operations; else the last has\n"
	"  -n, --iterations=N         with -b: end after N refreshes; with --once: draw after N\n"
	"  -d, --delay=SECONDS        time between refreshes (0.5)\n"
	"      --once                 one screen as text (--view=NAME, --size=120x40, --format=text|svg)\n"
	"      --color=WHEN           auto, always or never (NO_COLOR is heard)\n"
	"      --ascii                draw with ASCII only\n"
	"      --counters             count cycles, instructions and the like from the start, not only while view 9 is looked at\n"
	"      --no-nvml              do not open NVIDIA's library\n"
	"      --config=FILE          read FILE instead of pmtop.yaml in your configuration folder\n"
	"  -h, --help      --version\n"
	"\n"
	"On the screen, ? lists the keys. More: man pmtop. Exit status: 0 ok, 1 failure, 2 usage, 3 no such target, 4 no permission, 5 slower.\n";

static enum exit_code usage(const char *what, const char *value)
{
	fprintf(stderr, "pmtop: %s%s%s: see pmtop --help\n", what, value ? " " : "", value ? value : "");
	return EXIT_USAGE;
}

static void list_synthetic(void)
{
	const char *help, *name;
	for (unsigned i = 0; (name = synthetic_scenario(i, &help)); i++)
		printf("%-18s %s\n", name, help);
}

/* -- words ---------------------------------------------------------------------------------------------------------------------- */

/* What stands as a word. TARGET: a pid, a run's name or a recording; WORDS: the command looks at them itself. */
enum takes { TAKES_NOTHING, TAKES_TARGET, TAKES_WORDS };
static const struct { const char *word; const struct command *command; enum takes takes; } words_of[] = {
	{ "list", &list_command, TAKES_NOTHING },       { "rules", &rules_command, TAKES_NOTHING },     { "doctor", &doctor_command, TAKES_NOTHING },
	{ "report", &report_command, TAKES_TARGET },    { "export", &export_command, TAKES_TARGET },    { "check", &check_command, TAKES_TARGET },
	{ "record", &record_command, TAKES_TARGET },    { "collect", &collect_command, TAKES_TARGET },  { "repair", &repair_command, TAKES_WORDS },
	{ "diff", &diff_command, TAKES_WORDS },         { "stack", &stack_command, TAKES_TARGET },
};

static enum command_id id_of(const struct command *command)
{
	static const struct command *const all[] = {
#define COMMAND_ROW(name, how, what) &name##_command,
		COMMANDS(COMMAND_ROW)
#undef COMMAND_ROW
	};
	enum command_id id = 0;
	while (all[id] != command)
		id++;
	return id;
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
	if (strchr(text, '/') || (length > 6 && !strcmp(text + length - 6, ".pmtop")) || (stat(text, &file) == 0 && S_ISREG(file.st_mode)))
		options->replay = text;
	else
		options->run_name = text;
	return true;
}

static enum exit_code not_understood(const char *word, const char *more)
{
	char both[256];
	snprintf(both, sizeof both, "%.100s %.100s", word, more);
	return usage("not understood:", both);
}

static enum exit_code take_words(char **word, char **end, struct options *options)
{
	if (word == end)
		return EXIT_OK;
	for (size_t i = 0; i < sizeof words_of / sizeof *words_of; i++) {
		if (strcmp(word[0], words_of[i].word) != 0)
			continue;
		options->command = words_of[i].command;
		options->words = word + 1;
		options->word_count = (int)(end - word) - 1;
		if (words_of[i].takes == TAKES_WORDS || !options->word_count)
			return EXIT_OK;
		if (words_of[i].takes == TAKES_NOTHING || options->word_count > 1)
			return not_understood(word[0], word[words_of[i].takes == TAKES_NOTHING ? 1 : 2]);
		return options_target(word[1], options) ? EXIT_OK : not_understood(word[0], word[1]);
	}
	return usage("not understood:", word[0]);
}

/* -- options -------------------------------------------------------------------------------------------------------------------- */

static bool size_number(const char *text, int *width, int *height)
{
	char rest;
	return sscanf(text, "%4dx%4d%c", width, height, &rest) == 2 && *width > 0 && *height > 0;
}

static enum exit_code take_other(const char *name, struct options *options)
{
	if (!strcmp(name, "json"))
		options->format = FORMAT_JSON;
	else if (!strcmp(name, "demo"))
		options->demo = optarg ? optarg : "";
	else if (!strcmp(name, "pid") && !is_pid(optarg, &options->pid))
		return usage("a process id is a whole number above 0, not", optarg);
	else if (!strcmp(name, "size") && !size_number(optarg, &options->width, &options->height))
		return usage("--size takes COLUMNSxROWS, such as 120x40, not", optarg);
	return EXIT_OK;
}

static enum exit_code take_row(const struct option_row *row, struct options *options)
{
	char what[160];
	if (row->kind == OPTION_OTHER)
		return take_other(row->name, options);
	if (option_take(row, optarg, options))
		return EXIT_OK;
	if (row->letter)
		snprintf(what, sizeof what, "-%c takes %s, not", row->letter, option_takes(row));
	else
		snprintf(what, sizeof what, "--%s takes %s, not", row->name, option_takes(row));
	return usage(what, optarg);
}

/* "--check goes with rules", "-w goes with watch and stream" */
static enum exit_code does_not_go(const struct option_row *row)
{
	static const char *const names[] = {
#define COMMAND_NAME(name, how, what) #name,
		COMMANDS(COMMAND_NAME)
#undef COMMAND_NAME
	};
	char what[200];
	int used = row->letter ? snprintf(what, sizeof what, "-%c goes with", row->letter) : snprintf(what, sizeof what, "--%s goes with", row->name);
	const char *between = " ";
	for (unsigned i = 0; i < COMMAND_COUNT; i++) {
		if (!(row->commands >> i & 1))
			continue;
		const char *name = i == COMMAND_watch ? "the screen" : i == COMMAND_stream ? "-b" : i == COMMAND_once ? "--once" : names[i];
		used += snprintf(what + used, sizeof what - (size_t)used, "%s%s", between, name);
		between = ", ";
	}
	return usage(what, NULL);
}

static enum exit_code choose_command(struct options *options)
{
	if (options->is_batch + options->is_once + options->is_list + (options->command != NULL) > 1)
		return usage("-b, --once, --list and a command's word exclude one another", NULL);
	if ((options->pid != 0) + (options->run_name != NULL) + (options->child != NULL) + (options->demo != NULL) + (options->replay != NULL) > 1)
		return usage("-p, -s, -r, --demo and -- COMMAND exclude one another", NULL);
	if (!options->command)
		options->command = options->is_list ? &list_command : options->is_batch ? &stream_command : options->is_once ? &once_command : &watch_command;
	return EXIT_OK;
}

/* What a command needs, and what it does not speak. */
static enum exit_code check_needs(const struct options *options)
{
	static const struct { const struct command *command; const char *needs; } needy[] = {
		{ &stream_command, "-b needs a target: -p PID, -s NAME or -r FILE" },
		{ &once_command, "--once needs a target: -p PID, -s NAME or -r FILE" },
		{ &report_command, "report needs a target: pmtop report PID" },
		{ &stack_command, "stack needs a target: pmtop stack PID" },
		{ &record_command, "record needs a target: pmtop record -p PID -o FILE" },
		{ &collect_command, "collect needs a target: pmtop collect -p PID" },
		{ &export_command, "export needs a target: pmtop export --to=perfetto PID -o FILE" },
		{ &check_command, "check needs a target: pmtop check --baseline=FILE PID, a recording, or -- COMMAND" },
	};
	bool is_list = options->command == &export_command && options->to && !strcmp(options->to, "list");
	bool has_target = options->pid || options->run_name || options->child || options->demo || options->replay || is_list;
	for (size_t i = 0; i < sizeof needy / sizeof *needy; i++)
		if (options->command == needy[i].command && !has_target)
			return usage(needy[i].needs, NULL);
	bool needs_process = options->command == &record_command || options->command == &collect_command || options->command == &doctor_command || options->command == &stack_command;
	if (options->replay && needs_process)
		return usage("a recording is not a running process:", options->replay);
	if (options->replay && options->write && (options->command == &watch_command || options->command == &stream_command))
		return usage("-w records a running process, not a recording: copy the file, or put tee before pmtop -r -", NULL);
	if (options->command == &stack_command && (options->child || options->demo))
		return usage("stack looks at a process that runs already: pmtop stack PID", NULL);
	if ((options->command == &doctor_command || options->command == &stack_command) && options->format > FORMAT_JSON)
		return usage(options->command == &doctor_command ? "doctor speaks text and json" : "stack speaks text and json", NULL);
	if (options->format == FORMAT_SVG && options->command != &once_command)
		return usage("--format=svg goes with --once", NULL);
	return EXIT_OK;
}

/* A home that is closed to us, as in many containers, is no reason not to start a training. */
static enum status read_own_settings(struct settings *settings)
{
	char path[4096];
	struct reason reason = { 0 };
	if (settings_path(path, sizeof path) != STATUS_OK)
		return STATUS_OK;
	enum status status = settings_load(settings, path, &reason);
	if (status == STATUS_INVALID)
		fail(status, &reason);
	else if (status != STATUS_OK && status != STATUS_NOT_FOUND)
		fprintf(stderr, "pmtop: %s: pmtop goes on with the default settings\n", reason.text);
	return status == STATUS_INVALID ? status : STATUS_OK;
}

static enum exit_code read_settings(const struct options *options, struct settings *settings)
{
	struct reason reason = { 0 };
	enum status status = STATUS_OK;
	settings_default(settings);
	/* The doctor says itself what is wrong with it. */
	if (options->command != &doctor_command && options->config)
		status = settings_load(settings, options->config, &reason);
	else if (options->command != &doctor_command && read_own_settings(settings) != STATUS_OK)
		return EXIT_USAGE;
	if (status == STATUS_NOT_FOUND)
		return usage("--config names a file that is not there:", options->config);
	if (status != STATUS_OK) {
		fail(status, &reason);
		return EXIT_USAGE;
	}
	if (options->period_s > 0)
		settings->refresh_s = options->period_s;
	if (options->color >= 0)
		settings->color = (enum color_choice)options->color;
	if (options->ascii)
		settings->ascii = true;
	if (options->no_nvml)
		settings->nvml = false;
	if (options->counters)
		settings->counters_always = true;
	return EXIT_OK;
}

/* getopt's own tables, made of ours; long options have LONG_ONLY + their row. */
static int make_tables(struct option *longs, char *letters)
{
	int count = 0;
	for (const struct option_row *row = option_rows; row->name && count < ROWS_MOST; row++, count++) {
		bool is_bare = row->kind == OPTION_FLAG || !strcmp(row->name, "help") || !strcmp(row->name, "version") || !strcmp(row->name, "json");
		int takes = is_bare ? no_argument : !strcmp(row->name, "demo") ? optional_argument : required_argument;
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

enum exit_code options_parse(int argc, char **argv, struct options *options, struct settings *settings)
{
	struct option longs[ROWS_MOST + 1];
	char letters[2 * ROWS_MOST + 1];
	bool is_given[ROWS_MOST] = { false };
	int count = make_tables(longs, letters), option;
	*options = (struct options){ .color = -1 };
	/* What comes after -- is a command to start, and nothing of ours. */
	for (int i = 1; i < argc && !options->child; i++) {
		if (strcmp(argv[i], "--") != 0)
			continue;
		if (i + 1 == argc)
			return usage("after -- comes the command to start", NULL);
		options->child = argv + i + 1;
		argc = i;
	}
	opterr = 0;
	while ((option = getopt_long(argc, argv, letters, longs, NULL)) != -1) {
		int row = row_of(option, count);
		if (row < 0)
			return usage("not understood, or without its value:", argv[optind - 1]);
		const char *name = option_rows[row].name;
		if (!strcmp(name, "help") || !strcmp(name, "version")) {
			fputs(*name == 'h' ? help_text : "pmtop " PMTOP_VERSION "\n", stdout);
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
	enum exit_code code = take_words(argv + optind, argv + argc, options);
	if (code == EXIT_OK)
		code = choose_command(options);
	for (int i = 0; i < count && code == EXIT_OK; i++)
		if (is_given[i] && option_rows[i].commands && !(option_rows[i].commands >> id_of(options->command) & 1))
			code = does_not_go(&option_rows[i]);
	if (code == EXIT_OK)
		code = check_needs(options);
	return code == EXIT_OK ? read_settings(options, settings) : code;
}
