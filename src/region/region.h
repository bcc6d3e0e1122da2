/* region.h: shared by the files of this folder: an open region, and copying from it. The public interface is reader.h.
 *
 * `map` is untrusted: its bytes may change at any time. region_copy and region_copy_raw make a private copy, and only
 * the copy is checked and used. Both need sizes and offsets that are multiples of 8, which header_check ensures. */
#ifndef PMTOP_REGION_REGION_H
#define PMTOP_REGION_REGION_H

#define PMTOP_LAYOUT
#include "src/region/pmtop.h"
#include "src/region/reader.h"

struct lane_cursor {
	uint64_t position, lost, before;
};

struct region {
	int fd, guard;
	const unsigned char *map;
	size_t size;
	struct region_location location;
	struct pmtop_header header;                         /* the checked copy of page 0 */
	struct pmtop_section sections[PMTOP_SECTION_TYPES]; /* by type */
	uint32_t lane_count;
	uint64_t slots_per_lane;
	struct lane_cursor lanes[REGION_LANES_MAX];
	int64_t waits_since_ns,
		waited_ns; /* time spent waiting for the writer, in the second that began at waits_since_ns */
	bool has_state;
	struct pmtop_state state;     /* the last consistent copy */
	struct pmtop_meta_entry meta; /* storage for the texts of region_read_meta */
	char name[PMTOP_NAME_LENGTH + 1];
};

/* Checks and opens the file at a location for reading. On REGION_OK the caller owns *fd. */
enum region_status location_open(
	const struct region_location *location, uid_t owner, int *fd, uint64_t *size, char message[REGION_MESSAGE_SIZE]);
/* Entry `i` (< count) of a section. */
const unsigned char *region_entry(const struct region *region, enum pmtop_section_type type, uint64_t i);
/* A count from the state, limited to the section's entries. */
uint32_t region_count(const struct region *region, size_t offset_in_state, enum pmtop_section_type type);
void region_copy_raw(void *to, const void *from, size_t size);
uint32_t region_load(const void *from);

/* Makes a consistent copy of an entry that begins with its sequence counter (a seqlock: odd while being written). If
 * the writer died during a write, copies what it has written. */
enum region_status region_copy(struct region *region, void *to, const void *from, size_t size);
/* Yields the CPU so that the writer can complete a write. False: the limit of 20 ms per second is used up; a malicious
 * or starved writer may never complete. */
bool region_wait(struct region *region);
enum region_status region_cut_or(const struct region *region, enum region_status status);

#endif
