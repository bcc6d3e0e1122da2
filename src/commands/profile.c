/* pmtop profile PID: asks a running PyTorch program for a trace of its next steps, and analyses it as pmtop trace does.
 */
#include <stdio.h>
#include <stdlib.h>

#include "src/commands/asking/asking.h"
#include "src/commands/commands.h"
#include "src/session/output.h"
#include "src/trace/analysis/profile_analysis.h"
#include "src/trace/output/profile_json.h"
#include "src/trace/output/profile_text.h"

enum { STEPS = 3 };

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

static enum exit_code run_profile(const struct options *options, const struct settings *settings)
{
	struct reason reason = { "", "" };
	char path[PROFILING_PATH_SIZE];
	if (options->steps > PROFILING_STEPS_MAX)
		return command_fail(reason_set(&reason, STATUS_INVALID, "a trace of few steps shows the same",
								"--steps takes at most %d", PROFILING_STEPS_MAX),
			&reason);
	enum status status = asking_take(options, options->steps ? (unsigned)options->steps : STEPS, path, &reason);
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
