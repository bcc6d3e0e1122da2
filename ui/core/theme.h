/* theme.h: the style of each role: in 256 colours, in 16 or 8, and without any.
 *
 * One accent colour, grey structure, the terminal's own background. Phases use Okabe and Ito's colour-blind-safe set
 * (jfly.uni-koeln.de/color) without its yellow and vermillion: yellow and red are for warnings and flags only. */
#ifndef PMTOP_UI_CORE_THEME_H
#define PMTOP_UI_CORE_THEME_H

#include <stdbool.h>
#include <stdint.h>

#include "ui/core/canvas.h"

enum palette { PALETTE_MONO, PALETTE_8, PALETTE_16, PALETTE_256 };

enum { COLOR_NONE = -1 }; /* the terminal's own */

struct style {
	int foreground, background; /* index into the palette, or COLOR_NONE */
	bool is_bold, is_dim, is_underlined, is_reversed;
};
/* Applies the cell's `reverse`. */
struct style theme_style(enum palette palette, enum role role, bool reverse);
/* 0xRRGGBB of a colour of xterm's 256-colour palette. */
uint32_t theme_rgb(int color);

#endif
