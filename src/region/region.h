/* region.h: what the files of this folder share: an open region, and copying out of it. See reader.h for what others
 * use.
 *
 * `map` is hostile: its bytes change at any time, in any way. Nothing is looked at where it lies; region_copy and
 * region_copy_raw bring a private copy, and the copy is checked. Both need 8-byte aligned sizes and places, which
 * header_check has made sure of. */
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
	int64_t waits_since_ns, waited_ns; /* for the writer, within the second that began then */
	bool has_state;
	struct pmtop_state state;     /* the last whole copy */
	struct pmtop_meta_entry meta; /* what region_read_meta points into */
	char name[PMTOP_NAME_LENGTH + 1];
};

/* Checks a private copy of page 0 against the file's size and fills sections[] by type. */
enum region_status header_check(const struct pmtop_header *header, uint64_t file_size,
	struct pmtop_section sections[PMTOP_SECTION_TYPES], char message[REGION_MESSAGE_SIZE]);

/* Opens the file at a location for reading and says whether it is one that may be read; *fd is the caller's on
 * REGION_OK. */
enum region_status location_open(
	const struct region_location *location, uid_t owner, int *fd, uint64_t *size, char message[REGION_MESSAGE_SIZE]);

/* Entry `i` (< count) of a section. */
const unsigned char *region_entry(const struct region *region, enum pmtop_section_type type, uint64_t i);
/* A published count, no larger than its section. */
uint32_t region_count(const struct region *region, size_t offset_in_state, enum pmtop_section_type type);

void region_copy_raw(void *to, const void *from, size_t size);
uint32_t region_load(const void *from);
/* Copies what stands under the sequence at its first four bytes. A writer that died in the middle leaves what it had
 * written by then. */
enum region_status region_copy(struct region *region, void *to, const void *from, size_t size);
/* Lets the writer go on with what it has begun. False: no longer, for a hostile one, or one that gets no CPU, may keep
 * everything half written. */
bool region_wait(struct region *region);
enum region_status region_cut_or(const struct region *region, enum region_status status);

/* Mapped regions are found in /proc/PID/maps. */
bool maps_has(int directory_fd, uint64_t device, uint64_t inode);

#endif
