/* command.h: one command of the command line: its arguments are parsed once (options.c), its file wires the modules and no more. */
#ifndef PMTOP_COMMANDS_COMMAND_H
#define PMTOP_COMMANDS_COMMAND_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "src/base/status.h"
#include "src/settings/settings.h"

enum exit_code { EXIT_OK = 0, EXIT_RUNTIME = 1, EXIT_USAGE = 2, EXIT_NO_TARGET = 3, EXIT_NO_PERMISSION = 4 };

enum output_format { FORMAT_TEXT, FORMAT_JSON, FORMAT_CSV, FORMAT_SVG };

/* The command line, as it was given. */
struct options {
	const struct command *command;
	pid_t pid;                   /* 0 = none */
	const char *run_name;        /* -s */
	const char *demo;            /* --demo: "SCENARIO:SEED", "" = the usual; NULL = not asked for */
	char **child;                /* after --, or NULL */
	int64_t count;               /* -n; 0 = until the target ends */
	enum output_format format;
	const char *config;          /* --config, or NULL */
	const char *view;            /* --view */
	int width, height;           /* --size; 0 = as the terminal, or 120×40 */
	const char *check;           /* rules --check=FILE */
	bool figures;                /* rules --figures */
};

/* COMMAND(NAME, "how it is asked for", "what it does"): one file each, src/commands/NAME.c. */
#define COMMANDS(X) \
	X(watch,  "-p PID, -s NAME, or nothing",  "the screen; with nothing, a list to choose from") \
	X(stream, "-b",                           "plain lines, JSON objects or CSV rows from now on") \
	X(once,   "--once",                       "one screen as text") \
	X(list,   "list, -l",                     "what can be watched, as a table") \
	X(report, "report PID",                   "the summary tables") \
	X(rules,  "rules",                        "what is warned of, and the figures of now") \
	X(doctor, "doctor [-p PID]",              "each figure that is missing, why, and what brings it")

struct command {
	const char *name;
	enum exit_code (*run)(const struct options *options, const struct settings *settings);
};

#define DECLARE_COMMAND(name, how, what) extern const struct command name##_command;
COMMANDS(DECLARE_COMMAND)
#undef DECLARE_COMMAND

/* Says one line on standard error and gives the exit code for `status`. */
enum exit_code fail(enum status status, const struct reason *reason);
/* --view names none that there is. */
enum status view_unknown(const char *name, struct reason *reason);

#endif
