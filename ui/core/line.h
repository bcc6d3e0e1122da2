/* line.h: one line made of pieces. If room is short, the least important pieces are dropped whole, so no number is
 * ever cut. */
#ifndef PMTOP_UI_CORE_LINE_H
#define PMTOP_UI_CORE_LINE_H

#include <stddef.h>

#include "ui/core/canvas.h"

enum { LINE_PIECES_MAX = 16, LINE_PIECE_SIZE = 200 };

struct piece {
	int rank; /* 0 is dropped last; of equal ranks the rightmost is dropped first */
	int cells;
	enum role role;
	char text[LINE_PIECE_SIZE];
};
struct line {
	const char *separator; /* drawn dim between pieces: "  ", " · " */
	unsigned count;        /* pieces beyond LINE_PIECES_MAX are dropped */
	struct piece pieces[LINE_PIECES_MAX];
};
void line_start(struct line *line, const char *separator);
void line_add(struct line *line, int rank, enum role role, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
/* Drops pieces until the rest fits into `width` cells; returns the cells it takes. */
int line_fit(struct line *line, int width);
/* Both fit the line first and return the cells used. */
int line_draw(struct line *line, struct canvas *canvas, int x, int y, int width);
int line_draw_right(struct line *line, struct canvas *canvas, int x, int y, int width);
/* Fits the line and writes it as text; returns `out`. */
const char *line_text(struct line *line, int width, char *out, size_t size);

#endif
