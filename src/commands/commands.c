#include "src/commands/commands.h"

const struct command *const commands[COMMAND_COUNT] = {
#define COMMAND_ROW(name) &name##_command,
	COMMANDS(COMMAND_ROW)
#undef COMMAND_ROW
};

bool command_has_word(enum command_id id) { return id > COMMAND_once; }
