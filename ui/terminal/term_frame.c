#include "ui/terminal/term_frame.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "src/base/text.h"

_Static_assert(sizeof(struct cell) == 8, "cells are compared as memory");

void frame_init(struct frame *frame, const struct frame_controls *controls, int fd)
{
	*frame = (struct frame){ .controls = controls, .fd = fd };
}

void frame_release(struct frame *frame)
{
	canvas_release(&frame->shown);
	canvas_release(&frame->waiting);
	buffer_release(&frame->bytes);
}

void frame_forget(struct frame *frame) { frame->is_known = false; }

/* The terminal's cursor and attributes while a frame is written. */
struct pen {
	struct frame *frame;
	int x, y; /* −1: unknown */
	const char *style;
	bool has_color_only, is_like_nothing; /* of that style */
	char bytes[512];
	size_t length;
};
static void pen_flush(struct pen *pen)
{
	buffer_add(&pen->frame->bytes, pen->bytes, pen->length);
	pen->length = 0;
}

static void pen_text(struct pen *pen, const char *text)
{
	pen_flush(pen);
	buffer_puts(&pen->frame->bytes, text);
}

/* Terminals agree on the width of these; after others the cursor is repositioned. */
static bool has_sure_width(uint32_t code)
{
	return code < 0x300 || (code >= 0x2500 && code < 0x25a0) || (code >= 0x2800 && code < 0x2900);
}

static void pen_style(struct pen *pen, const struct cell *cell)
{
	const struct frame_controls *controls = pen->frame->controls;
	unsigned reverse = cell->reverse != 0;
	const char *style = controls->styles[cell->role][reverse], *color = controls->colors[cell->role][reverse];
	if (style == pen->style ||
		(cell->code == ' ' && pen->is_like_nothing && controls->is_like_nothing[cell->role][reverse]))
		return;
	pen_text(pen, pen->has_color_only && color[0] ? color : style);
	pen->style = style;
	pen->has_color_only = color[0];
	pen->is_like_nothing = controls->is_like_nothing[cell->role][reverse];
}

static void pen_cell(struct pen *pen, int x, int y, const struct cell *cell)
{
	if (pen->length + MOVE_SIZE + 4 > sizeof pen->bytes)
		pen_flush(pen);
	if (pen->x != x || pen->y != y)
		pen->length += pen->frame->controls->move(pen->bytes + pen->length, x, y);
	pen_style(pen, cell);
	uint32_t (*like)(uint32_t) = pen->frame->controls->like;
	pen->length += utf8_encode(like ? like(cell->code) : cell->code, pen->bytes + pen->length);
	/* At the right edge some terminals wrap at once, others with the next character. */
	bool is_sure = has_sure_width(cell->code) && x + 1 < pen->frame->shown.width;
	pen->x = is_sure ? x + 1 : -1;
	pen->y = is_sure ? y : -1;
}

static void draw_row(struct pen *pen, int y, const struct cell *wanted, struct cell *shown, int width)
{
	for (int x = 0; x < width; x++) {
		if (memcmp(&wanted[x], &shown[x], sizeof *shown) == 0)
			continue;
		shown[x] = wanted[x];
		if (wanted[x].code != 0)
			pen_cell(pen, x, y, &wanted[x]);
	}
}

/* Adopts the canvas's size and assumes a cleared screen. */
static bool restart(struct frame *frame, struct pen *pen, const struct canvas *canvas)
{
	if (!canvas_resize(&frame->shown, canvas->width, canvas->height))
		return false;
	pen_text(pen, frame->controls->clear);
	if (frame->controls->paints_ground)
		memset(frame->shown.cells, 0xff, (size_t)canvas->width * (size_t)canvas->height * sizeof *canvas->cells);
	frame->is_known = true;
	return true;
}

static void build(struct frame *frame, const struct canvas *canvas)
{
	struct pen pen = { .frame = frame, .x = -1, .y = -1 };
	bool is_new_size = canvas->width != frame->shown.width || canvas->height != frame->shown.height;
	if ((is_new_size || !frame->is_known) && !restart(frame, &pen, canvas))
		return;
	for (int y = 0; y < canvas->height; y++) {
		size_t start = (size_t)y * (size_t)canvas->width, width = (size_t)canvas->width;
		if (memcmp(canvas->cells + start, frame->shown.cells + start, width * sizeof *canvas->cells) == 0)
			continue;
		bool is_short = y + 1 == canvas->height && frame->controls->last_cell_scrolls;
		draw_row(&pen, y, canvas->cells + start, frame->shown.cells + start, canvas->width - is_short);
	}
	pen_flush(&pen);
}

static void write_out(struct frame *frame)
{
	while (frame->sent < frame->bytes.length) {
		ssize_t taken = write(frame->fd, frame->bytes.data + frame->sent, frame->bytes.length - frame->sent);
		if (taken < 0 && errno == EINTR)
			continue;
		if (taken < 0 && errno != EAGAIN) {
			frame->is_gone = true;
			frame->sent = frame->bytes.length;
		}
		if (taken < 0)
			return;
		frame->counts.writes++;
		frame->counts.bytes += (uint64_t)taken;
		frame->sent += (size_t)taken;
		if (frame->sent < frame->bytes.length)
			return;
	}
}

static void begin(struct frame *frame, const struct canvas *canvas)
{
	buffer_clear(&frame->bytes);
	frame->sent = 0;
	build(frame, canvas);
	if (frame->bytes.failed) {
		buffer_clear(&frame->bytes);
		frame->is_known = false;
	}
	frame->counts.frames += frame->bytes.length > 0;
	write_out(frame);
}

static bool is_unfinished(const struct frame *frame) { return frame->sent < frame->bytes.length; }

bool frame_has_backlog(const struct frame *frame) { return is_unfinished(frame) || frame->has_waiting; }

/* Buffers the canvas until the current frame is sent. */
static void wait_with(struct frame *frame, const struct canvas *canvas)
{
	frame->counts.dropped += frame->has_waiting;
	bool fits = canvas->width == frame->waiting.width && canvas->height == frame->waiting.height;
	frame->has_waiting = fits || canvas_resize(&frame->waiting, canvas->width, canvas->height);
	if (frame->has_waiting)
		memcpy(frame->waiting.cells, canvas->cells,
			(size_t)canvas->width * (size_t)canvas->height * sizeof *canvas->cells);
}

void frame_flush(struct frame *frame)
{
	write_out(frame);
	if (is_unfinished(frame) || !frame->has_waiting)
		return;
	frame->has_waiting = false;
	begin(frame, &frame->waiting);
}

void frame_abandon(struct frame *frame)
{
	enum { TRIES = 10, TRY_MS = 33 };
	frame->has_waiting = false;
	for (int i = 0; i < TRIES && is_unfinished(frame); i++) {
		struct pollfd ready = { .fd = frame->fd, .events = POLLOUT };
		poll(&ready, 1, TRY_MS);
		write_out(frame);
	}
	buffer_clear(&frame->bytes);
	frame->sent = 0;
}

void frame_show(struct frame *frame, const struct canvas *canvas)
{
	if (frame->is_gone)
		return;
	if (frame_has_backlog(frame))
		write_out(frame);
	if (is_unfinished(frame)) {
		wait_with(frame, canvas);
		return;
	}
	frame->has_waiting = false;
	begin(frame, canvas);
}
