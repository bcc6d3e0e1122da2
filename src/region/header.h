/* header.h: checks the header of a region. */
#ifndef PMTOP_REGION_HEADER_H
#define PMTOP_REGION_HEADER_H

#include <stdint.h>

#include "src/region/region.h"

struct pmtop_header;
struct pmtop_section;

/* Checks a private copy of page 0 against the file's size and fills sections[] by type. */
enum region_status header_check(const struct pmtop_header *header, uint64_t file_size,
	struct pmtop_section sections[PMTOP_SECTION_TYPES], char message[REGION_MESSAGE_SIZE]);

#endif
