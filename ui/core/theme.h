/* theme.h: the style of each role in a theme: in 24-bit colours, in 256, in 16 or 8, and without any.
 *
 * Themes are data: config/themes.yaml, read by ui/themes/theme_book.h. */
#ifndef PMTOP_UI_CORE_THEME_H
#define PMTOP_UI_CORE_THEME_H

#include <stdbool.h>
#include <stdint.h>

#include "ui/core/canvas.h"

enum palette { PALETTE_MONO, PALETTE_8, PALETTE_16, PALETTE_256, PALETTE_DIRECT };

enum { COLOR_NONE = -1 }; /* the terminal's own */

enum theme_mark { MARK_BOLD = 1, MARK_DIM = 2, MARK_UNDERLINE = 4, MARK_REVERSE = 8 };

/* How a role looks. Each colour may be COLOR_NONE. */
struct theme_role {
	int32_t rich, rich_ground;   /* 0xRRGGBB */
	int16_t plain, plain_ground; /* of 16; with 8, a bright one is its dark one in bold */
	uint8_t marks;               /* enum theme_mark, with colours */
	uint8_t mono;                /* … and without */
};
enum { THEME_NAME_SIZE = 32, THEME_ABOUT_SIZE = 64 };
struct theme {
	char name[THEME_NAME_SIZE], about[THEME_ABOUT_SIZE];
	bool is_mono; /* never uses colours */
	struct theme_role roles[ROLE_COUNT];
};

struct style {
	int foreground, background; /* index into the palette, 0xRRGGBB with PALETTE_DIRECT, or COLOR_NONE */
	bool is_bold, is_dim, is_underlined, is_reversed;
};
/* Applies the cell's `reverse`. A role without a ground has that of ROLE_NORMAL. */
struct style theme_style(const struct theme *theme, enum palette palette, enum role role, bool reverse);
/* 0xRRGGBB of a colour of xterm's 256-colour palette. */
uint32_t theme_rgb(int color);
/* The nearest of the 240 colours of that palette that users do not change. */
int theme_nearest(uint32_t rgb);

#endif
