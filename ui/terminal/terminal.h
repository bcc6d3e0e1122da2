/* terminal.h: shows a canvas on a terminal and reads keys. Implemented by terminal.c, the only file that includes
 * ncurses: it sets up the terminal, queries its capabilities and reads keys; term_frame.c writes the cells that
 * changed.
 *
 * A frame goes to the terminal in one non-blocking write. A frame that the terminal has taken partly is finished
 * before the next begins; of the frames in between only the newest is kept. The terminal is restored on every exit,
 * including crashes. */
#ifndef PMTOP_UI_TERMINAL_TERMINAL_H
#define PMTOP_UI_TERMINAL_TERMINAL_H

#include <stdbool.h>

#include "src/base/status.h"
#include "src/settings/settings.h"
#include "ui/core/canvas.h"
#include "ui/core/keys.h"
#include "ui/terminal/term_frame.h"

struct terminal;

struct theme;

struct terminal_options {
	enum color_choice color;
	enum marks_choice marks;
	bool ascii, mouse;
	const struct theme *theme; /* NULL: the default one */
};
/* What the settings ask for. *theme: the storage of their theme; the default one if that cannot be read. */
struct terminal_options terminal_options_of(const struct settings *settings, struct theme *theme);
/* STATUS_UNSUPPORTED: no terminal, or one without cursor addressing (TERM=dumb); use line output instead. */
enum status terminal_open(const struct terminal_options *options, struct terminal **out, struct reason *why_not);
/* Applies other colours, marks and another theme; the next frame draws all. */
void terminal_restyle(struct terminal *terminal, const struct terminal_options *options);
void terminal_close(struct terminal *terminal);
void terminal_size(const struct terminal *terminal, int *width, int *height);
enum charset terminal_charset(const struct terminal *terminal);
/* Sends only cells that changed since the last frame sent. */
void terminal_show(struct terminal *terminal, const struct canvas *canvas);
/* Output is pending: poll terminal_output_fd for POLLOUT and call terminal_flush. */
bool terminal_has_backlog(const struct terminal *terminal);
void terminal_flush(struct terminal *terminal);
int terminal_input_fd(const struct terminal *terminal); /* keys, poll for POLLIN */
int terminal_output_fd(const struct terminal *terminal);
/* Counts since the terminal was opened. */
struct frame_counts terminal_counts(const struct terminal *terminal);
/* KEY_NOTHING: no (more) keys. Waits at most 25 ms, for the rest of an escape sequence. Pasted text is dropped. ^L
 * redraws all. After the terminal has hung up, every call returns KEY_HANGUP. */
struct key_event terminal_key(struct terminal *terminal);
/* After SIGWINCH (the next key is KEY_WINDOW); after SIGCONT. The next frame draws all. */
void terminal_resized(struct terminal *terminal);
void terminal_resumed(struct terminal *terminal);
void terminal_suspend(struct terminal *terminal); /* before SIGTSTP: restores the terminal */

#endif
