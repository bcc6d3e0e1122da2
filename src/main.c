/* pmtop: htop for training runs.
 *
 *   training process                     pmtop
 *   pmtop.h → region ─┐
 *                     ├→ sources ──────→ sample sets → queue → model_apply → alerts_update → screen_draw →
 * terminal_show /proc/PID … ──────┘  (sampler thread: collector.c)         (main thread: session.c)    ├→ export_json,
 * export_lines, …  (-b) └→ export_report                 (report)
 *
 * Each command is one file in src/commands/ and one entry in COMMANDS (src/commands/commands.h). */
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "src/commands/options/options.h"

/* open() returns the lowest free descriptor. Had the caller closed descriptor 1 or 2, the next file that pmtop opens
 * would take its number, and pmtop would print into that file. */
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
	/* LC_CTYPE alone: LC_NUMERIC stays "C", so that numbers are printed and read with a decimal point. */
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
		fprintf(stderr, "pmtop: cannot write to standard output: %s: the output is incomplete\n", strerror(errno));
		code = EXIT_RUNTIME;
	}
	return (int)code;
}
