/* buffer.h: a text that grows. Out of memory sets `failed` and drops the text that did not fit; nothing else fails. */
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
/* Room for `more` bytes and a NUL behind data + length, for who writes them himself. */
bool buffer_reserve(struct buffer *buffer, size_t more);
void buffer_puts(struct buffer *buffer, const char *text);
void buffer_printf(struct buffer *buffer, const char *format, ...) __attribute__((format(printf, 2, 3)));
void buffer_clear(struct buffer *buffer); /* keeps the storage */
void buffer_release(struct buffer *buffer);

#endif
