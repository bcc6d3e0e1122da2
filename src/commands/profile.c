/* pmtop profile PID: asks a running PyTorch program for a trace of its next steps, and analyses it as pmtop trace does.
 */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/commands/commands.h"
#include "src/commands/trace/trace_print.h"
#include "src/profiling/job_request.h"
#include "src/session/runs/job_ranks.h"
#include "src/session/signals.h"
#include "src/sources/target/target.h"

enum { STEPS = 3, LIMIT_S = 120, STEP_MS = 100 };
enum { RANKS_ALL, RANKS_ONE }; /* --ranks */

static enum status find_folder(const struct options *options, char out[PATH_MAX], struct reason *why_not)
{
	const char *named = options->write ? options->write : ".";
	if (options->write && mkdir(named, 0777) != 0 && errno != EEXIST)
		return reason_set(why_not, STATUS_IO, NULL, "cannot make the folder %.120s: %s", named, strerror(errno));
	struct stat folder;
	if (realpath(named, out) && stat(out, &folder) == 0 && S_ISDIR(folder.st_mode))
		return STATUS_OK;
	return reason_set(why_not, STATUS_INVALID, NULL, "--output takes a folder, not %.120s", named);
}

/* -- the request -- */

static const char *name_rank(const struct rank_request *rank, char out[48])
{
	snprintf(out, 48, rank->rank[0] ? "rank %.16s (process %d)" : "%.0sprocess %d", rank->rank, (int)rank->pid);
	return out;
}

static void say(struct rank_request *rank)
{
	char words[PROFILING_WORDS_SIZE], name[48];
	if (rank->status != STATUS_AGAIN || strcmp(profiling_words(&rank->profiling, words), rank->said) == 0)
		return;
	strcpy(rank->said, words);
	/* Of a launcher, the process that takes the request. */
	if (!rank->rank[0])
		rank->pid = rank->profiling.pid;
	fprintf(stderr, "pmtop: %s: %s\n", name_rank(rank, name), words);
}

static void note_interrupt(struct rank_request *rank)
{
	const struct profiling *profiling = &rank->profiling;
	if (rank->status != STATUS_AGAIN)
		return;
	rank->status = STATUS_UNSUPPORTED;
	if (!profiling->is_given || !profiling->private_folder[0])
		reason_set(&rank->reason, STATUS_UNSUPPORTED, NULL, "interrupted: the request was withdrawn");
	else
		reason_set(&rank->reason, STATUS_UNSUPPORTED, NULL, "interrupted: the trace will be in %.150s",
			profiling->private_folder);
}

static void wait_for_traces(struct job_request *job, int signal_fd)
{
	struct pollfd until[JOB_RANKS_MAX + 1] = { { .fd = signal_fd, .events = POLLIN } };
	while (job_request_step(job, clock_monotonic_ns())) {
		for (size_t i = 0; i < job->count; i++) {
			struct rank_request *rank = &job->ranks[i];
			int fd = rank->status == STATUS_AGAIN ? profiling_fd(&rank->profiling) : -1;
			say(rank);
			until[i + 1] = (struct pollfd){ .fd = fd, .events = POLLIN };
		}
		if (poll(until, job->count + 1, STEP_MS) <= 0 || !until[0].revents || !signals_have_ended(signal_fd, 0))
			continue;
		for (size_t i = 0; i < job->count; i++)
			note_interrupt(&job->ranks[i]);
	}
}

/* The failure of one program is the command's; of a rank, its name stands before. */
static enum exit_code report(const struct rank_request *rank)
{
	struct reason named = rank->reason;
	char name[48];
	if (rank->status == STATUS_OK)
		return EXIT_OK;
	if (rank->rank[0])
		snprintf(named.text, sizeof named.text, "%s: %.160s", name_rank(rank, name), rank->reason.text);
	return command_fail(rank->status, &named);
}

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
		if ((failed = report(&job->ranks[i])) != EXIT_OK)
			code = failed;
	return code;
}

/* One program, or all ranks of its job. */
static enum exit_code profile_ranks(struct job_rank *ranks, size_t count, const struct profiling_order *order,
	const struct options *options, const struct settings *settings)
{
	struct reason reason;
	struct job_request job = { count, calloc(count, sizeof *job.ranks) };
	if (!job.ranks)
		return command_fail(reason_set(&reason, STATUS_NO_MEMORY, NULL, "out of memory"), &reason);
	for (size_t i = 0; i < count; i++) {
		job.ranks[i].pid = ranks[i].pid;
		job.ranks[i].rank = ranks[i].rank;
	}
	int signal_fd = signals_open_ending();
	job_request_begin(&job, order, clock_monotonic_ns());
	wait_for_traces(&job, signal_fd);
	job_request_end(&job);
	signals_close(signal_fd);
	enum exit_code code = show(&job, options, settings);
	free(job.ranks);
	return code;
}

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
	struct reason reason = { "", "" };
	size_t count;
	char folder[PATH_MAX];
	struct profiling_order order = { .folder = folder,
		.is_chosen = options->write != NULL,
		.steps = options->steps ? (unsigned)options->steps : STEPS,
		.limit_ns = (int64_t)((options->record_s > 0 ? options->record_s : LIMIT_S) * 1e9) };
	if (options->run_name)
		return command_fail(
			reason_set(&reason, STATUS_INVALID, "pmtop --list names it", "profile takes the number of a process"),
			&reason);
	if (options->steps > PROFILING_STEPS_MAX)
		return command_fail(reason_set(&reason, STATUS_INVALID, "a trace of few steps shows the same",
								"--steps takes at most %d", PROFILING_STEPS_MAX),
			&reason);
	enum status status = find_folder(options, folder, &reason);
	if (status == STATUS_OK)
		status = find_ranks(options, ranks, &count, &reason);
	return status == STATUS_OK ? profile_ranks(ranks, count, &order, options, settings) : command_fail(status, &reason);
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
