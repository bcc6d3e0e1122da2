/* term_frame.h: the bytes that turn what a terminal shows into a canvas, and how far the terminal has taken them.
 *
 * Knows no ncurses: term_curses.c says once what the terminal understands. Only changed cells become bytes; a frame
 * goes out in one non-blocking write. What the terminal has not taken is finished before the next frame begins; of the
 * frames in between only the newest is kept. */
#ifndef PMTOP_UI_TERMINAL_TERM_FRAME_H
#define PMTOP_UI_TERMINAL_TERM_FRAME_H

#include <stdbool.h>
#include <stdint.h>

#include "src/base/buffer.h"
#include "ui/core/canvas.h"

enum { CONTROL_SIZE = 96, MOVE_SIZE = 32 };

/* What to send for what. Texts are without padding. */
struct frame_controls {
	char clear[CONTROL_SIZE];                 /* also leaves every attribute */
	char styles[ROLE_COUNT][2][CONTROL_SIZE]; /* by role and `reverse`; each leaves the one before */
	/* the same after another that has one; empty: it is more than a colour of its letters */
	char colors[ROLE_COUNT][2][CONTROL_SIZE];
	bool is_like_nothing[ROLE_COUNT][2];               /* a blank in it looks as in any other of these */
	size_t (*move)(char out[MOVE_SIZE], int x, int y); /* returns the length */
	bool last_cell_scrolls;                            /* nothing may be written to the lower right cell */
};
struct frame_counts {
	uint64_t frames, dropped, writes, bytes;
};

struct frame {
	const struct frame_controls *controls;
	int fd;                /* non-blocking; borrowed */
	struct canvas shown;   /* what the terminal shows once `bytes` are out */
	struct canvas waiting; /* the newest frame that could not begin yet */
	bool is_known, has_waiting, is_gone;
	struct buffer bytes;
	size_t sent; /* of bytes */
	struct frame_counts counts;
};
void frame_init(struct frame *frame, const struct frame_controls *controls, int fd);
void frame_release(struct frame *frame);
/* The terminal shows something else, or has another size: the next frame draws all. */
void frame_forget(struct frame *frame);
void frame_show(struct frame *frame, const struct canvas *canvas);
bool frame_has_backlog(const struct frame *frame);
/* Sends what waits, as far as the terminal takes it. */
void frame_flush(struct frame *frame);
/* Before the terminal is given back: sends the rest of the frame that has begun, waiting at most a third of a second,
 * and forgets what waits. */
void frame_abandon(struct frame *frame);

#endif
