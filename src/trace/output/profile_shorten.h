/* profile_shorten.h: long names in a narrow column. */
#ifndef PMTOP_TRACE_PROFILE_SHORTEN_H
#define PMTOP_TRACE_PROFILE_SHORTEN_H

#include <stddef.h>

/* Shortens texts to `cells` columns each, with "…" for what is cut out of the middle. Of texts that would then look the
 * same, the part is shown in which they differ. `out[i]` has room for `size` bytes. */
void profile_shorten(const char *const *texts, size_t count, size_t cells, char *const *out, size_t size);

#endif
