/* pmtop: htop for training runs.
 *
 *   training process                     pmtop
 *   pmtop.h → region ─┐
 *                     ├→ sources ──────→ sample sets → queue → model_apply → alerts_update → screen_draw →
 * terminal_show /proc/PID … ──────┘  (sampler thread: collector.c)         (main thread: session.c)    ├→ export_json,
 * export_lines, …  (-b) └→ export_report                 (report)
 *
 * A command is one file in src/commands/ and one entry in COMMANDS (src/commands/commands.h). */
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "src/commands/options.h"

/* A standard descriptor that is closed would be the next file that is opened, and what is printed would go there. */
static void fill_standard_descriptors(void)
{
	int fd;
	while ((fd = open("/", O_PATH | O_DIRECTORY)) >= 0 && fd <= STDERR_FILENO)
		continue;
	if (fd >= 0)
		close(fd);
}

int main(int argc, char **argv)
{
	fill_standard_descriptors();
	/* Characters as the terminal has them; numbers always with a point. */
	setlocale(LC_CTYPE, "");
	signal(SIGPIPE, SIG_IGN);
	/* With SIGXFSZ ignored, a write beyond `ulimit -f` fails with EFBIG, which pmtop reports. */
	signal(SIGXFSZ, SIG_IGN);
	struct options options;
	struct settings settings;
	enum exit_code code = options_parse(argc, argv, &options, &settings);
	if (code == EXIT_OK && options.command)
		code = options.command->run(&options, &settings);
	if (fflush(stdout) != 0 && errno != EPIPE && code == EXIT_OK) {
		fprintf(stderr, "pmtop: standard output: %s: what follows is not written\n", strerror(errno));
		code = EXIT_RUNTIME;
	}
	return (int)code;
}
