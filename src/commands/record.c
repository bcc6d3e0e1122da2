/* pmtop record: records a run without a screen. Rules are evaluated and hooks started. A slow reader of standard output
 * never delays the recording. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/base/text.h"
#include "src/commands/commands.h"
#include "src/commands/summary.h"
#include "src/session/output.h"
#include "src/session/session.h"
#include "src/session/signals.h"

enum { WAITING_MAX = 64 * 1024 };

/* The warnings that are raised and printed. */
struct printed {
	size_t count;
	struct printed_row {
		const char *rule;
		unsigned run;
		uint32_t subject;
		int64_t since_ns;
	} rows[ALERTS_MAX];
};

struct unattended {
	struct session session;
	const struct options *options;
	int signal_fd;
	int64_t until_ns;
	struct buffer out; /* what standard output has not taken yet */
	bool is_unheard;   /* the reader of standard output is gone */
	bool is_over;      /* the recording has ended; a command that pmtop started may go on */
	size_t warnings;   /* raised so far */
	struct printed printed;
};

/* -- progress lines -- */

/* A pipe that poll reports writable takes PIPE_BUF bytes without blocking. */
static void say(struct unattended *unattended, int timeout_ms)
{
	enum { AT_ONCE = 4096 };
	struct pollfd ready = { .fd = STDOUT_FILENO, .events = POLLOUT };
	size_t done = 0;
	while (!unattended->is_unheard && done < unattended->out.length && poll(&ready, 1, timeout_ms) > 0) {
		size_t length = unattended->out.length - done;
		ssize_t written = write(STDOUT_FILENO, unattended->out.data + done, length < AT_ONCE ? length : AT_ONCE);
		unattended->is_unheard = written < 0 && errno != EINTR && errno != EAGAIN;
		done += written > 0 ? (size_t)written : 0;
	}
	if (unattended->is_unheard || unattended->out.length - done > WAITING_MAX)
		done = unattended->out.length;
	if (done) {
		memmove(unattended->out.data, unattended->out.data + done, unattended->out.length - done);
		unattended->out.length -= done;
	}
}

static void say_begin(struct unattended *unattended)
{
	const struct session *session = &unattended->session;
	const struct options *options = unattended->options;
	char text[NUMBER_SIZE];
	const struct model *model = session->model;
	buffer_puts(&unattended->out, "pmtop: recording ");
	if (model->has_target)
		buffer_printf(&unattended->out, "%s %d ", model->command, (int)model->target_pid);
	buffer_printf(&unattended->out, "to %s until it ends", session->recording.path);
	if (options->record_s > 0)
		buffer_printf(&unattended->out, ", for at most %s", format_seconds(text, options->record_s));
	if (options->record_bytes > 0)
		buffer_printf(&unattended->out, ", at most %s", format_bytes(text, options->record_bytes));
	buffer_puts(&unattended->out, "; ^C or SIGTERM stops it\n");
}

static bool was_printed(const struct printed *printed, const struct alert *alert)
{
	for (size_t i = 0; i < printed->count; i++) {
		const struct printed_row *row = &printed->rows[i];
		if (row->rule == alert->rule && row->run == alert->run && row->subject == alert->subject &&
			row->since_ns == alert->since_ns)
			return true;
	}
	return false;
}

static void say_warning(struct unattended *unattended, const struct alert *alert)
{
	static const char *const labels[] = {
		[SEVERITY_INFO] = "Note", [SEVERITY_WARNING] = "Warning", [SEVERITY_CRITICAL] = "Critical"
	};
	char when[32] = "";
	struct tm parts;
	const struct session *session = &unattended->session;
	time_t seconds = (time_t)((session_realtime_ns(session) - session->model->now_ns + alert->since_ns) / NS_PER_S);
	if (localtime_r(&seconds, &parts))
		strftime(when, sizeof when, "%Y-%m-%d %H:%M:%S", &parts);
	buffer_printf(&unattended->out, "%s %s: %s\n", when, labels[alert->severity], alert->message);
	unattended->warnings += alert->severity > SEVERITY_INFO;
}

/* Prints the warnings raised since the last call, except that the recording has stopped: say_end prints that. */
static void say_warnings(struct unattended *unattended)
{
	const struct printed before = unattended->printed;
	const struct alerts *alerts = &unattended->session.alerts;
	struct printed *printed = &unattended->printed;
	printed->count = 0;
	for (size_t i = 0; i < alerts->count; i++) {
		const struct alert *alert = &alerts->list[i];
		if (!alert->is_raised || strcmp(alert->rule, "recording") == 0)
			continue;
		if (!was_printed(&before, alert))
			say_warning(unattended, alert);
		printed->rows[printed->count++] =
			(struct printed_row){ alert->rule, alert->run, alert->subject, alert->since_ns };
	}
}

