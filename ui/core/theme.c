#include "ui/core/theme.h"

#include <stddef.h>

enum { BOLD = 1, DIM = 2, UNDERLINE = 4, REVERSE = 8 };

struct role_style {
	int16_t rich, rich_ground;   /* of 256 colours */
	int16_t plain, plain_ground; /* of 16; with 8, a bright one is its dark one in bold */
	uint8_t marks;               /* with colours */
	uint8_t mono;                /* without */
};
enum { NONE = COLOR_NONE };

static const struct role_style role_styles[ROLE_COUNT] = {
	[ROLE_NORMAL] = { NONE, NONE, NONE, NONE, 0, 0 },
	[ROLE_DIM] = { 244, NONE, 8, NONE, 0, DIM },
	[ROLE_STRONG] = { 255, NONE, 15, NONE, BOLD, BOLD },
	[ROLE_TITLE] = { 252, NONE, 15, NONE, BOLD, BOLD },
	[ROLE_ACCENT] = { 80, NONE, 14, NONE, 0, BOLD },
	[ROLE_BORDER] = { 239, NONE, 8, NONE, 0, DIM },
	[ROLE_KEY] = { 80, NONE, 14, NONE, 0, BOLD },
	[ROLE_GOOD] = { 72, NONE, 2, NONE, 0, 0 },
	[ROLE_INFO] = { 110, NONE, 6, NONE, 0, 0 },
	[ROLE_WARNING] = { 221, NONE, 11, NONE, 0, BOLD },
	[ROLE_CRITICAL] = { 203, NONE, 9, NONE, BOLD, BOLD | REVERSE },
	[ROLE_FLAG] = { 209, NONE, 9, NONE, 0, BOLD },
	[ROLE_PLOT] = { 80, NONE, 6, NONE, 0, 0 },
	[ROLE_EARLIER] = { 109, NONE, 4, NONE, 0, DIM },
	[ROLE_MEDIAN] = { 246, NONE, 7, NONE, 0, DIM },
	[ROLE_BAND] = { 238, NONE, 8, NONE, 0, DIM },
	[ROLE_MEMORY] = { 140, NONE, 5, NONE, 0, 0 },
	[ROLE_HEADER] = { 252, 235, 15, NONE, 0, BOLD },
	[ROLE_TAB] = { 247, NONE, 7, NONE, 0, 0 },
	[ROLE_TAB_ACTIVE] = { 16, 80, 0, 6, BOLD, BOLD | REVERSE },
	[ROLE_SELECTED] = { 255, 24, 15, 4, 0, REVERSE },
	[ROLE_PHASE_0] = { 172, NONE, 13, NONE, 0, 0 },
	[ROLE_PHASE_1] = { 74, NONE, 14, NONE, 0, 0 },
	[ROLE_PHASE_2] = { 36, NONE, 2, NONE, 0, 0 },
	[ROLE_PHASE_3] = { 175, NONE, 5, NONE, 0, 0 },
	[ROLE_PHASE_4] = { 68, NONE, 12, NONE, 0, 0 },
	[ROLE_PHASE_5] = { 144, NONE, 10, NONE, 0, 0 },
	[ROLE_PHASE_6] = { 103, NONE, 4, NONE, 0, 0 },
	[ROLE_PHASE_7] = { 245, NONE, 8, NONE, 0, DIM },
};

static struct style with_marks(struct style style, unsigned marks)
{
	style.is_bold = marks & BOLD;
	style.is_dim = marks & DIM;
	style.is_underlined = marks & UNDERLINE;
	style.is_reversed = marks & REVERSE;
	return style;
}

struct style theme_style(enum palette palette, enum role role, bool reverse)
{
	const struct role_style *found = &role_styles[role < ROLE_COUNT ? role : ROLE_NORMAL];
	struct style style = { COLOR_NONE, COLOR_NONE, false, false, false, false };
	if (palette == PALETTE_MONO) {
		style = with_marks(style, found->mono);
		style.is_underlined = style.is_reversed && reverse;
		style.is_reversed = style.is_reversed || reverse;
		return style;
	}
	style.foreground = palette == PALETTE_256 ? found->rich : found->plain;
	style.background = palette == PALETTE_256 ? found->rich_ground : found->plain_ground;
	style = with_marks(style, found->marks);
	style.is_reversed = style.is_reversed != reverse;
	if (palette == PALETTE_8 && style.foreground == 8) {
		style.foreground = COLOR_NONE; /* bold black is invisible on many terminals */
		style.is_dim = true;
	} else if (palette == PALETTE_8 && style.foreground > 8) {
		style.foreground -= 8;
		style.is_bold = true;
	}
	return style;
}

uint32_t theme_rgb(int color)
{
	static const uint32_t ansi[16] = {
		0x000000,
		0xcd0000,
		0x00cd00,
		0xcdcd00,
		0x0000ee,
		0xcd00cd,
		0x00cdcd,
		0xe5e5e5,
		0x7f7f7f,
		0xff0000,
		0x00ff00,
		0xffff00,
		0x5c5cff,
		0xff00ff,
		0x00ffff,
		0xffffff,
	};
	static const uint32_t levels[6] = { 0x00, 0x5f, 0x87, 0xaf, 0xd7, 0xff };
	if (color < 16)
		return ansi[color & 15];
	if (color >= 232)
		return (uint32_t)(8 + 10 * (color - 232)) * 0x010101;
	unsigned cube = (unsigned)color - 16;
	return levels[cube / 36] << 16 | levels[cube / 6 % 6] << 8 | levels[cube % 6];
}
