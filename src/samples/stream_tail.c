/* Searches backwards, so that it works for recordings that were not closed properly. */
#include "src/samples/stream_tail.h"

#include <string.h>

#include "src/samples/stream.h"
#include "src/samples/stream_block.h"
#include "src/samples/stream_private.h"

bool stream_tail_ns(const void *bytes, size_t length, int64_t *out)
{
	const unsigned char *begin = bytes;
	struct stream_block block;
	for (size_t at = length; at-- > 0;) {
		if (stream_block_at(begin + at, length - at, &block) != STREAM_FOUND || block.kind == BLOCK_HEADER)
			continue;
		*out = block.time_ns;
		return true;
	}
	return false;
}
