#include "src/samples/stream_block.h"
#include "src/base/formats/bytes.h"
#include "src/base/formats/crc32c.h"
#include "src/base/text.h"
#include "src/samples/codec.h"
#include "src/samples/codec_read.h"
#include "src/samples/stream.h"
#include "src/samples/stream_private.h"

enum stream_found stream_block_at(const unsigned char *at, size_t left, struct stream_block *block)
{
	struct bytes head = { at, at + (left < STREAM_BLOCK_HEAD ? left : STREAM_BLOCK_HEAD), false };
	*block = (struct stream_block){ 0 };
	if (left < sizeof BLOCK_MAGIC_TEXT - 1)
		return memcmp(at, BLOCK_MAGIC_TEXT, left) == 0 ? STREAM_FOUND_PART : STREAM_FOUND_NONE;
	if (get_little(&head, 4) != BLOCK_MAGIC)
		return STREAM_FOUND_NONE;
	if (left < STREAM_BLOCK_HEAD)
		return STREAM_FOUND_PART;
	block->kind = (uint16_t)get_little(&head, 2);
	block->flags = (uint16_t)get_little(&head, 2);
	block->number = get_little(&head, 8);
	block->dictionary = get_little(&head, 8);
	block->time_ns = (int64_t)get_little(&head, 8);
	uint32_t length = (uint32_t)get_little(&head, 4);
	block->crc = (uint32_t)get_little(&head, 4);
	block->payload = at + STREAM_BLOCK_HEAD;
	if (length > STREAM_PAYLOAD_MAX)
		return STREAM_FOUND_NONE;
	if (left - STREAM_BLOCK_HEAD < length)
		return STREAM_FOUND_PART;
	block->length = length;
	return crc32c(crc32c(0, at, BLOCK_CRC_AT), block->payload, length) == block->crc ? STREAM_FOUND : STREAM_FOUND_NONE;
}

size_t stream_block_skip(const unsigned char *at, size_t left)
{
	const unsigned char *next = memmem(at + 1, left - 1, BLOCK_MAGIC_TEXT, sizeof BLOCK_MAGIC_TEXT - 1);
	if (next)
		return (size_t)(next - at);
	/* The last bytes may be the beginning of the magic. */
	size_t tail = left - 1 < 3 ? left - 1 : 3;
	while (tail && memcmp(at + left - tail, BLOCK_MAGIC_TEXT, tail) != 0)
		tail--;
	return left - tail;
}

static void get_text(struct bytes *bytes, char *out, size_t size)
{
	char raw[128];
	const unsigned char *text = get_bytes(bytes, size);
	if (!text)
		return;
	memcpy(raw, text, size);
	raw[size - 1] = '\0';
	text_clean(out, size, raw, strlen(raw));
}

bool stream_block_header(
	const struct stream_block *block, struct stream_header *out, struct codec_numbers *numbers, struct reason *why_not)
{
	struct bytes bytes = { block->payload, block->payload + block->length, false };
	struct stream_header header = { .major = (uint16_t)get_little(&bytes, 2),
		.minor = (uint16_t)get_little(&bytes, 2),
		.incompatible = (uint32_t)get_little(&bytes, 4) };
	if (!bytes.failed && (header.major != STREAM_MAJOR || header.incompatible)) {
		reason_set(why_not, STATUS_UNSUPPORTED, NULL, "recording of version %u.%u%s: this pmtop reads version %d",
			header.major, header.minor, header.incompatible ? " with features unknown here" : "", STREAM_MAJOR);
		return false;
	}
	const unsigned char *uuid = get_bytes(&bytes, sizeof header.uuid);
	if (uuid)
		memcpy(header.uuid, uuid, sizeof header.uuid);
	get_text(&bytes, header.boot_id, sizeof header.boot_id);
	get_text(&bytes, header.host, sizeof header.host);
	get_text(&bytes, header.version, sizeof header.version);
	get_text(&bytes, header.command, sizeof header.command);
	header.pid = (int32_t)get_little(&bytes, 4);
	header.start_ticks = get_little(&bytes, 8);
	header.monotonic_ns = (int64_t)get_little(&bytes, 8);
	header.realtime_ns = (int64_t)get_little(&bytes, 8);
	header.boottime_ns = (int64_t)get_little(&bytes, 8);
	if (bytes.failed || !codec_read_numbers(bytes.at, (size_t)(bytes.end - bytes.at), numbers))
		return false;
	*out = header;
	return true;
}
