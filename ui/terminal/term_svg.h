/* term_svg.h: the screen as a picture (SVG). */
#ifndef PMTOP_UI_TERMINAL_TERM_SVG_H
#define PMTOP_UI_TERMINAL_TERM_SVG_H

struct buffer;
struct canvas;
struct theme;

/* The theme's 24-bit colours, on a dark background if it has none of its own. Braille and blocks are drawn as shapes,
 * so they need no font. */
void canvas_as_svg(const struct canvas *canvas, const struct theme *theme, struct buffer *out);

#endif
