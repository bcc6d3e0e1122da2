/* canvas.h: the cells that views draw on. The terminal, --once, the README's picture and the tests all read a canvas.
 *
 * Drawing outside the canvas or its clip is cut. canvas_text removes control characters. */
#ifndef PMTOP_UI_CORE_CANVAS_H
#define PMTOP_UI_CORE_CANVAS_H

#include <stdbool.h>
#include <stdint.h>

/* What a cell means; theme.c gives it a style. Phases keep their colour in every view. */
#define ROLES(X) \
	X(NORMAL) \
	X(DIM) \
	X(STRONG) \
	X(TITLE) \
	X(ACCENT) \
	X(BORDER) \
	X(KEY) \
	X(GOOD) \
	X(INFO) \
	X(WARNING) \
	X(CRITICAL) \
	X(FLAG) \
	X(PLOT) \
	X(EARLIER) \
	X(MEDIAN) \
	X(BAND) \
	X(MEMORY) \
	X(HEADER) \
	X(TAB) \
	X(TAB_ACTIVE) \
	X(SELECTED) \
	X(PHASE_0) \
	X(PHASE_1) \
	X(PHASE_2) \
	X(PHASE_3) \
	X(PHASE_4) \
	X(PHASE_5) \
	X(PHASE_6) \
	X(PHASE_7)

enum role {
#define ROLE_ID(id) ROLE_##id,
	ROLES(ROLE_ID)
#undef ROLE_ID
		ROLE_COUNT
};

enum charset { CHARSET_BRAILLE, CHARSET_BLOCK, CHARSET_ASCII };

struct cell {
	uint32_t code;    /* 0 = the right half of a wide character */
	uint16_t role;    /* enum role; 16 bits, so that the struct has no padding and cells compare with memcmp */
	uint16_t reverse; /* drawn reversed: the selection */
};
struct rect {
	int x, y, width, height;
};

struct canvas {
	int width, height;
	struct cell *cells; /* row by row */
	enum charset charset;
	struct rect clip;
	const void *painter; /* the screen whose last frame it holds; NULL after canvas_clear */
};
/* New cells are blank. False: out of memory, *canvas is unchanged. */
bool canvas_resize(struct canvas *canvas, int width, int height);
void canvas_release(struct canvas *canvas);
void canvas_clear(struct canvas *canvas);
/* Cuts all later drawing to this rectangle, until canvas_unclip. */
void canvas_clip(struct canvas *canvas, struct rect clip);
void canvas_unclip(struct canvas *canvas);

/* Draws one code point. CHARSET_ASCII replaces everything beyond ASCII (▲ ^, ⚠ !, · ., – -, × x, → >, │ |, ─ -,
 * corners +, blocks #). */
void canvas_put(struct canvas *canvas, int x, int y, uint32_t code, enum role role);
/* The ASCII substitute of a character; '?' if it has none. */
uint32_t canvas_ascii_like(uint32_t code);
/* Draws UTF-8 text, cleaned, in at most `width` cells. Cuts after a whole word if one fits, else inside it with "…";
 * "100 %" is one word. Returns the cells used. */
int canvas_text(struct canvas *canvas, int x, int y, int width, enum role role, const char *text);
int canvas_printf(struct canvas *canvas, int x, int y, int width, enum role role, const char *format, ...)
	__attribute__((format(printf, 6, 7)));
/* Right-aligned: ends before x + width. */
int canvas_text_right(struct canvas *canvas, int x, int y, int width, enum role role, const char *text);
void canvas_fill(struct canvas *canvas, struct rect rect, uint32_t code, enum role role);
void canvas_reverse(struct canvas *canvas, struct rect rect);
/* Draws a frame with a title at the left and one at the right of its top edge (either may be NULL); returns the
 * inside. With a height of 1 or a width under 4 it draws a rule with the title and no frame. */
struct rect canvas_box(
	struct canvas *canvas, struct rect rect, const char *title, const char *right, enum role title_role);
/* Draws a horizontal rule with titles, as canvas_box's top edge without corners; returns the rectangle below it. */
struct rect canvas_rule(
	struct canvas *canvas, struct rect rect, const char *title, const char *right, enum role title_role);
/* A bar of `width` cells filled to `ratio` (0…1) in eighths of a cell. */
void canvas_bar(struct canvas *canvas, int x, int y, int width, double ratio, enum role role);

#endif
