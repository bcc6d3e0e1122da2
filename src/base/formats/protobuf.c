#include "src/base/formats/protobuf.h"

#include <string.h>

#include "src/base/formats/bytes.h"

enum { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2, WIRE_FIXED32 = 5 };

static void add_varint(struct buffer *out, uint64_t value)
{
	unsigned char bytes[VARINT_MAX];
	buffer_add(out, (const char *)bytes, (size_t)(put_varint(bytes, value) - bytes));
}

static void add_tag(struct buffer *out, unsigned field, unsigned wire) { add_varint(out, (uint64_t)field << 3 | wire); }

void protobuf_uint(struct buffer *out, unsigned field, uint64_t value)
{
	add_tag(out, field, WIRE_VARINT);
	add_varint(out, value);
}

void protobuf_int(struct buffer *out, unsigned field, int64_t value) { protobuf_uint(out, field, (uint64_t)value); }

void protobuf_fixed64(struct buffer *out, unsigned field, uint64_t value)
{
	add_tag(out, field, WIRE_FIXED64);
	buffer_add_little(out, value, 8);
}

void protobuf_double(struct buffer *out, unsigned field, double value)
{
	uint64_t bits;
	memcpy(&bits, &value, sizeof bits);
	protobuf_fixed64(out, field, bits);
}

void protobuf_float(struct buffer *out, unsigned field, float value)
{
	uint32_t bits;
	memcpy(&bits, &value, sizeof bits);
	add_tag(out, field, WIRE_FIXED32);
	buffer_add_little(out, bits, 4);
}

void protobuf_text(struct buffer *out, unsigned field, const char *text)
{
	size_t length = strlen(text);
	add_tag(out, field, WIRE_BYTES);
	add_varint(out, length);
	buffer_add(out, text, length);
}

size_t protobuf_begin(struct buffer *out, unsigned field)
{
	add_tag(out, field, WIRE_BYTES);
	return out->length;
}

/* Inserts the length before the message: it is known only now. */
void protobuf_end(struct buffer *out, size_t begin)
{
	unsigned char bytes[VARINT_MAX];
	if (out->failed || begin > out->length)
		return;
	size_t size = out->length - begin, length = (size_t)(put_varint(bytes, size) - bytes);
	if (!buffer_reserve(out, length))
		return;
	memmove(out->data + begin + length, out->data + begin, size);
	memcpy(out->data + begin, bytes, length);
	out->length += length;
	out->data[out->length] = '\0';
}
