/* stream.h: sample sets as a stream of blocks. The bytes are the same in a pipe, over ssh and in a file (PROTOCOL
 * section 2).
 *
 * All numbers are little-endian. A block is a head of 40 bytes and its payload:
 *
 *    0  magic "pmtB"
 *    4  u16 kind
 *    6  u16 flags
 *    8  u64 block number, from 0
 *   16  u64 number of the dictionary that the block needs
 *   24  i64 time, ns
 *   32  u32 length of the payload
 *   36  u32 CRC32C of the 36 bytes before and the payload
 *
 * The first block is a HEADER, which is repeated from time to time. A DICTIONARY (records that repeat the current state
 * for late readers) follows about every second. A file begins with two copies of both. Blocks are decoded
 * independently, so damage affects only the blocks that it touches. */
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
/* Flags: the set continues in the next block; sample_set.failed was set; the set began in an earlier block. */
enum { BLOCK_GOES_ON = 1, BLOCK_SET_FAILED = 2, BLOCK_CONTINUES = 4 };

struct codec_numbers;

struct stream_header {
	uint16_t major, minor;
	uint32_t incompatible; /* feature bits; a reader rejects unknown ones. None are defined yet */
	unsigned char uuid[16];
	char boot_id[40], host[64], version[24], command[128]; /* NUL-terminated */
	int32_t pid;
	uint64_t start_ticks;
	int64_t monotonic_ns, realtime_ns, boottime_ns; /* read at the same time: they map all other times to dates */
};

struct stream_writer {
	uint64_t number, dictionary; /* of the next block; of the latest dictionary */
	struct buffer payload;       /* of the next block */
};

/* The index is the last block of a recording: the offsets of dictionaries, for readers that seek to a time. Its last
 * eight bytes are its own offset. */
struct stream_entry {
	uint64_t offset, number;
	int64_t time_ns;
};

struct stream_block {
	uint16_t kind, flags;
	uint64_t number, dictionary;
	int64_t time_ns;
	uint32_t length, crc; /* of the payload */
	const unsigned char *payload;
};

enum stream_found {
	STREAM_FOUND,
	STREAM_FOUND_NONE, /* block->length is the number of bytes checked */
	STREAM_FOUND_PART, /* the bytes may be the beginning of a block */
};

enum stream_event {
	STREAM_WAIT,       /* more bytes are needed */
	STREAM_HEADED,     /* the first header came: stream_reader_header */
	STREAM_TICK,       /* *set is filled */
	STREAM_DICTIONARY, /* the same */
	/* another version or another run: stream_reader_refusal gives the reason; no more events follow */
	STREAM_REFUSED,
	STREAM_INDEXED, /* the index at the end of a recording, which was closed properly */
	STREAM_END,     /* after stream_reader_finish: everything was read */
};

struct stream_losses {
	uint64_t blocks;  /* missing in the sequence of block numbers; the other blocks of an incomplete set; and those
						 before the first header or dictionary, which cannot be decoded */
	uint64_t bytes;   /* not part of a valid block */
	uint64_t records; /* of unknown kinds or metrics */
};

struct stream_reader;

#endif
