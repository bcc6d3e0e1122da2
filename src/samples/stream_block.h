/* stream_block.h: the blocks of a recording. */
#ifndef PMTOP_SAMPLES_STREAM_BLOCK_H
#define PMTOP_SAMPLES_STREAM_BLOCK_H

#include <stdbool.h>
#include <stddef.h>

#include "src/samples/stream.h"

struct reason;

enum stream_found stream_block_at(const unsigned char *at, size_t left, struct stream_block *block);

/* How many bytes of `left` to skip to the next possible beginning of a block, at least 1. */
size_t stream_block_skip(const unsigned char *at, size_t left);
/* False: the header is malformed, or of another version; only then *why_not is set. */
bool stream_block_header(
	const struct stream_block *block, struct stream_header *out, struct codec_numbers *numbers, struct reason *why_not);

#endif
