/* settings_builtin.h: config/pmtop.yaml as text in the program: every setting with its default, and comments. The build
 * makes it (Makefile). */
#ifndef PMTOP_SETTINGS_SETTINGS_BUILTIN_H
#define PMTOP_SETTINGS_SETTINGS_BUILTIN_H

extern const char settings_builtin[];

#endif
