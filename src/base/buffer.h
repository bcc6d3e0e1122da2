/* buffer.h: a text that grows. When memory runs out, `failed` is set and the text that did not fit is dropped; no call
 * returns an error. */
#ifndef PMTOP_BASE_BUFFER_H
#define PMTOP_BASE_BUFFER_H

#include <stdbool.h>
#include <stddef.h>

struct buffer {
	char *data;    /* NUL-terminated once anything was added; NULL before */
	size_t length; /* without the NUL */
	size_t capacity;
	bool failed;
};

#define BUFFER_INIT \
	{ \
		0 \
	}

void buffer_add(struct buffer *buffer, const char *bytes, size_t length);
/* Makes room for `more` bytes and a NUL behind data + length, for callers that write there directly. False: no
 * memory. */
bool buffer_reserve(struct buffer *buffer, size_t more);
void buffer_puts(struct buffer *buffer, const char *text);
void buffer_printf(struct buffer *buffer, const char *format, ...) __attribute__((format(printf, 2, 3)));
void buffer_drop(struct buffer *buffer, size_t count); /* removes the first bytes */
void buffer_clear(struct buffer *buffer);              /* keeps the storage */
void buffer_release(struct buffer *buffer);

#endif
