/* pmtop --once: prints one screen as text, drawn by the same views as on the terminal. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/commands/commands.h"
#include "src/playback/overlay.h"
#include "src/session/output.h"
#include "src/session/replay/seek.h"
#include "ui/core/theme.h"
#include "ui/screen.h"
#include "ui/terminal/term_svg.h"
#include "ui/terminal/term_text.h"
#include "ui/terminal/terminal.h"

/* --size, else the terminal's size, else 120×40. */
static void choose_size(const struct options *options, int *width, int *height)
{
	struct winsize window;
	bool is_terminal = ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col > 0 && window.ws_row > 1;
	*width = options->width ? options->width : is_terminal ? window.ws_col : 120;
	*height = options->height ? options->height : is_terminal ? window.ws_row - 1 : 40;
}

static enum charset choose_charset(const struct settings *settings)
{
	static const enum charset charsets[] = { [MARKS_AUTO] = CHARSET_BRAILLE,
		[MARKS_BRAILLE] = CHARSET_BRAILLE,
		[MARKS_BLOCKS] = CHARSET_BLOCK,
		[MARKS_ASCII] = CHARSET_ASCII };
	return settings->ascii || !output_is_utf8() ? CHARSET_ASCII : charsets[settings->marks];
}

static void write_svg(const struct settings *settings, const struct canvas *canvas, struct buffer *out)
{
	struct theme theme;
	terminal_options_of(settings, &theme);
	canvas_as_svg(canvas, &theme, out);
}

static enum exit_code run_once(const struct options *options, const struct settings *settings)
{
	struct session session;
	enum exit_code code = session_open(&session, options, settings);
	if (code != EXIT_OK)
		return code;
	/* A recording is shown at its end, unless --at or -n says otherwise. */
	bool is_file = session.player && !player_is_pipe(session.player),
		 is_sought = options->at || (is_file && !options->count);
	if (is_sought && (code = seek_to(&session, options->at)) != EXIT_OK) {
		session_close(&session);
		return code;
	}
	/* Rates need two readings. */
	for (int64_t readings = 1;
		 !is_sought && readings < (options->count ? options->count : 2) && !session_has_ended(&session);)
		readings += session_wait(&session, -1) && session_step(&session);
	struct canvas canvas = { 0 };
	struct buffer out = BUFFER_INIT;
	struct screen *screen = screen_new(session.model, &session.alerts, settings);
	struct overlay *overlay = screen ? overlay_new(screen, &session.model_options) : NULL;
	struct reason reason = { "", "" };
	enum status status;
	int width, height, output_code = 0;
	choose_size(options, &width, &height);
	if (!overlay || !canvas_resize(&canvas, width, height)) {
		fputs("pmtop: out of memory: try a smaller --size\n", stderr);
		output_code = 1;
	} else if (options->view && !screen_open_view(screen, options->view)) {
		output_code = (int)command_fail(view_unknown(options->view, &reason), &reason);
	} else if (options->overlay && (status = overlay_open(overlay, options->overlay, &reason)) != STATUS_OK) {
		output_code = (int)command_fail(status, &reason);
	} else {
		overlay_finish(overlay);
		struct replay_line still = { .state = REPLAY_STILL };
		if (session.player)
			screen_set_replay(screen, &still);
		canvas.charset = choose_charset(settings);
		if (session.wanted_run[0])
			screen_choose_run(screen, session_run(&session));
		screen_draw(screen, &canvas, session_realtime_ns(&session),
			session.player ? 0 : (int64_t)(settings->refresh_s * (double)NS_PER_S));
		if (options->format == FORMAT_SVG)
			write_svg(settings, &canvas, &out);
		else
			canvas_as_text(&canvas, &out);
		output_flush(&out, &output_code);
	}
	overlay_free(overlay);
	screen_free(screen);
	canvas_release(&canvas);
	buffer_release(&out);
	code = session_close(&session);
	return output_code ? (enum exit_code)output_code : code;
}

const struct command once_command = {
	.name = "--once",
	.synopsis = "--once -p PID|-s NAME|-r FILE",
	.summary = "print one screen",
	.example = "pmtop --once --view=gpu --size=120x40 -p 48213",
	.traits = COMMAND_AWAITS_SOURCES,
	.formats = FORMATS_ALL,
	.needs_target = true,
	.run = run_once,
};
