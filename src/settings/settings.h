/* settings.h: everything in pmtop.yaml (pmtop.yaml(5)), with its default. The settings are read once at start and
 * passed down as const. */
#ifndef PMTOP_SETTINGS_SETTINGS_H
#define PMTOP_SETTINGS_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "src/base/status.h"

enum color_choice { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER };
/* What plots are drawn with; auto: what the terminal and the locale can show. */
enum marks_choice { MARKS_AUTO, MARKS_BRAILLE, MARKS_BLOCKS, MARKS_ASCII };

/* This list generates the struct, the defaults and the parser; a test checks that config/pmtop.yaml names them all.
 * X(section, key, member, KIND, default, min, max): NUMBER (double), INTEGER (int64_t), FLAG (bool 0/1). */
#define SETTINGS(X) \
	X(screen, refresh_seconds, refresh_s, NUMBER, 0.5, 0.05, 60) \
	X(screen, ascii, ascii, FLAG, 0, 0, 1) \
	X(screen, mouse, mouse, FLAG, 1, 0, 1) \
	X(lines, batch_lines, batch_lines, INTEGER, 5, 0, 1000000) \
	X(flags, mad, flag_mad, NUMBER, 5, 1, 1000) \
	X(flags, ratio, flag_ratio, NUMBER, 1.5, 1.01, 1000) \
	X(flags, after_batches, flag_after, INTEGER, 20, 5, 1000000) \
	X(flags, window_batches, flag_window, INTEGER, 200, 20, 4096) \
	X(flags, warmup_batches, warmup_max, INTEGER, 10, 0, 10) \
	X(gpu, nvml, nvml, FLAG, 1, 0, 1) \
	X(counters, always, counters_always, FLAG, 0, 0, 1) \
	X(stacks, looks_per_second, stacks_hz, NUMBER, 10, 0, 1000)    /* 0 = none */ \
	X(energy, grid_g_per_kwh, grid_g_per_kwh, NUMBER, 0, 0, 10000) /* 0 = not known */ \
	X(profiling, slow_batches, profile_slow, FLAG, 0, 0, 1) \
	X(profiling, at_most, profiles_at_most, INTEGER, 1, 1, 1000) /* traces by itself, per run */ \
	X(hooks, least_seconds, hook_min_s, NUMBER, 60, 0, 86400)    /* between two hooks of one rule */ \
	X(hooks, at_most, hooks_at_most, INTEGER, 4, 1, 64)          /* running at a time */ \
	X(hooks, seconds_most, hook_max_s, NUMBER, 30, 0.1, 3600)    /* then pmtop kills it */

/* A command of hooks: on_info, on_warning, on_critical: the program and its arguments, each with its NUL. */
enum { SETTING_WORDS_MAX = 16, SETTING_COMMAND_SIZE = 1024, SETTING_COMMANDS = 4 };
struct setting_command {
	unsigned count;
	char text[SETTING_COMMAND_SIZE];
};

/* The panels of view Overview, as screen: panels: lists them. */
#define SETTING_PANELS(X) \
	X(steps) \
	X(where) \
	X(memory) \
	X(epochs) \
	X(warnings) \
	X(gpu) \
	X(processes) \
	X(machine)
enum setting_panel {
#define SETTING_PANEL_ID(name) SETTING_PANEL_##name,
	SETTING_PANELS(SETTING_PANEL_ID)
#undef SETTING_PANEL_ID
		SETTING_PANEL_COUNT
};
/* The panels that are shown, from the top down. */
struct setting_panels {
	unsigned count;
	enum setting_panel list[SETTING_PANEL_COUNT];
};

/* levels: RULE: off, info, warning or critical. */
enum setting_level { LEVEL_OFF, LEVEL_INFO, LEVEL_WARNING, LEVEL_CRITICAL, LEVEL_COUNT };
enum { SETTING_LEVELS_MAX = 64, SETTING_NAME_SIZE = 40 };
struct setting_levels {
	unsigned count;
	struct {
		char rule[SETTING_NAME_SIZE];
		enum setting_level level;
	} list[SETTING_LEVELS_MAX];
};

struct rule_book;

struct settings {
	enum color_choice color; /* screen: color: auto|always|never */
	enum marks_choice marks; /* screen: marks: auto|braille|blocks|ascii */
	char theme[SETTING_NAME_SIZE];
	struct setting_panels panels;
	struct setting_levels levels;
#define SETTING_MEMBER_NUMBER double
#define SETTING_MEMBER_INTEGER int64_t
#define SETTING_MEMBER_FLAG bool
#define SETTING_MEMBER(section, key, member, kind, value, min, max) SETTING_MEMBER_##kind member;
	SETTINGS(SETTING_MEMBER)
#undef SETTING_MEMBER
#undef SETTING_MEMBER_NUMBER
#undef SETTING_MEMBER_INTEGER
#undef SETTING_MEMBER_FLAG
	struct setting_command on_info, on_warning, on_critical;
	struct setting_command counter_events; /* counters: events: event names of libpfm4; empty = the default events */
	/* borrowed; NULL = the built-in rules. Not from pmtop.yaml, but from rules/ beside it (src/rules/rule_book.h) */
	const struct rule_book *rules;
};

void settings_default(struct settings *settings);
/* The user's file: $XDG_CONFIG_HOME/pmtop/pmtop.yaml, or ~/.config/pmtop/pmtop.yaml (a relative XDG_CONFIG_HOME is
 * ignored); never the working directory. Fills `path`. STATUS_NOT_FOUND: neither variable is an absolute path;
 * STATUS_INVALID: the path is too long. */
enum status settings_path(char *path, unsigned size);
/* A file in the same folder. */
enum status settings_path_beside(const char *name, char *path, unsigned size);
/* Reads `path` over *settings. STATUS_NOT_FOUND: there is no such file (no error for the default path). STATUS_INVALID:
 * its text is wrong; why_not has "FILE:LINE: what" ("FILE: what" if it is no regular file, or over 1 MiB) and the
 * remedy. *settings is unchanged unless STATUS_OK is returned. Never blocks. */
enum status settings_load(struct settings *settings, const char *path, struct reason *why_not);

#endif
