/* theme.h: how a role looks: in 256 colours, in 16 or 8, and without any.
 *
 * Calm: one accent, grey structure, the terminal's own ground. Phases are Okabe and Ito's colour-blind-safe set
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
/* A cell's `reverse` is applied. */
struct style theme_style(enum palette palette, enum role role, bool reverse);
/* 0xRRGGBB of a colour of the 256-colour palette, as xterm has it. */
uint32_t theme_rgb(int color);

#endif
