/* command.h: a command of the command line, and its options. The table of all commands: src/commands/commands.h. */
#ifndef PMTOP_SESSION_COMMAND_H
#define PMTOP_SESSION_COMMAND_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "src/base/status.h"
#include "src/settings/settings.h"

/* EXIT_ENDED: the command that pmtop started exited with 0 before pmtop could watch it. A shell sees the lowest byte,
 * 0. */
enum exit_code {
	EXIT_OK = 0,
	EXIT_RUNTIME = 1,
	EXIT_USAGE = 2,
	EXIT_NO_TARGET = 3,
	EXIT_NO_PERMISSION = 4,
	EXIT_REGRESSION = 5,
	EXIT_ENDED = 256
};

enum output_format { FORMAT_TEXT, FORMAT_JSON, FORMAT_CSV, FORMAT_SVG };

/* The parsed command line (options_rows.c lists which option belongs to which command). */
struct options {
	const struct command *command;

	/* the target: at most one of these */
	pid_t pid;            /* 0 = none */
	const char *run_name; /* -s */
	const char *demo;     /* --demo: "SCENARIO:SEED", "" = the default scenario; NULL = not given */
	const char *replay;   /* -r FILE, or a file given as the target: a recording; "-" = standard input */
	char **child;         /* after --, or NULL */
	bool no_instrument;   /* --no-instrument: leave the environment of `child` alone */
	bool profile;         /* --profile: PyTorch in `child` asks for work (pmtop profile) */
	bool profile_slow;    /* --profile-slow: a trace after a flagged batch */
	char **words;         /* the arguments after the command */
	int word_count;

	bool is_batch, is_once, is_list;
	int64_t count; /* -n; 0 = until the target ends */
	enum output_format format;
	bool has_format;    /* --format or --json was given */
	const char *config; /* --config, or NULL */
	double period_s;    /* -d; 0 = as configured */
	int color;          /* enum color_choice; −1 = as configured */
	int marks;          /* enum marks_choice; −1 = as configured */
	const char *theme;  /* NULL = as configured */
	bool ascii;
	bool no_nvml, counters; /* --no-nvml, --counters */
	bool all;               /* --all */
	bool yes;               /* instrument --yes: without asking */
	const char *view;       /* --view */
	int width, height;      /* --size; 0 = as the terminal, or 120×40 */

	const char *check; /* rules --check=FILE */
	bool figures;      /* rules --figures */
	bool init;         /* config --init */

	const char *write;   /* -w FILE, record -o FILE: the recording; export, check: where the output goes */
	double record_s;     /* --for; 0 = until the target ends, here and below */
	double record_bytes; /* --max-size: of all its files */
	double file_bytes;   /* --rotate */
	const char *only;    /* collect --only=SOURCE[,SOURCE] */
	double speed;        /* --speed; 0 = not given */
	const char *at;      /* --at: "90s", "14:02:30", "50%", "#624", "end"; NULL = from the beginning */
	const char *loop;    /* --loop FILE:LINE: the loop whose iterations are the steps */
	const char *overlay; /* --overlay FILE: an earlier run beside this one */

	const char *to;                      /* export --to=FORMAT */
	const char *since, *until;           /* of the run, as --at */
	const char *baseline, *save, *junit; /* check */
	double threshold;                    /* check; 0 = the default */
	const char *budget;                  /* check --budget=data:20%,step:0.3s */

	int64_t steps; /* profile --steps; 0 = the default */
	int ranks;     /* profile --ranks: 0 all, 1 one */

	int sort;       /* trace --sort: enum profile_sort */
	const char *by; /* trace --by: the group of operators; diff --by: the figure that ranks runs; NULL = the default */
	int64_t limit;  /* trace --limit: rows a table; 0 = the default */

	/* fleet: how a host is reached, and pmtop there; collect --fleet: fleet has started it */
	bool is_inner;   /* the screen was opened from that of pmtop fleet: Esc goes back there */
	pid_t inner_pid; /* the rank to show then */
	const char *ssh, *srun, *exec, *program;
	bool fleet, relay; /* collect --fleet: one host; --relay: reaches others for it */
	int64_t fan_out;   /* fleet --fan-out; 0 = automatic */

	const char *listen, *textfile;  /* exporter: ADDRESS:PORT, FILE; NULL */
	bool print_rules, has_commands; /* exporter --print-rules, --with-commands */
};

/* The arguments of a command. WORDS: the command parses them itself. */
enum command_words { COMMAND_TAKES_NOTHING, COMMAND_TAKES_TARGET, COMMAND_TAKES_WORDS };

enum command_trait {
	COMMAND_HAS_SCREEN = 1, /* draws on the terminal; -b makes it print instead */
	COMMAND_MONITORS = 2,   /* watches until the run ends: starts hooks, may record */
	COMMAND_RECORDS = 4,    /* records whether -w is given or not */
	COMMAND_STREAMS = 8,    /* writes samples to standard output; evaluates no rules */
	/* waits for sources that start slowly, because its first output may be its only one */
	COMMAND_AWAITS_SOURCES = 16,
	COMMAND_NEEDS_PROCESS = 32, /* refuses a recording */
	COMMAND_NEEDS_RUNNING = 64, /* also refuses a command to start and a synthetic run */
};

#define FORMATS_TEXT_JSON (1u << FORMAT_TEXT | 1u << FORMAT_JSON)
#define FORMATS_ALL_BUT_SVG (FORMATS_TEXT_JSON | 1u << FORMAT_CSV)
#define FORMATS_ALL (FORMATS_ALL_BUT_SVG | 1u << FORMAT_SVG)

/* Each command's file defines one. --help, the checks of options, the manual's synopsis and the shell completions are
 * generated from these. */
struct command {
	/* "export"; for watch, stream and once the name in messages: "the screen", "-b", "--once" */
	const char *name;
	const char *synopsis; /* after "pmtop ", without the options that follow from options_rows.c */
	const char *summary;  /* at most 50 columns */
	const char *details;  /* more lines for "pmtop COMMAND --help", each with its newline; NULL */
	const char *example;  /* a whole command line */
	enum command_words words;
	unsigned traits, formats; /* of enum command_trait; 1 << enum output_format */
	bool needs_target;
	enum exit_code (*run)(const struct options *options, const struct settings *settings);
};

/* Prints "pmtop: TEXT: REMEDY" on standard error and returns the exit code for `status`. */
enum exit_code command_fail(enum status status, const struct reason *reason);
/* Fills the reason for an unknown --view with the list of views; returns STATUS_INVALID. */
/* The names of the views, one a line. */
void view_list(FILE *out);

enum status view_unknown(const char *name, struct reason *reason);

#endif
