/* protobuf.h: writes the wire format of Protocol Buffers into a buffer. The caller knows the message's fields. */
#ifndef PMTOP_BASE_FORMATS_PROTOBUF_H
#define PMTOP_BASE_FORMATS_PROTOBUF_H

#include <stddef.h>
#include <stdint.h>

#include "src/base/buffer.h"

void protobuf_uint(struct buffer *out, unsigned field, uint64_t value);
void protobuf_int(struct buffer *out, unsigned field, int64_t value); /* int32, int64: no zigzag */
void protobuf_fixed64(struct buffer *out, unsigned field, uint64_t value);
void protobuf_double(struct buffer *out, unsigned field, double value);
void protobuf_float(struct buffer *out, unsigned field, float value);
void protobuf_text(struct buffer *out, unsigned field, const char *text);
/* A nested message: begin, its fields, end(what begin returned). */
size_t protobuf_begin(struct buffer *out, unsigned field);
void protobuf_end(struct buffer *out, size_t begin);

#endif
