/* pmtop --once: one screen as text, drawn by the same views as the terminal's. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/commands/output.h"
#include "src/commands/overlay.h"
#include "src/commands/seek.h"
#include "ui/screen.h"
#include "ui/term_text.h"

/* As asked for, else as the terminal is, else 120×40. */
static void choose_size(const struct options *options, int *width, int *height)
{
	struct winsize window;
	bool is_terminal = ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col > 0 && window.ws_row > 1;
	*width = options->width ? options->width : is_terminal ? window.ws_col : 120;
	*height = options->height ? options->height : is_terminal ? window.ws_row - 1 : 40;
}

static enum exit_code run_once(const struct options *options, const struct settings *settings)
{
	struct session session;
	enum exit_code code = session_open(&session, options, settings);
	if (code != EXIT_OK)
		return code;
	/* Of a recording the end is wanted, unless something else is asked for. */
	bool is_file = session.player && !player_is_pipe(session.player), is_sought = options->at || (is_file && !options->count);
	if (is_sought && (code = seek_to(&session, options->at)) != EXIT_OK) {
		session_close(&session);
		return code;
	}
	/* Rates need two readings; -n asks for more. */
	for (int64_t readings = 1; !is_sought && readings < (options->count ? options->count : 2) && !session_has_ended(&session);)
		readings += session_wait(&session, -1) && session_step(&session);
	struct overlay *overlay = NULL;
	struct reason why_not;
	enum status status = options->overlay ? overlay_open(options->overlay, &overlay, &why_not) : STATUS_OK;
	if (status != STATUS_OK) {
		session_close(&session);
		return fail(status, &why_not);
	}
	while (overlay && overlay_read(overlay, NS_PER_S))
		continue;
	struct canvas canvas = { 0 };
	struct buffer out = BUFFER_INIT;
	struct screen *screen = screen_new(session.model, &session.alerts, settings);
	int width, height, output_code = 0;
	choose_size(options, &width, &height);
	if (!screen || !canvas_resize(&canvas, width, height)) {
		fputs("pmtop: out of memory: try a smaller --size\n", stderr);
		output_code = 1;
	} else if (options->view && !screen_open_view(screen, options->view)) {
		struct reason reason;
		output_code = (int)fail(view_unknown(options->view, &reason), &reason);
	} else {
		struct replay_line still = { .state = REPLAY_STILL };
		if (session.player)
			screen_set_replay(screen, &still);
		canvas.charset = settings->ascii || !output_is_utf8() ? CHARSET_ASCII : CHARSET_BRAILLE;
		if (overlay)
			screen_set_earlier(screen, overlay_earlier(overlay));
		if (session.wanted_run[0])
			screen_choose_run(screen, session_run(&session));
		screen_draw(screen, &canvas, session_realtime_ns(&session), session.player ? 0 : (int64_t)(settings->refresh_s * (double)NS_PER_S));
		if (options->format == FORMAT_SVG)
			canvas_as_svg(&canvas, &out);
		else
			canvas_as_text(&canvas, &out);
		output_flush(&out, &output_code);
	}
	screen_free(screen);
	overlay_close(overlay);
	canvas_release(&canvas);
	buffer_release(&out);
	code = session_close(&session);
	return output_code ? (enum exit_code)output_code : code;
}

const struct command once_command = { "once", run_once };
