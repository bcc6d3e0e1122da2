#include "ui/core/theme.h"

#include <stddef.h>

/* Steps of each part of a colour in the cube of the 256-colour palette. */
static const uint32_t levels[6] = { 0x00, 0x5f, 0x87, 0xaf, 0xd7, 0xff };

static struct style with_marks(struct style style, unsigned marks)
{
	style.is_bold = marks & MARK_BOLD;
	style.is_dim = marks & MARK_DIM;
	style.is_underlined = marks & MARK_UNDERLINE;
	style.is_reversed = marks & MARK_REVERSE;
	return style;
}

static int color_in(enum palette palette, int32_t rich, int16_t plain)
{
	if (palette < PALETTE_256)
		return plain;
	if (rich == COLOR_NONE || palette == PALETTE_DIRECT)
		return rich;
	return theme_nearest((uint32_t)rich);
}

/* With 8 colours, a bright one is its dark one in bold; as a ground it is the dark one. */
static struct style in_8_colors(struct style style)
{
	if (style.background >= 8)
		style.background -= 8;
	if (style.foreground == 8) {
		style.foreground = COLOR_NONE; /* bold black is invisible on many terminals */
		style.is_dim = true;
	} else if (style.foreground > 8) {
		style.foreground -= 8;
		style.is_bold = true;
	}
	return style;
}

struct style theme_style(const struct theme *theme, enum palette palette, enum role role, bool reverse)
{
	const struct theme_role *found = &theme->roles[role < ROLE_COUNT ? role : ROLE_NORMAL],
							*normal = &theme->roles[ROLE_NORMAL];
	struct style style = { COLOR_NONE, COLOR_NONE, false, false, false, false };
	if (palette == PALETTE_MONO || theme->is_mono) {
		style = with_marks(style, found->mono);
		style.is_underlined = style.is_reversed && reverse;
		style.is_reversed = style.is_reversed || reverse;
		return style;
	}
	style.foreground = color_in(palette, found->rich, found->plain);
	style.background = color_in(palette, found->rich_ground, found->plain_ground);
	if (style.background == COLOR_NONE)
		style.background = color_in(palette, normal->rich_ground, normal->plain_ground);
	style = with_marks(style, found->marks);
	style.is_reversed = style.is_reversed != reverse;
	return palette == PALETTE_8 ? in_8_colors(style) : style;
}

static uint32_t squared(int32_t a, int32_t b) { return (uint32_t)((a - b) * (a - b)); }

static uint32_t distance(uint32_t a, uint32_t b)
{
	uint32_t sum = 0;
	for (int shift = 0; shift <= 16; shift += 8)
		sum += squared((int32_t)(a >> shift & 0xff), (int32_t)(b >> shift & 0xff));
	return sum;
}

int theme_nearest(uint32_t rgb)
{
	int nearest = 16;
	for (int color = 17; color < 256; color++)
		if (distance(theme_rgb(color), rgb) < distance(theme_rgb(nearest), rgb))
			nearest = color;
	return nearest;
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
	if (color < 16)
		return ansi[color & 15];
	if (color >= 232)
		return (uint32_t)(8 + 10 * (color - 232)) * 0x010101;
	unsigned cube = (unsigned)color - 16;
	return levels[cube / 36] << 16 | levels[cube / 6 % 6] << 8 | levels[cube % 6];
}
