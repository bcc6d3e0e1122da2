/* pmtop collect: writes the blocks of a recording to standard output as a stream, and nothing else. The reader may be
 * slow or gone: the buffer for it is bounded. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/base/thread.h"
#include "src/commands/commands.h"
#include "src/commands/fleet/fleet_collect.h"
#include "src/session/session.h"
#include "src/session/session_record.h"
#include "src/session/signals.h"
#include "src/sources/gpu/gpu.h"

struct collect {
	struct session session;
	int signal_fd;
	int64_t until_ns;
	bool is_interrupted;
};

/* Returns false when the target or the stream has ended. */
static bool collect_next(struct collect *collect)
{
	struct session *session = &collect->session;
	while (session_take(session, &session->set))
		continue;
	if (fleet_wants_dictionary())
		recording_ask_all(&session->recording, session->collector);
	int64_t now_ns = clock_monotonic_ns();
	if (session_has_ended(session) || !recording_goes_on(&session->recording) || now_ns >= collect->until_ns)
		return false;
	struct pollfd ready[] = { { .fd = session_fd(session), .events = POLLIN },
		{ .fd = collect->signal_fd, .events = POLLIN } };
	int64_t left_ms = (collect->until_ns - now_ns) / NS_PER_MS + 1;
	poll(ready, 2, collect->until_ns == INT64_MAX || left_ms > INT32_MAX ? -1 : (int)left_ms);
	collect->is_interrupted = signals_have_ended(collect->signal_fd, session->launch.child);
	return !collect->is_interrupted;
}

/* Waits until a slow reader has read the buffer, or has closed the pipe. */
static void drain(struct collect *collect)
{
	enum { READ_MS = 100 };
	struct recorder *recorder = collect->session.recording.recorder;
	recorder_finish(recorder);
	while (!recorder_wait(recorder, READ_MS) && !collect->is_interrupted)
		collect->is_interrupted = signals_have_ended(collect->signal_fd, 0);
}

/* A call into a driver may never return, and then the main thread never sees that the reader is gone. This thread ends
 * the process when the reader closes the pipe. */
static void *leave_with_reader(void *nothing)
{
	struct pollfd reader = { .fd = STDOUT_FILENO };
	while (poll(&reader, 1, -1) < 0 || !(reader.revents & (POLLERR | POLLHUP | POLLNVAL)))
		continue;
	_exit(EXIT_OK);
	return nothing;
}

static void be_gpu_reader(void)
{
	/* For ps: the program file is /proc/self/exe, so its name would be "exe". */
	prctl(PR_SET_NAME, "pmtop-gpu");
	thread_start_detached(leave_with_reader, NULL);
}

/* Without a target, pmtop fleet watches the run that the host has. */
static enum exit_code open_session(
	struct session *session, const struct options *options, const struct settings *settings)
{
	struct options target = *options;
	struct fleet_target found = { 0 };
	struct reason reason = { 0 };
	bool has_target = options->pid || options->run_name || options->child || options->demo;
	enum status status = options->fleet && !has_target ? fleet_choose_target(&found, &reason) : STATUS_OK;
	if (status != STATUS_OK)
		return command_fail(status, &reason);
	target.pid = options->pid ? options->pid : found.pid;
	target.run_name = found.name[0] ? found.name : options->run_name;
	enum exit_code code = session_open(session, &target, settings);
	if (code == EXIT_OK && options->fleet)
		/* A program that pmtop has started must not end with its reader. */
		fleet_answer_clock(!options->child);
	return code;
}

static enum exit_code run_collect(const struct options *options, const struct settings *settings)
{
	struct collect collect = { .until_ns = INT64_MAX };
	bool is_gpu_reader = options->only && strcmp(options->only, gpu_direct_source.name) == 0;
	struct session *session = &collect.session;
	if (isatty(STDOUT_FILENO)) {
		fputs("pmtop: collect does not write its binary stream to a terminal: pmtop collect -p PID | pmtop -r -, or "
			  "pmtop record -p PID -o FILE\n",
			stderr);
		return EXIT_USAGE;
	}
	if (options->relay)
		return fleet_relay();
	if (is_gpu_reader)
		be_gpu_reader();
	enum exit_code code = open_session(session, options, settings);
	if (code != EXIT_OK)
		return code;
	if (options->record_s > 0)
		collect.until_ns = clock_monotonic_ns() + (int64_t)(options->record_s * (double)NS_PER_S);
	collect.signal_fd = signals_open_ending();
	while (collect_next(&collect))
		continue;
	drain(&collect);
	recording_end(&session->recording);
	const struct recorder_state *state = &session->recording.state;
	/* A reader that closed the pipe, or that did not read until an interrupt, is no failure. */
	bool has_failed = state->error && state->error != EPIPE && !collect.is_interrupted;
	if (has_failed)
		fprintf(
			stderr, "pmtop: cannot write to standard output: %s: the stream is incomplete\n", strerror(state->error));
	signals_close(collect.signal_fd);
	code = session_close(session);
	return has_failed ? EXIT_RUNTIME : code;
}

const struct command collect_command = {
	.name = "collect",
	.synopsis = "collect -p PID|-s NAME|-- COMMAND ...",
	.summary = "stream samples to standard output",
	.details = "pmtop -r - reads the stream, also on another machine.\n",
	.example = "ssh HOST pmtop collect -p 48213 | pmtop -r -",
	.words = COMMAND_TAKES_TARGET,
	.traits = COMMAND_STREAMS | COMMAND_NEEDS_PROCESS,
	.formats = FORMATS_ALL_BUT_SVG,
	.needs_target = true,
	.run = run_collect,
};
