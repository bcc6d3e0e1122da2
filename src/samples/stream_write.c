#include "src/samples/stream_write.h"
#include "src/base/formats/bytes.h"
#include "src/base/formats/crc32c.h"
#include "src/samples/codec.h"
#include "src/samples/codec_write.h"
#include "src/samples/stream.h"
#include "src/samples/stream_private.h"

enum { PAYLOAD_WANTED = 256 * 1024 };

static void write_block(
	struct stream_writer *writer, enum block_kind kind, unsigned flags, int64_t time_ns, struct buffer *out)
{
	unsigned char head[STREAM_BLOCK_HEAD], *at = head;
	const struct buffer *payload = &writer->payload;
	at = put_little(at, BLOCK_MAGIC, 4);
	at = put_little(at, kind, 2);
	at = put_little(at, flags, 2);
	at = put_little(at, writer->number++, 8);
	at = put_little(at, writer->dictionary, 8);
	at = put_little(at, (uint64_t)time_ns, 8);
	at = put_little(at, payload->length, 4);
	put_little(at, crc32c(crc32c(0, head, BLOCK_CRC_AT), payload->data, payload->length), 4);
	buffer_add(out, (const char *)head, sizeof head);
	buffer_add(out, payload->data ? payload->data : "", payload->length);
	out->failed |= payload->failed;
	buffer_clear(&writer->payload);
}

void stream_write_header(struct stream_writer *writer, const struct stream_header *header, struct buffer *out)
{
	struct buffer *payload = &writer->payload;
	buffer_add_little(payload, STREAM_MAJOR, 2);
	buffer_add_little(payload, STREAM_MINOR, 2);
	buffer_add_little(payload, header->incompatible, 4);
	buffer_add(payload, (const char *)header->uuid, sizeof header->uuid);
	buffer_add(payload, header->boot_id, sizeof header->boot_id);
	buffer_add(payload, header->host, sizeof header->host);
	buffer_add(payload, header->version, sizeof header->version);
	buffer_add(payload, header->command, sizeof header->command);
	buffer_add_little(payload, (uint32_t)header->pid, 4);
	buffer_add_little(payload, header->start_ticks, 8);
	buffer_add_little(payload, (uint64_t)header->monotonic_ns, 8);
	buffer_add_little(payload, (uint64_t)header->realtime_ns, 8);
	buffer_add_little(payload, (uint64_t)header->boottime_ns, 8);
	codec_write_numbers(payload);
	write_block(writer, BLOCK_HEADER, 0, header->monotonic_ns, out);
}

void stream_write_set(
	struct stream_writer *writer, enum block_kind kind, const struct sample_set *set, struct buffer *out)
{
	unsigned failed = set->failed ? BLOCK_SET_FAILED : 0;
	if (kind == BLOCK_DICTIONARY)
		writer->dictionary = writer->number;
	size_t from = 0;
	do {
		unsigned continues = from ? BLOCK_CONTINUES : 0;
		from = codec_write(set, from, PAYLOAD_WANTED, &writer->payload);
		if (writer->payload.failed)
			break;
		write_block(writer, kind, failed | continues | (from < set->count ? BLOCK_GOES_ON : 0), set->time_ns, out);
	} while (from < set->count);
	out->failed |= writer->payload.failed;
	buffer_clear(&writer->payload);
}

void stream_write_index(struct stream_writer *writer, const struct stream_entry *entries, size_t count, uint64_t offset,
	int64_t time_ns, struct buffer *out)
{
	enum { ENTRY_SIZE = 24, ENTRIES_MAX = (STREAM_PAYLOAD_MAX - 16) / ENTRY_SIZE };
	struct buffer *payload = &writer->payload;
	/* The index lists every dictionary of recordings up to half a day, and every second, third … of longer ones. */
	size_t step = count / ENTRIES_MAX + 1, emitted = (count + step - 1) / step;
	buffer_add_little(payload, emitted, 8);
	for (size_t i = 0; i < count; i += step) {
		buffer_add_little(payload, entries[i].offset, 8);
		buffer_add_little(payload, entries[i].number, 8);
		buffer_add_little(payload, (uint64_t)entries[i].time_ns, 8);
	}
	buffer_add_little(payload, offset, 8);
	write_block(writer, BLOCK_INDEX, 0, time_ns, out);
}

void stream_writer_release(struct stream_writer *writer) { buffer_release(&writer->payload); }
