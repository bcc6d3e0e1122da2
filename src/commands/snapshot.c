/* pmtop snapshot PID: asks a running PyTorch program for a snapshot of its CUDA memory, and shows it as pmtop trace
 * does.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/text.h"
#include "src/commands/asking/asking.h"
#include "src/commands/commands.h"
#include "src/commands/trace/trace_snapshot.h"

static enum exit_code show(const char *path, const struct options *options, const struct settings *settings)
{
	const char *const paths[] = { path };
	enum exit_code code = trace_snapshot_print(paths, 1, options, settings);
	char shown[PROFILING_PATH_SIZE];
	text_clean(shown, sizeof shown, path, strlen(path));
	if (options->format != FORMAT_JSON)
		printf("\nSnapshot: %s\n", shown);
	return code;
}

static enum exit_code run_snapshot(const struct options *options, const struct settings *settings)
{
	struct job_rank one = { .pid = options->pid };
	struct job_request job;
	struct reason reason = { "", "" };
	struct profiling_order order;
	char folder[PATH_MAX];
	enum status status = asking_order(options, 0, folder, &order, &reason);
	if (status == STATUS_OK)
		status = asking_wait(&job, &one, 1, &order, &reason);
	if (status != STATUS_OK)
		return command_fail(status, &reason);
	enum exit_code code = asking_report(job.ranks);
	if (code == EXIT_OK)
		code = show(job.ranks->profiling.path, options, settings);
	free(job.ranks);
	return code;
}

const struct command snapshot_command = {
	.name = "snapshot",
	.synopsis = "snapshot PID [--output=DIR]",
	.summary = "show a running PyTorch program's memory by line",
	.details = "Asks the program for a snapshot of its CUDA memory, writes it to DIR (here),\n"
			   "and shows it. The program was started by pmtop -- COMMAND, or has called\n"
			   "pmtop.torch.instrument(profile_on_request=True); its lines are known from\n"
			   "pmtop.torch.memory_history() on.\n",
	.example = "pmtop snapshot 48213",
	.words = COMMAND_TAKES_TARGET,
	.traits = COMMAND_NEEDS_PROCESS | COMMAND_NEEDS_RUNNING,
	.formats = FORMATS_TEXT_JSON,
	.needs_target = true,
	.run = run_snapshot,
};
