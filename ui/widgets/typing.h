/* typing.h: a line of text that the user types: a search, a filter. */
#ifndef PMTOP_UI_WIDGETS_TYPING_H
#define PMTOP_UI_WIDGETS_TYPING_H

#include <stddef.h>

#include "ui/core/keys.h"

enum typing { TYPING_ON, TYPING_DONE, TYPING_ENDED }; /* Enter; Esc, which empties the text */

/* Edits `text`, of at most `size` bytes with its NUL. */
enum typing typing_key(char *text, size_t size, struct key_event event);

#endif
