/* source_choice.h: which sources a run is watched with (--only). */
#ifndef PMTOP_SESSION_SOURCE_CHOICE_H
#define PMTOP_SESSION_SOURCE_CHOICE_H

#include "src/base/status.h"
#include "src/sources/source.h"

enum { SOURCE_CHOICE_MAX = 32 };

/* Those that `names` has ("process,region"; NULL: all). INVALID: no source has such a name; the reason lists them. */
enum status source_choice(const char *names, const struct source **chosen, unsigned *count, struct reason *why_not);

#endif
