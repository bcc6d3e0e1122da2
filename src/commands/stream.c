/* pmtop -b: prints one JSON object, CSV row or group of lines per refresh, until the target ends or after -n
 * refreshes. */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "src/commands/commands.h"
#include "src/export/csv/csv.h"
#include "src/export/export.h"
#include "src/export/json/json.h"
#include "src/export/text/lines.h"
#include "src/session/output.h"
#include "src/session/replay/seek.h"
#include "src/session/session_died.h"
#include "src/session/session_profile.h"

static volatile sig_atomic_t is_interrupted;

static void interrupt(int signal_number)
{
	(void)signal_number;
	is_interrupted = 1;
}

struct stream {
	struct session session;
	struct lines lines;
	struct buffer out;
	enum output_format format;
	char profiling[PROFILING_WORDS_SIZE]; /* what was last said of a request for a trace */
	bool has_header;
	bool has_news;  /* sets were applied while the reader did not read */
	bool wants_all; /* --all: every JSON object has all rows, not the last object alone */
};

/* Whether the recording has been read to its end, or the run is over. */
static bool is_at_end(const struct session *session)
{
	int64_t next_ns;
	if (session->player)
		return !player_next_ns(session->player, &next_ns) && player_has_ended(session->player);
	return session->model->target_ended || session_has_ended(session);
}

static void print_refresh(struct stream *stream, bool is_last)
{
	struct session *session = &stream->session;
	stream->has_news = false;
	session_died_note(session);
	int run = session_run(session);
	switch (stream->format) {
	case FORMAT_JSON:
		(stream->wants_all || is_last || is_at_end(session) ? export_json : export_json_newest)(
			&stream->out, session->model, &session->alerts, run, session_realtime_ns(session));
		break;
	case FORMAT_CSV:
		export_csv(&stream->out, session->model, run, session_realtime_ns(session), !stream->has_header);
		stream->has_header = true;
		break;
	default:
		export_lines(&stream->out, &stream->lines, session->model, &session->alerts, run);
		output_fit_locale(&stream->out);
	}
}

/* Whether the reader has closed the pipe. (If it is only slow, the sampler goes on and the ring counts what it loses.)
 */
static bool reader_is_gone(void)
{
	struct pollfd reader = { .fd = STDOUT_FILENO };
	return poll(&reader, 1, 0) > 0 && (reader.revents & (POLLERR | POLLHUP)) != 0;
}

/* On standard error: how a trace comes along that pmtop takes by itself. */
static void step_trace(struct stream *stream)
{
	char text[LIVE_REQUEST_TEXT_SIZE], words[PROFILING_WORDS_SIZE];
	session_profile_step(&stream->session, text);
	if (text[0])
		fprintf(stderr, "pmtop: %s\n", text);
	session_profile_words(&stream->session, words);
	if (words[0] && strcmp(words, stream->profiling) != 0)
		fprintf(stderr, "pmtop: %s\n", words);
	strcpy(stream->profiling, words);
}

/* While the reader does not read, live sets are applied and recorded, so that it gets the newest state next. A replayed
 * recording waits for the reader. */
static bool go_on_unread(void *context)
{
	struct stream *stream = context;
	while (!stream->session.player && session_step(&stream->session))
		stream->has_news = true;
	session_tick(&stream->session);
	step_trace(stream);
	return !is_interrupted;
}

/* Waits for the next set and applies it. Returns false if there is none, or the reader is gone. */
static bool next_set(struct stream *stream)
{
	struct session *session = &stream->session;
	while (!is_interrupted && !reader_is_gone()) {
		if (session_step(session) || stream->has_news) {
			step_trace(stream);
			return true;
		}
		if (session_has_ended(session))
			return false;
		session_wait(session, 200);
		session_tick(session);
		step_trace(stream);
	}
	return false;
}

static enum exit_code run_stream(const struct options *options, const struct settings *settings)
{
	struct stream stream = { .out = BUFFER_INIT, .format = options->format, .wants_all = options->all };
	enum exit_code code = session_open(&stream.session, options, settings);
	if (code != EXIT_OK)
		return code;
	if (options->at && (code = seek_to(&stream.session, options->at)) != EXIT_OK) {
		session_close(&stream.session);
		return code;
	}
	signal(SIGINT, interrupt);
	signal(SIGTERM, interrupt);
	if (signal(SIGHUP, interrupt) == SIG_IGN)
		signal(SIGHUP, SIG_IGN);
	lines_init(&stream.lines, settings->batch_lines);
	int output_code = 0;
	print_refresh(&stream, options->count == 1);
	bool is_open = output_flush_while(&stream.out, &output_code, go_on_unread, &stream);
	for (int64_t printed = 1; is_open && (options->count == 0 || printed < options->count) && next_set(&stream);
		 printed++) {
		print_refresh(&stream, printed + 1 == options->count);
		is_open = output_flush_while(&stream.out, &output_code, go_on_unread, &stream);
	}
	if (is_open && stream.session.model->end.message[0] && stream.format == FORMAT_TEXT) {
		buffer_printf(&stream.out, "  Ended: %s\n", stream.session.model->end.message);
		output_fit_locale(&stream.out);
		output_flush(&stream.out, &output_code);
	}
	buffer_release(&stream.out);
	if (is_interrupted && stream.session.launch.child)
		kill(stream.session.launch.child, SIGTERM);
	/* A recording of -w that failed makes the command fail. */
	struct reason why;
	recording_end(&stream.session.recording);
	stream.session.recording.is_emitted = false;
	if (recording_has_stopped(&stream.session.recording, &why) && stream.session.recording.state.error &&
		command_fail(STATUS_IO, &why) != EXIT_OK && !stream.session.launch.child)
		output_code = EXIT_RUNTIME;
	code = session_close(&stream.session);
	return output_code ? EXIT_RUNTIME : code;
}

const struct command stream_command = {
	.name = "-b",
	.synopsis = "-b -p PID|-s NAME|-r FILE|-- COMMAND ...",
	.summary = "print lines, JSON objects or CSV rows",
	.example = "pmtop -b --format=json -n 10 -p 48213",
	.traits = COMMAND_MONITORS | COMMAND_AWAITS_SOURCES,
	.formats = FORMATS_ALL_BUT_SVG,
	.needs_target = true,
	.run = run_stream,
};
