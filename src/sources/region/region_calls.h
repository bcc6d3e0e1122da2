/* region_calls.h: the calls of src/region/reader.h that read /proc or open files, as reads that may be left behind
 * if they block (base/hang_watch.h). */
#ifndef PMTOP_SOURCES_REGION_REGION_CALLS_H
#define PMTOP_SOURCES_REGION_REGION_CALLS_H

#include "src/region/reader.h"

/* As region_find, region_list, region_open … For a file that blocks: none found, not opened (`message` says so),
 * still live, still in place, offset 0. */
size_t region_calls_find(int directory_fd, pid_t pid, struct region_location *out, size_t max, bool *is_unfilled);
size_t region_calls_list(const char *folder, uid_t owner, struct region_location *out, size_t max);
/* Which owner the region of the process at `directory_fd` must have: the process's own user (`otherwise` if
 * unknown), or root if root owns the file: the process started as root, and no other user can create such a file. */
uid_t region_calls_owner(const struct region_location *location, int directory_fd, uid_t otherwise);
enum region_status region_calls_open(
	const struct region_location *location, uid_t owner, struct region **out, char message[REGION_MESSAGE_SIZE]);
bool region_calls_is_live(const struct region *region, int directory_fd);
bool region_calls_is_in_place(const struct region *region);
int64_t region_calls_clock_offset_ns(const struct region *region, int directory_fd);

#endif
