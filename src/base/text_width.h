/* text_width.h: the width of characters on a terminal. */
#ifndef PMTOP_BASE_TEXT_WIDTH_H
#define PMTOP_BASE_TEXT_WIDTH_H

#include <stdint.h>

/* Terminal cells of a code point: 0 (combining, zero width), 1 or 2 (East Asian wide, emoji). */
int utf8_cells(uint32_t code);

#endif
