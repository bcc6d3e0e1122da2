/* term_frame.h: the bytes that turn a terminal's content into a canvas, and how many of them the terminal has taken.
 *
 * Knows no ncurses: terminal.c queries the capabilities once. Only changed cells become bytes; a frame goes out
 * in one non-blocking write. A partly sent frame is finished before the next begins; of the frames in between only
 * the newest is kept. */
#ifndef PMTOP_UI_TERMINAL_TERM_FRAME_H
#define PMTOP_UI_TERMINAL_TERM_FRAME_H

#include <stdbool.h>
#include <stdint.h>

#include "src/base/buffer.h"
#include "ui/core/canvas.h"

enum { CONTROL_SIZE = 96, MOVE_SIZE = 32 };

/* Control sequences without padding. */
struct frame_controls {
	char clear[CONTROL_SIZE];                 /* also resets all attributes */
	char styles[ROLE_COUNT][2][CONTROL_SIZE]; /* by role and `reverse`; each resets the previous one */
	/* shorter form after another style that has one; empty: the style is more than a foreground colour */
	char colors[ROLE_COUNT][2][CONTROL_SIZE];
	bool is_like_nothing[ROLE_COUNT][2]; /* a blank in this style looks the same as in the others of this table */
	uint32_t (*like)(uint32_t code);     /* in place of characters that its font lacks; NULL: it has all */
	bool paints_ground;                  /* the theme has a ground of its own: a cleared cell is not like a blank one */
	size_t (*move)(char out[MOVE_SIZE], int x, int y); /* returns the length */
	bool last_cell_scrolls;                            /* writing to the lower right cell would scroll */
};
struct frame_counts {
	uint64_t frames, dropped, writes, bytes;
};

struct frame {
	const struct frame_controls *controls;
	int fd;                /* non-blocking; borrowed */
	struct canvas shown;   /* the terminal's content after `bytes` are sent */
	struct canvas waiting; /* the newest frame that has to wait */
	bool is_known, has_waiting, is_gone;
	struct buffer bytes;
	size_t sent; /* of bytes */
	struct frame_counts counts;
};
void frame_init(struct frame *frame, const struct frame_controls *controls, int fd);
void frame_release(struct frame *frame);
/* The terminal's content or size has changed: the next frame draws all. */
void frame_forget(struct frame *frame);
void frame_show(struct frame *frame, const struct canvas *canvas);
bool frame_has_backlog(const struct frame *frame);
/* Sends pending bytes as far as the terminal takes them. */
void frame_flush(struct frame *frame);
/* Before the terminal is restored: sends the rest of the current frame, waits at most a third of a second, and drops
 * the waiting frame. */
void frame_abandon(struct frame *frame);

#endif
