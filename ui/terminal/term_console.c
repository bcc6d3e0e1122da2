#include "ui/terminal/term_console.h"

#include <stddef.h>

uint32_t console_like(uint32_t code)
{
	static const struct {
		uint32_t code, like;
	} likes[] = {
		{ 0xd7, 'x' },      /* × */
		{ 0x2013, '-' },    /* – */
		{ 0x2016, 0x2551 }, /* ‖ ║ */
		{ 0x2026, '.' },    /* … */
		{ 0x203a, '>' },    /* › */
		{ 0x2212, '-' },    /* − */
		{ 0x2218, 'o' },    /* ∘ */
		{ 0x2501, 0x2550 }, /* ━ ═ */
		{ 0x2504, '-' },    /* ┄ */
		{ 0x256d, 0x250c }, /* ╭ ┌ */
		{ 0x256e, 0x2510 }, /* ╮ ┐ */
		{ 0x256f, 0x2518 }, /* ╯ ┘ */
		{ 0x2570, 0x2514 }, /* ╰ └ */
		{ 0x2578, 0x2500 }, /* ╸ ─ */
		{ 0x2582, '_' },    /* ▂ */
		{ 0x2586, 0x2584 }, /* ▆ ▄ */
		{ 0x2589, 0x2588 }, /* ▉ █ */
		{ 0x258a, 0x2588 }, /* ▊ █ */
		{ 0x258b, 0x258c }, /* ▋ ▌ */
		{ 0x258d, 0x258c }, /* ▍ ▌ */
		{ 0x258e, 0x2502 }, /* ▎ │ */
		{ 0x258f, 0x2502 }, /* ▏ │ */
		{ 0x259a, '%' },    /* ▚ */
		{ 0x259e, '&' },    /* ▞ */
		{ 0x25b8, 0x25ba }, /* ▸ ► */
		{ 0x25cf, 0x2022 }, /* ● • */
		{ 0x26a0, '!' },    /* ⚠ */
		{ 0x2713, 0x221a }, /* ✓ √ */
	};
	for (size_t i = 0; code >= 0xd7 && i < sizeof likes / sizeof *likes; i++)
		if (likes[i].code == code)
			return likes[i].like;
	return code;
}
