#include "src/base/buffer.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool buffer_reserve(struct buffer *buffer, size_t more)
{
	size_t capacity = buffer->capacity ? buffer->capacity : 256;
	if (more >= (size_t)-1 / 4 - buffer->length)
		goto failed;
	while (capacity < buffer->length + more + 1)
		capacity *= 2;
	if (capacity == buffer->capacity)
		return true;
	char *data = realloc(buffer->data, capacity);
	if (!data)
		goto failed;
	buffer->data = data;
	buffer->capacity = capacity;
	return true;
failed:
	buffer->failed = true;
	return false;
}

void buffer_add(struct buffer *buffer, const char *bytes, size_t length)
{
	if (!buffer_reserve(buffer, length))
		return;
	memcpy(buffer->data + buffer->length, bytes, length);
	buffer->length += length;
	buffer->data[buffer->length] = '\0';
}

void buffer_puts(struct buffer *buffer, const char *text) { buffer_add(buffer, text, strlen(text)); }

void buffer_printf(struct buffer *buffer, const char *format, ...)
{
	va_list arguments, again;
	va_start(arguments, format);
	va_copy(again, arguments);
	int length = vsnprintf(NULL, 0, format, arguments);
	if (length >= 0 && buffer_reserve(buffer, (size_t)length)) {
		vsnprintf(buffer->data + buffer->length, (size_t)length + 1, format, again);
		buffer->length += (size_t)length;
	}
	va_end(again);
	va_end(arguments);
}

void buffer_drop(struct buffer *buffer, size_t count)
{
	if (!count)
		return;
	buffer->length -= count;
	memmove(buffer->data, buffer->data + count, buffer->length);
	buffer->data[buffer->length] = '\0';
}

void buffer_clear(struct buffer *buffer)
{
	buffer->length = 0;
	buffer->failed = false;
	if (buffer->data)
		buffer->data[0] = '\0';
}

void buffer_release(struct buffer *buffer)
{
	free(buffer->data);
	*buffer = (struct buffer)BUFFER_INIT;
}
