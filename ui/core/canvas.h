/* canvas.h: the cells that views draw on. One drawing path: the terminal, --once, the README's picture and the tests
 * all read a canvas.
 *
 * Nothing that is drawn outside the canvas (or outside the clip) does harm: it is cut. Control characters never get in:
 * canvas_text cleans. */
#ifndef PMTOP_UI_CORE_CANVAS_H
#define PMTOP_UI_CORE_CANVAS_H

#include <stdbool.h>
#include <stdint.h>

/* What a cell means; theme.c says how it looks. Phases keep their colour in every view. */
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
	uint16_t role;    /* enum role; 16 bits, so that no byte is left over and cells compare as memory */
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
	const void *painter; /* whose picture it holds whole; NULL after canvas_clear */
};
/* Keeps *canvas as it is when out of memory (false). New cells are blank. */
bool canvas_resize(struct canvas *canvas, int width, int height);
void canvas_release(struct canvas *canvas);
void canvas_clear(struct canvas *canvas);
/* All drawing is cut to this from now on; canvas_unclip lifts it. */
void canvas_clip(struct canvas *canvas, struct rect clip);
void canvas_unclip(struct canvas *canvas);

/* One code point. In CHARSET_ASCII everything beyond ASCII is replaced by its table's like (▲ ^, ⚠ !, · ., – -, × x, →
 * >, │ |, ─ -, corners +, blocks #). */
void canvas_put(struct canvas *canvas, int x, int y, uint32_t code, enum role role);
/* What stands for a character where only ASCII can be shown; '?' where nothing is like it. */
uint32_t canvas_ascii_like(uint32_t code);
/* UTF-8, cleaned; at most `width` cells, cut after a whole word where one fits ("…" marks a cut word), "100 %" being
 * one. Returns the cells used. */
int canvas_text(struct canvas *canvas, int x, int y, int width, enum role role, const char *text);
int canvas_printf(struct canvas *canvas, int x, int y, int width, enum role role, const char *format, ...)
	__attribute__((format(printf, 6, 7)));
/* Right-aligned, so that it ends before x + width. */
int canvas_text_right(struct canvas *canvas, int x, int y, int width, enum role role, const char *text);
void canvas_fill(struct canvas *canvas, struct rect rect, uint32_t code, enum role role);
void canvas_reverse(struct canvas *canvas, struct rect rect);
/* A frame with a title at its left and one at its right top edge (either may be NULL); returns the inside. A height of
 * 1 or a width under 4 draws a rule with the title and no frame. */
struct rect canvas_box(
	struct canvas *canvas, struct rect rect, const char *title, const char *right, enum role title_role);
/* A horizontal rule with titles, as canvas_box's top edge without corners; returns what lies under it. */
struct rect canvas_rule(
	struct canvas *canvas, struct rect rect, const char *title, const char *right, enum role title_role);
/* A bar of `width` cells filled to `ratio` (0…1) in eighths of a cell. */
void canvas_bar(struct canvas *canvas, int x, int y, int width, double ratio, enum role role);

#endif
