/* theme_builtin.h: config/themes.yaml, embedded at build time; the Makefile generates the definition. Private to
 * ui/themes. */
#ifndef PMTOP_UI_THEMES_THEME_BUILTIN_H
#define PMTOP_UI_THEMES_THEME_BUILTIN_H

extern const char theme_builtin[];

#endif
