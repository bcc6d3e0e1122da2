/* source_choice.h: the sources that pmtop reads (--only). */
#ifndef PMTOP_SESSION_SOURCE_CHOICE_H
#define PMTOP_SESSION_SOURCE_CHOICE_H

#include "src/base/status.h"
#include "src/sources/source.h"

enum { SOURCE_CHOICE_MAX = 32 };

/* Chooses the sources in `names` ("process,region"; NULL: all). STATUS_INVALID: a name is unknown; the reason lists
 * all. */
enum status source_choice(const char *names, const struct source **chosen, unsigned *count, struct reason *why_not);

#endif
