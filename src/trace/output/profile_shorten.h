/* profile_shorten.h: long names in a narrow column. */
#ifndef PMTOP_TRACE_PROFILE_SHORTEN_H
#define PMTOP_TRACE_PROFILE_SHORTEN_H

#include <stdbool.h>
#include <stddef.h>

/* Shortens texts to `cells` columns each, with "…" for what is cut out of the middle. Of texts that would then look the
 * same, the part is shown in which they differ. `out[i]` has room for `size` bytes. */
void profile_shorten(const char *const *texts, size_t count, size_t cells, char *const *out, size_t size);

/* The names of a table's rows. The caller fills `whole`, and shows `shown` after profile_short_names_cut(). */
enum { PROFILE_SHORT_NAME_SIZE = 400 };
struct profile_short_names {
	char (*whole)[PROFILE_SHORT_NAME_SIZE], (*shown)[PROFILE_SHORT_NAME_SIZE];
	size_t count;
};

/* False: no memory, and nothing to free. */
bool profile_short_names_make(struct profile_short_names *names, size_t count);
void profile_short_names_cut(struct profile_short_names *names, size_t cells);
void profile_short_names_free(struct profile_short_names *names);

#endif
