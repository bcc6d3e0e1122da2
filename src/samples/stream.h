/* stream.h: sample sets as a stream of blocks: the same bytes through a pipe, over ssh and in a file (PROTOCOL section
 * 2).
 *
 * All numbers little-endian. A block is 40 bytes and its payload:
 *   0 magic "pmtB" · 4 u16 kind · 6 u16 flags · 8 u64 number, from 0 · 16 u64 number of the dictionary that it needs ·
 * 24 i64 time, ns 32 u32 length of the payload · 36 u32 CRC32C of the 36 bytes before and the payload The first is a
 * HEADER; it comes again now and then, and a DICTIONARY (what a late reader needs to know, as records) about each
 * second. A file begins with both twice. Each block is decoded on its own: damage costs the blocks that it touches and
 * no other. */
#ifndef PMTOP_SAMPLES_STREAM_H
#define PMTOP_SAMPLES_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/buffer.h"
#include "src/base/status.h"
#include "src/samples/sample_set.h"

enum { STREAM_MAJOR = 1, STREAM_MINOR = 0, STREAM_BLOCK_HEAD = 40, STREAM_PAYLOAD_MAX = 1 << 20 };

enum block_kind { BLOCK_HEADER = 1, BLOCK_DICTIONARY, BLOCK_TICK, BLOCK_INDEX };
/* Flags: the set goes on in the next block; it was short of memory; it began in the block before. */
enum { BLOCK_GOES_ON = 1, BLOCK_SET_FAILED = 2, BLOCK_CONTINUES = 4 };

struct codec_numbers;

struct stream_header {
	uint16_t major, minor;
	uint32_t incompatible; /* bits that a reader must know; none are defined */
	unsigned char uuid[16];
	char boot_id[40], host[64], version[24], command[128]; /* texts end with NUL */
	int32_t pid;
	uint64_t start_ticks;
	int64_t monotonic_ns, realtime_ns, boottime_ns; /* of one moment: what dates the rest */
};

/* -- writing -- */

struct stream_writer {
	uint64_t number, dictionary; /* of the next block; of the newest dictionary */
	struct buffer payload;       /* being made */
};

void stream_write_header(struct stream_writer *writer, const struct stream_header *header, struct buffer *out);
/* `kind` BLOCK_TICK or BLOCK_DICTIONARY. A set that does not fit into one block becomes several. */
void stream_write_set(
	struct stream_writer *writer, enum block_kind kind, const struct sample_set *set, struct buffer *out);
/* Where dictionaries stand: what a reader that wants a time needs. The last block of a recording; its last eight bytes
 * are its own offset. */
struct stream_place {
	uint64_t offset, number;
	int64_t time_ns;
};
void stream_write_index(struct stream_writer *writer, const struct stream_place *places, size_t count, uint64_t offset,
	int64_t time_ns, struct buffer *out);
void stream_writer_release(struct stream_writer *writer);

/* -- blocks as they stand -- */

struct stream_block {
	uint16_t kind, flags;
	uint64_t number, dictionary;
	int64_t time_ns;
	uint32_t length, crc; /* of the payload */
	const unsigned char *payload;
};

enum stream_found {
	STREAM_FOUND,
	STREAM_FOUND_NONE, /* block->length: so many bytes were looked at before that was known */
	STREAM_FOUND_PART, /* what is here may be the beginning of one */
};

enum stream_found stream_block_at(const unsigned char *at, size_t left, struct stream_block *block);
/* How many bytes of `left` to step over until one may begin, at least 1. */
size_t stream_block_skip(const unsigned char *at, size_t left);
/* False: it is none that this version reads, and the reason says why, unless it makes no sense. */
bool stream_block_header(
	const struct stream_block *block, struct stream_header *out, struct codec_numbers *numbers, struct reason *why_not);

/* -- reading -- */

enum stream_event {
	STREAM_WAIT,       /* more bytes are needed */
	STREAM_HEADED,     /* a header: stream_reader_header */
	STREAM_TICK,       /* *set is filled */
	STREAM_DICTIONARY, /* the same */
	/* of another version, or of another run: stream_reader_refusal says why; nothing more comes */
	STREAM_REFUSED,
	STREAM_INDEXED, /* the index at the end of a recording: it was closed as it should be */
	STREAM_END,     /* after stream_reader_finish: all was read */
};

struct stream_losses {
	uint64_t blocks; /* numbers that never came, between those that did; what is left of a set of which a block is lost;
					  * and those before the first header or dictionary, which cannot be read */
	uint64_t bytes;  /* that were no block */
	uint64_t records; /* of kinds or metrics that this version does not know */
};

struct stream_reader;
struct stream_reader *stream_reader_new(void); /* NULL when out of memory */
void stream_reader_free(struct stream_reader *reader);
enum status stream_reader_feed(struct stream_reader *reader, const void *bytes, size_t length);
/* no more bytes will come: what is incomplete is damaged */
void stream_reader_finish(struct stream_reader *reader);
/* *set is cleared first, and stays the caller's; it is the same one at each call, for a set may come in parts.
 * *has_gap: blocks were lost since the set before. Sets come in the order in which they were written, each once and
 * whole, or not at all. Those before the first header or dictionary are left out, for nobody knows what their numbers
 * and names mean. A sender that was started again for the same process is read on, after a gap. */
enum stream_event stream_reader_next(struct stream_reader *reader, struct sample_set *set, bool *has_gap);
const struct stream_header *stream_reader_header(const struct stream_reader *reader); /* NULL: none came yet */
const struct stream_losses *stream_reader_losses(const struct stream_reader *reader);
const char *stream_reader_refusal(const struct stream_reader *reader);
/* The time of the last block but headers that is whole within these bytes, which are the last of a recording. False:
 * there is none. */
bool stream_tail_ns(const void *bytes, size_t length, int64_t *out);

#endif
