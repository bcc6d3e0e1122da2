/* The end of a recording, found from behind: whether or not it was closed as it should be. */
#include "src/base/crc32c.h"
#include "src/samples/bytes.h"
#include "src/samples/stream.h"
#include "src/samples/stream_private.h"

static bool block_time(const unsigned char *at, size_t left, int64_t *out)
{
	if (left < STREAM_BLOCK_HEAD)
		return false;
	struct bytes head = { at + 4, at + STREAM_BLOCK_HEAD, false };
	uint64_t kind = get_little(&head, 2);
	get_bytes(&head, 2 + 8 + 8);
	int64_t time_ns = (int64_t)get_little(&head, 8);
	uint64_t length = get_little(&head, 4), crc = get_little(&head, 4);
	if (kind == BLOCK_HEADER || length > left - STREAM_BLOCK_HEAD)
		return false;
	if (crc32c(crc32c(0, at, BLOCK_CRC_AT), at + STREAM_BLOCK_HEAD, (size_t)length) != crc)
		return false;
	*out = time_ns;
	return true;
}

bool stream_tail_ns(const void *bytes, size_t length, int64_t *out)
{
	const unsigned char *begin = bytes;
	for (size_t at = length; at-- > 0;)
		if (length - at >= 4 && memcmp(begin + at, "pmtB", 4) == 0 && block_time(begin + at, length - at, out))
			return true;
	return false;
}
