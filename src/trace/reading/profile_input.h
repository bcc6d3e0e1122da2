/* profile_input.h: the text of a trace, a block at a time: in the block where it was read, if what is left of the block
 * before is small enough to be copied in front of it. */
#ifndef PMTOP_TRACE_PROFILE_INPUT_H
#define PMTOP_TRACE_PROFILE_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/status.h"

struct profile_source;
struct profile_progress;

struct profile_input {
	struct profile_source *source; /* NULL: all is in the buffer */
	char *data;                    /* followed by PROFILE_TOKEN_PADDING bytes from '#' on */
	size_t length;
	char *buffer;    /* its own memory, for what spans blocks; NULL at first */
	size_t capacity; /* of the buffer */
	bool has_block;  /* data lies in a block of the source */
	uint64_t offset; /* of data[0], in the text (of gzip: the decompressed one) */
	bool is_end;
	bool is_compressed;
	enum status failed;    /* the file could not be read further */
	struct reason why_not; /* of that */
};

/* `path`: plain or gzip; - for standard input. `progress` may be NULL. */
enum status profile_input_open(
	struct profile_input *input, const char *path, struct profile_progress *progress, struct reason *why_not);
/* Uses `length` bytes of memory instead of a file. */
enum status profile_input_memory(struct profile_input *input, const void *bytes, size_t length);
/* Drops what lies before `from`, and reads more behind what is left. False: there is no more, and nothing moved. */
bool profile_input_fill(struct profile_input *input, size_t from);
void profile_input_close(struct profile_input *input);

#endif
