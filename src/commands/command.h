/* command.h: one command of the command line: its arguments are parsed once (options.c), its file wires the modules and no more. */
#ifndef PMTOP_COMMANDS_COMMAND_H
#define PMTOP_COMMANDS_COMMAND_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "src/base/status.h"
#include "src/settings/settings.h"

/* EXIT_ENDED: nothing could be watched, for the command of our own ended well before that; a shell sees its lowest byte, 0. */
enum exit_code { EXIT_OK = 0, EXIT_RUNTIME = 1, EXIT_USAGE = 2, EXIT_NO_TARGET = 3, EXIT_NO_PERMISSION = 4, EXIT_REGRESSION = 5, EXIT_ENDED = 256 };

enum output_format { FORMAT_TEXT, FORMAT_JSON, FORMAT_CSV, FORMAT_SVG };

/* The command line, as it was given (options_rows.c says what goes with which command). */
struct options {
	const struct command *command;

	/* what is watched: one of these, or nothing */
	pid_t pid;                   /* 0 = none */
	const char *run_name;        /* -s */
	const char *demo;            /* --demo: "SCENARIO:SEED", "" = the usual; NULL = not asked for */
	const char *replay;          /* -r, or a file where a target is named: a recording; "-" = standard input */
	char **child;                /* after --, or NULL */
	char **words;                /* what stands after the command's own word, where that takes several */
	int word_count;

	bool is_batch, is_once, is_list;
	int64_t count;               /* -n; 0 = until the target ends */
	enum output_format format;
	const char *config;          /* --config, or NULL */
	double period_s;             /* -d; 0 = as configured */
	int color;                   /* enum color_choice; −1 = as configured */
	bool ascii;
	bool no_nvml, counters;      /* --no-nvml, --counters */
	bool all;                    /* --all */
	const char *view;            /* --view */
	int width, height;           /* --size; 0 = as the terminal, or 120×40 */

	const char *check;           /* rules --check=FILE */
	bool figures;                /* rules --figures */

	const char *write;           /* -w FILE, record -o FILE: the recording; export, check: where the output goes */
	double record_s;             /* --for; 0 = until the target ends, here and below */
	double record_bytes;         /* --max-size: of all its files */
	double file_bytes;           /* --rotate */
	const char *only;            /* collect --only=SOURCE[,SOURCE] */
	double speed;                /* --speed; 0 = not given */
	const char *at;              /* --at: "90s", "14:02:30", "50%", "#624", "end"; NULL = from the beginning */
	const char *overlay;         /* --overlay FILE: an earlier run beside this one */

	const char *to;              /* export --to=FORMAT */
	const char *since, *until;   /* of the run, as --at */
	const char *baseline, *save, *junit;         /* check */
	double threshold;            /* check; 0 = the usual */
	const char *budget;          /* check --budget=data:20%,step:0.3s */
};

/* COMMAND(NAME, "how it is asked for", "what it does"): one file each, src/commands/NAME.c. */
#define COMMANDS(X) \
	X(watch,  "-p PID, -s NAME, -r FILE or nothing", "the screen; with nothing, a list to choose from") \
	X(stream, "-b",                           "plain lines, JSON objects or CSV rows from now on") \
	X(once,   "--once",                       "one screen as text") \
	X(list,   "list, -l",                     "what can be watched, as a table") \
	X(report, "report PID|FILE",              "the summary tables") \
	X(rules,  "rules",                        "what is warned of, and the figures of now") \
	X(doctor, "doctor [-p PID]",              "each figure that is missing, why, and what brings it") \
	X(stack,  "stack PID",                    "where its Python code stands now, thread by thread") \
	X(record, "record -p PID -o FILE",        "a recording without a screen, with rules and hooks") \
	X(collect, "collect -p PID",              "samples as a stream on standard output, for pmtop -r -") \
	X(repair, "repair FILE",                  "what is whole of a damaged recording, as another file") \
	X(export, "export --to=FORMAT PID|FILE",  "the run in a format of other programs") \
	X(diff,   "diff A B",                     "runs side by side") \
	X(check,  "check --baseline=FILE PID|FILE", "whether a run got slower, for CI")

enum command_id {
#define COMMAND_ID(name, how, what) COMMAND_##name,
	COMMANDS(COMMAND_ID)
#undef COMMAND_ID
	COMMAND_COUNT
};

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