static void say_end(struct unattended *unattended)
{
	const struct session *session = &unattended->session;
	const struct model *model = session->model;
	summary_target(&unattended->out, model, false);
	for (unsigned i = 0; i < model->run_count; i++)
		summary_run(&unattended->out, &model->runs[i], i == 0 ? unattended->warnings : 0);
	summary_recording(&unattended->out, &session->recording, model);
}

/* -- the recording -- */

/* Prints the summary. A recording that stopped by an error is a failure; --for, --max-size and a signal are none. */
static enum exit_code end_recording(struct unattended *unattended)
{
	struct session *session = &unattended->session;
	struct recording *recording = &session->recording;
	struct reason why;
	if (unattended->is_over)
		return EXIT_OK;
	unattended->is_over = true;
	recording_end(recording);
	recording->is_emitted = false;
	bool has_stopped = recording_has_stopped(recording, &why);
	if (has_stopped && !recording->state.error)
		buffer_printf(&unattended->out, "pmtop: %s\n", why.text);
	say_end(unattended);
	output_fit_locale(&unattended->out);
	say(unattended, 1000);
	return has_stopped && recording->state.error ? command_fail(STATUS_IO, &why) : EXIT_OK;
}

static int wait_ms(const struct unattended *unattended, int64_t now_ns)
{
	int tick_ms = session_tick_ms(&unattended->session);
	int64_t left_ms = (unattended->until_ns - now_ns) / NS_PER_MS + 1;
	if (unattended->is_over || unattended->until_ns == INT64_MAX || left_ms > INT32_MAX ||
		(tick_ms >= 0 && tick_ms < left_ms))
		return tick_ms;
	return (int)left_ms;
}

/* Returns false if the target has ended or a signal has come. */
static bool wait_for_more(struct unattended *unattended, int64_t now_ns)
{
	struct session *session = &unattended->session;
	struct pollfd ready[] = { { .fd = session_fd(session), .events = POLLIN },
		{ .fd = unattended->signal_fd, .events = POLLIN } };
	if (session_has_ended(session))
		return false;
	poll(ready, 2, wait_ms(unattended, now_ns));
	session_tick(session);
	return !signals_have_ended(unattended->signal_fd, session->launch.child);
}

/* pmtop waits for a command that it started even after the recording has ended; it does not wait for other processes.
 */
static enum exit_code record_until_over(struct unattended *unattended)
{
	struct session *session = &unattended->session;
	enum exit_code code = EXIT_OK;
	int64_t now_ns;
	do {
		while (session_step(session))
			say_warnings(unattended);
		say(unattended, 0);
		now_ns = clock_monotonic_ns();
		if (!unattended->is_over && (now_ns >= unattended->until_ns || !recording_goes_on(&session->recording)))
			code = end_recording(unattended);
	} while ((!unattended->is_over || session->launch.child) && wait_for_more(unattended, now_ns));
	enum exit_code end_code = end_recording(unattended);
	return code != EXIT_OK ? code : end_code;
}

static enum exit_code run_record(const struct options *options, const struct settings *settings)
{
	struct unattended unattended = { .options = options, .until_ns = INT64_MAX, .out = BUFFER_INIT };
	enum exit_code code = session_open(&unattended.session, options, settings);
	if (code != EXIT_OK)
		return code;
	bool has_child = unattended.session.launch.child != 0;
	if (options->record_s > 0)
		unattended.until_ns = unattended.session.recording.begun_ns + (int64_t)(options->record_s * (double)NS_PER_S);
	unattended.signal_fd = signals_open_ending();
	say_begin(&unattended);
	code = record_until_over(&unattended);
	buffer_release(&unattended.out);
	signals_close(unattended.signal_fd);
	enum exit_code child_code = session_close(&unattended.session);
	return has_child ? child_code : code;
}

const struct command record_command = {
	.name = "record",
	.synopsis = "record -p PID|-s NAME|-- COMMAND ...",
	.summary = "record a run without a screen",
	.details = "Rules are evaluated and hooks started as on the screen.\n",
	.example = "pmtop record -p 48213 -o run.pmtop --for=2h",
	.words = COMMAND_TAKES_TARGET,
	.traits = COMMAND_MONITORS | COMMAND_RECORDS | COMMAND_NEEDS_PROCESS,
	.formats = FORMATS_ALL_BUT_SVG,
	.needs_target = true,
	.run = run_record,
};
