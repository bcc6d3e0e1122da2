/* pmtop profile PID: asks a running PyTorch program for a trace of its next steps, and analyses it as pmtop trace does.
 */
#include <stdlib.h>

#include "src/commands/asking/asking.h"
#include "src/commands/commands.h"
#include "src/commands/trace/trace_print.h"
#include "src/sources/target/target.h"

enum { STEPS = 3 };
enum { RANKS_ALL, RANKS_ONE }; /* --ranks */

static enum exit_code show(
	const struct job_request *job, const struct options *options, const struct settings *settings)
{
	struct trace_ranks traces = { .group = (enum profile_group)0 };
	struct reason reason = { "", "" };
	enum exit_code code = EXIT_OK, failed = EXIT_OK;
	for (size_t i = 0; i < job->count; i++) {
		if (job->ranks[i].status == STATUS_OK &&
			profile_files_add(&traces.files, job->ranks[i].profiling.path, &reason) != STATUS_OK)
			code = command_fail(STATUS_IO, &reason);
	}
	if (traces.files.count) {
		trace_ranks_read(&traces);
		code = trace_ranks_report(&traces);
		if (traces.count && trace_print(options, settings, &traces, true) != EXIT_OK)
			code = EXIT_RUNTIME;
	}
	trace_ranks_release(&traces);
	for (size_t i = 0; i < job->count; i++)
		if ((failed = asking_report(&job->ranks[i])) != EXIT_OK)
			code = failed;
	return code;
}

/* One program, or all ranks of its job. */
static enum status find_ranks(
	const struct options *options, struct job_rank ranks[JOB_RANKS_MAX], size_t *count, struct reason *why_not)
{
	struct target target;
	ranks[0] = (struct job_rank){ .pid = options->pid };
	*count = 1;
	enum status status = target_open(&target, options->pid, "/proc", why_not);
	if (status != STATUS_OK)
		return status;
	if (options->ranks == RANKS_ALL && target_refresh(&target) == STATUS_OK)
		*count = job_ranks_find(&target, ranks);
	target_close(&target);
	return STATUS_OK;
}

static enum exit_code run_profile(const struct options *options, const struct settings *settings)
{
	struct job_rank ranks[JOB_RANKS_MAX];
	struct job_request job;
	struct reason reason = { "", "" };
	size_t count;
	char folder[PATH_MAX];
	struct profiling_order order;
	if (options->steps > PROFILING_STEPS_MAX)
		return command_fail(reason_set(&reason, STATUS_INVALID, "a trace of few steps shows the same",
								"--steps takes at most %d", PROFILING_STEPS_MAX),
			&reason);
	enum status status =
		asking_order(options, options->steps ? (unsigned)options->steps : STEPS, folder, &order, &reason);
	if (status == STATUS_OK)
		status = find_ranks(options, ranks, &count, &reason);
	if (status == STATUS_OK)
		status = asking_wait(&job, ranks, count, &order, &reason);
	if (status != STATUS_OK)
		return command_fail(status, &reason);
	enum exit_code code = show(&job, options, settings);
	free(job.ranks);
	return code;
}

const struct command profile_command = {
	.name = "profile",
	.synopsis = "profile PID [--output=DIR]",
	.summary = "take a trace of a running PyTorch program",
	.details = "Asks the program, or all ranks of its job, for a trace of its next steps,\n"
			   "writes it to DIR (here), and analyses it. Start the program by\n"
			   "pmtop -- COMMAND, or with KINETO_USE_DAEMON=1 (PyTorch 2.7 or newer), or\n"
			   "let it call pmtop.torch.instrument(profile_on_request=True).\n",
	.example = "pmtop profile 48213 --steps=5",
	.words = COMMAND_TAKES_TARGET,
	.traits = COMMAND_NEEDS_PROCESS | COMMAND_NEEDS_RUNNING,
	.formats = FORMATS_TEXT_JSON,
	.needs_target = true,
	.run = run_profile,
};
