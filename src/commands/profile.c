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
#include "src/profiling/profiling.h"
#include "src/session/output.h"
#include "src/session/signals.h"
#include "src/sources/target/target.h"
#include "src/trace/analysis/profile_analysis.h"
#include "src/trace/output/profile_json.h"
#include "src/trace/output/profile_text.h"

enum { STEPS = 3, LIMIT_S = 120, STEP_MS = 100 };

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

/* -- the trace -- */

static enum status print(
	struct profile_analysis *analysis, const struct options *options, const struct settings *settings)
{
	struct profile_view view = { .width = output_width(), .has_color = output_has_color(settings) };
	struct buffer out = BUFFER_INIT;
	char loss[400];
	int code = 0;
	if (options->format == FORMAT_JSON) {
		profile_as_json(&out, &analysis, 1, &view);
	} else {
		profile_as_text(&out, analysis, &view);
		buffer_printf(&out, "\nTrace: %s\n", analysis->path);
		output_fit_locale(&out);
	}
	output_flush(&out, &code);
	buffer_release(&out);
	if (profile_analysis_loss(analysis, loss, sizeof loss)[0])
		fprintf(stderr, "pmtop: %s\n", loss);
	return code ? STATUS_IO : STATUS_OK;
}

static enum exit_code show(const char *path, const struct options *options, const struct settings *settings)
{
	struct reason reason = { "", "" };
	struct profile_analysis *analysis = malloc(sizeof *analysis);
	enum status status = analysis ? profile_analyse(analysis, path, (enum profile_group)0, NULL, &reason)
								  : reason_set(&reason, STATUS_NO_MEMORY, NULL, "out of memory");
	enum exit_code code = status == STATUS_OK ? EXIT_OK : command_fail(status, &reason);
	if (status == STATUS_OK) {
		code = print(analysis, options, settings) == STATUS_OK ? EXIT_OK : EXIT_RUNTIME;
		profile_analysis_release(analysis);
	}
	free(analysis);
	return code;
}

/* -- the request -- */

static void say(const struct profiling *profiling, char before[PROFILING_WORDS_SIZE])
{
	char words[PROFILING_WORDS_SIZE];
	if (strcmp(profiling_words(profiling, words), before) == 0)
		return;
	strcpy(before, words);
	fprintf(stderr, "pmtop: process %d: %s\n", (int)profiling->pid, words);
}

static enum status interrupted(const struct profiling *profiling, struct reason *why_not)
{
	if (!profiling->is_given || !profiling->private_folder[0])
		return reason_set(why_not, STATUS_UNSUPPORTED, NULL, "interrupted: the request was withdrawn");
	return reason_set(
		why_not, STATUS_UNSUPPORTED, NULL, "interrupted: the trace will be in %.150s", profiling->private_folder);
}

static enum status wait_for_trace(struct profiling *profiling, int signal_fd, struct reason *why_not)
{
	char words[PROFILING_WORDS_SIZE] = "";
	for (;;) {
		enum status status = profiling_step(profiling, clock_monotonic_ns(), why_not);
		if (status != STATUS_AGAIN)
			return status;
		say(profiling, words);
		struct pollfd until[] = { { .fd = signal_fd, .events = POLLIN },
			{ .fd = profiling_fd(profiling), .events = POLLIN } };
		if (poll(until, 2, STEP_MS) > 0 && until[0].revents && signals_have_ended(signal_fd, 0))
			return interrupted(profiling, why_not);
	}
}

static enum status take_trace(
	struct target *target, const struct profiling_order *order, char path[PROFILING_PATH_SIZE], struct reason *why_not)
{
	struct profiling profiling;
	int signal_fd = signals_open_ending();
	enum status status = profiling_begin(&profiling, target, order, clock_monotonic_ns(), why_not);
	if (status == STATUS_OK)
		status = wait_for_trace(&profiling, signal_fd, why_not);
	strcpy(path, profiling.path);
	profiling_end(&profiling);
	signals_close(signal_fd);
	return status;
}

static enum exit_code run_profile(const struct options *options, const struct settings *settings)
{
	struct target target;
	struct reason reason = { "", "" };
	char folder[PATH_MAX], path[PROFILING_PATH_SIZE];
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
		status = target_open(&target, options->pid, "/proc", &reason);
	if (status != STATUS_OK)
		return command_fail(status, &reason);
	status = take_trace(&target, &order, path, &reason);
	target_close(&target);
	return status == STATUS_OK ? show(path, options, settings) : command_fail(status, &reason);
}

const struct command profile_command = {
	.name = "profile",
	.synopsis = "profile PID [--output=DIR]",
	.summary = "take a trace of a running PyTorch program",
	.details = "Asks the program for a trace of its next steps, writes it to DIR (here),\n"
			   "and analyses it. The program was started by pmtop -- COMMAND, or with\n"
			   "KINETO_USE_DAEMON=1 (PyTorch 2.7 or newer), or has called\n"
			   "pmtop.torch.instrument(profile_on_request=True).\n",
	.example = "pmtop profile 48213 --steps=5",
	.words = COMMAND_TAKES_TARGET,
	.traits = COMMAND_NEEDS_PROCESS | COMMAND_NEEDS_RUNNING,
	.formats = FORMATS_TEXT_JSON,
	.needs_target = true,
	.run = run_profile,
};
