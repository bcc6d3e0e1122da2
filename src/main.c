/* pmtop: htop for training runs.
 *
 *   training process                     pmtop
 *   pmtop.h → region ─┐
 *                     ├→ sources ──────→ sample sets → queue → model_apply → alerts_update → screen_draw → terminal_show
 *   /proc/PID … ──────┘  (sampler thread: collector.c)         (main thread: session.c)    ├→ export_json, export_lines, …  (-b)
 *                                                                                          └→ export_report                 (report)
 *
 * A command is one file in src/commands/ and one line in COMMANDS (command.h). */
#include <locale.h>
#include <signal.h>
#include <stdio.h>

#include "src/commands/options.h"

int main(int argc, char **argv)
{
	/* Characters as the terminal has them; numbers always with a point. */
	setlocale(LC_CTYPE, "");
	signal(SIGPIPE, SIG_IGN);
	struct options options;
	struct settings settings;
	enum exit_code code = options_parse(argc, argv, &options, &settings);
	if (code == EXIT_OK && options.command)
		code = options.command->run(&options, &settings);
	return (int)code;
}
