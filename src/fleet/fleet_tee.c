#include "src/fleet/fleet_tee.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/buffer.h"
#include "src/samples/stream.h"
#include "src/samples/stream_block.h"
#include "src/samples/stream_write.h"

enum { PENDING_MAX = 4 << 20 };

struct fleet_tee {
	int fd;
	bool is_begun, is_gone;
	struct buffer bytes;   /* not yet cut into blocks */
	struct buffer pending; /* not yet written */
};

struct fleet_tee *fleet_tee_new(int fd)
{
	struct fleet_tee *tee = calloc(1, sizeof *tee);
	if (tee)
		tee->fd = fd;
	return tee;
}

void fleet_tee_free(struct fleet_tee *tee)
{
	if (!tee)
		return;
	close(tee->fd);
	buffer_release(&tee->bytes);
	buffer_release(&tee->pending);
	free(tee);
}

/* The header has the number before that of the dictionary, so that the reader counts nothing as lost. */
static void begin(struct fleet_tee *tee, const struct stream_header *header, const struct stream_block *block)
{
	struct stream_writer writer = { .number = block->number ? block->number - 1 : 0, .dictionary = block->dictionary };
	stream_write_header(&writer, header, &tee->pending);
	stream_writer_release(&writer);
	tee->is_begun = true;
}

void fleet_tee_feed(struct fleet_tee *tee, const struct stream_header *header, const char *bytes, size_t length)
{
	size_t at = 0;
	struct stream_block block;
	buffer_add(&tee->bytes, bytes, length);
	if (tee->bytes.failed || !header)
		return;
	while (at < tee->bytes.length) {
		const char *from = tee->bytes.data + at;
		size_t left = tee->bytes.length - at;
		enum stream_found found = stream_block_at((const unsigned char *)from, left, &block);
		if (found == STREAM_FOUND_PART)
			break;
		if (found != STREAM_FOUND) {
			at += stream_block_skip((const unsigned char *)from, left);
			continue;
		}
		size_t size = STREAM_BLOCK_HEAD + block.length;
		if (!tee->is_begun && block.kind == BLOCK_DICTIONARY)
			begin(tee, header, &block);
		if (tee->is_begun && tee->pending.length + size <= PENDING_MAX)
			buffer_add(&tee->pending, from, size);
		at += size;
	}
	buffer_drop(&tee->bytes, at);
}

bool fleet_tee_flush(struct fleet_tee *tee)
{
	while (tee->pending.length && !tee->is_gone) {
		ssize_t written = write(tee->fd, tee->pending.data, tee->pending.length);
		if (written < 0 && (errno == EAGAIN || errno == EINTR))
			break;
		tee->is_gone = written <= 0;
		buffer_drop(&tee->pending, written > 0 ? (size_t)written : 0);
	}
	return !tee->is_gone;
}
