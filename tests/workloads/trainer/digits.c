#include "digits.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "noise.h"

enum { GLYPH_WIDTH = 5, GLYPH_HEIGHT = 7, INK = 12 };

/* One row of pixels in the low five bits, top row first. */
static const uint8_t glyphs[DIGITS_CLASSES][GLYPH_HEIGHT] = {
	{ 0x0e, 0x11, 0x13, 0x15, 0x19, 0x11, 0x0e },
	{ 0x04, 0x0c, 0x04, 0x04, 0x04, 0x04, 0x0e },
	{ 0x0e, 0x11, 0x01, 0x02, 0x04, 0x08, 0x1f },
	{ 0x1f, 0x02, 0x04, 0x02, 0x01, 0x11, 0x0e },
	{ 0x02, 0x06, 0x0a, 0x12, 0x1f, 0x02, 0x02 },
	{ 0x1f, 0x10, 0x1e, 0x01, 0x01, 0x11, 0x0e },
	{ 0x06, 0x08, 0x10, 0x1e, 0x11, 0x11, 0x0e },
	{ 0x1f, 0x01, 0x02, 0x04, 0x08, 0x08, 0x08 },
	{ 0x0e, 0x11, 0x11, 0x0e, 0x11, 0x11, 0x0e },
	{ 0x0e, 0x11, 0x11, 0x0f, 0x01, 0x02, 0x0c },
};

static void draw(uint8_t label, uint8_t pixels[DIGITS_PIXELS], uint64_t *noise)
{
	unsigned left = 2 + noise_below(noise, 3), top = 1 + noise_below(noise, 3);

	for (unsigned i = 0; i < DIGITS_PIXELS; i++)
		pixels[i] = (uint8_t)noise_below(noise, 4);
	for (unsigned y = 0; y < GLYPH_HEIGHT; y++)
		for (unsigned x = 0; x < GLYPH_WIDTH; x++)
			if (glyphs[label][y] >> (GLYPH_WIDTH - 1 - x) & 1)
				pixels[(top + y) * DIGITS_SIDE + left + x] = (uint8_t)(INK - noise_below(noise, 6));
}

static void encode(uint8_t label, const uint8_t pixels[DIGITS_PIXELS], uint8_t record[DIGITS_RECORD])
{
	uint8_t before = 0;

	record[0] = label;
	for (unsigned i = 0; i < DIGITS_PIXELS; i++) {
		unsigned difference = (unsigned)(pixels[i] - before) & 15;

		before = pixels[i];
		record[1 + i / 2] = (uint8_t)(i % 2 ? record[1 + i / 2] | difference << 4 : difference);
	}
}

int digits_create(uint64_t seed)
{
	uint8_t record[DIGITS_RECORD], pixels[DIGITS_PIXELS];
	FILE *file = tmpfile();
	int fd = -1;

	if (!file)
		return -1;
	for (unsigned i = 0; i < DIGITS_TRAIN + DIGITS_VALIDATION; i++) {
		uint8_t label = (uint8_t)noise_below(&seed, DIGITS_CLASSES);

		draw(label, pixels, &seed);
		encode(label, pixels, record);
		if (fwrite(record, sizeof record, 1, file) != 1)
			goto out;
	}
	if (fflush(file) == 0)
		fd = dup(fileno(file));
out:
	fclose(file);
	return fd;
}

bool digits_read(int fd, unsigned index, uint8_t record[DIGITS_RECORD])
{
	return pread(fd, record, DIGITS_RECORD, (off_t)index * DIGITS_RECORD) == DIGITS_RECORD;
}

uint8_t digits_decode(const uint8_t record[DIGITS_RECORD], uint8_t pixels[DIGITS_PIXELS])
{
	unsigned value = 0;

	for (unsigned i = 0; i < DIGITS_PIXELS; i++) {
		value = (value + (unsigned)(record[1 + i / 2] >> (i % 2 * 4))) & 15;
		pixels[i] = (uint8_t)value;
	}
	return record[0];
}
