/* commands.h: every command of the command line, in the order of --help. A command is one file here, and one line in
 * COMMANDS. */
#ifndef PMTOP_COMMANDS_COMMANDS_H
#define PMTOP_COMMANDS_COMMANDS_H

#include "src/session/command.h"

#define COMMANDS(X) \
	X(watch) \
	X(stream) \
	X(once) \
	X(list) \
	X(report) \
	X(rules) \
	X(doctor) \
	X(stack) \
	X(why_died) \
	X(instrument) \
	X(profile) \
	X(snapshot) \
	X(record) \
	X(collect) \
	X(export) \
	X(exporter) \
	X(fleet) \
	X(trace) \
	X(diff) \
	X(check) \
	X(repair) \
	X(config)

enum command_id {
#define COMMAND_ID(name) COMMAND_##name,
	COMMANDS(COMMAND_ID)
#undef COMMAND_ID
		COMMAND_COUNT
};

#define DECLARE_COMMAND(name) extern const struct command name##_command;
COMMANDS(DECLARE_COMMAND)
#undef DECLARE_COMMAND

extern const struct command *const commands[COMMAND_COUNT];

/* Whether its name is a word of the command line (unlike watch, stream and once, which options choose). */
bool command_has_word(enum command_id id);

#endif
