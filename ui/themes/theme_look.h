/* theme_look.h: one line of a theme: "ffd75f bright-yellow bold / bold". Private to ui/themes. */
#ifndef PMTOP_UI_THEMES_THEME_LOOK_H
#define PMTOP_UI_THEMES_THEME_LOOK_H

#include <stdbool.h>

#include "ui/core/theme.h"

#define THEME_LOOK_REMEDY "write a colour such as ffd75f, bright-yellow, or none, then bold, dim, underline or reverse"

/* Replaces the look of a role; the part behind "/" only if there is one. A 24-bit colour without a name gets the
 * nearest of 16. False: *out is untouched. */
bool theme_look_read(const char *text, struct theme_role *out);

#endif
