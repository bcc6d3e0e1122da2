/* bytes.h: little-endian numbers, varints and zigzag in byte streams. */
#ifndef PMTOP_BASE_FORMATS_BYTES_H
#define PMTOP_BASE_FORMATS_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "src/base/buffer.h"

enum { VARINT_MAX = 10 };

static inline unsigned char *put_varint(unsigned char *at, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		*at++ = (unsigned char)(value | 0x80);
	*at++ = (unsigned char)value;
	return at;
}

static inline uint64_t zigzag(int64_t value) { return (uint64_t)value << 1 ^ (value < 0 ? UINT64_MAX : 0); }

static inline int64_t unzigzag(uint64_t value) { return (int64_t)(value >> 1 ^ (value & 1 ? UINT64_MAX : 0)); }

/* The bytes left to read; `failed` is set by a read beyond the end. */
struct bytes {
	const unsigned char *at, *end;
	bool failed;
};

static inline uint64_t get_varint(struct bytes *bytes)
{
	uint64_t value = 0;
	if (bytes->at < bytes->end && *bytes->at < 0x80)
		return *bytes->at++;
	for (unsigned shift = 0; shift < 64 && bytes->at < bytes->end; shift += 7) {
		unsigned char byte = *bytes->at++;
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80)
			return value;
	}
	bytes->failed = true;
	return 0;
}

static inline unsigned char *put_little(unsigned char *at, uint64_t value, size_t size)
{
	for (size_t i = 0; i < size; i++)
		*at++ = (unsigned char)(value >> 8 * i);
	return at;
}

static inline void buffer_add_little(struct buffer *out, uint64_t value, size_t size)
{
	unsigned char bytes[8];
	put_little(bytes, value, size);
	buffer_add(out, (const char *)bytes, size);
}

static inline uint64_t get_little(struct bytes *bytes, size_t size)
{
	uint64_t value = 0;
	if ((size_t)(bytes->end - bytes->at) < size) {
		bytes->failed = true;
		bytes->at = bytes->end;
		return 0;
	}
	for (size_t i = 0; i < size; i++)
		value |= (uint64_t)bytes->at[i] << 8 * i;
	bytes->at += size;
	return value;
}

/* Returns the next `length` bytes and steps over them; NULL if there are fewer. */
static inline const unsigned char *get_bytes(struct bytes *bytes, uint64_t length)
{
	if ((uint64_t)(bytes->end - bytes->at) < length) {
		bytes->failed = true;
		bytes->at = bytes->end;
		return NULL;
	}
	const unsigned char *at = bytes->at;
	bytes->at += length;
	return at;
}

#endif
