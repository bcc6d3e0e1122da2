/* repair_survey.h: lists the undamaged blocks of a recording, in the order in which they were written. */
#ifndef PMTOP_PLAYBACK_REPAIR_SURVEY_H
#define PMTOP_PLAYBACK_REPAIR_SURVEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/status.h"
#include "src/samples/stream.h"

/* An undamaged block and its position in the file. */
struct piece {
	uint64_t number, offset;
	int64_t time_ns;
	uint32_t length; /* head and payload */
	uint16_t kind, flags;
};

/* Missing blocks between two present ones. */
struct loss {
	uint64_t blocks;
	int64_t from_ns, to_ns;
};

struct survey {
	struct stream_header header; /* the first undamaged one */
	/* has_index: the index is undamaged, at the end of the file, and states that offset */
	bool has_header, has_index;
	bool is_index_off; /* it states another offset: bytes before it are missing or too many */
	size_t count, room;
	struct piece *pieces; /* by number, each once; without the index */
	size_t loss_count, loss_room;
	struct loss *losses;
	uint64_t lost, doubled, moved; /* blocks; moved: preceded one with a lower number */
	uint64_t undated;              /* before the first dictionary: no reader can know what they mean */
	uint64_t next;                 /* number of the block after the last */
	uint64_t stray_bytes;          /* that belong to no block */
	uint64_t other_at;             /* where another recording begins in the same file; 0 = nowhere */
};

/* `fd` is read from its beginning; `name` is for messages. */
enum status survey_file(int fd, const char *name, struct survey *out, struct reason *why_not);
void survey_release(struct survey *survey);

#endif
