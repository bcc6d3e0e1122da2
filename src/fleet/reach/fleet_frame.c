#include "src/fleet/reach/fleet_frame.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/buffer.h"

static const char magic[4] = { 'p', 'm', 't', 'R' };
enum { KIND_AT = 4, SERIAL_AT = 5, CHANNEL_AT = 6, LENGTH_AT = 8 };

enum fleet_frame_found fleet_frame_read(const char *bytes, size_t length, struct fleet_frame *out)
{
	const unsigned char *at = (const unsigned char *)bytes;
	size_t known = length < sizeof magic ? length : sizeof magic;
	if (memcmp(bytes, magic, known) != 0)
		return FLEET_FRAME_DAMAGED;
	if (length < FLEET_FRAME_HEAD)
		return FLEET_FRAME_PART;
	size_t size = at[LENGTH_AT] | (size_t)at[LENGTH_AT + 1] << 8 | (size_t)at[LENGTH_AT + 2] << 16 |
		(size_t)at[LENGTH_AT + 3] << 24;
	if (at[KIND_AT] == FLEET_FRAME_NONE || at[KIND_AT] >= FLEET_FRAME_KIND_COUNT || size > FLEET_FRAME_MAX)
		return FLEET_FRAME_DAMAGED;
	if (length - FLEET_FRAME_HEAD < size)
		return FLEET_FRAME_PART;
	*out = (struct fleet_frame){ .kind = (enum fleet_frame_kind)at[KIND_AT],
		.serial = at[SERIAL_AT],
		.channel = (uint16_t)(at[CHANNEL_AT] | at[CHANNEL_AT + 1] << 8),
		.length = size,
		.payload = bytes + FLEET_FRAME_HEAD };
	return FLEET_FRAME_FOUND;
}

size_t fleet_frame_skip(const char *bytes, size_t length)
{
	size_t at = 0;
	while (at < length && memcmp(bytes + at, magic, length - at < sizeof magic ? length - at : sizeof magic) != 0)
		at++;
	return at;
}

void fleet_frame_write(struct buffer *out, const struct fleet_frame *frame)
{
	char head[FLEET_FRAME_HEAD];
	memcpy(head, magic, sizeof magic);
	head[KIND_AT] = (char)frame->kind;
	head[SERIAL_AT] = (char)frame->serial;
	for (int i = 0; i < 2; i++)
		head[CHANNEL_AT + i] = (char)(frame->channel >> 8 * i);
	for (int i = 0; i < 4; i++)
		head[LENGTH_AT + i] = (char)(frame->length >> 8 * i);
	if (!buffer_reserve(out, sizeof head + frame->length))
		return;
	buffer_add(out, head, sizeof head);
	if (frame->length)
		buffer_add(out, frame->payload, frame->length);
}

bool fleet_frame_number(const struct fleet_frame *frame, int *out)
{
	enum { DIGITS_MAX = 9 };
	int number = 0;
	for (size_t i = 0; i < frame->length; i++) {
		if (frame->payload[i] < '0' || frame->payload[i] > '9' || i >= DIGITS_MAX)
			return false;
		number = 10 * number + (frame->payload[i] - '0');
	}
	*out = number;
	return frame->length > 0;
}

const char *fleet_frame_line(const char *line, uint16_t *channel, uint8_t *serial)
{
	unsigned long numbers[2];
	char *end = (char *)line;
	for (int i = 0; i < 2; i++) {
		if (*end != "@."[i] || end[1] < '0' || end[1] > '9')
			return NULL;
		numbers[i] = strtoul(end + 1, &end, 10);
	}
	if (*end != ' ' || numbers[0] >= FLEET_CHANNELS_MAX || numbers[1] > UINT8_MAX)
		return NULL;
	*channel = (uint16_t)numbers[0];
	*serial = (uint8_t)numbers[1];
	return end + 1;
}
